"""The product of a domain and a machine in JAX: pure functions over arrays, to be mapped, scanned and compiled."""

from importlib.util import find_spec

from pdrm.errors import MissingPackage

if find_spec("jax") is None or find_spec("optax") is None:
    raise MissingPackage("jax and optax are not installed", fix="pip install 'pdrm[jax]'")
