"""The product of a domain and a machine in JAX: pure functions over arrays, to be mapped, scanned and compiled."""

from importlib.util import find_spec

from pdrm.errors import missing_jax

if find_spec("jax") is None or find_spec("optax") is None:
    raise missing_jax()
