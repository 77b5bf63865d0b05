"""A user's own domain from arrays (`from_arrays`), and a domain in one `.npz` file.

In a file the arrays have their names in `DomainArrays`, and `words` is a JSON text with everything that is not a number.
Required are the arrays `next` and `label` and the words `labels` and `step_limit`; the rest has the defaults of
`from_arrays`. Domains that test this one are in the same file, their names beginning with `test0.`, `test1.` …. Nothing in
a file is run: no pickle.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar, Unpack

import numpy as np
import numpy.typing as npt

from pdrm.domains.finite_domain import (
    ARRAY_TYPES,
    NO_LABEL,
    DomainArrays,
    FiniteDomain,
    Picture,
    Scene,
)
from pdrm.domains.outcomes import OptionalFields
from pdrm.errors import BadArrays, BadDomainFile, BadDomainSetting
from pdrm.files import MALFORMED, Arrays, parse_json, read_arrays

Number = TypeVar("Number", np.int32, np.float64)


def from_arrays(
    name: str,
    next: npt.ArrayLike,
    label: npt.ArrayLike,
    labels: Sequence[Iterable[str]],
    *,
    step_limit: int,
    probability: npt.ArrayLike | None = None,
    reward: npt.ArrayLike = 0.0,
    terminal: npt.ArrayLike | None = None,
    start: int | Mapping[int, float] = 0,
    start_label: int = NO_LABEL,
    events: Sequence[str] | None = None,
    actions: Sequence[str] | None = None,
    state_names: Sequence[str] | None = None,
    **words: Unpack[OptionalFields],
) -> FiniteDomain:
    """The domain in the arrays, each [S, A] (one outcome of each action) or [S, A, O]; see `DomainArrays`.

    `reward` may be one number; `start` is a state, or the probability of each; without `events`, those of the labels.

    >>> line = from_arrays("line", [[0, 1], [0, 1]], [[0, 1], [0, 0]], [(), ("end",)], step_limit=10)
    >>> line.arrays.next.shape, line.arrays.probability.ravel().tolist(), line.actions
    ((2, 2, 1), [1.0, 1.0, 1.0, 1.0], ('0', '1'))
    """
    following = _to_outcomes(name, "next", next, np.int32)
    shape = following.shape
    chances = (
        np.ones(shape)
        if probability is None
        else _to_outcomes(name, "probability", probability, np.float64)
    )
    if probability is None and shape[2] > 1:
        raise BadArrays(
            f"domain `{name}` has {shape[2]} outcomes and no probabilities",
            fix="give `probability`",
        )
    reward = np.full(shape, reward, np.float64) if np.ndim(reward) == 0 else reward
    pays = _to_outcomes(name, "reward", reward, np.float64)
    ends = np.zeros(shape[0], np.bool_) if terminal is None else np.array(terminal, np.bool_)
    emitted = _to_outcomes(name, "label", label, np.int32)
    begin = {start: 1.0} if isinstance(start, int) else start
    starts = np.array(list(begin), np.int32), np.array(list(begin.values()), np.float64)
    arrays = DomainArrays(
        following, chances, emitted, pays, ends, *starts, np.full(len(begin), start_label, np.int32)
    )
    sets = tuple(frozenset(events_of) for events_of in labels)
    declared = tuple(sorted(frozenset().union(*sets))) if events is None else tuple(events)
    acts, called = (
        tuple(actions or map(str, range(shape[1]))),
        tuple(state_names or map(str, range(shape[0]))),
    )
    return FiniteDomain(name, arrays, sets, declared, acts, step_limit, called, **words)


def _to_outcomes(
    name: str, field: str, values: npt.ArrayLike, kind: type[Number]
) -> npt.NDArray[Number]:
    """The values as a new array of that type with three axes; numbers that the type cannot hold are refused."""
    try:
        given = np.array(values)
        array = given.astype(kind)
        kept = bool(np.all((array == given) | (given != given)))
    except (TypeError, ValueError) as error:
        fault = f"domain `{name}`: `{field}` is not an array of numbers"
        raise BadArrays(fault, fix="give nested lists or an array") from error
    if array.ndim not in (2, 3) or not kept:
        fix = f"[state, action] or [state, action, outcome] of {kind.__name__}"
        raise BadArrays(
            f"domain `{name}`: `{field}` has shape {given.shape} of {given.dtype}", fix=fix
        )
    return np.ascontiguousarray(array[..., np.newaxis] if array.ndim == 2 else array)


# --- A domain in a file

VERSION = 1
WORDS = "words"
OPTIONAL = ("probability", "reward", "terminal")
STARTS = ("start_state", "start_probability", "start_label")
PLAIN = ("name", "events", "actions", "step_limit", "state_names", "machine", "lowest", "highest")
"""Fields of a domain that are JSON values as they are."""


def domain_bytes(domain: FiniteDomain) -> bytes:
    """The file of a domain; the same domain gives the same bytes.

    >>> from pdrm.domains.paper_domains import domain
    >>> parse_array_file(domain_bytes(domain("letter")), "copy").describe(0)
    'row 0, column 0; A shows'
    """
    buffer = io.BytesIO()
    np.savez(buffer, **_collect_arrays(domain, ""))  # type: ignore[arg-type]
    return buffer.getvalue()


def parse_array_file(data: bytes, name: str, file: str = "<arrays>") -> FiniteDomain:
    """The domain in a file's bytes; `name` is used where it gives none."""
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
    words: dict[str, Any] = {field: getattr(domain, field) for field in PLAIN}
    words |= {"pdrm_domain": VERSION, "labels": [sorted(label) for label in domain.labels]}
    if domain.picture is not None:
        scenes = [[scene.rows, scene.note] for scene in domain.picture.scenes]
        words["picture"] = {
            "scenes": scenes,
            "scene": domain.picture.scene,
            "cell": domain.picture.cell,
        }
    found: Arrays = {f"{prefix}{field}": getattr(domain.arrays, field) for field in ARRAY_TYPES}
    found[prefix + WORDS] = np.array(json.dumps(words, sort_keys=True))
    for number, test in enumerate(domain.tests):
        found |= _collect_arrays(test, f"{prefix}test{number}.")
    return found


