"""Folders for results: made where they are not there, or an error that says why not."""

from __future__ import annotations

from pathlib import Path

from pdrm.errors import CannotWrite


def made(folder: Path, fix: str = "choose another with -o") -> Path:
    """The folder, with those above it, made where it is not there; asked for before anything long begins.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as place:
    ...     made(Path(place) / "runs" / "mine").is_dir()
    True
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CannotWrite(f"the folder {folder} cannot be made: {error.strerror}", fix=fix) from error
    return folder
