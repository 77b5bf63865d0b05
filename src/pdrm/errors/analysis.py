"""Faults of what is asked to be proved (E10xx)."""

from pdrm.errors.message import PdrmError


class ProductTooLarge(PdrmError):
    """The product of domain and machine would not fit in the memory allowed: lower the depth or the stack's bound."""

    code = "E1001"


class UnboundedStep(PdrmError):
    """One step can take arbitrarily many silent moves, so that no bound on what it pays is known: name a bound on the stack."""

    code = "E1002"


class BadCertificate(PdrmError):
    """A certificate is damaged, belongs to another task, or does not prove what it says."""

    code = "E1003"


class NoDiscount(PdrmError):
    """Values are only bounded, and value iteration only certain, with a discount of at least 0 and below 1."""

    code = "E1004"
