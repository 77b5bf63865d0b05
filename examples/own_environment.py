"""Your own Gymnasium environment, and a task with a stack: close the doors in reverse order."""

from collections import defaultdict
from collections.abc import Hashable
from typing import Any

import gymnasium
from gymnasium import spaces

import pdrm

DOORS = 3
COLOURS = ("red", "blue")


class Hallway(gymnasium.Env[Any, Any]):
    """Walk past doors of random colours, then press buttons. All rewards come from the machine."""

    observation_space = spaces.Discrete(2 * DOORS + 1)  # the time: colours are not observed
    action_space = spaces.Discrete(len(COLOURS))  # the button to press; ignored while walking

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[int, dict[str, Any]]:
        super().reset(seed=seed, options=options)
        self.doors = self.np_random.choice(COLOURS, size=DOORS)
        self.time = 0
        return self.time, {}

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        walking = self.time < DOORS
        info = {"seen": self.doors[self.time]} if walking else {"pressed": COLOURS[action]}
        self.time += 1
        return self.time, 0.0, False, self.time == 2 * DOORS, info


def events(
    _observation: int, _action: int, _next_observation: int, info: dict[str, Any]
) -> set[str]:
    """The labelling function: the machine's events of this step."""
    return {"seen", info["seen"]} if "seen" in info else {"pressed", info["pressed"]}


TASK = pdrm.parse("""
name      doors
events    seen pressed red blue
exclusive seen pressed
exclusive red blue
stack     # red blue
start     walk
final     closed wrong
otherwise stay 0

for c in red blue:
    walk -> walk : seen & c,    z / c z, 0
    walk -> back : pressed & c, c / eps, 1
    back -> back : pressed & c, c / eps, 1
    for d in red blue where d != c:
        walk -> wrong : pressed & d, c / c, -1
        back -> wrong : pressed & d, c / c, -1
back -> closed : eps, # / #, 1
""")


ALPHA = 0.1
GAMMA = 0.95
EPSILON = 0.2
STEPS = 20_000


def q_learning(env: pdrm.product.MachineEnv, seed: int = 0) -> float:
    """Train by Q-learning and return the mean return of the last thousand episodes."""
    table: dict[Hashable, list[float]] = defaultdict(lambda: [0.0] * len(COLOURS))
    key = env.key(env.reset(seed=seed)[0])
    returns = [0.0]
    for _ in range(STEPS):
        explores = env.np_random.random() < EPSILON and len(returns) < STEPS // 20
        row = table[key]
        action = int(env.np_random.integers(2)) if explores else row.index(max(row))
        observation, reward, terminated, truncated, _ = env.step(action)
        key = env.key(observation)
        future = 0.0 if terminated else max(table[key])
        row[action] += ALPHA * (reward + GAMMA * future - row[action])
        returns[-1] += reward
        if terminated or truncated:
            key = env.key(env.reset()[0])
            returns.append(0.0)
    return sum(returns[-1001:-1]) / 1000


if __name__ == "__main__":
    for k in (0, 1):
        env = pdrm.wrap(Hallway(), TASK, events, k=k)
        print(f"k = {k}: return {q_learning(env):.2f} of {DOORS + 1}")
