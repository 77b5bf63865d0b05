"""The paper's settings for each domain (Appendix C and E), as `pdrm train` uses them unless told otherwise."""

from __future__ import annotations

from typing import Any

_MAZE = {"learning_rate": 0.5, "epsilon": 1.0, "epsilon_decay": 0.995, "epsilon_least": 0.01, "discount": 0.99}
_DELIVER = {"learning_rate": 0.01, "epsilon": 1.0, "epsilon_decay": 0.9995, "epsilon_least": 0.1, "discount": 0.99}

PAPER_SETTINGS: dict[str, dict[str, Any]] = {
    "letter": {
        "episodes": 5_000,
        "learning_rate": 0.01,
        "epsilon": 0.01,
        "epsilon_decay": 1.0,
        "epsilon_least": 0.01,
        "discount": 0.99,
    },
    "maze-5x5": {"episodes": 10_000, **_MAZE},
    "maze-10x10": {"episodes": 10_000, **_MAZE},
    "maze-20x20": {"episodes": 10_000, **_MAZE},
    "multi-10x10": {"episodes": 10_000, **_MAZE, "discount": 0.9},
    "multi-20x20": {"episodes": 10_000, **_MAZE, "discount": 0.9},
    "deliver-8": {"episodes": 10_000, **_DELIVER},
    "deliver-4-8": {"episodes": 15_000, **_DELIVER},
    # Appendix C gives no rates for PaintWorld; these are the mazes', tested as it says.
    "paint": {"episodes": 500, **_MAZE, "test_every": 5},
    "echo": {"episodes": 2_000, **_MAZE},
}
