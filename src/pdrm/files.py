"""Files: written whole or not at all, read without running code; folders, and words that may be names or files."""

from __future__ import annotations

import io
import os
import stat
import tempfile
import zipfile
import zlib
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pdrm.errors import CannotWrite, PdrmError

# --- Writing: whoever reads a file finds the old content or the new, never half of it
#
# A link stays a link: the file it names is written. What is not a plain file (a pipe, a device) cannot be replaced whole, so
# the bytes go straight into it.

STRAIGHT = ("/dev/stdout", "/dev/stderr", "/dev/fd/", "/proc/")
"""Names of files that a program has open: one may be a plain file, and replacing it would cut the program off from it."""


def write_atomically(path: Path, data: bytes) -> None:
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


# --- Arrays in `.npz` files, read without running code

Arrays = dict[str, npt.NDArray[Any]]


def read_arrays(data: bytes) -> Arrays:
    """The arrays in the bytes of an `.npz` file, by name; `ValueError` says what is wrong.

    >>> read_arrays(b"no")
    Traceback (most recent call last):
    ...
    ValueError: it is not an .npz file, or only a part of one
    """
    try:
        found = np.load(io.BytesIO(data), allow_pickle=False)
    except (OSError, EOFError, ValueError, zipfile.BadZipFile) as error:  # NumPy's own advice is to run what is in it
        raise ValueError("it is not an .npz file, or only a part of one") from error
    if not isinstance(found, np.lib.npyio.NpzFile):
        raise ValueError("it is a single array, not an .npz file")  # noqa: TRY004 - a fault of the file
    with found:
        return {name: _array(found, name) for name in found.files}


def encode_arrays(arrays: Mapping[str, Any]) -> bytes:
    """The arrays as the bytes of an `.npz` file; the same arrays give the same bytes."""
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def _array(found: Any, name: str) -> npt.NDArray[Any]:  # noqa: ANN401 - NumPy's own
    try:
        return np.array(found[name])
    except ValueError as error:
        fault = "holds Python objects" if "pickle" in str(error).lower() else f"is damaged ({error})"
        raise ValueError(f"its array `{name}` {fault}") from error
    except (OSError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise ValueError(f"its array `{name}` is damaged") from error


# --- Folders, names and faults


def ensure_folder(folder: Path, fix: str = "choose another with -o") -> Path:
    """Create the folder, and those above it, unless it is there; call this before anything long begins.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as place:
    ...     ensure_folder(Path(place) / "runs" / "mine").is_dir()
    True
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CannotWrite(f"the folder {folder} cannot be created: {error.strerror}", fix=fix) from error
    return folder


def means_name(word: str | os.PathLike[str], known: Collection[str], folder: Path = Path()) -> bool:
    """Whether a word means a name of a catalogue rather than a file in the folder; the rule for machines and domains alike.

    A name of the catalogue means what the catalogue has, whatever files there are; `./letter` is the file. Any other word that
    could be a name is one, known or not, unless there is such a file. What has a folder or an ending is a file, and so is a `Path`.

    >>> [means_name(word, ["letter"]) for word in ("letter", "lettr", "./letter", "task.pdrm", Path("letter"))]
    [True, True, False, False, False]
    """
    if not isinstance(word, str):
        return False
    if word in known:
        return True
    path, file = Path(word), folder / word
    return path.name == word and not path.suffix and (file.is_dir() or not file.exists())


def describe_fault(error: Exception, file: str = "it") -> str:
    """What an error raised while reading a file means, in plain words.

    >>> describe_fault(KeyError("agent"), "spec.json")
    'spec.json has no `agent`'
    """
    if isinstance(error, PdrmError):
        return error.message
    if isinstance(error, OSError):
        return f"{Path(str(error.filename)).name} cannot be opened: {(error.strerror or type(error).__name__).lower()}"
    if isinstance(error, KeyError) and error.args:
        return f"{file} has no `{error.args[0]}`"
    return str(error) if file == "it" else f"{file} is damaged ({error})"
