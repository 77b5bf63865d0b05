"""The same task learnt by a table, by a table with counterfactuals, and by two networks."""

import pdrm

task = pdrm.Task("echo")
small = {"total_timesteps": 16_384, "n_envs": 32, "learning_rate": 3e-3}
agents = [
    pdrm.QLearning(k=1, episodes=2_000),
    pdrm.CpRM(k=1, episodes=2_000),
    pdrm.PPO(k=1, n_steps=32, batch_size=256, **small),
    pdrm.DQN(k=1, learning_starts=500, target_update_interval=500, train_freq=1, **small),
]
for agent in agents:
    run = pdrm.train(task, agent, seed=0)
    print(f"{agent.name:<5} {run.evaluate(episodes=100)['success']:.0%} of 100 episodes")
