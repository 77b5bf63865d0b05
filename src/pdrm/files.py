"""Files: written whole or not at all, read without running code; folders, and words that may be names or files."""

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

# --- Limits on files and texts that come from outside, in one place
#
# A file may be damaged or hostile, and a small one can stand for something endless. With these limits reading ends within seconds
# and half a gigabyte, with what was read or with an error that has a place.

MAX_TEXT_BYTES = 4 * 2**20
"""Bytes of a text (a machine, a study, JSON) at most."""
MAX_LINE_LENGTH = 50_000
"""Characters of one line at most."""
MAX_LINES = 100_000
"""Lines of a machine's text at most."""
MAX_NESTING = 40
"""Parentheses, negations, blocks or JSON values inside each other at most."""
MAX_RULES = 20_000
"""Rules of a machine that is read at most; also names on one of its lines."""
MAX_SYMBOLS = 5_000
"""Symbols on the right-hand sides of a grammar at most."""
MAX_DIAGRAM_NODES = 200_000
"""Nodes of the decision diagrams that a formula or a combination of machines is worked out with: some 100 MB."""
MAX_VARIABLES = 300
"""Events, and operators of a formula, that one diagram may ask for."""
MAX_FORMULA_DEPTH, MAX_FORMULA_LENGTH, MAX_OPERATORS = 100, 5_000, 200
"""Operators and parentheses inside each other, words and signs, and different temporal operators of a formula at most."""
MAX_AUTOMATON_STATES = 4_000
"""States that are worked out for a formula, an expression or a combination of machines at most."""
MAX_ARRAY_BYTES = 2**27
"""Bytes of the arrays that a compressed `.npz` may unpack to; one that is not compressed may hold as many as the file has."""
MAX_DOMAIN_BYTES, MAX_CELLS = 112 * 2**20, 250_000
"""Bytes of a domain's file, and cells of a map, at most."""
MAX_CERTIFICATE_BYTES = 2**27
"""Bytes of a certificate, and values in it, at most."""
MAX_STUDY_BYTES = 2**18
"""Bytes of a study's file at most."""
MAX_SILENT_CHAIN = 1_000_000
"""Silent moves that one symbol on a stack may lead to, one after the other."""
MAX_STEP_STACK = 10_000_000
"""Symbols on the stacks of one step's silent moves at most, eight more counted for each move: what the readable step keeps."""

# --- Writing: whoever reads a file finds the old content or the new, never half of it
#
# A link stays a link: the file it names is written. What is not a plain file (a pipe, a device) cannot be replaced whole, so
# the bytes go straight into it.


def write_atomically(path: Path, data: bytes) -> None:
    """Put the bytes in the file, whole or not at all: what was there stays until the new file is complete. `-` is standard output."""
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
                file.open("ab").close()  # whoever may not write the file may not replace it
                shutil.copymode(file, temporary)
            temporary.replace(file)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        fix = "check the folder, its permissions and the space"
        raise CannotWrite(f"{path} cannot be written: {reason}", fix=fix) from error


# --- Reading, never more than is allowed: a device has no end, and a small zip can stand for a large one


def read_bytes(path: Path, most: int = MAX_TEXT_BYTES) -> bytes:
    """The bytes of a file, or `TooLarge`; whatever the path is, no more than `most` and one are read.

    >>> read_bytes(Path("/dev/zero"), 2**20)
    Traceback (most recent call last):
    ...
    pdrm.errors.TooLarge: error[E0106]: /dev/zero has more than 1,048,576 bytes
      --> /dev/zero
      fix: check that it is the right file
    """
    data = read_beginning(path, most + 1)
    if len(data) > most:
        raise TooLarge(
            f"{path} has more than {most:,} bytes",
            where=Where(str(path)),
            fix="check that it is the right file",
        )
    return data


def read_beginning(path: Path, most: int) -> bytes:
    """The first bytes of a file, or `CannotOpen`; `-` is standard input."""
    if str(path) == "-":
        return sys.stdin.buffer.read(most)
    try:
        with path.open("rb") as file:
            return file.read(most)
    except (OSError, ValueError) as error:  # ValueError: a null character in the path
        fix = "check the path and its permissions"
        if isinstance(error, FileNotFoundError) and path.parent.is_dir():
            like = name_alike(path.name, os.listdir(path.parent), 0.8)
            fix = f"did you mean {path.with_name(like)}?" if like else fix
        reason = (getattr(error, "strerror", None) or str(error)).lower()
        raise CannotOpen(f"{path} cannot be opened: {reason}", fix=fix) from error


RUN_RECORD = "spec.json"
"""The file that every run's folder has."""


# --- Arrays in `.npz` files, read without running code

Arrays = dict[str, npt.NDArray[Any]]

MALFORMED = (OSError, ValueError, TypeError, AttributeError, LookupError, ArithmeticError)
"""Exceptions raised by a file that can be read and is not what we wrote."""
DAMAGED = (*MALFORMED, EOFError, RuntimeError, MemoryError, zipfile.BadZipFile, zlib.error)
"""And those of zipfile and NumPy at damaged bytes."""


