"""pdrm: pushdown reward machines for reinforcement learning.

The names below are the library's table of contents, in the paper's order. Each is imported when it is first used, so that
`import pdrm` is instant.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pdrm.analysis.certificate import Certificate, load_certificate
    from pdrm.analysis.check_k import check_k
    from pdrm.analysis.checker import verify
    from pdrm.domains import (
        FiniteDomain,
        FiniteEnv,
        Outcome,
        Start,
        domain,
        find_domain,
        from_arrays,
        from_gymnasium,
        from_outcomes,
        grid_domain,
        load_domain,
        parse_map,
        read_map,
        save_domain,
    )
    from pdrm.drawing.render import draw, draw_run
    from pdrm.errors import PdrmError
    from pdrm.experiments.execution import Workers
    from pdrm.experiments.run_study import run_study
    from pdrm.experiments.sinks import TensorBoard, WeightsAndBiases
    from pdrm.experiments.study import Line, Panel, Study
    from pdrm.experiments.study_file import load_study
    from pdrm.language.json_form import to_json
    from pdrm.language.loading import catalogue, load, parse, parse_word, save
    from pdrm.language.writer import to_text
    from pdrm.learning.deep.deep_policy import DeepPolicy, load_deep_policy
    from pdrm.learning.deep.sb3 import CounterfactualReplayBuffer
    from pdrm.learning.tabular.evaluation import Trained
    from pdrm.learning.tabular.policy import load_policy, policy_of
    from pdrm.learning.tabular.settings import Hierarchical, QLearning
    from pdrm.learning.tabular.training import HierarchicalTraining, Training
    from pdrm.machines.configurations import Configuration
    from pdrm.machines.conversions import counting_to_pushdown, pushdown_to_counting, reward_machine_to_pushdown
    from pdrm.machines.counting import CountingRewardAutomaton, CountingTransition
    from pdrm.machines.guards import ALWAYS, SILENT, And, Event, Exactly, Not, Or
    from pdrm.machines.pushdown import PushdownRewardMachine
    from pdrm.machines.reward_machine import RewardMachine, RewardTransition
    from pdrm.machines.tables import begin_table, step_table, tabulate
    from pdrm.machines.transitions import Otherwise, Transition
    from pdrm.product.views import FullStack, TopK
    from pdrm.product.wrapping import wrap, wrap_vector

__version__ = "0.1.0"

_HOMES = {
    # What is rewarded (Sections 2 and 3)
    "PushdownRewardMachine": "pdrm.machines.pushdown",
    "Transition": "pdrm.machines.transitions",
    "Otherwise": "pdrm.machines.transitions",
    "Configuration": "pdrm.machines.configurations",
    "RewardMachine": "pdrm.machines.reward_machine",
    "RewardTransition": "pdrm.machines.reward_machine",
    "load": "pdrm.language.loading",
    "parse": "pdrm.language.loading",
    "save": "pdrm.language.loading",
    "to_text": "pdrm.language.writer",
    "to_json": "pdrm.language.json_form",
    "parse_word": "pdrm.language.loading",
    "catalogue": "pdrm.language.loading",
    # Which labels a rule reads
    "Event": "pdrm.machines.guards",
    "Not": "pdrm.machines.guards",
    "And": "pdrm.machines.guards",
    "Or": "pdrm.machines.guards",
    "Exactly": "pdrm.machines.guards",
    "ALWAYS": "pdrm.machines.guards",
    "SILENT": "pdrm.machines.guards",
    # A machine as integer tables
    "tabulate": "pdrm.machines.tables",
    "begin_table": "pdrm.machines.tables",
    "step_table": "pdrm.machines.tables",
    # The comparison with counting (Section 5, Appendices A and B)
    "CountingRewardAutomaton": "pdrm.machines.counting",
    "CountingTransition": "pdrm.machines.counting",
    "counting_to_pushdown": "pdrm.machines.conversions",
    "reward_machine_to_pushdown": "pdrm.machines.conversions",
    "pushdown_to_counting": "pdrm.machines.conversions",
    # What it solves: the product with an environment (Definition 2)
    "wrap": "pdrm.product.wrapping",
    "wrap_vector": "pdrm.product.wrapping",
    "TopK": "pdrm.product.views",
    "FullStack": "pdrm.product.views",
    # Where it acts
    "domain": "pdrm.domains",
    "find_domain": "pdrm.domains",
    "FiniteDomain": "pdrm.domains",
    "FiniteEnv": "pdrm.domains",
    "grid_domain": "pdrm.domains",
    "parse_map": "pdrm.domains",
    "read_map": "pdrm.domains",
    "from_arrays": "pdrm.domains",
    "from_outcomes": "pdrm.domains",
    "Outcome": "pdrm.domains",
    "Start": "pdrm.domains",
    "from_gymnasium": "pdrm.domains",
    "load_domain": "pdrm.domains",
    "save_domain": "pdrm.domains",
    # How it learns (Sections 6 and 7)
    "QLearning": "pdrm.learning.tabular.settings",
    "Training": "pdrm.learning.tabular.training",
    "Hierarchical": "pdrm.learning.tabular.settings",
    "HierarchicalTraining": "pdrm.learning.tabular.training",
    "policy_of": "pdrm.learning.tabular.policy",
    "load_policy": "pdrm.learning.tabular.policy",
    "Trained": "pdrm.learning.tabular.evaluation",
    "DeepPolicy": "pdrm.learning.deep.deep_policy",
    "load_deep_policy": "pdrm.learning.deep.deep_policy",
    "CounterfactualReplayBuffer": "pdrm.learning.deep.sb3",
    # What can be proved (Section 4)
    "check_k": "pdrm.analysis.check_k",
    "Certificate": "pdrm.analysis.certificate",
    "load_certificate": "pdrm.analysis.certificate",
    "verify": "pdrm.analysis.checker",
    # Studies of one's own, and the paper's
    "Study": "pdrm.experiments.study",
    "Panel": "pdrm.experiments.study",
    "Line": "pdrm.experiments.study",
    "load_study": "pdrm.experiments.study_file",
    "run_study": "pdrm.experiments.run_study",
    "Workers": "pdrm.experiments.execution",
    "TensorBoard": "pdrm.experiments.sinks",
    "WeightsAndBiases": "pdrm.experiments.sinks",
    # Looking at machines
    "draw": "pdrm.drawing.render",
    "draw_run": "pdrm.drawing.render",
    "PdrmError": "pdrm.errors",
}

__all__ = [  # noqa: RUF022 - the paper's order, not the alphabet's
    "PushdownRewardMachine",
    "Transition",
    "Otherwise",
    "Configuration",
    "RewardMachine",
    "RewardTransition",
    "load",
    "parse",
    "save",
    "to_text",
    "to_json",
    "parse_word",
    "catalogue",
    "Event",
    "Not",
    "And",
    "Or",
    "Exactly",
    "ALWAYS",
    "SILENT",
    "tabulate",
    "begin_table",
    "step_table",
    "CountingRewardAutomaton",
    "CountingTransition",
    "counting_to_pushdown",
    "reward_machine_to_pushdown",
    "pushdown_to_counting",
    "wrap",
    "wrap_vector",
    "TopK",
    "FullStack",
    "domain",
    "find_domain",
    "FiniteDomain",
    "FiniteEnv",
    "grid_domain",
    "parse_map",
    "read_map",
    "from_arrays",
    "from_outcomes",
    "Outcome",
    "Start",
    "from_gymnasium",
    "load_domain",
    "save_domain",
    "QLearning",
    "Training",
    "Hierarchical",
    "HierarchicalTraining",
    "policy_of",
    "load_policy",
    "Trained",
    "DeepPolicy",
    "load_deep_policy",
    "CounterfactualReplayBuffer",
    "check_k",
    "Certificate",
    "load_certificate",
    "verify",
    "Study",
    "Panel",
    "Line",
    "load_study",
    "run_study",
    "Workers",
    "TensorBoard",
    "WeightsAndBiases",
    "draw",
    "draw_run",
    "PdrmError",
]


_JAX = ("jax", "optax")
"""What deep agents need, and the library's core does without."""


def __getattr__(name: str) -> Any:  # noqa: ANN401 - a module attribute is any object
    """Import a public name from its home on first use."""
    if name not in _HOMES:
        raise AttributeError(f"module 'pdrm' has no attribute '{name}'")
    try:
        home = import_module(_HOMES[name])
    except ModuleNotFoundError as error:
        if error.name in _JAX:
            import_module("pdrm.product.jax_env")  # which says what to install
        raise
    value = globals()[name] = getattr(home, name)
    return value


def __dir__() -> list[str]:
    """The public names, for completion."""
    return [*__all__, "__version__"]


if "gymnasium" in sys.modules:  # else its import would make this one slow; `import pdrm.domains` registers them too
    import_module("pdrm.domains")
