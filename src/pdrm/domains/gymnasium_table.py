"""A domain from any Gymnasium environment that exposes its transition table `P` (FrozenLake, Taxi, CliffWalking).

`P[state][action]` lists (probability, next state, reward, terminated). States keep their numbers; where one ends the
episode on one way in and not on another, a copy of it, numbered after the others, stands for the end (see `outcomes`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from inspect import signature
from math import isfinite
from numbers import Real
from pathlib import Path
from typing import Any, Unpack

from pdrm.domains.finite_domain import FiniteDomain, Label
from pdrm.domains.outcomes import OptionalFields, Outcome, Start, from_outcomes
from pdrm.errors import BadDomainSetting, BadSetting, NoTransitionTable, check_words

Labelling = Callable[[int, int, int, dict[str, Any]], Iterable[str]]
"""The labelling function L(s, a, s') of the paper, called as in `pdrm.wrap`: its last argument holds the environment, as `env`."""
CALL = "labels(state, action, next_state, info)"

Row = list[tuple[float, int, float, bool]]
RESETS = 100
"""Resets that must agree before an environment without a start distribution is taken to have one start."""


def takes(function: Callable[..., object], count: int) -> bool:
    """Whether a function can be called with this many arguments; assumed of functions without a signature (some of C).

    >>> takes(lambda s, a, t: set(), 3), takes(lambda s, a, t: set(), 4), takes(lambda *_: set(), 4)
    (True, False, True)
    """
    try:
        parameters = signature(function)
    except (ValueError, TypeError):
        return True
    try:
        parameters.bind(*range(count))
    except TypeError:
        return False
    return True


def name_function(function: Callable[..., object]) -> str:
    """A function's name for messages, and where it is written, if that is known.

    >>> name_function(print)
    '`print`'
    """
    inner = function
    while isinstance(inner, partial):
        inner = inner.func
    name = f"`{getattr(inner, '__name__', type(inner).__name__)}`"
    code = getattr(inner, "__code__", None) or getattr(
        getattr(inner, "__call__", None), "__code__", None
    )
    return (
        name if code is None else f"{name} at {Path(code.co_filename).name}:{code.co_firstlineno}"
    )


def check_weight(weight: object) -> float:
    """The weight of an environment's own reward."""
    if isinstance(weight, bool) or not isinstance(weight, Real) or not isfinite(weight):
        fault = f"reward_weight is {weight!r}, but must be a finite number"
        raise BadSetting(
            fault, fix="reward_weight=0 switches the environment's own reward off, 1 keeps it"
        )
    return float(weight)


def check_flag(name: str, value: object) -> bool:
    """A setting that is true or false."""
    if not isinstance(value, bool):
        raise BadSetting(f"{name} is {value!r}, but must be True or False", fix=f"{name}=True")
    return value


def from_gymnasium(
    env: Any,
    labels: Labelling,
    *,
    name: str | None = None,
    step_limit: int | None = None,
    start: Mapping[int, float] | None = None,
    events: Sequence[str] | None = None,
    actions: Sequence[str] | None = None,
    state_names: Sequence[str] | Callable[[int], str] | None = None,
    reward_weight: float = 1.0,
    ignore_end: bool = False,
    **words: Unpack[OptionalFields],
) -> FiniteDomain:
    """The domain of an environment that has a transition table `P`, with a labelling function.

    env: the environment. labels: `labels(state, action, next_state, info)` returns the set of events true after a step, as for
    `pdrm.wrap`; `info` is `{"env": env}`, where `env.unwrapped.s` is the next state. name: of the domain; None: the environment's. step_limit: steps after which an episode is
    cut off; None: the environment's. start: the probability of each state at reset; None: the environment's own. events: in their
    order; None: those that the labels have, sorted. actions: their names; None: numbers. state_names: what `replay` and `film`
    show, of all states, or a function from a state to its name (of Taxi, from `env.unwrapped.decode(state)`); None: numbers. reward_weight: what the environment's own reward is multiplied by; 0: the
    machine alone pays. ignore_end: whether episodes go on where the environment itself would end them. words: `machine` (of the
    catalogue, to use when none is named), `lowest` and `highest` return, `picture`, `tests`.

    >>> import gymnasium
    >>> lake = gymnasium.make("FrozenLake-v1", is_slippery=False)
    >>> world = from_gymnasium(lake, lambda s, a, t, info: {"goal"} if t == 15 else set())
    >>> world.name, world.states, world.step_limit, int(world.arrays.terminal.sum())
    ('FrozenLake-v1', 16, 100, 5)
    """
    if isinstance(env, str):
        raise NoTransitionTable(
            f"{env!r} is not an environment", fix=f"make it first: gymnasium.make({env!r})"
        )
    _check_bare(env)
    if not callable(labels) or not takes(labels, 4):
        named = name_function(labels) if callable(labels) else repr(labels)
        fault = f"{named} cannot be called as {CALL}"
        raise BadDomainSetting(fault, fix="lambda s, a, t, info: {'goal'} if t == 15 else set()")
    own = (
        "name",
        "step_limit",
        "start",
        "events",
        "actions",
        "state_names",
        "reward_weight",
        "ignore_end",
    )
    check_words("from_gymnasium", words, (*own, *OptionalFields.__annotations__))
    weight, goes_on = check_weight(reward_weight), check_flag("ignore_end", ignore_end)
    called = name or str(getattr(getattr(env, "spec", None), "id", None) or type(env).__name__)
    table = _read_table(env, called)
    limit = (
        step_limit
        if step_limit is not None
        else getattr(getattr(env, "spec", None), "max_episode_steps", None)
    )
    if limit is None:
        raise BadDomainSetting(f"{called} has no step limit of its own", fix="give `step_limit`")
    begin = dict(start) if start is not None else _find_starts(env, called)

    states = dict(enumerate(_name_states(state_names, len(table))))
    if len(states) != len(table):
        raise BadDomainSetting(
            f"{called} has {len(table)} states and {len(states)} names", fix="name every state"
        )
    acts = tuple(actions or map(str, range(len(table[0]))))
    if len(acts) != len(table[0]):
        raise BadDomainSetting(
            f"{called} has {len(table[0])} actions and {len(acts)} names", fix="name every action"
        )
    with _labelling(env, labels) as label:

        def outcomes(state: int, action: int) -> list[Outcome]:
            return [
                Outcome(
                    there,
                    p,
                    label(state, action, there),
                    weight * pay if weight else 0.0,
                    ends and not goes_on,
                )
                for p, there, pay, ends in table[state][action]
            ]

        if events is None:
            events = sorted(
                {
                    event
                    for state, row in enumerate(table)
                    for action, cell in enumerate(row)
                    for _, there, _, _ in cell
                    for event in label(state, action, there)
                }
            )
        starts = [Start(state, chance) for state, chance in begin.items() if chance > 0]
        return from_outcomes(
            called, states, acts, outcomes, starts, events=events, step_limit=limit, **words
        )


HARMLESS = {
    "TimeLimit",
    "OrderEnforcing",
    "PassiveEnvChecker",
    "RecordEpisodeStatistics",
    "RecordVideo",
    "RenderCollection",
    "HumanRendering",
    "Monitor",
}
"""Wrappers of Gymnasium and Stable-Baselines3 that change neither states nor rewards; a limit of steps is read from the environment."""


def _check_bare(env: Any) -> None:
    """Raise where something around the environment would be lost: its table is read, and no wrapper is asked."""
    if hasattr(env, "num_envs"):
        fault = f"{type(env).__name__} is a vector of environments, and a table is read from one"
        raise NoTransitionTable(fault, fix="give one of them: gymnasium.make(…)")
    one = env
    while (inner := vars(one).get("env")) is not None and hasattr(one, "unwrapped"):
        kind = type(one)
        home = kind.__module__.partition(".")[0]
        if home == "pdrm":
            fault = f"{kind.__name__}, from pdrm.wrap, has a machine, and a domain has none"
            raise BadDomainSetting(
                fault,
                fix="pdrm.Task(pdrm.from_gymnasium(env, labels), machine), with the bare `env`",
            )
        if home not in ("gymnasium", "stable_baselines3") or kind.__name__ not in HARMLESS:
            fault = f"{kind.__name__} is around the environment, and what it does is not in the table `P` that is read"
            fix = "give `env.unwrapped`; `reward_weight`, `labels` and the machine's rules can say much of what a wrapper does"
            raise BadDomainSetting(fault, fix=fix)
        one = inner


@contextmanager
def _labelling(env: Any, labels: Labelling) -> Iterator[Callable[[int, int, int], Label]]:
    """A function that labels a step, with the environment where the step leads: `info["env"]` is, as for `pdrm.wrap`, after it. An error
    of the labelling function stays as it is, and a note says for which step."""
    bare = getattr(env, "unwrapped", env)
    before = getattr(
        bare, "s", None
    )  # where Gymnasium's environments with a table have their state

    def label(state: int, action: int, there: int) -> Label:
        bare.s = there
        try:
            events = labels(state, action, there, {"env": env})
        except Exception as error:
            step = f"for state {state}, action {action}, next state {there}"
            error.add_note(
                f"pdrm: raised in the labelling function {name_function(labels)} (`labels`), {step} of {env}"
            )
            if isinstance(error, KeyError):
                error.add_note(
                    "pdrm: from_gymnasium reads a table, and its `info` has `env` alone; the state before the step is an argument"
                )
            raise
        return _read_events(labels, events, state, action, there)

    try:
        yield label
    finally:
        bare.s = before


def _name_states(given: Sequence[str] | Callable[[int], str] | None, count: int) -> Iterable[str]:
    """The names of the states: those given, or their numbers."""
    if callable(given):
        return [str(given(state)) for state in range(count)]
    return [str(state) for state in range(count)] if given is None else given


def _read_events(labels: Labelling, events: object, state: int, action: int, there: int) -> Label:
    """The label that the labelling function gave to a step."""
    if isinstance(events, str) or not isinstance(events, Iterable):
        function = f"the labelling function {name_function(labels)} (`labels`)"
        raise BadDomainSetting(
            f"{function} returned {events!r} for state {state}, action {action}, next state {there}",
            fix='return a set of events: {"goal"}, or set() for none',
        )
    return frozenset(events)


def _read_table(env: Any, name: str) -> list[list[Row]]:
    """The rows of `P`, by state and action, whether it is made of dicts or of lists."""
    found = getattr(getattr(env, "unwrapped", env), "P", None)
    if found is None:
        fix = "put the machine on it with pdrm.wrap, or write it as arrays"
        raise NoTransitionTable(f"{name} has no transition table `P`", fix=fix)
    try:
        states = [found[state] for state in range(len(found))]
        rows = [[row[action] for action in range(len(row))] for row in states]
        table = [
            [[_outcome(*outcome) for outcome in cell if outcome[0] > 0] for cell in row]
            for row in rows
        ]
    except (KeyError, IndexError, TypeError, ValueError) as error:
        fault = f"{name}: `P` is not a table by state and action: {error!r}"
        raise NoTransitionTable(fault, fix="number both from 0") from error
    if not table or not table[0] or len({len(row) for row in table}) > 1:
        fix = "P[state][action] = [(probability, next state, reward, terminated), …], the same actions in every state"
        raise NoTransitionTable(
            f"{name}: `P` does not have the shape of a transition table", fix=fix
        )
    return table


def _outcome(
    chance: float, there: int, reward: float, terminated: bool
) -> tuple[float, int, float, bool]:
    """An entry of `P` in plain types."""
    return float(chance), int(there), float(reward), bool(terminated)


def _find_starts(env: Any, name: str) -> dict[int, float]:
    """The start distribution: the environment's own, or the one state that every reset gave."""
    given = getattr(getattr(env, "unwrapped", env), "initial_state_distrib", None)
    if given is not None:
        return {state: float(chance) for state, chance in enumerate(given) if chance > 0}
    seen = {int(env.reset(seed=seed)[0]) for seed in range(RESETS)}
    if len(seen) > 1:
        raise BadDomainSetting(
            f"{name} starts in one of at least {len(seen)} states and does not say how likely each is",
            fix="give `start={state: probability, …}`",
        )
    return dict.fromkeys(seen, 1.0)
