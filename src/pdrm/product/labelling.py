"""Labelling functions: which events are true after a step of somebody else's environment.

One signature, `labels(observation, action, next_observation, info)`, returning a set of event names; or the word "info" for
environments that say so themselves, in `info["label"]`.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Mapping
from typing import Any, Literal

import numpy as np

from pdrm.domains.gymnasium_table import takes
from pdrm.errors import BadLabel, BadSetting
from pdrm.machines.guards import Label

Labels = Callable[[Any, Any, Any, dict[str, Any]], Collection[str]] | Literal["info"]
"""labels(observation, action, next_observation, info) -> the events true after the step."""

LabelsAtReset = Callable[[Any, dict[str, Any]], Collection[str] | None]
"""labels_at_reset(observation, info) -> the events true at the start, or None where nothing is to be read."""

STEP_ARGUMENTS = ("observation", "action", "next_observation", "info")
RESET_ARGUMENTS = ("observation", "info")
RETURN_A_SET = 'return a set of event names, such as {"goal"} or set()'


def read_label(events: object, known: Label, source: str) -> Label:
    """Read the label from what a labelling function returned; whether the machine knows its events is checked elsewhere.

    >>> sorted(read_label(["b", "a"], frozenset("ab"), "f"))
    ['a', 'b']
    """
    if isinstance(events, set | frozenset) and events <= known:
        return frozenset(events)
    if isinstance(events, str | bytes | Mapping) or not isinstance(events, Collection):
        raise BadLabel(f"{source} returned {events!r}, which is not a set of events", fix=RETURN_A_SET)
    wrong = [event for event in events if not isinstance(event, str)]
    if wrong:
        raise BadLabel(f"{source} returned the event {wrong[0]!r}, which is not a name", fix=RETURN_A_SET)
    return frozenset(events)


def labels_in_info(_observation: object, _action: object, _next: object, info: Mapping[str, Any]) -> Collection[str]:
    """The label of a step that the environment itself reports."""
    if "label" not in info:
        raise BadLabel(
            'labels="info" reads info["label"], and the environment\'s info has no such entry',
            fix="give a function: labels(observation, action, next_observation, info) -> set of events",
        )
    found: Collection[str] = info["label"]
    return found


def label_in_reset_info(_observation: object, info: Mapping[str, Any]) -> Collection[str] | None:
    """The label at reset that the environment itself reports, if it does."""
    return info.get("label")


def no_label(_observation: object, _info: Mapping[str, Any]) -> None:
    """Nothing is read at reset."""


class Labelling:
    """The labels of the steps and of the reset, each with a name to say where it came from.

    >>> goal = Labelling(lambda before, action, after, info: {"goal"} if after == 15 else set())
    >>> goal.step(14, 2, 15, {}), goal.reset(0, {})
    ({'goal'}, None)
    """

    def __init__(self, labels: Labels, at_reset: LabelsAtReset | None = None) -> None:
        if labels != "info" and not callable(labels):
            raise BadSetting(
                f"`labels` is {labels!r}, but must be a function or the word 'info'",
                fix="labels(observation, action, next_observation, info) -> set of events",
            )
        if at_reset is not None and not callable(at_reset):
            raise BadSetting(
                f"`labels_at_reset` is {at_reset!r}, but must be a function",
                fix="labels_at_reset(observation, info) -> set of events, or None",
            )
        _check_arity("labels", labels, STEP_ARGUMENTS)
        _check_arity("labels_at_reset", at_reset, RESET_ARGUMENTS)
        self.step = labels_in_info if labels == "info" else labels
        self.reset = at_reset or (label_in_reset_info if labels == "info" else no_label)
        self.source = "info['label']" if labels == "info" else _named("labels", labels)
        self.source_at_reset = self.source if at_reset is None else _named("labels_at_reset", at_reset)


def _check_arity(role: str, function: object, arguments: tuple[str, ...]) -> None:
    """Raise if a function cannot take what it will be called with."""
    if callable(function) and not takes(function, len(arguments)):
        called = f"{role}({', '.join(arguments)})"
        fault = f"{_named(role, function)} is called as {called}, and does not take {len(arguments)} arguments"
        raise BadSetting(fault, fix=f"{called} -> set of events")


def _named(role: str, function: object) -> str:
    name = getattr(function, "__qualname__", type(function).__qualname__)
    return f"the labelling function `{name}` (`{role}`)"


UNCHANGING = frozenset({int, float, bool, complex, str, bytes, type(None)})


def snapshot(observation: Any) -> Any:  # noqa: ANN401 - any environment's
    """The observation as it is now, copied as far as it can change: environments may change the array they gave, and a
    labelling function compares two of them.

    >>> array = np.zeros(2)
    >>> before = snapshot({"place": array, "time": 3})
    >>> array += 1
    >>> before
    {'place': array([0., 0.]), 'time': 3}
    """
    kind = type(observation)
    if kind in UNCHANGING or isinstance(observation, np.generic):
        return observation
    if kind is np.ndarray and not observation.dtype.hasobject:
        return observation.copy()
    if kind is dict:
        return {key: snapshot(value) for key, value in observation.items()}
    if kind is tuple:
        return tuple([snapshot(value) for value in observation])
    try:
        return copy.deepcopy(observation)
    except (TypeError, AttributeError, NotImplementedError, RuntimeError, copy.Error):
        return observation  # of a kind that cannot be copied
