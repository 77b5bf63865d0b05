"""How it learns: tabular and deep agents on a task (Sections 6 and 7).

`settings` says what every agent is, `agents` has them all and the one list of them. `run_loop` trains any of them to the end in a folder of its own:
what decides a run, and the loop with tests and checkpoints; `run` has `train`, and the `Run` that one gets. `curve` is what its tests recorded, `evaluation`
has the episodes of a trained policy and `replays` tells them. The learners themselves are in `tabular/` (tables, in Numba) and
`deep/` (networks, in JAX; and what Stable-Baselines3 needs of us); `randomness` has the numbers that readable and fast ones draw alike.

The names below are what the rest of the package and users may rely on; each is imported when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pdrm.lazy import lazy

if TYPE_CHECKING:
    from pdrm.learning.agents import (
        AGENTS,
        DQN,
        PPO,
        SAC,
        Counterfactuals,
        CountingCQL,
        CountingQ,
        CpRM,
        Hierarchical,
        QLearning,
        RecurrentPPO,
        Summary,
        agent_for,
    )
    from pdrm.learning.curve import Curve, Test
    from pdrm.learning.deep.deep_policy import DeepPolicy, load_deep_policy
    from pdrm.learning.deep.sb3 import CounterfactualReplayBuffer
    from pdrm.learning.run import Run, Runs, load_policy, train
    from pdrm.learning.run_loop import RunSpec, Status
    from pdrm.learning.settings import Agent
    from pdrm.learning.tabular.learner import HierarchicalLearner, QLearner
    from pdrm.learning.tabular.policy import HierarchicalPolicy, Policy, policy_of

__all__ = [
    "AGENTS",
    "Agent",
    "QLearning",
    "CpRM",
    "Hierarchical",
    "CountingQ",
    "CountingCQL",
    "Summary",
    "PPO",
    "RecurrentPPO",
    "DQN",
    "SAC",
    "Counterfactuals",
    "agent_for",
    "train",
    "Run",
    "Runs",
    "RunSpec",
    "Status",
    "Curve",
    "Test",
    "QLearner",
    "HierarchicalLearner",
    "Policy",
    "HierarchicalPolicy",
    "policy_of",
    "load_policy",
    "DeepPolicy",
    "load_deep_policy",
    "CounterfactualReplayBuffer",
]

__getattr__, __dir__ = lazy(__name__)
