"""pdrm: pushdown reward machines for reinforcement learning.

The names below are the public interface, in the order a newcomer needs them. They are imported
lazily, so `import pdrm` is instant. Everything else is in the chapters: `pdrm.machines`
(transitions, guards, reward machines, counting automata, conversions), `pdrm.language` (words,
text, JSON), `pdrm.domains` (maps, arrays), `pdrm.product` (views), `pdrm.learning`,
`pdrm.analysis`, `pdrm.experiments`, `pdrm.drawing` and `pdrm.paper`.
"""

import sys as _sys
import typing as _typing
from importlib import import_module as _import_module

from pdrm import lazy as _lazy

if _typing.TYPE_CHECKING:
    from pdrm.analysis.checker import verify
    from pdrm.analysis.k_search import check_k
    from pdrm.analysis.sizes import sizes
    from pdrm.analysis.solving import solve
    from pdrm.domains import domain, from_gymnasium, load_domain
    from pdrm.drawing.render import draw
    from pdrm.errors import PdrmError
    from pdrm.experiments.study import Study
    from pdrm.language.combining import combine
    from pdrm.language.grammars.grammar_machine import from_grammar
    from pdrm.language.loading import catalogue, load, parse, save
    from pdrm.language.logic.regular_expressions import from_regex
    from pdrm.language.logic.temporal_logic import from_ltlf
    from pdrm.learning.agents import (
        DQN,
        PPO,
        SAC,
        CountingQ,
        CpRM,
        Hierarchical,
        QLearning,
        RecurrentPPO,
        Summary,
    )
    from pdrm.learning.deep.sb3_agent import SB3
    from pdrm.learning.run import Run, train
    from pdrm.machines.pushdown import PushdownRewardMachine
    from pdrm.product.wrapping import wrap, wrap_vector
    from pdrm.task import Task

__version__ = "0.3.0"

__all__ = [
    # Machines
    "parse",
    "load",
    "save",
    "catalogue",
    "from_grammar",
    "from_regex",
    "from_ltlf",
    "combine",
    "draw",
    "PushdownRewardMachine",
    # Domains and tasks
    "Task",
    "domain",
    "load_domain",
    "from_gymnasium",
    # Agents and training
    "train",
    "Run",
    "QLearning",
    "CpRM",
    "Hierarchical",
    "Summary",
    "CountingQ",
    "PPO",
    "RecurrentPPO",
    "DQN",
    "SAC",
    "SB3",
    "Study",
    # Your own environment and agent
    "wrap",
    "wrap_vector",
    # Analysis
    "solve",
    "check_k",
    "verify",
    "sizes",
    "PdrmError",
]

_find, _list = _lazy.lazy(__name__)


def __getattr__(name: str) -> _typing.Any:
    """Import a public name or a chapter on first use."""
    return _import_module(f"pdrm.{name}") if name in _lazy.CHAPTERS else _find(name)


def __dir__() -> list[str]:
    """The public names and the chapters, for completion."""
    return [*_list(), *_lazy.CHAPTERS]


# Register the environments. If Gymnasium is not loaded yet, `import pdrm.domains` does it later:
# importing Gymnasium here would make `import pdrm` slow.
if "gymnasium" in _sys.modules:
    _import_module("pdrm.domains")
