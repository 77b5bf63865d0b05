"""Learning: agents, runs and their curves (Sections 6 and 7).

`protocol` is the interface of agents, learners and policies, and adapts third-party agents;
`sb3_agent` has those of Stable-Baselines3. `settings` has the base class of the built-in agents,
`agents` the agents. `run_folder` has the spec, the learner and the files of a run, `run_loop`
trains it, and `execution` trains many runs on workers. `run` has `train`, and the `Run` that it
returns. `evaluation` has curves and episodes of a trained policy, `saved_policy` reads policies,
and `replays` shows episodes. The learners are in `tabular/` (tables, in Numba) and `deep/`
(networks, in JAX, and the replay buffer for Stable-Baselines3).

Other chapters and users can rely on the names below. Each is imported when it is first used.
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
