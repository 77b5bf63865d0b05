"""The product of a domain and a machine in JAX: pure functions of arrays, to vmap, scan and jit.

Read `jax_domain` (a labelled MDP as functions, and random numbers), then `jax_product` (a machine's
table on packed stacks, and the product). Both equal their readable twins step by step: the domain's
arrays, the machine's step and `pdrm.wrap`. The deep learners and the benchmarks use them.
"""

from importlib.util import find_spec

from pdrm.lazy import missing_jax

if find_spec("jax") is None or find_spec("optax") is None:
    raise missing_jax()
