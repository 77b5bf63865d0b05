"""The checker of certificates: readable machine, fractions, nothing of the solver."""

from pdrm.analysis.checker.checker import fault, verify

__all__ = ["fault", "verify"]
