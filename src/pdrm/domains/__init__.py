"""Where an agent acts: the paper's domains as finite labelled MDPs, a user's own from a map, arrays or Gymnasium, and WaterWorld.

Nothing here knows of machines. Importing this chapter registers its environments with Gymnasium. Read in this order:

- `finite_domain`: the labelled MDP as arrays, and what must hold of it; `outcomes` builds one from a readable function;
- `grids` and `map_file`: domains on a map; `paper_domains`: those of the paper, by name;
- `array_domain`, `gymnasium_table` and `domain_files`: domains from arrays, from Gymnasium's tables, and in files;
- `finite_env`: a domain as a Gymnasium environment; `pictures`: what a state looks like;
- `water` and `water_env`: WaterWorld, which is continuous, written once for NumPy and JAX.
"""

from pdrm.domains.array_domain import from_arrays
from pdrm.domains.domain_files import find_domain, load_domain, save_domain
from pdrm.domains.finite_domain import NO_LABEL, DomainArrays, FiniteDomain, pick
from pdrm.domains.finite_env import IDS, FiniteEnv, register_domains
from pdrm.domains.grids import GridMap, grid_domain, parse_map, read_map
from pdrm.domains.gymnasium_table import from_gymnasium
from pdrm.domains.outcomes import Outcome, Start, from_outcomes
from pdrm.domains.paper_domains import domain, names, settings

__all__ = [
    "IDS",
    "NO_LABEL",
    "DomainArrays",
    "FiniteDomain",
    "FiniteEnv",
    "GridMap",
    "Outcome",
    "Start",
    "domain",
    "find_domain",
    "from_arrays",
    "from_gymnasium",
    "from_outcomes",
    "grid_domain",
    "load_domain",
    "names",
    "parse_map",
    "pick",
    "read_map",
    "save_domain",
    "settings",
]

register_domains()
