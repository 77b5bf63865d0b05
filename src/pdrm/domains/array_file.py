"""A domain in one `.npz` file: its arrays by name, and `words`, a JSON text with everything that is not a number.

Required are the arrays `next` and `label` and the words `labels` and `step_limit`; the rest has the defaults of
`from_arrays`. Domains that test this one are kept in the same file, their names beginning `test0.`, `test1.` ….
Nothing in a file is run: no pickle.
"""

from __future__ import annotations

import io
import json
from dataclasses import replace
from typing import Any

import numpy as np

from pdrm.domains.array_domain import from_arrays
from pdrm.domains.labelled_mdp import FiniteDomain
from pdrm.domains.picture import Picture, Scene
from pdrm.domains.validation import KINDS
from pdrm.errors import BadArrays, BadDomainFile, BadDomainSetting
from pdrm.files.arrays import Arrays, arrays_in

VERSION = 1
WORDS = "words"
OPTIONAL = ("probability", "reward", "terminal")
STARTS = ("start_state", "start_probability", "start_label")
PLAIN = ("name", "events", "actions", "step_limit", "state_names", "machine", "lowest", "highest")
"""Fields of a domain that are JSON values as they are."""


def domain_bytes(domain: FiniteDomain) -> bytes:
    """The file of a domain; the same domain gives the same bytes.

    >>> from pdrm.domains.catalogue import domain
    >>> parse_array_file(domain_bytes(domain("letter")), "copy").describe(0)
    'row 0, column 0; A shows'
    """
    buffer = io.BytesIO()
    np.savez(buffer, **_arrays(domain, ""))  # type: ignore[arg-type]
    return buffer.getvalue()


def parse_array_file(data: bytes, name: str, file: str = "<arrays>") -> FiniteDomain:
    """The domain in a file's bytes; `name` is used where it gives none."""
    try:
        return _domain(arrays_in(data), "", name)
    except (BadArrays, BadDomainSetting) as error:
        raise type(error)(f"{file}: {error.message}", fix=error.fix) from error
    except KeyError as error:
        raise _bad(file, f"it has no {error}") from error
    except (ValueError, TypeError, AttributeError, IndexError) as error:
        raise _bad(file, str(error)) from error


def _bad(file: str, why: str) -> BadDomainFile:
    return BadDomainFile(f"{file} holds no domain's arrays, or is damaged: {why}", fix="write it with pdrm.save_domain")


def _arrays(domain: FiniteDomain, prefix: str) -> Arrays:
    """Everything a domain is, by name."""
    words: dict[str, Any] = {field: getattr(domain, field) for field in PLAIN}
    words |= {"pdrm_domain": VERSION, "labels": [sorted(label) for label in domain.labels]}
    if domain.picture is not None:
        scenes = [[scene.rows, scene.note] for scene in domain.picture.scenes]
        words["picture"] = {"scenes": scenes, "scene": domain.picture.scene, "cell": domain.picture.cell}
    found: Arrays = {f"{prefix}{field}": getattr(domain.arrays, field) for field in KINDS}
    found[prefix + WORDS] = np.array(json.dumps(words, sort_keys=True))
    for number, test in enumerate(domain.tests):
        found |= _arrays(test, f"{prefix}test{number}.")
    return found


def _domain(arrays: Arrays, prefix: str, name: str) -> FiniteDomain:
    """The domain whose arrays' names begin so."""
    words = json.loads(str(arrays[prefix + WORDS]))
    _check_words(words)
    optional: dict[str, Any] = {field: arrays[prefix + field] for field in OPTIONAL if prefix + field in arrays}
    known: dict[str, Any] = {
        field: words[field]
        for field in ("events", "actions", "state_names", "machine", "lowest", "highest")
        if field in words
    }
    domain = from_arrays(
        words.get("name", name),
        arrays[f"{prefix}next"],
        arrays[f"{prefix}label"],
        words["labels"],
        step_limit=words["step_limit"],
        **optional,
        **known,
    )
    if f"{prefix}start_state" in arrays:
        begins = {field: arrays[prefix + field].astype(KINDS[field][0], casting="same_kind") for field in STARTS}
        domain = replace(domain, arrays=domain.arrays._replace(**begins))
    tests = list[FiniteDomain]()
    while f"{prefix}test{len(tests)}.{WORDS}" in arrays:
        tests.append(_domain(arrays, f"{prefix}test{len(tests)}.", name))
    picture = _picture(words["picture"], domain.states) if words.get("picture") else None
    return replace(domain, picture=picture, tests=tuple(tests))


def _check_words(words: Any) -> None:  # noqa: ANN401 - any JSON value
    """Raise unless each word that is there is of its kind."""
    if not isinstance(words, dict):
        raise ValueError("its words are not a JSON object")  # noqa: TRY004 - a fault of the file
    if words.get("pdrm_domain", VERSION) != VERSION:
        raise ValueError(f"it is of version {words['pdrm_domain']}, and this program reads {VERSION}")
    lists = [words[field] for field in ("events", "actions", "state_names") if words.get(field) is not None]
    if not all(isinstance(values, list) for values in (*lists, words["labels"], *words["labels"])):
        raise ValueError("labels, events, actions and state_names are lists")
    names = [word for values in (*lists, *words["labels"]) for word in values]
    names += [words[field] for field in ("name", "machine") if words.get(field) is not None]
    if not all(isinstance(word, str) for word in names):
        raise ValueError("events, labels, actions and names are texts")
    for field in ("lowest", "highest"):
        if not isinstance(words.get(field), int | float | None):
            raise ValueError(f"`{field}` is not a number")  # noqa: TRY004 - a fault of the file


def _picture(record: dict[str, Any], states: int) -> Picture:
    """The picture, which must show every state inside its scene."""
    scenes = tuple(Scene(tuple(map(str, rows)), str(note)) for rows, note in record["scenes"])
    picture = Picture(scenes, tuple(map(int, record["scene"])), tuple((int(r), int(c)) for r, c in record["cell"]))
    height, width = picture.size
    even = all(len(scene.rows) == height and all(len(row) == width for row in scene.rows) for scene in scenes)
    shown = len(picture.scene) == len(picture.cell) == states and all(0 <= n < len(scenes) for n in picture.scene)
    if not (even and shown and all(0 <= r < height and 0 <= c < width for r, c in picture.cell)):
        raise ValueError("its picture does not show every state inside the grid")
    return picture
