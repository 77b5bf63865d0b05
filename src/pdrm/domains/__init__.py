"""Where an agent acts: the paper's domains as finite labelled MDPs, and a user's own from a map, arrays or Gymnasium.

Importing this package registers the domains with Gymnasium. Nothing here knows of machines.
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
