"""Faults of settings and requests to learn (E08xx)."""

from pdrm.errors.message import PdrmError


class BadSetting(PdrmError):
    """A setting is out of its range: a learning rate or an exploration rate outside [0, 1], a negative k, zero episodes."""

    code = "E0801"
