"""What the paper ran, and what is measured: experiments as data, and benchmarks beside the peers."""
