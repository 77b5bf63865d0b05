"""The errors of reading a run's folder, in words."""

from __future__ import annotations

from pathlib import Path

from pdrm.errors import BadRunFolder, PdrmError

SPEC = "spec.json"
"""The file that every run's folder has."""


def no_run(folder: Path, why: str = "", example: str = "pdrm train letter") -> BadRunFolder:
    """The error that a folder is no run. Where it holds runs, the fix names the last of them.

    >>> no_run(Path("nowhere")).message
    'there is no folder nowhere'
    """
    if not folder.is_dir():
        return BadRunFolder(f"there is no folder {folder}", fix=f"train one: {example}")
    runs = sorted((file.parent for file in folder.glob(f"*/{SPEC}")), key=lambda run: run.stat().st_mtime)
    if runs:
        count = "a run" if len(runs) == 1 else f"{len(runs)} runs"
        return BadRunFolder(f"{folder} holds {count}, and one is to be named", fix=f"the last of them: {runs[-1]}")
    return BadRunFolder(f"{folder} holds no trained run{': ' if why else ''}{why}", fix=f"train one: {example}")


def in_words(error: Exception, file: str = "it") -> str:
    """What an error found while reading a file says to a person.

    >>> in_words(KeyError("agent"), "spec.json")
    'spec.json has no `agent`'
    """
    if isinstance(error, PdrmError):
        return error.message
    if isinstance(error, OSError):
        return f"{Path(str(error.filename)).name} cannot be opened: {(error.strerror or type(error).__name__).lower()}"
    if isinstance(error, KeyError) and error.args:
        return f"{file} has no `{error.args[0]}`"
    return str(error) if file == "it" else f"{file} is damaged ({error})"
