"""Deep agents: PPO, recurrent PPO, DQN and SAC in JAX, each one compiled program; and what Stable-Baselines3 needs from us.

Their settings are in `learning/agents`. In reading order: `many_envs` (products side by side), `networks` (layers, an actor and
a critic, one step of an optimiser), `algorithm` (what the four have in common, evaluation episodes), `ppo` and `recurrent_ppo`
(learning from what was just done), `replay` (a buffer of labelled transitions, counterfactuals made from it, and the loop of both
agents that learn so), `dqn` and `sac`, `deep_training` (what is left to the task, and many runs at once), `deep_policy` (policies,
and their files), `film`. `sb3` and `sb3_agent` stand alone, without JAX: the counterfactual replay buffer for Stable-Baselines3,
and its algorithms as agents.
"""
