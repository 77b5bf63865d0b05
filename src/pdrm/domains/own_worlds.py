"""Worlds of your own without a table: a Gymnasium environment with a labelling function, or pure functions in JAX.

`pdrm.wrap` and `from_gymnasium` call labelling functions alike: `labels(observation, action, next_observation, info)`
returns the names of the events that are true after a step, and finds the environment itself as `info["env"]`. The word
"info" instead of a function reads `info["label"]`, for environments that say the label themselves.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from pdrm.errors import BadDomainSetting, BadLabel, BadSetting
from pdrm.machines.guards import Label

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

    @property
    def step_limit(self) -> int:
        """The step limit of the environment's specification, or 0 if it has none."""
        env = self.make()
        limit = None if env.spec is None else env.spec.max_episode_steps
        env.close()
        return limit or 0


# --- A world in JAX, for networks: functions of one environment, which the learners map over thousands of them and compile
# together with the machine

Array = Any
"""An array of JAX, or a number."""
State = Any
"""Whatever a state is: a tree of JAX arrays."""
MOST_EVENTS = 12
"""Each set of events is a column of the compiled machine, so that their number doubles with each event."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class JaxWorld:
    """A world as pure JAX functions, to train `PPO`, `RecurrentPPO`, `DQN` or `SAC` in.

    >>> import jax, jax.numpy as jnp
    >>> corridor = JaxWorld(
    ...     name="corridor",
    ...     events=("left", "right"),
    ...     reset=lambda key: jnp.float32(0),
    ...     step=lambda x, action, key: jnp.clip(x + 0.2 * action - 0.1, -1, 1),
    ...     label=lambda before, action, after: jnp.stack([after <= -1, after >= 1]),
    ...     observe=lambda x: x[None],
    ...     observation_size=1,
    ...     actions=2,
    ...     step_limit=100,
    ... )
    >>> len(corridor.labels), corridor.labels[3] == {"left", "right"}
    (4, True)
    """

    name: str
    events: tuple[str, ...]
    reset: Callable[[Array], State]
    """`reset(key)`: a first state. `key` is a key of `jax.random`."""
    step: Callable[[State, Array, Array], State]
    """`step(state, action, key)`: the next state."""
    label: Callable[[State, Array, State], Array]
    """`label(before, action, after)`: which of `events` are true after the step, as an array of booleans."""
    observe: Callable[[State], Array]
    """`observe(state)`: the vector that the networks see."""
    observation_size: int
    """Numbers in that vector."""
    actions: int = 0
    """The number of actions; 0 if an action is a vector."""
    action_size: int = 0
    """Numbers of an action that is a vector, each in [-1, 1]."""
    step_limit: int = 1_000
    """Steps after which an episode is truncated."""
    reward: Callable[[State, Array, State], Array] | None = None
    """`reward(before, action, after)`: the world's own reward (default: none)."""
    terminated: Callable[[State], Array] | None = None
    """`terminated(state)`: the world itself ends the episode (default: never)."""

    def __post_init__(self) -> None:
        if len(self.events) > MOST_EVENTS:
            fault = f"{len(self.events)} events have {2 ** len(self.events):,} labels"
            raise BadDomainSetting(fault, fix=f"use at most {MOST_EVENTS} events")
        if (self.actions > 0) == (self.action_size > 0):
            fault = f"`{self.name}` needs either `actions` or `action_size`"
            fix = "actions=4 if they are numbered, action_size=2 if not"
            raise BadDomainSetting(fault, fix=fix)

    @property
    def settings(self) -> dict[str, Any]:
        """Its fields by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @property
    def labels(self) -> tuple[Label, ...]:
        """Every set of events; the bits of a label's position say which are in it."""
        return tuple(
            frozenset(event for bit, event in enumerate(self.events) if position >> bit & 1)
            for position in range(1 << len(self.events))
        )
