"""File I/O: atomic writes, safe reads with size limits, and name-or-path resolution."""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import sys
import zipfile
import zlib
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pdrm.errors import (
    BadPolicyFile,
    CannotOpen,
    CannotWrite,
    PdrmError,
    TooLarge,
    UnknownFormat,
    Where,
    name_alike,
)

FilePath = str | os.PathLike[str]

# --- Limits on input files and texts
#
# A file can be damaged or hostile, and a small one can expand to something huge. With these limits,
# reading takes at most seconds and half a gigabyte, and either succeeds or raises an error with a
# location.

MAX_TEXT_BYTES = 4 * 2**20
"""Size of a text (a machine or JSON)."""
MAX_LINE_LENGTH = 50_000
"""Characters of a line."""
MAX_LINES = 100_000
"""Lines of a machine's text."""
MAX_NESTING = 40
"""Nesting depth of parentheses, negations, blocks or JSON values."""
MAX_RULES = 20_000
"""Rules of a machine in a file, and names on one of its lines."""
MAX_SYMBOLS = 5_000
"""Symbols on the right-hand sides of a grammar."""
MAX_DIAGRAM_NODES = 200_000
"""Nodes of the decision diagrams of a formula or a combination of machines (about 100 MB)."""
MAX_VARIABLES = 300
"""Variables of a decision diagram: events, and operators of a formula."""
MAX_FORMULA_DEPTH = 100
"""Nesting depth of operators and parentheses in a formula."""
MAX_FORMULA_LENGTH = 5_000
"""Tokens of a formula."""
MAX_OPERATORS = 200
"""Different temporal operators of a formula."""
MAX_AUTOMATON_STATES = 4_000
"""States of the automaton of a formula, an expression or a combination of machines."""
MAX_ARRAY_BYTES = 2**27
"""Size of the arrays in a compressed `.npz` file. (Uncompressed arrays can be as large as the
file.)"""
MAX_DOMAIN_BYTES = 112 * 2**20
"""Size of a domain's file."""
MAX_CELLS = 250_000
"""Cells of a map."""
MAX_CERTIFICATE_BYTES = 2**27
"""Size of a certificate, and number of values in it."""
MAX_STUDY_BYTES = 2**18
"""Size of a study's file."""
MAX_SILENT_CHAIN = 1_000_000
"""Consecutive silent moves that a stack symbol can lead to."""
MAX_STEP_STACK = 10_000_000
"""Total height of the stacks in the silent moves of a step, plus eight per move: the memory of the
readable step."""

# --- Writing: a reader sees either the old or the new content, never a part of it
#
# A link is kept, and the file it points to is written. Pipes and devices cannot be replaced, so
# they are written directly.


def write_atomically(path: Path, data: bytes) -> None:
    """Write the bytes to a file, completely or not at all. `-` is standard output."""
    if str(path) == "-":
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        return
    try:
        if path.exists() and not path.is_file():
            path.write_bytes(data)
            return
        file = Path(os.path.realpath(path))
        temporary = file.with_name(f".{file.name[:40]}.{token_hex(8)}")
        try:
            with temporary.open("xb") as new:
                new.write(data)
                new.flush()
                os.fsync(new.fileno())
            if file.exists():
                file.open("ab").close()  # fails if the user has no permission to write the file
                shutil.copymode(file, temporary)
            temporary.replace(file)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        fix = "check that the folder exists, its permissions and the disk space"
        raise CannotWrite(f"{path} cannot be written: {reason}", fix=fix) from error


# --- Reading, with limits: a device is endless, and a small zip file can unpack to a large one


def read_bytes(path: Path, max_bytes: int = MAX_TEXT_BYTES) -> bytes:
    """The content of a file, or of standard input (`-`).

    Raises `TooLarge` after reading `max_bytes`, even from a device.

    >>> read_bytes(Path("/dev/zero"), 2**20)
    Traceback (most recent call last):
    ...
    pdrm.errors.TooLarge: error[E0106]: /dev/zero has more than 1,048,576 bytes
      --> /dev/zero
      fix: check that it is the right file
    """
    try:
        if str(path) == "-":
            data = sys.stdin.buffer.read(max_bytes + 1)
        else:
            with path.open("rb") as file:
                data = file.read(max_bytes + 1)
    except (OSError, ValueError) as error:  # ValueError: a null character in the path
        fix = "check the path and its permissions"
        if isinstance(error, FileNotFoundError) and path.parent.is_dir():
            like = name_alike(path.name, os.listdir(path.parent), 0.8)
            fix = f"did you mean {path.with_name(like)}?" if like else fix
        reason = (getattr(error, "strerror", None) or str(error)).lower()
        raise CannotOpen(f"{path} cannot be opened: {reason}", fix=fix) from error
    if len(data) > max_bytes:
        raise TooLarge(
            f"{path} has more than {max_bytes:,} bytes",
            where=Where(str(path)),
            fix="check that it is the right file",
        )
    return data


RUN_RECORD = "spec.json"
"""The file in every run folder."""


# --- Arrays in `.npz` files, read without pickle

Arrays = dict[str, npt.NDArray[Any]]

MALFORMED = (OSError, ValueError, TypeError, AttributeError, LookupError, ArithmeticError)
"""Exceptions raised by readable files with unexpected content."""
DAMAGED = (*MALFORMED, EOFError, RuntimeError, MemoryError, zipfile.BadZipFile, zlib.error)
"""Exceptions of zipfile and NumPy for damaged files."""


