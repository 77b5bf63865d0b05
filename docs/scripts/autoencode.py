"""The figure of the page *Autoencode*: the stack in one episode, and the returns of the first
training episodes."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure

sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))
import autoencode

COLOURS = ("#ffffff", "#4c78a8", "#f58518", "#54a24b", "#b279a2")
EPISODES = 10


def stacks_of_an_episode(env: Any) -> np.ndarray[Any, Any]:
    """Array [height, step] of the suit's number at each height of the stack (0 above its top)."""
    _, info = env.reset(seed=0)
    stacks = [info["machine"]["stack"]]
    done = False
    while not done:
        top = stacks[-1][0]
        answer = autoencode.SUITS.index(top)
        *_, terminated, truncated, info = env.step(answer)
        stacks.append(info["machine"]["stack"])
        done = terminated or truncated
    cards = [stack[-2::-1] for stack in stacks]  # without the bottom symbol, the lowest card first
    picture = np.zeros((max(map(len, cards)), len(cards)))
    for step, column in enumerate(cards):
        for height, suit in enumerate(column):
            picture[height, step] = 1 + autoencode.SUITS.index(suit)
    return picture


def returns(env: Any, k: int, seed: int) -> list[float]:
    """The returns of the first training episodes."""
    table: dict[Any, Any] = {}
    rng = np.random.default_rng(seed)
    return [autoencode.play(env, table, rng, learns=True, k=k)[0] for _ in range(EPISODES)]


def autoencode_plot() -> Figure:
    """Draw both panels."""
    env = autoencode.make("popgym-AutoencodeEasy-v0")
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3), width_ratios=(2, 1))
    picture = stacks_of_an_episode(env)
    left.imshow(picture, origin="lower", aspect="auto", cmap=ListedColormap(COLOURS))
    left.set(
        xlabel="step", ylabel="cards on the stack", title="Watch 52 cards, then name their suits"
    )
    for k, colour in ((1, "#4c78a8"), (0, "#e45756")):
        for seed in range(5):
            label = f"k = {k}" if seed == 0 else None
            episodes = range(1, EPISODES + 1)
            right.plot(episodes, returns(env, k, seed), color=colour, label=label, alpha=0.7)
    right.axhline(1.0, color="#888888", linewidth=0.8, linestyle="--")
    right.set(xlabel="training episode", ylabel="return (ε = 0.1)", title="Five seeds each")
    right.legend(frameon=False, loc="center right")
    figure.tight_layout()
    return figure
