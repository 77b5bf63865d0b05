"""Deep agents: PPO, recurrent PPO, DQN and SAC in JAX, each one compiled program; and what Stable-Baselines3 needs from us.

Their settings are in `learning/agents`. In reading order: `many_envs` (products side by side, evaluation episodes), `networks` (layers,
an actor and a critic, one step of an optimiser), `ppo` and `recurrent_ppo` (learning from what was just done), `replay`
(a buffer of labelled transitions, and counterfactuals made from it), `dqn` and `sac` (learning from that buffer), `deep_training`
(the four behind one record of functions, many seeds at once), `deep_learner` (a batch of runs as `learning/run` trains them),
`deep_policy` (policies in files), `film`. `sb3` stands alone: the counterfactual replay buffer for Stable-Baselines3, without JAX.
"""
