"""Faults of studies: how they are written down and how they are run (E11xx)."""

from pdrm.errors.message import PdrmError


class BadStudy(PdrmError):
    """A study's file cannot be read, or says something that no study can mean: a key that is not known, a value of the wrong
    kind, two lines of one name. The message names the key; `pdrm explain E1101` and docs/studies.md show a whole study."""

    code = "E1101"


class UnknownStudy(PdrmError):
    """No figure or panel of the paper has that name."""

    code = "E1102"


class WorkersLost(PdrmError):
    """The workers died again and again before they began anything. What was done is kept; the same command goes on."""

    code = "E1103"


class NotRecorded(PdrmError):
    """What was asked about has not been run yet, or not in this folder."""

    code = "E1104"
