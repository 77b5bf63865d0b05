"""pdrm: pushdown reward machines for reinforcement learning.

The names below are the front door, in the order a newcomer needs them; each is imported when it is first used, so that
`import pdrm` is instant. The rest is in the chapters: `pdrm.machines` (guards, tables, conversions), `pdrm.language` (words,
text, JSON), `pdrm.domains` (maps, arrays), `pdrm.product`, `pdrm.learning`, `pdrm.analysis`, `pdrm.experiments`, `pdrm.drawing`.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pdrm.analysis.check_k import check_k
    from pdrm.domains import FiniteDomain, domain, from_gymnasium, load_domain
    from pdrm.drawing.render import draw
    from pdrm.errors import PdrmError
    from pdrm.experiments.study import Study
    from pdrm.language.loading import catalogue, load, parse, save
    from pdrm.learning.agents import DQN, PPO, SAC, CountingQ, CpRM, Hierarchical, QLearning, RecurrentPPO
    from pdrm.learning.run import train
    from pdrm.machines.counting import CountingRewardAutomaton
    from pdrm.machines.pushdown import PushdownRewardMachine
    from pdrm.machines.reward_machine import RewardMachine
    from pdrm.machines.transitions import Otherwise, Transition
    from pdrm.product.views import FullStack, TopK
    from pdrm.product.wrapping import wrap
    from pdrm.task import Task

__version__ = "0.2.0"

__all__ = [  # noqa: RUF022 - the order a newcomer needs them in, not the alphabet's
    # A machine: what is rewarded
    "parse",
    "load",
    "save",
    "catalogue",
    "draw",
    "PushdownRewardMachine",
    "Transition",
    "Otherwise",
    "RewardMachine",
    "CountingRewardAutomaton",
    # A domain, and a task: where it acts
    "Task",
    "domain",
    "load_domain",
    "from_gymnasium",
    "FiniteDomain",
    # Agents, which are settings, and training
    "train",
    "QLearning",
    "CpRM",
    "Hierarchical",
    "CountingQ",
    "PPO",
    "RecurrentPPO",
    "DQN",
    "SAC",
    "Study",
    # Your own environment and agent
    "wrap",
    "TopK",
    "FullStack",
    # What can be proved
    "check_k",
    "PdrmError",
]

_HOMES = {
    "analysis.check_k": ["check_k"],
    "domains": ["FiniteDomain", "domain", "from_gymnasium", "load_domain"],
    "drawing.render": ["draw"],
    "errors": ["PdrmError"],
    "experiments.study": ["Study"],
    "language.loading": ["catalogue", "load", "parse", "save"],
    "learning.agents": ["DQN", "PPO", "SAC", "CountingQ", "CpRM", "Hierarchical", "QLearning", "RecurrentPPO"],
    "learning.run": ["train"],
    "machines.counting": ["CountingRewardAutomaton"],
    "machines.pushdown": ["PushdownRewardMachine"],
    "machines.reward_machine": ["RewardMachine"],
    "machines.transitions": ["Otherwise", "Transition"],
    "product.views": ["FullStack", "TopK"],
    "product.wrapping": ["wrap"],
    "task": ["Task"],
}
_HOME_OF = {name: f"pdrm.{module}" for module, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:  # noqa: ANN401 - a module attribute is any object
    """Import a public name from its home on first use."""
    if name not in _HOME_OF:
        raise AttributeError(f"module 'pdrm' has no attribute '{name}'")
    value = globals()[name] = getattr(import_module(_HOME_OF[name]), name)
    return value


def __dir__() -> list[str]:
    """The public names, for completion."""
    return [*__all__, "__version__"]


if "gymnasium" in sys.modules:  # else its import would make this one slow; `import pdrm.domains` registers them too
    import_module("pdrm.domains")
