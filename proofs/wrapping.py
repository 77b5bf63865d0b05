"""`pdrm.wrap` on a Gymnasium environment: every reward, end, observation and info is what the readable machine says.

The environment plays back random labels and rewards of its own, and ends at a random step in either way.
"""

from __future__ import annotations

from random import Random
from typing import Any

import gymnasium
from gymnasium import spaces

from pdrm.errors import FinishedAtReset, UndefinedMove
from pdrm.machines.configurations import Configuration
from pdrm.machines.guards import Label
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.product.views import TopK
from pdrm.product.wrapping import wrap
from proofs.random_machines import described, random_machine

EPISODES = 5_000
LONGEST = 15
SEEN = 3
"""Symbols that are observed."""


class Playback(gymnasium.Env[Any, Any]):
    """Emits these labels and rewards, one a step, then ends."""

    observation_space = spaces.Discrete(LONGEST + 2)
    action_space = spaces.Discrete(2)

    def __init__(self, word: list[Label], paid: list[float], *, truncates: bool) -> None:
        self.word, self.paid, self.truncates, self.at = word, paid, truncates, 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[int, dict[str, Any]]:
        """Begin at the first label."""
        super().reset(seed=seed, options=options)
        self.at = 0
        return 0, {}

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:  # noqa: ARG002 - plays whatever is done
        """The next label is in the info."""
        label, reward = self.word[self.at], self.paid[self.at]
        self.at += 1
        ends = self.at == len(self.word)
        return self.at, reward, ends and not self.truncates, ends and self.truncates, {"label": label}


def check(seed: int, episodes: int = EPISODES) -> int:
    """Play random episodes."""
    random = Random(seed)
    for _ in range(episodes):
        machine = random_machine(random)
        word = random.choices(list(machine.alphabet.labels()), k=random.randint(1, LONGEST))
        compare(machine, word, [random.choice((0.0, 0.5, -1.0)) for _ in word], truncates=random.random() < 0.5)
    return episodes


def compare(machine: PushdownRewardMachine, word: list[Label], paid: list[float], *, truncates: bool) -> None:
    """One episode by both; raises where they differ."""
    said, begin = f"{described(machine)}\n{word} {paid}", machine.begin()
    here = begin.after
    try:
        env = wrap(Playback(word, paid, truncates=truncates), machine, "info", TopK(SEEN))
        observation, info = env.reset()
    except FinishedAtReset:
        assert here.state in machine.final, said
        return
    assert here.state not in machine.final, said
    assert (info["machine"]["reward"], readable(observation)) == (begin.reward, seen(machine, 0, here)), said
    for number, (label, reward) in enumerate(zip(word, paid, strict=True), start=1):
        try:
            step = machine.step(here, label)
        except UndefinedMove:
            _undefined(env, said)
            return
        here, last = step.after, number == len(word)
        observation, total, terminated, truncated, info = env.step(0)
        assert readable(observation) == seen(machine, number, here), f"{said}\nstep {number}: {observation}"
        assert (total, info["machine"]["reward"]) == (reward + step.reward, step.reward), f"{said}\nstep {number}"
        assert Configuration(info["machine"]["state"], info["machine"]["stack"]) == here, f"{said}\nstep {number}"
        final = here.state in machine.final
        assert (terminated, truncated) == (final or (last and not truncates), last and truncates), (
            f"{said}\nstep {number}"
        )
        if final:
            return


def seen(machine: PushdownRewardMachine, at: int, here: Configuration) -> dict[str, Any]:
    """What should be observed: symbols are numbered from 1, 0 is none."""
    symbols = [machine.stack.index(symbol) + 1 for symbol in here.stack[:SEEN]]
    state = (*machine.states, *machine.final).index(here.state)
    return {"observation": at, "machine": state, "stack": symbols + [0] * (SEEN - len(symbols))}


def readable(observation: dict[str, Any]) -> dict[str, Any]:
    """An observation without arrays."""
    return {**observation, "stack": observation["stack"].tolist()}


def _undefined(env: gymnasium.Env[Any, Any], said: str) -> None:
    try:
        env.step(0)
    except UndefinedMove:
        return
    raise AssertionError(f"{said}\nthe wrapped environment has a move where the machine has none")
