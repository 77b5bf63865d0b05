"""Domains in files: a map (text) or arrays (`.npz`). Loading a file runs no code."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pdrm.domains.finite_domain import ARRAY_TYPES, FiniteDomain, Picture, Scene, from_arrays
from pdrm.domains.grids import decode_map, parse_map_file
from pdrm.domains.paper_domains import domain, names
from pdrm.domains.water import SIDES
from pdrm.errors import (
    BadArrays,
    BadDomainFile,
    BadDomainSetting,
    UnknownDomain,
    did_you_mean,
)
from pdrm.files import (
    MALFORMED,
    MAX_DOMAIN_BYTES,
    Arrays,
    FilePath,
    check_all,
    encode_arrays,
    means_name,
    parse_record,
    read_arrays,
    read_bytes,
    write_atomically,
)

ARRAYS = ".npz"
ZIPPED = b"PK"
"""The first bytes of an `.npz`, whatever its name."""


def load_domain(path: FilePath) -> FiniteDomain:
    r"""Load a domain from a file: a map with settings (see `grids`), or arrays of `save_domain`.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "rooms.txt"
    ...     _ = file.write_text("place k key\nstep_limit 50\n#####\n#@.k#\n#####")
    ...     load_domain(file).events
    ('key',)
    """
    file = Path(path)
    data = read_bytes(file, MAX_DOMAIN_BYTES)
    if data.startswith(ZIPPED) or file.suffix == ARRAYS:
        return parse_array_file(data, file.stem, str(file))
    return parse_map_file(decode_map(data, str(file)), file.stem, str(file))


def save_domain(domain: FiniteDomain, path: FilePath) -> None:
    """Write a domain to a `.npz` file atomically.

    >>> import tempfile
    >>> from pdrm.domains.paper_domains import domain as named
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_domain(named("letter"), Path(folder) / "letter.npz")
    ...     load_domain(Path(folder) / "letter.npz").states == named("letter").states
    True
    """
    write_atomically(Path(path), domain_bytes(domain))


def find_domain(name: FilePath) -> FiniteDomain:
    """Load a domain by its catalogue name or its file (`./letter` for a file of the same name).

    >>> find_domain("letter").name
    'letter'
    """
    if name in names():
        return domain(str(name))
    if Path(name).suffix == ".pdrm":
        fix = f'pdrm train map.txt --machine {name}, in Python Task("map.txt", "{name}")'
        raise UnknownDomain(f"{name} is a machine, not a domain", fix=fix)
    if not means_name(name, names()):
        return load_domain(name)
    fix = (
        f"{did_you_mean(str(name), names())} (or give the path of a map or an {ARRAYS} file; an "
        "environment needs Python: pdrm.Task(lambda: gymnasium.make(…), machine, labels=…, name=…))"
    )
    if name in SIDES:
        fix = f"it is continuous, but a finite domain is needed: pdrm.train({name!r})"
    raise UnknownDomain(f"`{name}` is neither a finite domain nor a file", fix=fix)


# --- Arrays in a file
#
# The arrays have their names in `DomainArrays`, and `words` is a JSON text with everything else.
# The arrays `next` and `label` and the words `labels` and `step_limit` are required; the rest has
# the defaults of `from_arrays`. Domains on which this one is evaluated are in the same file, with
# names that start with `test0.`, `test1.` ….

VERSION = 1
WORDS = "words"
STARTS = ("start_state", "start_probability", "start_label")
LISTS = ("events", "actions", "state_names")
PLAIN: dict[str, Any] = {
    "name": str | None,
    "machine": str | None,
    "step_limit": int | None,
    "lowest": int | float | None,
    "highest": int | float | None,
}
"""The words other than lists, and their types."""


def domain_bytes(domain: FiniteDomain) -> bytes:
    """The bytes of a domain's file, the same for equal domains.

    >>> from pdrm.domains.paper_domains import domain
    >>> parse_array_file(domain_bytes(domain("letter")), "copy").describe(0)
    'row 0, column 0; A shows'
    """
    return encode_arrays(_collect_arrays(domain, ""))


def parse_array_file(data: bytes, name: str, file: str = "<arrays>") -> FiniteDomain:
    """Parse the bytes of a domain's file; `name` is used if it contains none."""
    try:
        return _build_domain(read_arrays(data), "", name)
    except (BadArrays, BadDomainSetting) as error:
        raise type(error)(f"{file}: {error.message}", fix=error.fix) from error
    except MALFORMED as error:
        why = f"it has no {error}" if isinstance(error, KeyError) else str(error)
        fault = f"{file} is damaged or does not hold a domain: {why}"
        raise BadDomainFile(fault, fix="write it with pdrm.domains.save_domain") from error


def _collect_arrays(domain: FiniteDomain, prefix: str) -> Arrays:
    """Collect the arrays of a domain's file by name."""
    words: dict[str, Any] = {field: getattr(domain, field) for field in (*PLAIN, *LISTS)}
    words |= {"pdrm_domain": VERSION, "labels": [sorted(label) for label in domain.labels]}
    if domain.picture is not None:
        words["picture"] = domain.picture._asdict()
    arrays = {f"{prefix}{field}": array for field, array in domain.arrays._asdict().items()}
    arrays[prefix + WORDS] = np.array(json.dumps(words, sort_keys=True))
    for number, test in enumerate(domain.tests):
        arrays |= _collect_arrays(test, f"{prefix}test{number}.")
    return arrays


def _build_domain(arrays: Arrays, prefix: str, name: str) -> FiniteDomain:
    """Build the domain whose array names start with the prefix."""
    words = _read_words(arrays[prefix + WORDS])
    options: dict[str, Any] = {
        field: arrays[prefix + field] for field in ARRAY_TYPES if prefix + field in arrays
    }
    starts = {
        field: options.pop(field).astype(ARRAY_TYPES[field][0], casting="same_kind")
        for field in STARTS
        if field in options
    }
    options |= {field: words.get(field) for field in LISTS}
    domain = from_arrays(
        words.get("name") or name,
        labels=words["labels"],
        step_limit=words["step_limit"],
        **options,
    )
    tests = list[FiniteDomain]()
    while f"{prefix}test{len(tests)}.{WORDS}" in arrays:
        tests.append(_build_domain(arrays, f"{prefix}test{len(tests)}.", name))
    return replace(
        domain,
        arrays=domain.arrays._replace(**starts),
        picture=_build_picture(words["picture"]) if "picture" in words else None,
        tests=tuple(tests),
        machine=words.get("machine"),
        lowest=words.get("lowest"),
        highest=words.get("highest"),
    )


def _read_words(array: npt.NDArray[Any]) -> dict[str, Any]:
    """Parse the words of a file and check their types."""
    words = parse_record(str(array).encode("utf-8", "surrogatepass"))
    version = words.get("pdrm_domain", VERSION)
    check_all(
        (version == VERSION, f"it has version {version}, and this program supports {VERSION}")
    )
    for field, kind in PLAIN.items():
        check_all((isinstance(words.get(field), kind), f"`{field}` cannot be {words.get(field)!r}"))
    for texts in (*words["labels"], *(words.get(field) or [] for field in LISTS)):
        valid = isinstance(texts, list) and all(isinstance(text, str) for text in texts)
        check_all((valid, f"`labels`, {', '.join(LISTS)} are not lists of strings"))
    return words


def _build_picture(record: dict[str, Any]) -> Picture:
    scenes = tuple(Scene(tuple(rows), note) for rows, note in record["scenes"])
    cells = tuple((int(row), int(column)) for row, column in record["cell"])
    return Picture(scenes, tuple(map(int, record["scene"])), cells)
