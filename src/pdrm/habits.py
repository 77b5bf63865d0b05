"""What one asks for by habit, because other libraries or the command line have it, and what it is called here: at the front door of
the package (`CALLS`), and on agents, policies, runs and tasks, which are `Explained`."""

from __future__ import annotations

from abc import ABCMeta
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from pdrm.errors import NotHere

RUN = 'run = pdrm.train(…), or pdrm.Run.load("runs/…")'
CALLS = {
    "evaluate": f"run.evaluate(episodes=100), of a run: {RUN}",
    "replay": f"print(run.replay()), of a run: {RUN}",
    "film": f'run.film("film.gif"), of a run: {RUN}',
    "play": f"run.replay(), of a run: {RUN}",
    "episode": f"run.episode(seed=0), of a run: {RUN}",
    "plot": f"run.plot() or results.plot(), of a run: {RUN}; results = study.run()",
    "policy": f"run.policy, of a run: {RUN}",
    "load_run": 'pdrm.Run.load("runs/…")',
    "load_agent": 'pdrm.Run.load("runs/…").policy',
    "load_study": 'pdrm.experiments.load_study("study.toml")',
    "run": 'pdrm.experiments.load_study("study.toml").run(), or pdrm.Study([task], ["q", "cprm"], seeds=3).run()',
    "run_study": 'pdrm.Study([task], ["q", "cprm"], seeds=3).run()',
    "convert": 'pdrm.save(pdrm.load("task.json"), "task.pdrm"), or a function of pdrm.machines such as pushdown_to_counting',
    "step": 'pdrm.catalogue("letter").run("A A B C")',
    "simulate": 'pdrm.catalogue("letter").run("A A B C")',
    "check": 'pdrm.load("task.pdrm"), which checks it; pdrm.product.inspect_task(task) warns of what is more often a mistake',
    "explain": 'print(pdrm.errors.explanations()["E0301"])',
    "fmt": 'pdrm.language.lay_out(text, "task.pdrm"), of a text; pdrm.language.to_text(machine)',
    "format": 'pdrm.language.lay_out(text, "task.pdrm"), of a text; pdrm.language.to_text(machine)',
    "agents": "list(pdrm.learning.AGENTS); pdrm.CpRM(k=1) is one, help(pdrm.CpRM) explains its settings",
    "compare": 'pdrm.Study([task], ["q", "cprm"], seeds=3).run()',
    "Agent": "pdrm.QLearning(k=1), pdrm.CpRM(k=1), pdrm.PPO(), …; list(pdrm.learning.AGENTS)",
    "Domain": 'pdrm.domain("letter"), pdrm.load_domain("map.txt"), or pdrm.domains.from_arrays',
    "names": "pdrm.domain() and pdrm.catalogue() list them",
    "Machine": "pdrm.parse(text), pdrm.load(path), or pdrm.PushdownRewardMachine",
    "machine": 'pdrm.catalogue("letter"), pdrm.load(path), or pdrm.parse(text)',
    "Env": "pdrm.Task(domain, machine).env(k=1), or pdrm.wrap(env, machine, labels)",
    "env": "pdrm.Task(domain, machine).env(k=1), or pdrm.wrap(env, machine, labels)",
    "make": "pdrm.Task(domain, machine).env(k=1), or pdrm.wrap(env, machine, labels)",
    **dict.fromkeys(("wrap_env", "wrapper", "Wrapper"), "pdrm.wrap(env, machine, labels)"),
    **{
        name: f"the deep agents here are pdrm.PPO(), pdrm.DQN() and, for continuous actions, pdrm.SAC(); stable_baselines3.{name} "
        "learns on pdrm.wrap(env, machine, labels)"
        for name in ("A2C", "DDPG", "TD3")
    },
    "SARSA": "the tables here are pdrm.QLearning() and pdrm.CpRM()",
    "reproduce": "pdrm reproduce, on the command line",
    "claims": "pdrm claims, on the command line",
    "doctor": "pdrm doctor, on the command line",
    "bench": "pdrm bench, on the command line",
    "new": "pdrm new garden, on the command line",
}
"""What one looks for at the front door and is called otherwise, or is a method: the right call."""