def read_arrays(data: bytes, most: int = MAX_ARRAY_BYTES) -> Arrays:
    """The arrays in the bytes of an `.npz` file, by name, in C order; `ValueError` says what is wrong.

    They may take as many bytes as the file, or `most` if that is more.

    >>> read_arrays(b"no")
    Traceback (most recent call last):
    ...
    ValueError: it is not an .npz file of plain arrays, or it is damaged
    """
    limit = max(most, len(data))
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            size = sum(entry.file_size for entry in archive.infolist())
        need((size <= limit, f"its arrays take {size:,} bytes, and {limit:,} are the most"))
        with np.load(io.BytesIO(data), allow_pickle=False) as archived:
            return {name: np.asarray(archived[name], order="C") for name in archived}
    except DAMAGED as error:
        raise ValueError("it is not an .npz file of plain arrays, or it is damaged") from error


def need(*rules: tuple[bool | np.bool_, str]) -> None:
    """Raise `ValueError` for the first rule about what was read that does not hold.

    >>> need((True, "no"), (within(np.array([0, 3]), 0, 2), "its states are out of range"))
    Traceback (most recent call last):
    ...
    ValueError: its states are out of range
    """
    for holds, fault in rules:
        if not holds:
            raise ValueError(fault)


def within(array: npt.NDArray[Any], least: float, most: float) -> bool:
    """Return True if all numbers are from least to most; NaN never is."""
    return bool(np.all((array >= least) & (array <= most)))


def encode_arrays(arrays: Mapping[str, Any]) -> bytes:
    """The arrays as the bytes of an `.npz` file; the same arrays give the same bytes."""
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


class Fingerprint(NamedTuple):
    """The hash and the size of some bytes.

    >>> Fingerprint.of(b"").size
    0
    """

    sha256: str
    size: int

    @classmethod
    def of(cls, data: bytes) -> Fingerprint:
        """The fingerprint of some bytes."""
        return cls(hashlib.sha256(data).hexdigest(), len(data))


# --- JSON that we wrote ourselves


def parse_json(data: bytes) -> Any:
    """The value in the bytes of a JSON file; `ValueError` says what is wrong.

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
    """The object in the bytes of a JSON file, whose keys are texts; `ValueError` says what is wrong."""
    value = parse_json(data)
    need((isinstance(value, dict), "it is not a JSON object"))
    return dict(value)


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
        raise CannotWrite(
            f"the folder {folder} cannot be created: {error.strerror}", fix=fix
        ) from error
    return folder


def means_name(word: FilePath, known: Collection[str], folder: Path = Path()) -> bool:
    """Return True if a word means a name of a catalogue rather than a file; machines and domains follow the same rule.

    A name of the catalogue means what the catalogue has, whatever files there are; `./letter` is the file. Any other word that
    could be a name is one, known or not, unless there is such a file. What has a folder or an ending is a file, and so is a `Path`.

    >>> [means_name(word, ["letter"]) for word in ("letter", "lettr", "./letter", "task.pdrm", Path("letter"))]
    [True, True, False, False, False]
    """
    if not isinstance(word, str):
        return False
    if word in known:
        return True
    path = Path(word)
    # Not `Path.is_file`: it raises if a name is longer than a file's can be.
    is_plain = path.name == word and not path.suffix and word != "-"
    return is_plain and not os.path.isfile(folder / word)


def describe_fault(error: Exception, file: str = "it") -> str:
    """Describe an error raised while reading a file, in plain words.

    >>> describe_fault(KeyError("agent"), "spec.json")
    "spec.json has no 'agent'"
    """
    if isinstance(error, PdrmError):
        return error.message
    return f"{file} has no {error}" if isinstance(error, KeyError) else str(error)


# --- The files of a policy


def write_policy(path: str | Path, description: Mapping[str, Any], data: bytes) -> Fingerprint:
    """Write the arrays of a policy to a `.npz` file, and its description to a `.json` next to it."""
    file = Path(path)
    if file.suffix != ".npz":
        fault = f"a policy is saved as .npz, but `{file.name}` ends otherwise"
        raise UnknownFormat(fault, fix=f"call it {file.with_suffix('.npz').name}")
    text = json.dumps(description, indent=1, ensure_ascii=False) + "\n"
    write_atomically(file, data)
    write_atomically(file.with_suffix(".json"), text.encode())
    return Fingerprint.of(data)


@contextmanager
def blaming_policy(file: Path) -> Iterator[None]:
    """Raise one error for whatever is wrong with a policy's file."""
    try:
        yield
    except (*MALFORMED, PdrmError) as error:
        why = describe_fault(error, file.with_suffix(".json").name)
        fault = f"{file} is not a policy, or is damaged: {why}"
        fix = "restore a copy of it, or train again; a run's folder will do, too"
        raise BadPolicyFile(fault, fix=fix) from error


@contextmanager
def reading_policy(file: Path) -> Iterator[dict[str, Any]]:
    """The description of a policy, in the `.json` next to its arrays; one error for whatever is wrong while it is read."""
    with blaming_policy(file):
        yield parse_record(read_bytes(file.with_suffix(".json")))
