"""Learning: agents, runs and their curves (Sections 6 and 7).

`protocol` has what a run asks of an agent, its learner and its policy, and takes agents of others; `sb3_agent` those of
Stable-Baselines3. `settings` says what every agent of pdrm is, `agents` has them all. `run_folder` has what decides a run, its learner
and its files; `run_loop` trains it there, `execution` trains many on workers; `run` has `train`, and the `Run` that it
returns. `evaluation` has the curves, and plays episodes of a trained policy (`saved_policy` reads it); `replays` shows them. The learners
themselves are in `tabular/` (tables, in Numba) and `deep/` (networks, in JAX; and what Stable-Baselines3 needs of us).

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
    )
    from pdrm.learning.deep.deep_policy import DeepPolicy, load_deep_policy
    from pdrm.learning.deep.sb3 import CounterfactualReplayBuffer
    from pdrm.learning.deep.sb3_agent import SB3
    from pdrm.learning.evaluation import Curve, Evaluation
    from pdrm.learning.execution import Workers
    from pdrm.learning.protocol import Agent, EvaluationResult, Learner, Policy, Until, agent_for
    from pdrm.learning.run import Run, Runs, train
    from pdrm.learning.run_folder import RunSpec
    from pdrm.learning.run_loop import Status
    from pdrm.learning.saved_policy import load_policy
    from pdrm.learning.sinks import TensorBoard, WeightsAndBiases
    from pdrm.learning.tabular.learner import HierarchicalLearner, QLearner

__all__ = [
    "Agent",
    "Learner",
    "Policy",
    "Until",
    "AGENTS",
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
    "SB3",
    "Counterfactuals",
    "agent_for",
    "train",
    "Run",
    "Runs",
    "RunSpec",
    "Status",
    "Workers",
    "TensorBoard",
    "WeightsAndBiases",
    "Curve",
    "EvaluationResult",
    "Evaluation",
    "QLearner",
    "HierarchicalLearner",
    "load_policy",
    "DeepPolicy",
    "load_deep_policy",
    "CounterfactualReplayBuffer",
]

__getattr__, __dir__ = lazy(__name__)