# --- What values are asked for

TRAINING = ("learn", "train", "fit")
"""What other libraries call training."""
OF_AGENTS = (*TRAINING, "predict", "act", "save", "load", "evaluate", "policy")
"""What the agents of other libraries have."""
AS_SETTINGS = {
    "verbose": "it is an argument of `train`: pdrm.train(…, progress=True)",
    "progress_bar": "it is an argument of `train`: pdrm.train(…, progress=True)",
    "callback": "it is an argument of `train`: pdrm.train(…, watch=function), which is called after every test",
    "policy_kwargs": "the size of the networks is a setting of its own, as in pdrm.PPO(net_arch=(64, 64))",
    "device": "JAX chooses it: `pdrm doctor` shows which, and what to install for a GPU",
    "tensorboard_log": 'pdrm.train(…, watch=pdrm.experiments.TensorBoard("logs"))',
    "seed": "it is an argument of `train`: pdrm.train(…, seed=0), or seeds=5 for several runs",
    "eval_freq": "it is called `test_every` here",
    "n_eval_episodes": "it is called `test_episodes` here",
}
"""What other libraries have among an agent's settings, and where it is here."""
TO_TRAIN = ("env", "policy", "task", "machine")
"""What other libraries give to an agent, and `train` is given here."""
OF_POLICIES = {
    "predict": "action = policy.act(observation); run.evaluate(episodes=100) does what evaluate_policy does",
    "q_values": "policy.values(state, machine_state, stack), of a table",
    "q_value": "policy.values(state, machine_state, stack), of a table",
    **dict.fromkeys(TRAINING, "run = pdrm.train(task, agent) trains, and run.policy is what was learnt"),
}
OF_NETWORKS = {
    "predict": "action = policy.act(observation), with policy.begin() before each episode",
    **dict.fromkeys(("values", "q_values", "q_value"), "policy.table() lists the action that it takes"),
    **dict.fromkeys(TRAINING, OF_POLICIES["learn"]),
}
OF_RUNS = {
    **dict.fromkeys(("predict", "act"), "action = run.policy.act(observation)"),
    **dict.fromkeys(
        TRAINING,
        "a run that is done is not trained further: pdrm.train(run.spec.task, run.spec.agent, …) trains another, longer or with another seed",
    ),
    **dict.fromkeys(("test", "score"), "run.evaluate(episodes=100)"),
    "render": "print(run.replay()), or run.film('film.gif')",
    **dict.fromkeys(("model", "q_table", "network"), "run.policy is what was learnt, run.spec.agent its settings"),
    **dict.fromkeys(
        ("returns", "rewards", "history", "results"),
        "run.curve.returns, of the tests during training; run.evaluate(episodes=100)['returns'], of new episodes",
    ),
    "table": "run.policy.table()",
    **{name: f"run.spec.{name}" for name in ("task", "agent", "seed")},
}
OF_SEVERAL_RUNS = {
    **dict.fromkeys(("predict", "act"), "action = runs[0].policy.act(observation), of one of the runs"),
    **{
        name: f"runs[0].{name}, of one of the runs"
        for name in ("policy", "curve", "spec", "folder", "result", "timing", "done", "warning")
    },
    **{name: f"runs[0].{name}(), of one of the runs" for name in ("replay", "film", "episode", "save")},
    "success": "runs.evaluate(episodes=100)['success'], or runs[0].success(), of one of the runs",
    **dict.fromkeys(TRAINING, "pdrm.train(task, agent, seeds=5) trains them"),
}
IN_ENVIRONMENT = "env = task.env(k=1), an environment of Gymnasium; then "
OF_TASKS = {
    "reset": f"{IN_ENVIRONMENT}observation, info = env.reset(seed=0)",
    "step": f"{IN_ENVIRONMENT}observation, reward, terminated, truncated, info = env.step(action)",
    "render": "env = task.env(k=1, render_mode='ansi'), an environment of Gymnasium; then print(env.render())",
    **{name: f"{IN_ENVIRONMENT}env.{name}" for name in ("action_space", "observation_space")},
    **dict.fromkeys(TRAINING, "run = pdrm.train(task, pdrm.CpRM(k=1))"),
    "save": "pdrm.save(task.machine, 'task.pdrm'), and pdrm.domains.save_domain(task.domain, 'domain.npz')",
    **dict.fromkeys(("predict", "act"), "run = pdrm.train(task, pdrm.CpRM(k=1)), then run.policy.act(observation)"),
    **{name: f"pdrm.{name}(task)" for name in ("solve", "check_k", "sizes")},
}
DRAWING = ("draw", "render", "plot", "show")
"""What other libraries call drawing."""
OF_MACHINES = {
    **dict.fromkeys(DRAWING, "pdrm.draw(machine, 'machine.svg'), or pdrm.draw(machine) in a notebook"),
    **dict.fromkeys(("reset", "initial"), "machine.begin().after, the configuration in which it starts"),
    **dict.fromkeys(("accepts", "simulate"), "machine.run('a b'), whose `accepted` and `reward` say what came of it"),
    "save": "pdrm.save(machine, 'task.pdrm')",
    "rules": "machine.transitions",
}
OF_DOMAINS = {
    **dict.fromkeys(DRAWING, "pdrm.draw(domain, 'domain.png'), or pdrm.draw(domain) in a notebook"),
    **{name: f"env = pdrm.Task(domain, machine).env(k=1), then env.{name}" for name in ("reset", "step")},
    "save": "pdrm.domains.save_domain(domain, 'domain.npz')",
    "env": "pdrm.Task(domain, machine).env(k=1)",
}
OF_ROWS = {
    name: f"rows.frame(), a pandas DataFrame, has it: rows.frame().{name}"
    for name in (
        *(
            "to_csv",
            "to_json",
            "to_latex",
            "to_markdown",
            "to_numpy",
            "to_dict",
            "head",
            "tail",
            "columns",
            "iloc",
            "loc",
        ),
        *("groupby", "sort_values", "query", "describe", "plot", "pivot", "merge", "shape", "mean", "values"),
    )
}
OF_STUDIES = {
    **dict.fromkeys(("frame", "failures", "notes"), "results = study.run(), or study.results() of what was run before"),
    **dict.fromkeys(TRAINING, "results = study.run()"),
}


