"""What JAX runs on."""

from __future__ import annotations

import jax


def device_name() -> str:
    """The device in words, and JAX's version.

    >>> "JAX" in device_name()
    True
    """
    return f"{jax.devices()[0].device_kind}, JAX {jax.__version__}"


def on_accelerator() -> bool:
    """Whether there is something faster than a processor."""
    return bool(jax.default_backend() != "cpu")
