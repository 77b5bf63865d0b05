"""What it costs: benchmarks beside the peers. The only chapter that knows other programs to compare with."""
