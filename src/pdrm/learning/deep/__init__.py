"""Deep agents: PPO, recurrent PPO, DQN and SAC in JAX, each compiled as one program.

Also agents and a replay buffer for Stable-Baselines3.

`learning/agents` has their settings. In reading order: `networks` (layers, actor and critic,
LSTMs, optimiser steps), `algorithm` (the base class, training environments, evaluation
episodes), `ppo` (PPO with and without a memory), `replay` (labelled transitions and
counterfactuals from them), `off_policy` (DQN and SAC), `deep_training` (task-dependent
settings, many runs at once), `deep_policy` (policies and their files), `film`. `sb3` (the
counterfactual replay buffer) and `sb3_agent` (the algorithms of Stable-Baselines3 as agents)
work without JAX.
"""
