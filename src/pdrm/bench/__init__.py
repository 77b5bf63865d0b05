"""What it costs: benchmarks beside the peers. The only chapter that knows other programs to compare with.

A bench is a function that yields typed rows (`bench_rows`). From the rows follow the flat object of `pdrm bench --json`, the
recorded file (`bench_record`), and the tables and the plot (`bench_display`). Read in this order: `bench_rows`, one of the
benches (`tabular_bench`, `analysis_bench`, `deep_bench`), then its peer (`pycrm_letter`, `storm_product`, `sb3_peer`). A peer
is an optional package: importing its module raises `MissingPackage`, which says what to install.

`bench_record.record_bench("deep", 20, "docs/benchmarks")` does what `pdrm bench deep --seconds 20 --record docs/benchmarks`
does, and runs on a GPU machine that has NumPy, JAX, optax, Gymnasium and Lark, but neither the command nor a peer.
"""