def read_arrays(data: bytes, max_bytes: int = MAX_ARRAY_BYTES) -> Arrays:
    """The arrays in the bytes of an `.npz` file, by name, in C order; otherwise a `ValueError`.

    The arrays can take up to `max_bytes`, or the size of the file if that is larger.

    >>> read_arrays(b"no")
    Traceback (most recent call last):
    ...
    ValueError: it is not an .npz file of plain arrays, or it is damaged
    """
    limit = max(max_bytes, len(data))
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            size = sum(entry.file_size for entry in archive.infolist())
        check_all((size <= limit, f"its arrays take {size:,} bytes, the maximum is {limit:,}"))
        with np.load(io.BytesIO(data), allow_pickle=False) as archived:
            return {name: np.asarray(archived[name], order="C") for name in archived}
    except DAMAGED as error:
        raise ValueError("it is not an .npz file of plain arrays, or it is damaged") from error


def check_all(*rules: tuple[bool | np.bool_, str]) -> None:
    """Raise `ValueError` for the first rule that does not hold.

    >>> check_all((True, "no"), (within(np.array([0, 3]), 0, 2), "its states are out of range"))
    Traceback (most recent call last):
    ...
    ValueError: its states are out of range
    """
    for holds, fault in rules:
        if not holds:
            raise ValueError(fault)


def within(array: npt.NDArray[Any], low: float, high: float) -> bool:
    """Return True if all numbers are in [low, high]. NaN is never in it."""
    return bool(np.all((array >= low) & (array <= high)))


def encode_arrays(arrays: Mapping[str, Any]) -> bytes:
    """The arrays as the bytes of an `.npz` file. Equal arrays give equal bytes."""
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


class Fingerprint(NamedTuple):
    """A SHA-256 hash and a size in bytes.

    >>> Fingerprint.of(b"").size
    0
    """

    sha256: str
    size: int

    @classmethod
    def of(cls, data: bytes) -> Fingerprint:
        """The fingerprint of these bytes."""
        return cls(hashlib.sha256(data).hexdigest(), len(data))


# --- JSON files written by pdrm


def parse_json(data: bytes) -> Any:
    """The value in the bytes of a JSON file; otherwise a `ValueError`.

    >>> parse_json(b"[" * 100_000)
    Traceback (most recent call last):
    ...
    ValueError: it is nested too deeply
    """
    try:
        return json.loads(data)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def parse_record(data: bytes) -> dict[str, Any]:
    """The object in the bytes of a JSON file; otherwise a `ValueError`."""
    value = parse_json(data)
    check_all((isinstance(value, dict), "it is not a JSON object"))
    return dict(value)


# --- Folders, names and errors


def ensure_folder(folder: Path, fix: str = "choose another with -o") -> Path:
    """Create the folder and its parents unless they exist. Call this before any long work.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as parent:
    ...     ensure_folder(Path(parent) / "runs" / "mine").is_dir()
    True
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CannotWrite(
            f"the folder {folder} cannot be created: {error.strerror}", fix=fix
        ) from error
    return folder


def means_name(word: FilePath, known: Collection[str], folder: Path = Path()) -> bool:
    """Return True if `word` refers to a catalogue entry rather than a file.

    Machines and domains follow the same rule. A catalogue name wins over a file of the same name
    (`./letter` is the file). Any other plain word is a name, known or not, unless such a file
    exists. A word with a folder or a suffix is a file, and so is a `Path`.

    >>> words = ("letter", "lettr", "./letter", "task.pdrm", Path("letter"))
    >>> [means_name(word, ["letter"]) for word in words]
    [True, True, False, False, False]
    """
    if not isinstance(word, str):
        return False
    if word in known:
        return True
    path = Path(word)
    # `Path.is_file` would raise for names that are too long for the file system.
    is_plain = path.name == word and not path.suffix and word != "-"
    return is_plain and not os.path.isfile(folder / word)


def describe_fault(error: Exception, file: str = "it") -> str:
    """Describe an error raised while reading a file.

    >>> describe_fault(KeyError("agent"), "spec.json")
    "spec.json has no 'agent'"
    """
    if isinstance(error, PdrmError):
        return error.message
    return f"{file} has no {error}" if isinstance(error, KeyError) else str(error)


# --- The files of a policy


def write_policy(path: str | Path, description: Mapping[str, Any], data: bytes) -> Fingerprint:
    """Write the arrays of a policy to a `.npz` file and its description to a `.json` file."""
    file = Path(path)
    if file.suffix != ".npz":
        fault = f"policies are saved as .npz files, but the name is `{file.name}`"
        raise UnknownFormat(fault, fix=f"use {file.with_suffix('.npz').name}")
    text = json.dumps(description, indent=1, ensure_ascii=False) + "\n"
    write_atomically(file, data)
    write_atomically(file.with_suffix(".json"), text.encode())
    return Fingerprint.of(data)


@contextmanager
def blaming_policy(file: Path) -> Iterator[None]:
    """Turn any error about a policy's file into `BadPolicyFile`."""
    try:
        yield
    except (*MALFORMED, PdrmError) as error:
        why = describe_fault(error, file.with_suffix(".json").name)
        fault = f"{file} is not a policy, or is damaged: {why}"
        fix = "restore a copy, train again, or give the folder of a run"
        raise BadPolicyFile(fault, fix=fix) from error


@contextmanager
def reading_policy(file: Path) -> Iterator[dict[str, Any]]:
    """The description of a policy from its `.json` file; any error becomes `BadPolicyFile`."""
    with blaming_policy(file):
        yield parse_record(read_bytes(file.with_suffix(".json")))