class Explained:
    """A value that says what to call where it is asked for something by the name that other libraries have for it.

    >>> class Oven(Explained):
    ...     _called, _habits = "ovens", {"cook": "oven.bake()"}
    >>> Oven().cook
    Traceback (most recent call last):
    pdrm.errors.NotHere: error[E0814]: ovens have no `cook`
      fix: oven.bake()
    """

    __slots__ = ()
    _called: ClassVar[str] = ""
    """What such values are, in the plural."""
    _habits: ClassVar[Mapping[str, str]] = {}
    """Names, and what to call instead."""

    @classmethod
    def _find_call(cls, name: str) -> str:
        """What to call in place of a name; nothing: it is no habit."""
        return cls._habits.get(name, "")

    if not TYPE_CHECKING:  # type checkers find a wrong name by themselves

        def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - it raises, or a property does
            """Called for what the value does not have, and where one of its properties raised an `AttributeError`."""
            member = getattr(type(self), name, None)
            if isinstance(member, property):
                return member.__get__(self)  # which raises again what was raised
            if call := self._find_call(name):
                raise NotHere(f"{self._called} have no `{name}`", fix=call)
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")


class ExplainedKind(ABCMeta):
    """The kind of a class that says the same where the class itself is asked, as in `pdrm.PPO.load("agent.zip")`."""

    if not TYPE_CHECKING:

        def __getattr__(cls, name: str) -> Any:  # noqa: ANN401 - it raises
            """Called for what the class does not have."""
            if not name.startswith("_") and (call := cls._find_call(name)):
                raise NotHere(f"{cls._called} have no `{name}`", fix=call)
            raise AttributeError(f"type object {cls.__name__!r} has no attribute {name!r}")
