"""Faults of settings and requests to learn (E08xx)."""

from pdrm.errors.message import PdrmError


class BadSetting(PdrmError):
    """A setting is out of its range: a learning rate or exploration rate outside [0, 1], a negative k, no episodes."""

    code = "E0801"


class UnknownAgent(PdrmError):
    """No agent of that name: `q`, `cprm`, `hrm`, `cra-q` and `cra-cql` are the tabular ones."""

    code = "E0802"


class BadPolicyFile(PdrmError):
    """A policy file cannot be read, is damaged, or is not a policy: its `.npz` and `.json` belong together."""

    code = "E0803"


class WrongPolicy(PdrmError):
    """A policy is asked to act for a machine or a domain it was not learnt with."""

    code = "E0804"


class BadRunFolder(PdrmError):
    """A folder is no run, or holds the run of another spec."""

    code = "E0805"


class MissingPackage(PdrmError):
    """A package that only this command needs is not installed."""

    code = "E0806"
