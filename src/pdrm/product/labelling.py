"""Labelling functions: which events are true after a step of somebody else's environment.

One signature, `labels(observation, action, next_observation, info)`, returning a set of event names; or the word "info" for
environments that say so themselves, in `info["label"]`. The `info` that a function gets also has the environment itself, as
`info["env"]`. `from_gymnasium` calls it in the same way, with states in place of observations.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Mapping
from typing import Any, Literal

import numpy as np

from pdrm.domains.gymnasium_table import name_function, takes
from pdrm.errors import BadLabel, BadSetting
from pdrm.machines.guards import Label

Labels = Callable[[Any, Any, Any, dict[str, Any]], Collection[str]] | Literal["info"]
"""labels(observation, action, next_observation, info) -> the events true after the step."""

LabelsAtReset = Callable[[Any, dict[str, Any]], Collection[str] | None]
"""labels_at_reset(observation, info) -> the events true at the start, or None where nothing is to be read."""

STEP_CALL = "labels(observation, action, next_observation, info)"
RESET_CALL = "labels_at_reset(observation, info)"
RETURN_A_SET = 'return a set of event names, such as {"goal"} or set()'


def read_label(events: object, known: Label, source: str) -> Label:
    """Read the label from what a labelling function returned; whether the machine knows its events is checked elsewhere."""
    if isinstance(events, set | frozenset) and events <= known:
        return frozenset(events)
    if isinstance(events, str | bytes | Mapping) or not isinstance(events, Collection):
        raise BadLabel(
            f"{source} returned {events!r}, which is not a set of events", fix=RETURN_A_SET
        )
    wrong = [event for event in events if not isinstance(event, str)]
    if wrong:
        raise BadLabel(
            f"{source} returned the event {wrong[0]!r}, which is not a name", fix=RETURN_A_SET
        )
    return frozenset(events)


def labels_in_info(
    _observation: object, _action: object, _next: object, info: Mapping[str, Any]
) -> Collection[str]:
    """The label of a step that the environment itself reports."""
    if "label" not in info:
        fault = 'labels="info" reads info["label"], and the environment\'s info has no such entry'
        raise BadLabel(fault, fix=f"give a function: {STEP_CALL} -> set of events")
    found: Collection[str] = info["label"]
    return found


class Labelling:
    """The labels of the steps and of the reset, each with a name to say where it came from. Functions find the environment in
    their `info`, as `env`.

    >>> goal = Labelling(lambda before, action, after, info: {"goal"} if after == 15 else set())
    >>> goal.step(14, 2, 15, {}), goal.reset(0, {})
    ({'goal'}, None)
    """

    def __init__(self, labels: Labels, at_reset: LabelsAtReset | None = None) -> None:
        self.step = labels_in_info if labels == "info" else labels
        self.source = (
            "info['label']"
            if labels == "info"
            else _check(labels, STEP_CALL, "a function or the word 'info'")
        )
        self._at_reset, self._reports = at_reset, labels == "info"
        self.source_at_reset = (
            self.source if at_reset is None else _check(at_reset, RESET_CALL, "a function")
        )

    def reset(self, observation: Any, info: dict[str, Any]) -> Collection[str] | None:
        """The events true at reset; None where nothing is read."""
        if self._at_reset is not None:
            return self._at_reset(observation, info)
        return info.get("label") if self._reports else None


def _check(function: object, call: str, kind: str) -> str:
    """The function's name for messages; refused where it cannot take what it will be called with."""
    role, count = call.partition("(")[0], call.count(",") + 1
    fix = f"{call} -> set of events; the environment is in info['env']"
    if not callable(function):
        raise BadSetting(f"`{role}` is {function!r}, but must be {kind}", fix=fix)
    source = f"the labelling function {name_function(function)} (`{role}`)"
    if not takes(function, count):
        raise BadSetting(
            f"{source} is called as {call}, and does not take {count} arguments", fix=fix
        )
    return source


UNCHANGING = frozenset({int, float, bool, complex, str, bytes, type(None)})


def snapshot(observation: Any) -> Any:
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
