"""Labelling functions: the events that are true after a step of an environment.

`pdrm.wrap` and `from_gymnasium` call them alike: `labels(observation, action, next_observation, info)`
returns a set of event names, and finds the environment itself as `info["env"]`. The word "info"
instead of a function reads `info["label"]`, for environments that say the label themselves.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from pdrm.domains.finite_domain import Label
from pdrm.errors import BadLabel, BadSetting

if TYPE_CHECKING:
    import gymnasium

LabelFunction = Callable[[Any, Any, Any, dict[str, Any]], Collection[str]]
"""labels(observation, action, next_observation, info) -> the events true after the step."""
Labels = LabelFunction | Literal["info"]
LabelsAtReset = Callable[[Any, dict[str, Any]], Collection[str] | None]
"""labels_at_reset(observation, info) -> the events true at the start, or None for no label."""

STEP_CALL = "labels(observation, action, next_observation, info)"
RESET_CALL = "labels_at_reset(observation, info)"


def check_function(setting: str, function: object, call: str) -> None:
    """Raise unless a setting is a function."""
    if not callable(function):
        fix = f"give a function: {call} -> set of events"
        raise BadSetting(f"`{setting}` is {function!r}, but must be a function", fix=fix)


def read_label(events: object, known: Label = frozenset()) -> Label:
    """The label that a labelling function returned. Sets of known events need no second look."""
    if isinstance(events, set | frozenset) and events <= known:
        return frozenset(events)
    if (
        isinstance(events, str | bytes | Mapping)
        or not isinstance(events, Collection)
        or not all(isinstance(event, str) for event in events)
    ):
        fault = f"the labelling function returned {events!r}, which is not a set of events"
        raise BadLabel(fault, fix='return a set of event names, such as {"goal"} or set()')
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


def label_at_reset_in_info(_observation: object, info: Mapping[str, Any]) -> Collection[str] | None:
    """The label at reset that the environment itself reports, if it does."""
    return info.get("label")


def name_function(function: object) -> str:
    """A function's name for messages, and the place of its source, if that is known.

    >>> name_function(print)
    '`print`'
    """
    name = f"`{getattr(function, '__name__', type(function).__name__)}`"
    code = getattr(function, "__code__", None)
    return name if code is None else f"{name} ({Path(code.co_filename).name}:{code.co_firstlineno})"


def snapshot(observation: Any) -> Any:
    """A copy of an observation, because environments may change the array they gave.

    >>> array = np.zeros(2)
    >>> before = snapshot({"place": array, "time": 3})
    >>> array += 1
    >>> before
    {'place': array([0., 0.]), 'time': 3}
    """
    if isinstance(observation, int | float | str | np.generic):
        return observation
    if type(observation) is np.ndarray and not observation.dtype.hasobject:
        return observation.copy()
    if type(observation) is dict:
        return {name: snapshot(part) for name, part in observation.items()}
    return copy.deepcopy(observation)


# --- An environment of your own as the domain of a task


@dataclass(frozen=True, slots=True)
class OwnEnvironment:
    """A Gymnasium environment that is made when it is needed. It has no table, so only agents that step it can learn there."""

    name: str
    make: Callable[[], gymnasium.Env[Any, Any]]
    settings: Mapping[str, Any]
    """Arguments of `pdrm.wrap` that belong to the task, `labels` among them."""

    def record(self, hash_source: Callable[[Any], str]) -> dict[str, Any]:
        """The settings as JSON values; a function by the hash of its source."""
        own = self.settings.items()
        return {name: hash_source(value) if callable(value) else value for name, value in own}

    @property
    def step_limit(self) -> int:
        """The step limit of the environment's specification, or 0 if it has none."""
        env = self.make()
        limit = None if env.spec is None else env.spec.max_episode_steps
        env.close()
        return limit or 0
