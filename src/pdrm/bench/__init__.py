"""What it costs: benchmarks beside the peers. The only chapter that knows other programs to compare with.

A bench is a function that yields typed rows (`bench_rows`). From the rows follow the flat object of `pdrm bench --json`, the
recorded file (`bench_record`), and the tables and the plot (`bench_display`). Read in this order: `bench_rows`, one of the
benches (`tabular_bench`, `analysis_bench`, `deep_bench`), then its peer (`pycrm_letter`, `storm_product`; that of
`deep_bench` is inside it). A peer is an optional package: without it a bench raises `MissingPackage`, which says what to install.

On a GPU `pdrm bench deep` has no peer, and runs where only NumPy, JAX, optax, Gymnasium, Lark and typer are installed.
"""
