"""Where an agent acts: the paper's domains as finite labelled MDPs, and a user's own from a map, arrays or Gymnasium.

Importing this package registers the domains with Gymnasium. Nothing here knows of machines.
"""

from pdrm.domains.array_domain import from_arrays
from pdrm.domains.catalogue import domain, names, settings
from pdrm.domains.environment import FiniteEnv
from pdrm.domains.files import find_domain, load_domain, save_domain
from pdrm.domains.grid_map import GridMap, parse_map, read_map
from pdrm.domains.gridworld import grid_domain
from pdrm.domains.labelled_mdp import NO_LABEL, DomainArrays, FiniteDomain, pick
from pdrm.domains.outcomes import Outcome, Start, from_outcomes
from pdrm.domains.registration import IDS, register_domains
from pdrm.domains.transition_table import from_gymnasium

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
