"""Deep agents: in JAX (PPO, recurrent PPO, DQN, SAC; one compiled program each), and what Stable-Baselines3 needs of us."""
