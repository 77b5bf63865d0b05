"""A user's own domain from arrays: array-likes in, a checked `FiniteDomain` out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar, Unpack

import numpy as np
import numpy.typing as npt

from pdrm.domains.labelled_mdp import NO_LABEL, DomainArrays, FiniteDomain
from pdrm.domains.outcomes import Words
from pdrm.errors import BadArrays

Integers = npt.NDArray[np.int32]
Chances = npt.NDArray[np.float64]
Number = TypeVar("Number", np.int32, np.float64)


def from_arrays(  # noqa: PLR0913 - named options, each with a default
    name: str,
    next: npt.ArrayLike,  # noqa: A002 - the paper's word for it
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
    **words: Unpack[Words],
) -> FiniteDomain:
    """The domain in the arrays, each [S, A] (one outcome of each action) or [S, A, O]; see `DomainArrays`.

    `reward` may be one number; `start` is a state, or the probability of each; without `events`, those of the labels.

    >>> line = from_arrays("line", [[0, 1], [0, 1]], [[0, 1], [0, 0]], [(), ("end",)], step_limit=10)
    >>> line.arrays.next.shape, line.arrays.probability.ravel().tolist(), line.actions
    ((2, 2, 1), [1.0, 1.0, 1.0, 1.0], ('0', '1'))
    """
    following = _outcomes(name, "next", next, np.int32)
    shape = following.shape
    chances = np.ones(shape) if probability is None else _outcomes(name, "probability", probability, np.float64)
    if probability is None and shape[2] > 1:
        raise BadArrays(f"domain `{name}` has {shape[2]} outcomes and no probabilities", fix="give `probability`")
    pays = np.full(shape, reward, np.float64) if np.ndim(reward) == 0 else _outcomes(name, "reward", reward, np.float64)
    ends = np.zeros(shape[0], np.bool_) if terminal is None else np.array(terminal, np.bool_)
    emitted = _outcomes(name, "label", label, np.int32)
    starts = _starts({start: 1.0} if isinstance(start, int) else start, start_label)
    arrays = DomainArrays(following, chances, emitted, pays, ends, *starts)
    sets = tuple(frozenset(events_of) for events_of in labels)
    declared = tuple(sorted(frozenset().union(*sets))) if events is None else tuple(events)
    acts, called = tuple(actions or map(str, range(shape[1]))), tuple(state_names or map(str, range(shape[0])))
    return FiniteDomain(name, arrays, sets, declared, acts, step_limit, called, **words)


def _starts(start: Mapping[int, float], label: int) -> tuple[Integers, Chances, Integers]:
    """The outcomes of a reset, all with one label."""
    return (
        np.array(list(start), np.int32),
        np.array(list(start.values()), np.float64),
        np.full(len(start), label, np.int32),
    )


def _outcomes(name: str, field: str, values: npt.ArrayLike, kind: type[Number]) -> npt.NDArray[Number]:
    """The values as a new array of that type with three axes; numbers that the type cannot hold are refused."""
    try:
        given = np.array(values)
        array = given.astype(kind)
        kept = bool(np.all((array == given) | (given != given)))  # noqa: PLR0124 - nan is checked with the rewards
    except (TypeError, ValueError) as error:
        raise BadArrays(
            f"domain `{name}`: `{field}` is not an array of numbers", fix="give nested lists or an array"
        ) from error
    if array.ndim not in (2, 3) or not kept:
        wanted = "[state, action] or [state, action, outcome]"
        raise BadArrays(
            f"domain `{name}`: `{field}` has shape {given.shape} of {given.dtype}", fix=f"{wanted} of {kind.__name__}"
        )
    return np.ascontiguousarray(array[..., np.newaxis] if array.ndim == 2 else array)
