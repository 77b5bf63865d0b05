"""User environments: a labelling function, domains from Gymnasium's tables, and worlds in JAX.

`pdrm.wrap` and `from_gymnasium` call labelling functions in the same way:
`labels(observation, action, next_observation, info)` returns the names of the events that are true
after a step, and `info["env"]` is the environment itself. The word "info" instead of a function
reads `info["label"]`, for environments that report labels themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from math import isfinite
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pdrm.domains.finite_domain import FiniteDomain, Label, Outcome, Picture, Start, from_outcomes
from pdrm.errors import BadDomainSetting, BadLabel, BadSetting, NoTransitionTable

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
    """Validate the return value of a labelling function (fast path: a set of known events)."""
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
    """The label of a step, as reported by the environment."""
    if "label" not in info:
        fault = 'labels="info" reads info["label"], and the environment\'s info has no such entry'
        raise BadLabel(fault, fix=f"give a function: {STEP_CALL} -> set of events")
    label: Collection[str] = info["label"]
    return label


def name_function(function: object) -> str:
    """A function's name for messages, with the location of its source if available.

    >>> name_function(print)
    '`print`'
    """
    name = f"`{getattr(function, '__name__', type(function).__name__)}`"
    code = getattr(function, "__code__", None)
    return name if code is None else f"{name} ({Path(code.co_filename).name}:{code.co_firstlineno})"


# --- A Gymnasium environment as the domain of a task


@dataclass(frozen=True, slots=True)
class UserEnvironment:
    """A Gymnasium environment, created on demand. Without a table, agents can only step it."""

    name: str
    make: Callable[[], gymnasium.Env[Any, Any]]
    settings: Mapping[str, Any]
    """Arguments of `pdrm.wrap` that belong to the task, including `labels`."""


# --- A domain from a Gymnasium environment with a transition table `P` (FrozenLake, Taxi, ...)
#
# `P[state][action]` lists (probability, next state, reward, terminated). States keep their numbers,
# except for the copies of states that only some transitions terminate (see `from_outcomes`).

Row = list[tuple[float, int, float, bool]]
HARMLESS = (
    "TimeLimit",
    "OrderEnforcing",
    "PassiveEnvChecker",
    "RecordEpisodeStatistics",
    "Monitor",
)
"""Wrappers of Gymnasium and Stable-Baselines3 that change neither states nor rewards."""


def check_weight(weight: object) -> float:
    """Validate the weight of an environment's reward."""
    if isinstance(weight, bool) or not isinstance(weight, Real) or not isfinite(weight):
        fault = f"reward_weight is {weight!r}, but must be a finite number"
        raise BadSetting(fault, fix="use reward_weight=0 to ignore the environment's reward")
    return float(weight)


def from_gymnasium(
    env: Any,
    labels: LabelFunction,
    *,
    name: str | None = None,
    step_limit: int | None = None,
    start: Mapping[int, float] | None = None,
    events: Sequence[str] | None = None,
    actions: Sequence[str] | None = None,
    state_names: Sequence[str] | Callable[[int], str] | None = None,
    reward_weight: float = 1.0,
    ignore_end: bool = False,
    picture: Picture | None = None,
) -> FiniteDomain:
    """Build the domain of an environment that has a transition table `P`.

    Args:
        env: The environment.
        labels: `labels(state, action, next_state, info)` returns the set of events true after a
            step, as for `pdrm.wrap`. `info` is `{"env": env}`, and `env.unwrapped.s` is the next
            state.
        name: The name of the domain (default: the environment's).
        step_limit: Steps after which an episode is truncated (default: the environment's).
        start: The probability of each state at reset (default: the environment's).
        events: The events, in order (default: those of the labels, sorted).
        actions: The names of the actions (default: numbers).
        state_names: The names of the states, or a function from a state to its name (default:
            numbers).
        reward_weight: The factor of the environment's reward; 0 leaves only the machine's.
        ignore_end: Continue episodes when the environment would end them.
        picture: The pictures of the states.

    Returns:
        The domain. `dataclasses.replace` sets its other fields, such as `machine` and `highest`.

    >>> import gymnasium
    >>> lake = gymnasium.make("FrozenLake-v1", is_slippery=False)
    >>> world = from_gymnasium(lake, lambda s, a, t, info: {"goal"} if t == 15 else set())
    >>> world.name, world.states, world.step_limit, int(world.arrays.terminal.sum())
    ('FrozenLake-v1', 16, 100, 5)
    """
    _check_wrappers(env)
    check_function("labels", labels, "labels(state, action, next_state, info)")
    weight = check_weight(reward_weight)
    spec = getattr(env, "spec", None)
    domain_name = name or (type(env).__name__ if spec is None else spec.id)
    bare = getattr(env, "unwrapped", env)
    table = _read_table(bare, domain_name)
    limit = spec.max_episode_steps if step_limit is None and spec is not None else step_limit
    if limit is None:
        raise BadDomainSetting(f"{domain_name} has no step limit", fix="give `step_limit`")
    starts = _find_starts(bare, domain_name) if start is None else start
    numbers = range(len(table))
    names = map(state_names, numbers) if callable(state_names) else state_names or numbers
    states = dict(enumerate(map(str, names)))
    action_names = tuple(actions or map(str, range(len(table[0]))))
    shape = len(table), len(table[0])
    if (len(states), len(action_names)) != shape:
        fault = "{} has {} states and {} actions".format(domain_name, *shape)
        raise BadDomainSetting(fault, fix="give a name for each")
    label = _label_steps(env, labels, table)

    def outcomes(state: int, action: int) -> list[Outcome]:
        return [
            Outcome(
                after,
                chance,
                label[state, action, after],
                weight * reward if weight else 0.0,
                terminated and not ignore_end,
            )
            for chance, after, reward, terminated in table[state][action]
        ]

    return from_outcomes(
        domain_name,
        states,
        action_names,
        outcomes,
        [Start(state, chance) for state, chance in starts.items() if chance > 0],
        events=sorted(frozenset().union(*label.values())) if events is None else events,
        step_limit=limit,
        picture=picture,
    )


