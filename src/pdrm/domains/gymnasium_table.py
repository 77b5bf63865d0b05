"""A domain from any Gymnasium environment that exposes its transition table `P` (FrozenLake, Taxi, CliffWalking).

`P[state][action]` lists (probability, next state, reward, terminated). States keep their numbers; if one ends the
episode on one way in and not on another, a copy of it, numbered after the others, stands for the end (see `from_outcomes`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from numbers import Real
from typing import Any

from pdrm.domains.finite_domain import FiniteDomain, Label, Outcome, Picture, Start, from_outcomes
from pdrm.domains.own_worlds import LabelFunction, check_function, name_function, read_label
from pdrm.errors import BadDomainSetting, BadSetting, NoTransitionTable

Row = list[tuple[float, int, float, bool]]
RESETS = 100
"""Resets that must agree before an environment without a start distribution is taken to have one start."""
HARMLESS = (
    "TimeLimit",
    "OrderEnforcing",
    "PassiveEnvChecker",
    "RecordEpisodeStatistics",
    "Monitor",
)
"""Wrappers of Gymnasium and Stable-Baselines3 that change neither states nor rewards."""


def check_weight(weight: object) -> float:
    """The weight of an environment's own reward."""
    if isinstance(weight, bool) or not isinstance(weight, Real) or not isfinite(weight):
        fault = f"reward_weight is {weight!r}, but must be a finite number"
        raise BadSetting(fault, fix="reward_weight=0 leaves the environment's own reward out")
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
        labels: `labels(state, action, next_state, info)` returns the set of events true after a step, as for
            `pdrm.wrap`. `info` is `{"env": env}`, and `env.unwrapped.s` is the next state.
        name: The domain's name (default: the environment's).
        step_limit: Steps after which an episode is truncated (default: the environment's).
        start: The probability of each state at reset (default: the environment's).
        events: The events, in order (default: those of the labels, sorted).
        actions: The names of the actions (default: numbers).
        state_names: The names of the states, or a function from a state to its name (default: numbers).
        reward_weight: The factor of the environment's own reward. With 0 only the machine pays.
        ignore_end: Continue episodes when the environment would end them.
        picture: How to draw the states.

    Returns:
        The domain. `dataclasses.replace` sets its other fields, such as `machine`, `lowest` and `highest`.

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
    called = name or (type(env).__name__ if spec is None else spec.id)
    table = _read_table(env, called)
    limit = spec.max_episode_steps if step_limit is None and spec is not None else step_limit
    if limit is None:
        raise BadDomainSetting(f"{called} has no step limit of its own", fix="give `step_limit`")
    begin = _find_starts(env, called) if start is None else start
    count = range(len(table))
    named = map(state_names, count) if callable(state_names) else state_names or count
    states = dict(enumerate(map(str, named)))
    acts = tuple(actions or map(str, range(len(table[0]))))
    for kind, wanted, given in (("states", len(table), states), ("actions", len(table[0]), acts)):
        if len(given) != wanted:
            fault = f"{called} has {wanted} {kind} and {len(given)} names"
            raise BadDomainSetting(fault, fix="name each")
    label = _label_steps(env, labels, table)

    def outcomes(state: int, action: int) -> list[Outcome]:
        return [
            Outcome(
                there,
                chance,
                label[state, action, there],
                weight * pay if weight else 0.0,
                ends and not ignore_end,
            )
            for chance, there, pay, ends in table[state][action]
        ]

    return from_outcomes(
        called,
        states,
        acts,
        outcomes,
        [Start(state, chance) for state, chance in begin.items() if chance > 0],
        events=sorted(frozenset().union(*label.values())) if events is None else events,
        step_limit=limit,
        picture=picture,
    )


def _check_wrappers(env: Any) -> None:
    """Raise if something around the environment would be lost: its table is read, and no wrapper is asked."""
    if isinstance(env, str) or hasattr(env, "num_envs"):
        fix = "make one environment: gymnasium.make(…)"
        raise NoTransitionTable(f"{str(env)[:60]!r} is not an environment", fix=fix)
    while "env" in vars(env):
        kind = type(env)
        if kind.__name__ not in HARMLESS:
            fault = f"{kind.__name__} is around the environment, and its effect is not in the table `P` that is read"
            fix = "give `env.unwrapped`; `reward_weight`, `labels` and the machine's rules can say much of what a wrapper does"
            raise BadDomainSetting(fault, fix=fix)
        env = env.env


def _label_steps(
    env: Any, labels: LabelFunction, table: Sequence[Sequence[Row]]
) -> dict[tuple[int, int, int], Label]:
    """The label of each (state, action, next state). `env.unwrapped.s` is the next state, as for `pdrm.wrap` after a step."""
    bare = getattr(env, "unwrapped", env)
    before = getattr(bare, "s", None)
    found = dict[tuple[int, int, int], Label]()
    step = 0, 0, 0
    try:
        for state, row in enumerate(table):
            for action, cell in enumerate(row):
                for _, there, _, _ in cell:
                    step = state, action, there
                    if step not in found:
                        bare.s = there
                        found[step] = read_label(labels(*step, {"env": env}))
    except Exception as error:
        said = "state {}, action {}, next state {}".format(*step)
        error.add_note(f"pdrm: {said} of {env}, labelled by {name_function(labels)}")
        raise
    finally:
        bare.s = before
    return found


def _read_table(env: Any, name: str) -> list[list[Row]]:
    """The rows of `P`, by state and action, made of dicts or of lists."""
    found = getattr(getattr(env, "unwrapped", env), "P", None)
    if found is None:
        fix = "put the machine on it with pdrm.wrap, or write it as arrays"
        raise NoTransitionTable(f"{name} has no transition table `P`", fix=fix)

    def read(cell: Any) -> Row:
        return [
            (float(chance), int(there), float(reward), bool(terminated))
            for chance, there, reward, terminated in cell
            if chance > 0
        ]

    try:
        rows = [found[state] for state in range(len(found))]
        table = [[read(row[action]) for action in range(len(rows[0]))] for row in rows]
        fits = bool(table[0]) and all(len(row) == len(rows[0]) for row in rows)
    except (KeyError, IndexError, TypeError, ValueError):
        fits = False
    if not fits:
        fault = f"{name}: `P` is not a transition table"
        fix = "P[state][action] = [(probability, next state, reward, terminated), …], both numbered from 0, the same actions in every state"
        raise NoTransitionTable(fault, fix=fix)
    return table


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
