"""The domains in Gymnasium's registry: `gymnasium.make("pdrm/LetterEnv-v0")`."""

from __future__ import annotations

from gymnasium.envs.registration import register, registry

IDS = {
    "pdrm/LetterEnv-v0": "letter",
    "pdrm/TreasureMaze5x5-v0": "maze-5x5",
    "pdrm/TreasureMaze10x10-v0": "maze-10x10",
    "pdrm/TreasureMaze20x20-v0": "maze-20x20",
    "pdrm/MultipleTreasureMaze10x10-v0": "multi-10x10",
    "pdrm/MultipleTreasureMaze20x20-v0": "multi-20x20",
    "pdrm/DeliverWorld-8-v0": "deliver-8",
    "pdrm/DeliverWorld-4-8-v0": "deliver-4-8",
    "pdrm/PaintWorld-v0": "paint",
    "pdrm/Echo-v0": "echo",
}
"""Gymnasium's name of each domain. The step limit is the environment's own, so the registry adds none."""


def register_domains() -> None:
    """Register every domain, once."""
    for name, domain in IDS.items():
        if name not in registry:
            register(name, entry_point="pdrm.domains.environment:FiniteEnv", kwargs={"domain": domain})