def _check_wrappers(env: Any) -> None:
    """Raise if a wrapper would be ignored: only the table `P` of the bare environment is read."""
    while "env" in getattr(env, "__dict__", {}):
        kind = type(env)
        if kind.__name__ not in HARMLESS:
            fault = f"the wrapper {kind.__name__} has no effect on the table `P`, which is read"
            fix = (
                "give `env.unwrapped`, and try `reward_weight`, `labels` or rules of the machine "
                "instead of the wrapper"
            )
            raise BadDomainSetting(fault, fix=fix)
        env = env.env


def _label_steps(
    env: Any, labels: LabelFunction, table: Sequence[Sequence[Row]]
) -> dict[tuple[int, int, int], Label]:
    """Label each (state, action, next state); `env.unwrapped.s` is the next state meanwhile."""
    bare = getattr(env, "unwrapped", env)
    before = getattr(bare, "s", None)
    label_of = dict[tuple[int, int, int], Label]()
    step = (0, 0, 0)
    try:
        for state, row in enumerate(table):
            for action, cell in enumerate(row):
                for _, after, _, _ in cell:
                    step = (state, action, after)
                    if step not in label_of:
                        bare.s = after
                        label_of[step] = read_label(labels(*step, {"env": env}))
    except Exception as error:
        where = "state {}, action {}, next state {}".format(*step)
        error.add_note(f"pdrm: {where} of {env}, labelled by {name_function(labels)}")
        raise
    finally:
        bare.s = before
    return label_of


def _read_table(bare: Any, name: str) -> list[list[Row]]:
    """Read `P`, made of dicts or lists, as rows by state and action."""
    source = getattr(bare, "P", None)
    if source is None:
        fix = "give an environment with a table `P`, or use pdrm.wrap"
        raise NoTransitionTable(f"{name} has no transition table `P`", fix=fix)

    def read(cell: Any) -> Row:
        return [
            (chance, int(after), reward, terminated)
            for chance, after, reward, terminated in cell
            if chance > 0
        ]

    try:
        rows = [source[state] for state in range(len(source))]
        table = [[read(row[action]) for action in range(len(rows[0]))] for row in rows]
        fits = bool(table[0]) and all(len(row) == len(rows[0]) for row in rows)
    except (KeyError, IndexError, TypeError, ValueError):
        fits = False
    if not fits:
        fault = f"{name}: `P` is not a transition table"
        fix = (
            "P[state][action] = [(probability, next state, reward, terminated), …], both numbered "
            "from 0, the same actions in every state"
        )
        raise NoTransitionTable(fault, fix=fix)
    return table


def _find_starts(bare: Any, name: str) -> dict[int, float]:
    """The environment's distribution of initial states."""
    distribution = getattr(bare, "initial_state_distrib", None)
    if distribution is None:
        fault = f"{name} has no distribution of initial states"
        raise BadDomainSetting(fault, fix="give `start={state: probability, …}`")
    return dict(enumerate(map(float, distribution)))


# --- A world in JAX, for networks: functions of a single environment, which the learners vmap and
# compile together with the machine

Array = Any
"""A JAX array or a number."""
State = Any
"""A pytree of JAX arrays."""
MAX_EVENTS = 12
"""Maximum number of events. Each event doubles the columns of the compiled machine's table."""


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
    """`reset(key)`: an initial state. `key` is a key of `jax.random`."""
    step: Callable[[State, Array, Array], State]
    """`step(state, action, key)`: the next state."""
    label: Callable[[State, Array, State], Array]
    """`label(before, action, after)`: for each of `events`, True if it is true after the step."""
    observe: Callable[[State], Array]
    """`observe(state)`: the vector that the networks see."""
    observation_size: int
    """The length of that vector."""
    actions: int = 0
    """The number of actions; 0 if actions are vectors."""
    action_size: int = 0
    """The length of an action that is a vector, with numbers in [-1, 1]."""
    step_limit: int = 1_000
    """Steps after which an episode is truncated."""
    reward: Callable[[State, Array, State], Array] | None = None
    """`reward(before, action, after)`: the world's reward (default: 0)."""
    terminated: Callable[[State], Array] | None = None
    """`terminated(state)`: True if the world ends the episode (default: never)."""

    def __post_init__(self) -> None:
        if len(self.events) > MAX_EVENTS:
            fault = f"{len(self.events)} events have {2 ** len(self.events):,} labels"
            raise BadDomainSetting(fault, fix=f"use at most {MAX_EVENTS} events")
        if (self.actions > 0) == (self.action_size > 0):
            fault = f"`{self.name}` needs either `actions` or `action_size`"
            fix = "give actions=4 for numbered actions, or action_size=2 for vectors"
            raise BadDomainSetting(fault, fix=fix)

    @property
    def settings(self) -> dict[str, Any]:
        """The fields by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @property
    def labels(self) -> tuple[Label, ...]:
        """Every set of events. The bits of a label's index are its events."""
        return tuple(
            frozenset(event for bit, event in enumerate(self.events) if position >> bit & 1)
            for position in range(1 << len(self.events))
        )
