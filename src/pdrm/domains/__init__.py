"""Domains: the paper's finite labelled MDPs, your own from maps, arrays or Gymnasium; WaterWorld.

No module here steps a machine; a domain only names the machine made for it. Importing this chapter
registers its environments with Gymnasium, such as `gymnasium.make("pdrm/LetterEnv-v0")`. The names
below are imported on first use. Read in this order:

- `finite_domain`: the labelled MDP as arrays, with checks and builders;
- `grids`: domains on a map; `paper_domains`: the paper's domains; `domain_files`: domains in files;
- `user_worlds`: environments with a labelling function, domains from Gymnasium's tables, and worlds
  in JAX;
- `water`: WaterWorld, a continuous domain for both NumPy and JAX;
- `environments`: domains as Gymnasium environments; `pictures`: states as text and images.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gymnasium.envs.registration import register

from pdrm.lazy import lazy

if TYPE_CHECKING:
    from pdrm.domains.domain_files import find_domain, load_domain, save_domain
    from pdrm.domains.environments import FiniteEnv
    from pdrm.domains.finite_domain import (
        NO_LABEL,
        DomainArrays,
        FiniteDomain,
        Outcome,
        Start,
        from_arrays,
        from_outcomes,
        pick,
    )
    from pdrm.domains.grids import GridMap, grid_domain, parse_map, read_map
    from pdrm.domains.paper_domains import domain, names
    from pdrm.domains.user_worlds import JaxWorld, from_gymnasium

__all__ = [
    # By name, and in files
    "domain",
    "names",
    "find_domain",
    "load_domain",
    "save_domain",
    # Your own
    "parse_map",
    "read_map",
    "GridMap",
    "grid_domain",
    "from_gymnasium",
    "from_arrays",
    "from_outcomes",
    "JaxWorld",
    "Outcome",
    "Start",
    # What a domain is
    "FiniteDomain",
    "DomainArrays",
    "NO_LABEL",
    "pick",
    "FiniteEnv",
    "IDS",
    "WATER_IDS",
]

__getattr__, __dir__ = lazy(__name__)

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
"""Gymnasium's ids of the finite domains, which have their own step limits."""

WATER_IDS = {"pdrm/WaterWorld17-v0": "water-17", "pdrm/WaterWorld20-v0": "water-20"}
"""Gymnasium's ids of the WaterWorlds."""

for _id, _name in IDS.items():
    register(_id, entry_point="pdrm.domains.environments:FiniteEnv", kwargs={"domain": _name})
for _id, _name in WATER_IDS.items():
    register(_id, entry_point="pdrm.domains.environments:WaterEnv", kwargs={"world": _name})
