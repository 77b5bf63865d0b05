"""Faults of files, words and requests (E05xx)."""

from pdrm.errors.message import PdrmError


class CannotOpen(PdrmError):
    """The file does not exist, is a folder, or may not be read."""

    code = "E0501"


class CannotWrite(PdrmError):
    """The file could not be written (no permission, no space, no such folder). What was there before is untouched."""

    code = "E0502"


class UnknownFormat(PdrmError):
    """The ending of the file name says which format to write, and this one is not known."""

    code = "E0503"


class BadWord(PdrmError):
    """A word is labels separated by spaces; a label is events joined by `+`, or `-` for the empty label."""

    code = "E0504"


class UnknownCode(PdrmError):
    """`pdrm explain` was asked about a code that does not exist."""

    code = "E0505"


class UnknownMachine(PdrmError):
    """No machine of that name is in the catalogue, and no such file exists."""

    code = "E0506"
