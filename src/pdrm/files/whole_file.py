"""Files written whole or not at all: whoever reads one finds the old content or the new, never half of it.

A link stays a link: the file it names is written. What is no plain file (a pipe, a device) cannot be replaced whole, so the
bytes go straight into it.
"""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path

from pdrm.errors import CannotWrite

STRAIGHT = ("/dev/stdout", "/dev/stderr", "/dev/fd/", "/proc/")
"""Names of files that a program has open: one may be a plain file, and replacing it would cut the program off from it."""


def write(path: Path, data: bytes) -> None:
    """Put the bytes in the file, whole or not at all: what was there stays until the new file is complete."""
    try:
        mode = _mode(path)
        if mode is not None and (not stat.S_ISREG(mode) or str(path.absolute()).startswith(STRAIGHT)):
            path.write_bytes(data)
        else:
            _replace(Path(os.path.realpath(path)), mode, data)
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise CannotWrite(
            f"{path} cannot be written: {reason}", fix="check the folder, its permissions and the space"
        ) from error


def _mode(path: Path) -> int | None:
    """Kind and permissions of what is there, links followed; None where nothing is."""
    try:
        return path.stat().st_mode
    except FileNotFoundError:
        return None


def _replace(path: Path, mode: int | None, data: bytes) -> None:
    """Write a file beside it, on the disk before it takes the place."""
    if mode is not None:
        os.close(os.open(path, os.O_WRONLY))  # whoever may not write the file may not replace it
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:40]}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).chmod(_new_mode() if mode is None else stat.S_IMODE(mode))
        Path(temporary).replace(path)
    except BaseException:  # Ctrl-C too
        Path(temporary).unlink(missing_ok=True)
        raise


def _new_mode() -> int:
    """The permissions that a new file would get."""
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
