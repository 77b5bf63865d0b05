"""One colour for each agent, in every figure: told apart by colour-blind readers, and in grey by dashes."""

from __future__ import annotations

from collections.abc import Sequence

NAMED = {
    "pdRM": "#0072b2",
    "1-pdRM": "#d55e00",
    "2-pdRM": "#e69f00",
    "CpRM": "#009e73",
    "1-CpRM": "#cc79a7",
    "2-CpRM": "#8c564b",
    "Q-CRA": "#56b4e9",
    "CQL-CRA": "#7f7f7f",
    "hierarchical pdRM": "#1b3a93",
    "hierarchical 1-pdRM": "#b30000",
    "hierarchical 2-pdRM": "#f28e2b",
    "0-pdRM (ours)": "#000000",
    "1-CpRM, deduplicated (ours)": "#aa3377",
    "CpRM, co-observed (ours)": "#117733",
    "3-pdRM": "#009e73",
    "4-pdRM": "#cc79a7",
    "5-pdRM": "#0072b2",
    "PPO + 1-pdRM": "#d55e00",
    "PPO": "#0072b2",
    "recurrent PPO": "#009e73",
    "DQN + 1-CpRM": "#0072b2",
    "DQN + 1-pdRM": "#56b4e9",
    "SAC + 1-CpRM": "#d55e00",
    "SAC + 1-pdRM": "#e69f00",
}
OTHERS = ("#332288", "#88ccee", "#44aa99", "#999933", "#ddcc77", "#cc6677", "#882255", "#661100")


def colours(keys: Sequence[str]) -> dict[str, str]:
    """A colour for each key.

    >>> colours(["1-pdRM", "mine"])
    {'1-pdRM': '#d55e00', 'mine': '#332288'}
    """
    free = [key for key in dict.fromkeys(keys) if key not in NAMED]
    own = {key: OTHERS[number % len(OTHERS)] for number, key in enumerate(free)}
    return {key: NAMED.get(key) or own[key] for key in keys}