def _build_domain(arrays: Arrays, prefix: str, name: str) -> FiniteDomain:
    """The domain whose arrays' names begin so."""
    words = parse_json(str(arrays[prefix + WORDS]).encode("utf-8", "surrogatepass"))
    _check_words(words)
    optional: dict[str, Any] = {
        field: arrays[prefix + field] for field in OPTIONAL if prefix + field in arrays
    }
    optional |= {field: words[field] for field in PLAIN if field in words}
    called, limit = optional.pop("name", name), words["step_limit"]
    following, label = arrays[f"{prefix}next"], arrays[f"{prefix}label"]
    domain = from_arrays(
        called, following, label, words["labels"], **{**optional, "step_limit": limit}
    )
    if f"{prefix}start_state" in arrays:
        begins = {
            field: arrays[prefix + field].astype(ARRAY_TYPES[field][0], casting="same_kind")
            for field in STARTS
        }
        domain = replace(domain, arrays=domain.arrays._replace(**begins))
    tests = list[FiniteDomain]()
    while f"{prefix}test{len(tests)}.{WORDS}" in arrays:
        tests.append(_build_domain(arrays, f"{prefix}test{len(tests)}.", name))
    picture = _build_picture(words["picture"], domain.states) if words.get("picture") else None
    return replace(domain, picture=picture, tests=tuple(tests))


def _check_words(words: Any) -> None:
    """Raise unless each word that is there is of its kind."""
    if not isinstance(words, dict):
        raise ValueError("its words are not a JSON object")
    if words.get("pdrm_domain", VERSION) != VERSION:
        raise ValueError(
            f"it has version {words['pdrm_domain']}, and this program reads version {VERSION}"
        )
    lists = [
        words[field]
        for field in ("events", "actions", "state_names")
        if words.get(field) is not None
    ]
    if not all(isinstance(values, list) for values in (*lists, words["labels"], *words["labels"])):
        raise ValueError("labels, events, actions and state_names must be lists")
    names = [word for values in (*lists, *words["labels"]) for word in values]
    names += [words[field] for field in ("name", "machine") if words.get(field) is not None]
    if not all(isinstance(word, str) for word in names):
        raise ValueError("events, labels, actions and names must be strings")
    for field in ("lowest", "highest"):
        if not isinstance(words.get(field), int | float | None):
            raise ValueError(f"`{field}` is not a number")


def _build_picture(record: dict[str, Any], states: int) -> Picture:
    """The picture, which must show every state inside its scene."""
    scenes = tuple(Scene(tuple(map(str, rows)), str(note)) for rows, note in record["scenes"])
    picture = Picture(
        scenes, tuple(map(int, record["scene"])), tuple((int(r), int(c)) for r, c in record["cell"])
    )
    height, width = picture.size
    even = all(
        len(scene.rows) == height and all(len(row) == width for row in scene.rows)
        for scene in scenes
    )
    shown = len(picture.scene) == len(picture.cell) == states and all(
        0 <= n < len(scenes) for n in picture.scene
    )
    if not (even and shown and all(0 <= r < height and 0 <= c < width for r, c in picture.cell)):
        raise ValueError("its picture does not show every state inside the grid")
    return picture
