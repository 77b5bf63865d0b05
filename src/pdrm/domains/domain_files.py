"""Domains in files: a map (text) or arrays (`.npz`). Your own domain needs no class, and loading it runs no code."""

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
    r"""The domain in a file: a map with its settings (see `grids`), or arrays as `save_domain` writes them.

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
    """Write a domain's arrays and words to a `.npz` file, whole or not at all.

    >>> import tempfile
    >>> from pdrm.domains.paper_domains import domain as named
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_domain(named("letter"), Path(folder) / "letter.npz")
    ...     load_domain(Path(folder) / "letter.npz").states == named("letter").states
    True
    """
    write_atomically(Path(path), domain_bytes(domain))


def find_domain(name: FilePath) -> FiniteDomain:
    """The domain of a name of the catalogue, else of a file (`./letter` if there is a file of the same name).

    >>> find_domain("letter").name
    'letter'
    """
    if name in names():
        return domain(str(name))
    if Path(name).suffix == ".pdrm":
        fix = f'name the domain first: pdrm.Task("map.txt", {str(name)!r})'
        raise UnknownDomain(f"{name} is a machine, not a domain", fix=fix)
    if not means_name(name, names()):
        return load_domain(name)
    fix = (
        f"{did_you_mean(str(name), names())} (or give the path of a map or an {ARRAYS} file; of an environment: "
        "pdrm.Task(lambda: gymnasium.make(…), machine, labels=…, name=…))"
    )
    if name in SIDES:
        fix = f"it is continuous, and this needs a finite domain: pdrm.train({name!r})"
    raise UnknownDomain(f"there is no finite domain `{name}`, and no file of that name", fix=fix)


# --- Arrays in a file
#
# The arrays have their names in `DomainArrays`, and `words` is a JSON text with everything that is not a number. Required are the
# arrays `next` and `label` and the words `labels` and `step_limit`; the rest has the defaults of `from_arrays`. Domains on which
# this one is evaluated are in the same file, their names beginning with `test0.`, `test1.` ….

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
"""The words that are not lists, and their types."""


def domain_bytes(domain: FiniteDomain) -> bytes:
    """The file of a domain; the same domain gives the same bytes.

    >>> from pdrm.domains.paper_domains import domain
    >>> parse_array_file(domain_bytes(domain("letter")), "copy").describe(0)
    'row 0, column 0; A shows'
    """
    return encode_arrays(_collect_arrays(domain, ""))


def parse_array_file(data: bytes, name: str, file: str = "<arrays>") -> FiniteDomain:
    """The domain in a file's bytes; `name` is used if it gives none."""
    try:
        return _build_domain(read_arrays(data), "", name)
    except (BadArrays, BadDomainSetting) as error:
        raise type(error)(f"{file}: {error.message}", fix=error.fix) from error
    except MALFORMED as error:
        why = f"it has no {error}" if isinstance(error, KeyError) else str(error)
        fault = f"{file} is damaged or does not hold a domain: {why}"
        raise BadDomainFile(fault, fix="write it with pdrm.domains.save_domain") from error


def _collect_arrays(domain: FiniteDomain, prefix: str) -> Arrays:
    """Everything a domain is, by name."""
    words: dict[str, Any] = {field: getattr(domain, field) for field in (*PLAIN, *LISTS)}
    words |= {"pdrm_domain": VERSION, "labels": [sorted(label) for label in domain.labels]}
    if domain.picture is not None:
        words["picture"] = domain.picture._asdict()
    found = {f"{prefix}{field}": array for field, array in domain.arrays._asdict().items()}
    found[prefix + WORDS] = np.array(json.dumps(words, sort_keys=True))
    for number, test in enumerate(domain.tests):
        found |= _collect_arrays(test, f"{prefix}test{number}.")
    return found


def _build_domain(arrays: Arrays, prefix: str, name: str) -> FiniteDomain:
    """The domain whose arrays' names begin with the prefix."""
    words = _read_words(arrays[prefix + WORDS])
    given: dict[str, Any] = {
        field: arrays[prefix + field] for field in ARRAY_TYPES if prefix + field in arrays
    }
    begin = {
        field: given.pop(field).astype(ARRAY_TYPES[field][0], casting="same_kind")
        for field in STARTS
        if field in given
    }
    given |= {field: words.get(field) for field in LISTS}
    domain = from_arrays(
        words.get("name") or name,
        labels=words["labels"],
        step_limit=words["step_limit"],
        **given,
    )
    tests = list[FiniteDomain]()
    while f"{prefix}test{len(tests)}.{WORDS}" in arrays:
        tests.append(_build_domain(arrays, f"{prefix}test{len(tests)}.", name))
    return replace(
        domain,
        arrays=domain.arrays._replace(**begin),
        picture=_build_picture(words["picture"]) if "picture" in words else None,
        tests=tuple(tests),
        machine=words.get("machine"),
        lowest=words.get("lowest"),
        highest=words.get("highest"),
    )


def _read_words(array: npt.NDArray[Any]) -> dict[str, Any]:
    """The words of a file, each of its type."""
    words = parse_record(str(array).encode("utf-8", "surrogatepass"))
    version = words.get("pdrm_domain", VERSION)
    check_all((version == VERSION, f"it has version {version}, and this program reads {VERSION}"))
    for field, kind in PLAIN.items():
        check_all((isinstance(words.get(field), kind), f"`{field}` cannot be {words.get(field)!r}"))
    for texts in (*words["labels"], *(words.get(field) or [] for field in LISTS)):
        right = isinstance(texts, list) and all(isinstance(text, str) for text in texts)
        check_all((right, f"`labels`, {', '.join(LISTS)} are not lists of texts"))
    return words


def _build_picture(record: dict[str, Any]) -> Picture:
    scenes = tuple(Scene(tuple(rows), note) for rows, note in record["scenes"])
    cells = tuple((int(row), int(column)) for row, column in record["cell"])
    return Picture(scenes, tuple(map(int, record["scene"])), cells)
