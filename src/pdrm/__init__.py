"""pdrm: pushdown reward machines for reinforcement learning.

The names below are the front door, in the order a newcomer needs them; each is imported when it is first used, so that
`import pdrm` is instant. The rest is in the chapters: `pdrm.machines` (transitions, guards, reward machines, counting automata,
conversions), `pdrm.language` (words, text, JSON), `pdrm.domains` (maps, arrays), `pdrm.product` (views), `pdrm.learning`, `pdrm.analysis`, `pdrm.experiments`, `pdrm.drawing`, `pdrm.report`.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

from pdrm.lazy import CHAPTERS, lazy, lend

if TYPE_CHECKING:
    from pdrm.analysis.solving import solve
    from pdrm.analysis.sufficient_k.check_k import check_k
    from pdrm.domains import domain, from_gymnasium, load_domain
    from pdrm.drawing.render import draw
    from pdrm.errors import PdrmError
    from pdrm.experiments.study import Study
    from pdrm.language.combining import combine
    from pdrm.language.grammars.grammar_machine import from_grammar
    from pdrm.language.loading import catalogue, load, parse, save
    from pdrm.language.logic.regular_expressions import from_regex
    from pdrm.language.logic.temporal_logic import from_ltlf
    from pdrm.learning.agents import DQN, PPO, SAC, CountingQ, CpRM, Hierarchical, QLearning, RecurrentPPO, Summary
    from pdrm.learning.run import train
    from pdrm.machines.pushdown import PushdownRewardMachine
    from pdrm.product.wrapping import wrap
    from pdrm.task import Task

__version__ = "0.2.0"

__all__ = [  # noqa: RUF022 - the order a newcomer needs them in, not the alphabet's
    # A machine: what is rewarded
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
    # A domain, and a task: where it acts
    "Task",
    "domain",
    "load_domain",
    "from_gymnasium",
    # Agents, which are settings, and training
    "train",
    "QLearning",
    "CpRM",
    "Hierarchical",
    "Summary",
    "CountingQ",
    "PPO",
    "RecurrentPPO",
    "DQN",
    "SAC",
    "Study",
    # Your own environment and agent
    "wrap",
    # What can be proved
    "solve",
    "check_k",
    "PdrmError",
]

_lend, __dir__ = lazy(__name__)


def __getattr__(name: str) -> Any:  # noqa: ANN401 - a module's attribute is any object
    """A public name, or a chapter, imported when it is first used."""
    return import_module(f"pdrm.{name}") if name in CHAPTERS else _lend(name)


lend(
    draw="pdrm.drawing.render",
    write_page="pdrm.report.build",
    write_own_report="pdrm.report.build",
    parse_word="pdrm.language.loading",
    wrap="pdrm.product.wrapping",
)

if "gymnasium" in sys.modules:  # else its import would make this one slow; `import pdrm.domains` registers them too
    import_module("pdrm.domains")
