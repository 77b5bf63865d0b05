"""Files written whole or not at all: whoever reads one finds the old content or the new, never half of it."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from pdrm.errors import CannotWrite


def write(path: Path, data: bytes) -> None:
    """Put the bytes in the file, whole or not at all: what was there stays until the new file is complete."""
    temporary: str | None = None
    try:
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:40]}.")
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        _keep_mode(path, temporary)
        Path(temporary).replace(path)
    except OSError as error:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)
        reason = (error.strerror or type(error).__name__).lower()
        raise CannotWrite(
            f"{path} cannot be written: {reason}", fix="check the folder, its permissions and the space"
        ) from error


def _keep_mode(path: Path, temporary: str) -> None:
    """Give the new file the permissions of the one it replaces, or those a new file would get."""
    if path.exists():
        Path(temporary).chmod(path.stat().st_mode & 0o7777)
    else:
        mask = os.umask(0)
        os.umask(mask)
        Path(temporary).chmod(0o666 & ~mask)
