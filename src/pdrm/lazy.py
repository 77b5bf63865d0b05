"""Public names that are imported when they are first used, so that importing a package is instant.

The names of a package stand under `if TYPE_CHECKING:` as ordinary imports, which is where type checkers look; `lazy` reads the
same lines, so that a name and its home are written once. `__all__` repeats the names in reading order.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from pdrm.errors import MissingPackage, UnknownName, name_alike

CHAPTERS = (
    "machines",
    "language",
    "domains",
    "product",
    "learning",
    "analysis",
    "experiments",
    "drawing",
    "paper",
)
"""The packages of the library that have names for users."""


NAMES_ELSEWHERE = {
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
"""Names that users of other libraries try, and what to write here: names of the package, settings and attributes of a run."""


def lazy(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The `__getattr__` and the `__dir__` of a package.

    >>> from pdrm import machines
    >>> machines.Event("a"), "Event" in dir(machines)
    (Event(name='a'), True)
    """

    def get_attribute(name: str) -> Any:
        homes = _find_homes(package)
        if name not in homes:
            fault, fix = f"module {package!r} has no attribute {name!r}", _suggest(package, name)
            raise UnknownName(fault, fix=fix) if fix else AttributeError(fault)
        try:
            home = import_module(homes[name])
        except ModuleNotFoundError as error:
            if error.name in ("jax", "optax"):
                raise missing_jax() from error
            raise
        value = getattr(home, name)
        setattr(sys.modules[package], name, value)
        return value

    return get_attribute, lambda: list(sys.modules[package].__all__)


def _suggest(package: str, name: str) -> str:
    """The right spelling of a name, or nothing for names that only programs ask for.

    >>> _suggest("pdrm", "Cprm"), _suggest("pdrm", "__wrapped__")
    ('did you mean `CpRM`?', '')
    >>> _suggest("pdrm", "load_run")
    'pdrm.Run.load("runs/…")'
    """
    if name.startswith("_"):
        return ""
    if package == "pdrm" and name in NAMES_ELSEWHERE:
        return NAMES_ELSEWHERE[name]
    alike = name_alike(name, _find_homes(package))
    return f"did you mean `{alike}`?" if alike else ""


@cache
def _find_homes(package: str) -> dict[str, str]:
    """The module that each public name comes from."""
    found = find_spec(package)
    loader: Any = None if found is None else found.loader
    imports = loader.get_source(package).partition("TYPE_CHECKING:")[2].partition("__all__")[0]
    lines = re.findall(r"from (\S+) import (\([^)]*\)|.*)", imports)
    return {name: module for module, names in lines for name in re.findall(r"\w+", names)}


def missing_jax() -> MissingPackage:
    """The error that deep agents cannot be used."""
    return MissingPackage("jax and optax are not installed", fix="pip install 'pdrm[jax]'")


def load_package(module: str, package: str) -> Any:
    """A module of a package that pdrm works without; `package`: what pip installs."""
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingPackage(f"{package} is not installed", fix=f"pip install {package}") from error


# --- Values that show themselves in a notebook


class Displayed:
    """A value that shows itself in a notebook as what it is drawn as.

    >>> from pdrm.language.loading import catalogue
    >>> "image/svg" in catalogue("letter")._repr_html_()
    True
    """

    __slots__ = ()

    def _repr_html_(self) -> str | None:
        from pdrm.drawing.render import draw

        return draw(self)._repr_html_()


def make_frame(records: Sequence[dict[str, Any]] | dict[str, Any]) -> Any:
    """A pandas `DataFrame` of rows, or of columns by their names."""
    return load_package("pandas", "pandas").DataFrame(records)
