"""Lazy imports of public names, to make importing a package instant.

A package lists its names as ordinary imports under `if TYPE_CHECKING:`, for type checkers. `lazy`
reads these imports from the source (as `lazy_loader` reads stubs), so the module of each name is
written only once. `__all__` repeats the names in reading order.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
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
"""The packages with public names."""


NAMES_ELSEWHERE = {
    # Names of the package
    "make": "pdrm.Task(domain, machine).env(k=1), or pdrm.wrap(env, machine, labels)",
    "Env": "pdrm.Task(domain, machine).env(k=1), or pdrm.wrap(env, machine, labels)",
    "Wrapper": "pdrm.wrap(env, machine, labels)",
    "Machine": "pdrm.parse(text), pdrm.load(path), or pdrm.PushdownRewardMachine",
    "Domain": 'pdrm.domain("letter"), pdrm.load_domain("map.txt"), or pdrm.domains.from_arrays',
    "Agent": "pdrm.learning.Agent is the protocol; pdrm.QLearning(k=1) and pdrm.PPO() are agents",
    "A2C": 'pdrm.SB3("A2C"), or pdrm.PPO()',
    "TD3": 'pdrm.SB3("TD3"), or pdrm.SAC()',
    "SARSA": "pdrm.QLearning()",
    "check": 'pdrm.load("task.pdrm") checks the machine that it reads',
    "convert": 'pdrm.save(pdrm.load("task.json"), "task.pdrm")',
    "evaluate": "run.evaluate(episodes=100), after run = pdrm.train(…)",
    "load_run": 'pdrm.Run.load("runs/…")',
    "load_study": 'pdrm.experiments.load_study("study.toml")',
    "compare": 'pdrm.Study([task], ["q", "cprm"], seeds=3).run()',
    # Settings and arguments
    "gamma": "use `discount`",
    "alpha": "use `learning_rate`",
    "lr": "use `learning_rate`",
    "epsilon": "use `exploration_initial_eps` for DQN",
    "steps": "use `total_timesteps` for networks, `episodes` for tables; of a run: run.curve.timesteps",
    "episodes": "use `total_timesteps` for networks",
    "total_timesteps": "use `episodes` for tables",
    "timesteps": "use `total_timesteps` for networks, `episodes` for tables",
    "n_episodes": "use `episodes` for tables, `total_timesteps` for networks",
    "num_envs": "use `n_envs`",
    "eval_freq": "use `test_every`",
    "n_eval_episodes": "use `test_episodes`",
    "max_episode_steps": "use `step_limit` for tables; networks use the limit of the task",
    "policy_kwargs": "use `net_arch`: pdrm.PPO(net_arch=(64, 64))",
    "device": "JAX chooses the device; `pdrm doctor` shows it, and how to use a GPU",
    "verbose": "pdrm.train(…, progress=True)",
    "callback": "pdrm.train(…, watch=function)",
    "tensorboard_log": 'pdrm.train(…, watch=pdrm.experiments.TensorBoard("logs"))',
    "seed": "pdrm.train(…, seed=0), or seeds=5 for several runs; of a run: run.spec.seed",
    "env": "pdrm.train(task, agent): an agent holds only settings",
    # Attributes of a run
    "predict": "action = run.policy.act(observation)",
    "learn": "run = pdrm.train(task, agent); a finished run cannot be trained further",
    "model": "run.policy acts, run.spec.agent holds the settings",
    "q_table": "run.policy.table()",
    "rewards": "run.curve.returns, or run.evaluate(episodes=100)['returns']",
    "render": "print(run.replay()), or run.film('film.gif')",
}
"""Names from other libraries, and their counterparts in pdrm."""


def lazy(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The `__getattr__` and `__dir__` of a package with lazy names.

    >>> from pdrm import machines
    >>> machines.Event("a"), "Event" in dir(machines)
    (Event(name='a'), True)
    """

    def get_attribute(name: str) -> Any:
        homes = _find_homes(package)
        if name not in homes:
            fault = f"module {package!r} has no attribute {name!r}"
            fix = _suggest(package, name)
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
    """A fix for a name that does not exist ("" for private names, which only programs look up).

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
    """The module of each public name, from the import statements in the package's source."""
    module: Any = sys.modules[package]
    tree = ast.parse(module.__loader__.get_source(package))
    imports = (node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom))
    homes = {alias.name: str(line.module) for line in imports for alias in line.names}
    return {name: homes[name] for name in module.__all__ if name in homes}


def missing_jax() -> MissingPackage:
    """The error that JAX, which deep agents need, is not installed."""
    return MissingPackage("jax and optax are not installed", fix="pip install 'pdrm[jax]'")


def load_package(module: str, package: str) -> Any:
    """Import a module of an optional package; `package` is its name for pip."""
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingPackage(f"{package} is not installed", fix=f"pip install {package}") from error


# --- Display in notebooks


class Displayed:
    """Mixin: notebooks display the object's drawing.

    >>> from pdrm.language.loading import catalogue
    >>> "image/svg" in catalogue("letter")._repr_html_()
    True
    """

    __slots__ = ()

    def _repr_html_(self) -> str | None:
        from pdrm.drawing.render import draw

        return draw(self)._repr_html_()


def make_frame(records: Sequence[dict[str, Any]] | dict[str, Any]) -> Any:
    """A pandas `DataFrame` of rows, or of columns by name."""
    return load_package("pandas", "pandas").DataFrame(records)
