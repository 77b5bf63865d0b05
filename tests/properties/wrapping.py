"""`pdrm.wrap` on a Gymnasium environment: every reward, end, observation and info is what the readable machine says.

The environment plays back random labels and rewards of its own, and ends at a random step in either way. Its reward has a random
weight, its end is sometimes ignored, and it observes a number or a dictionary.
"""

from __future__ import annotations

from random import Random
from typing import Any, NamedTuple

import gymnasium
from gymnasium import spaces

from pdrm.errors import FinishedAtReset, UndefinedMove
from pdrm.machines.guards import Label
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.transitions import Configuration
from pdrm.product.wrapping import wrap
from tests.properties.random_machines import described, random_machine

EPISODES = 5_000
LONGEST = 15
SEEN = 3
"""Symbols that are observed."""


class Case(NamedTuple):
    """What is tried in addition to labels and rewards."""

    ends_at: int  # the step at which the environment ends ...
    truncates: bool  # ... in this way
    weight: float
    ignores: bool
    nested: bool  # whether it observes a dictionary


class Playback(gymnasium.Env[Any, Any]):
    """Emits these labels and rewards, one a step, and ends at some step."""

    action_space = spaces.Discrete(2)

    def __init__(self, word: list[Label], paid: list[float], case: Case) -> None:
        self.word, self.paid, self.case, self.at = word, paid, case, 0
        number = spaces.Discrete(LONGEST + 2)
        self.observation_space = (
            spaces.Dict({"at": number, "word": spaces.Text(9)}) if case.nested else number
        )

    def _seen(self) -> object:
        return {"at": self.at, "word": "x"} if self.case.nested else self.at

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin at the first label."""
        super().reset(seed=seed, options=options)
        self.at = 0
        return self._seen(), {}

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """The next label is in the info."""
        label, reward = self.word[self.at], self.paid[self.at]
        self.at += 1
        ends, truncates = self.at == self.case.ends_at, self.case.truncates
        return self._seen(), reward, ends and not truncates, ends and truncates, {"label": label}


def check(seed: int, episodes: int = EPISODES) -> int:
    """Play random episodes."""
    random = Random(seed)
    for _ in range(episodes):
        machine = random_machine(random)
        word = random.choices(list(machine.alphabet.labels()), k=random.randint(1, LONGEST))
        paid = [random.choice((0.0, 0.5, -1.0)) for _ in word]
        ignores, nested = random.random() < 0.3, random.random() < 0.3
        ends_at = random.randint(1, len(word)) if ignores else len(word)
        weight = random.choice((1.0, 1.0, 0.0, 0.5, -2.0))
        compare(machine, word, paid, Case(ends_at, random.random() < 0.5, weight, ignores, nested))
    return episodes


def compare(
    machine: PushdownRewardMachine, word: list[Label], paid: list[float], case: Case
) -> None:
    """One episode by both; raises where they differ."""
    said, begin = f"{described(machine)}\n{word} {paid} {case}", machine.begin()
    here = begin.after
    try:
        options: dict[str, Any] = {"reward_weight": case.weight, "ignore_end": case.ignores}
        env = wrap(Playback(word, paid, case), machine, "info", k=SEEN, **options)
        observation, info = env.reset()
    except FinishedAtReset:
        assert here.state in machine.final, said
        return
    assert here.state not in machine.final, said
    assert (info["machine"]["reward"], readable(observation)) == (
        begin.reward,
        seen(machine, case, 0, here),
    ), said
    for number, (label, reward) in enumerate(zip(word, paid, strict=True), start=1):
        try:
            step = machine.step(here, label)
        except UndefinedMove:
            _undefined(env, said)
            return
        here, last = step.after, number == case.ends_at
        observation, total, terminated, truncated, info = env.step(0)
        assert readable(observation) == seen(machine, case, number, here), (
            f"{said}\nstep {number}: {observation}"
        )
        own = case.weight * reward
        assert (total, info["machine"]["reward"]) == (own + step.reward, step.reward), (
            f"{said}\nstep {number}"
        )
        assert info["machine"]["environment_reward"] == own, f"{said}\nstep {number}"
        assert Configuration(info["machine"]["state"], info["machine"]["stack"]) == here, (
            f"{said}\nstep {number}"
        )
        final, ended = here.state in machine.final, last and not case.truncates and not case.ignores
        truncates = last and case.truncates
        assert (terminated, truncated) == (final or ended, truncates), f"{said}\nstep {number}"
        if final or ended or truncates:
            return


def seen(
    machine: PushdownRewardMachine, case: Case, at: int, here: Configuration
) -> dict[str, Any]:
    """What should be observed: symbols are numbered from 1, 0 is none."""
    symbols = [machine.stack.index(symbol) + 1 for symbol in here.stack[:SEEN]]
    state = (*machine.states, *machine.final).index(here.state)
    return {
        "at" if case.nested else "observation": at,
        "machine": state,
        "stack": symbols + [0] * (SEEN - len(symbols)),
    }


def readable(observation: dict[str, Any]) -> dict[str, Any]:
    """An observation without arrays."""
    return {**observation, "stack": observation["stack"].tolist()}


def _undefined(env: gymnasium.Env[Any, Any], said: str) -> None:
    try:
        env.step(0)
    except UndefinedMove:
        return
    raise AssertionError(f"{said}\nthe wrapped environment has a move where the machine has none")
