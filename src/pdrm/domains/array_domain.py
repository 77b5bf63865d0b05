"""A domain from arrays (`from_arrays`), and a domain in one `.npz` file.

In a file the arrays have their names in `DomainArrays`, and `words` is a JSON text with everything that is not a
number. Required are the arrays `next` and `label` and the words `labels` and `step_limit`; the rest has the defaults
of `from_arrays`. Domains on which this one is evaluated are in the same file, their names beginning with `test0.`,
`test1.` …. Nothing in a file is run: no pickle.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

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
from pdrm.errors import BadArrays, BadDomainFile, BadDomainSetting
from pdrm.files import MALFORMED, Arrays, encode_arrays, need, parse_record, read_arrays

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
) -> FiniteDomain:
    """Build a domain from arrays, each [state, action] (one outcome of each action) or [state, action, outcome].

    Args:
        name: The domain's name.
        next: The next states.
        label: The labels of the outcomes, as positions in `labels`.
        labels: The labels, each a set of events.
        step_limit: Steps after which an episode is truncated.
        probability: The probabilities of the outcomes.
        reward: The environment's own rewards, or one number for all.
        terminal: For each state, True if the environment ends there.
        start: A state, or the probability of each.
        start_label: The label emitted at reset, or -1 for none.
        events: The events, in order (default: those of the labels, sorted).
        actions: The names of the actions (default: numbers).
        state_names: The names of the states (default: numbers).

    Returns:
        The domain. `dataclasses.replace` sets its other fields, such as `machine`, `lowest` and `highest`.

    >>> line = from_arrays("line", [[0, 1], [0, 1]], [[0, 1], [0, 0]], [(), ("end",)], step_limit=10)
    >>> line.arrays.next.shape, line.arrays.probability.ravel().tolist(), line.actions
    ((2, 2, 1), [1.0, 1.0, 1.0, 1.0], ('0', '1'))
    """
    following = _to_outcomes(name, "next", next, np.int32)
    shape = following.shape
    if probability is None:
        if shape[2] > 1:
            fault = f"domain `{name}` has {shape[2]} outcomes and no probabilities"
            raise BadArrays(fault, fix="give `probability`")
        probability = np.ones(shape)
    begin = {start: 1.0} if isinstance(start, int) else start
    arrays = DomainArrays(
        next=following,
        probability=_to_outcomes(name, "probability", probability, np.float64),
        label=_to_outcomes(name, "label", label, np.int32),
        reward=_to_outcomes(
            name, "reward", np.full(shape, reward) if np.ndim(reward) == 0 else reward, np.float64
        ),
        terminal=np.zeros(shape[0], np.bool_) if terminal is None else np.array(terminal, np.bool_),
        start_state=np.array(list(begin), np.int32),
        start_probability=np.array(list(begin.values()), np.float64),
        start_label=np.full(len(begin), start_label, np.int32),
    )
    sets = tuple(frozenset(events_of) for events_of in labels)
    declared = sorted(frozenset().union(*sets)) if events is None else events
    return FiniteDomain(
        name,
        arrays,
        sets,
        tuple(declared),
        tuple(actions or map(str, range(shape[1]))),
        step_limit,
        tuple(state_names or map(str, range(shape[0]))),
    )


def _to_outcomes(
    name: str, field: str, values: npt.ArrayLike, kind: type[Number]
) -> npt.NDArray[Number]:
    """The values as a new array of that type with three axes; numbers that the type cannot hold are refused."""
    try:
        given = np.array(values)
        array = given.astype(kind)
        kept = np.array_equal(array, given, equal_nan=True)
    except (TypeError, ValueError) as error:
        fault = f"domain `{name}`: `{field}` is not an array of numbers"
        raise BadArrays(fault, fix="give nested lists or an array") from error
    if array.ndim not in (2, 3) or not kept:
        fault = f"domain `{name}`: `{field}` has shape {given.shape} of {given.dtype}"
        fix = f"give [state, action] or [state, action, outcome] of {kind.__name__}"
        raise BadArrays(fault, fix=fix)
    return np.ascontiguousarray(array[..., np.newaxis] if array.ndim == 2 else array)


# --- A domain in a file

VERSION = 1
WORDS = "words"
TEXTS = ("name", "machine")
LISTS = ("events", "actions", "state_names")
NUMBERS = ("step_limit", "lowest", "highest")


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
    words: dict[str, Any] = {
        "pdrm_domain": VERSION,
        "name": domain.name,
        "machine": domain.machine,
        "labels": [sorted(label) for label in domain.labels],
        "events": domain.events,
        "actions": domain.actions,
        "state_names": domain.state_names,
        "step_limit": domain.step_limit,
        "lowest": domain.lowest,
        "highest": domain.highest,
    }
    if domain.picture is not None:
        scenes = [[scene.rows, scene.note] for scene in domain.picture.scenes]
        scene, cell = domain.picture.scene, domain.picture.cell
        words["picture"] = {"scenes": scenes, "scene": scene, "cell": cell}
    found = {f"{prefix}{field}": array for field, array in domain.arrays._asdict().items()}
    found[prefix + WORDS] = np.array(json.dumps(words, sort_keys=True))
    for number, test in enumerate(domain.tests):
        found |= _collect_arrays(test, f"{prefix}test{number}.")
    return found


def _build_domain(arrays: Arrays, prefix: str, name: str) -> FiniteDomain:
    """The domain whose arrays' names begin with the prefix."""
    words = _read_words(arrays[prefix + WORDS])
    own = {field: arrays[prefix + field] for field in ARRAY_TYPES if prefix + field in arrays}
    given: dict[str, Any] = {
        field: own[field] for field in ("probability", "reward", "terminal") if field in own
    }
    given |= {field: words[field] for field in LISTS if words.get(field) is not None}
    called = words.get("name") or name
    limit = words["step_limit"]
    domain = from_arrays(
        called, own["next"], own["label"], words["labels"], step_limit=limit, **given
    )
    if "start_state" in own:
        begin = {
            field: own[field].astype(ARRAY_TYPES[field][0], casting="same_kind")
            for field in ("start_state", "start_probability", "start_label")
        }
        domain = replace(domain, arrays=domain.arrays._replace(**begin))
    tests = list[FiniteDomain]()
    while f"{prefix}test{len(tests)}.{WORDS}" in arrays:
        tests.append(_build_domain(arrays, f"{prefix}test{len(tests)}.", name))
    return replace(
        domain,
        picture=_build_picture(words["picture"]) if words.get("picture") else None,
        machine=words.get("machine"),
        lowest=words.get("lowest"),
        highest=words.get("highest"),
        tests=tuple(tests),
    )


def _read_words(array: npt.NDArray[Any]) -> dict[str, Any]:
    """The words of a file, each of its kind."""
    words = parse_record(str(array).encode("utf-8", "surrogatepass"))
    version = words.get("pdrm_domain", VERSION)
    need((version == VERSION, f"it has version {version}, and this program reads {VERSION}"))

    def texts(value: object) -> bool:
        return isinstance(value, list) and all(isinstance(word, str) for word in value)

    labels = words["labels"]
    need((isinstance(labels, list) and all(map(texts, labels)), "`labels` are not lists of texts"))
    for field in LISTS:
        need((words.get(field) is None or texts(words[field]), f"`{field}` is not a list of texts"))
    for field in TEXTS:
        need((isinstance(words.get(field), str | None), f"`{field}` is not a text"))
    for field in NUMBERS:
        need((isinstance(words.get(field), int | float | None), f"`{field}` is not a number"))
    return words


def _build_picture(record: dict[str, Any]) -> Picture:
    scenes = tuple(Scene(tuple(map(str, rows)), str(note)) for rows, note in record["scenes"])
    cells = tuple((int(row), int(column)) for row, column in record["cell"])
    return Picture(scenes, tuple(map(int, record["scene"])), cells)
