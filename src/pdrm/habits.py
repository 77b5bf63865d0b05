"""Names that users of other libraries try, and the pdrm equivalents.

The table is read by `pdrm.__getattr__`, by the check for unknown settings, and by `Run.__getattr__`.
"""

from __future__ import annotations

HABITS = {
    # Names of the package
    "make": "pdrm.Task(domain, machine).env(k=1), or pdrm.wrap(env, machine, labels)",
    "Env": "pdrm.Task(domain, machine).env(k=1), or pdrm.wrap(env, machine, labels)",
    "Wrapper": "pdrm.wrap(env, machine, labels)",
    "Machine": "pdrm.parse(text), pdrm.load(path), or pdrm.PushdownRewardMachine",
    "Domain": 'pdrm.domain("letter"), pdrm.load_domain("map.txt"), or pdrm.domains.from_arrays',
    "Agent": "pdrm.learning.Agent is the protocol; pdrm.QLearning(k=1) and pdrm.PPO() are agents",
    "A2C": "pdrm.PPO(), or Stable-Baselines3's A2C on pdrm.wrap(env, machine, labels)",
    "TD3": "pdrm.SAC(), or Stable-Baselines3's TD3 on pdrm.wrap(env, machine, labels)",
    "SARSA": "pdrm.QLearning()",
    "check": 'pdrm.load("task.pdrm") checks the machine that it reads',
    "convert": 'pdrm.save(pdrm.load("task.json"), "task.pdrm")',
    "evaluate": "run.evaluate(episodes=100), after run = pdrm.train(…)",
    "load_run": 'pdrm.Run.load("runs/…")',
    "load_study": 'pdrm.experiments.load_study("study.toml")',
    "compare": 'pdrm.Study([task], ["q", "cprm"], seeds=3).run()',
    # Settings and arguments
    "gamma": "it is called `discount` here",
    "alpha": "it is called `learning_rate` here",
    "lr": "it is called `learning_rate` here",
    "epsilon": "it is called `exploration_initial_eps` here",
    "steps": "the length of training is `total_timesteps` for networks, `episodes` for tables",
    "timesteps": "the length of training is `total_timesteps` for networks, `episodes` for tables",
    "n_episodes": "the length of training is `episodes` for tables, `total_timesteps` for networks",
    "num_envs": "it is called `n_envs` here",
    "eval_freq": "it is called `test_every` here",
    "n_eval_episodes": "it is called `test_episodes` here",
    "max_episode_steps": "it is called `step_limit` here",
    "policy_kwargs": "the sizes of the networks are a setting: pdrm.PPO(net_arch=(64, 64))",
    "device": "JAX chooses it: `pdrm doctor` shows which, and what to install for a GPU",
    "verbose": "it is an argument of `train`: pdrm.train(…, progress=True)",
    "callback": "it is an argument of `train`: pdrm.train(…, watch=function)",
    "tensorboard_log": 'pdrm.train(…, watch=pdrm.experiments.TensorBoard("logs"))',
    "seed": "it is an argument of `train`: pdrm.train(…, seed=0), or seeds=5 for several runs",
    "env": "agents are settings: pdrm.train(task, agent) trains them",
    # Attributes of a run
    "predict": "action = run.policy.act(observation)",
    "learn": "run = pdrm.train(task, agent) trains; a finished run is not trained further",
    "model": "run.policy acts, and run.spec.agent holds the settings",
    "q_table": "run.policy.table()",
    "rewards": "run.curve.returns, or run.evaluate(episodes=100)['returns']",
    "render": "print(run.replay()), or run.film('film.gif')",
}
"""Spellings of other formats, and what to write here."""
