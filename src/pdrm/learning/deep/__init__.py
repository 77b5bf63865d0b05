"""Deep agents: PPO, recurrent PPO, DQN and SAC in JAX, each one compiled program; and what Stable-Baselines3 needs from us.

Their settings are in `learning/agents`. In reading order: `networks` (layers, an actor and a critic, LSTMs, one step of an
optimiser), `algorithm` (what the four have in common, environments of training, episodes of evaluation), `ppo` (learning from what
was just done, with or without a memory), `replay` (labelled transitions, and counterfactuals made from them), `off_policy` (DQN and
SAC, which learn from these), `deep_training` (what is left to the task, and many runs at once), `deep_policy` (policies, and their
files), `film`. `sb3` and `sb3_agent` stand alone, without JAX: the counterfactual replay buffer for Stable-Baselines3, and its
algorithms as agents.
"""
