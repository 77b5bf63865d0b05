"""The product of a domain and a machine in JAX: pure functions over arrays, to be mapped, scanned and compiled.

Read `jax_domain` (a labelled MDP as functions, and random numbers), then `jax_product` (a machine's table on packed stacks, and both
together). They are equal, step by step, to their readable twins: the domain's arrays, the machine's step
and `pdrm.wrap`. The deep learners and the benchmarks use all of it.
"""

from importlib.util import find_spec

from pdrm.lazy import missing_jax

if find_spec("jax") is None or find_spec("optax") is None:
    raise missing_jax()
