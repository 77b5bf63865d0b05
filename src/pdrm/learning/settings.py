"""Settings: what every agent of pdrm is. A frozen dataclass with a docstring under each field.

Options, `--set name=value`, study files, help and docs are derived from the fields: here is how a setting is checked, recorded
for the id of a run, read from a text and described. The agents themselves are in `agents`.
"""

from __future__ import annotations

import ast
import inspect
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import Field, dataclass, fields, is_dataclass, replace
from functools import cache
from itertools import pairwise
from math import isfinite
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar, dataclass_transform

from pdrm.errors import BadSetting, UnknownSetting, WrongArguments, did_you_mean
from pdrm.lazy import NAMES_ELSEWHERE
from pdrm.product.observation import View, view_of
from pdrm.source_hash import hash_source
from pdrm.task import DISCOUNTS

if TYPE_CHECKING:
    from pdrm.task import Task

MOST = 2**31 - 1
"""The largest number of episodes, steps, updates or symbols."""
FULL, NOTHING = "full", "none"
"""Instead of a number of symbols: the whole stack; nothing of the machine at all (deep agents only)."""
FROM_TASK: Any = None
"""The default of a setting that depends on the task; `resolved` fills it in when a run is made."""
SOURCE = "source"
"""In the record of an agent: the hash of the source of a class or function, which a file cannot hold."""
LENGTHS = {"episodes": "episodes", "timesteps": "total_timesteps"}
"""The units of training, and the settings that say how long it is."""
TESTS_PER_RUN = 20
"""Unless an agent says how much training is between two."""
Number = Any
"""A number, or a traced scalar array: runs that differ in such a number alone are one compiled program."""


A = TypeVar("A")


@dataclass_transform(frozen_default=True, kw_only_default=True)
def settings_class(kind: type[A]) -> type[A]:
    """Make a class of settings a frozen dataclass."""
    return dataclass(frozen=True, kw_only=True, repr=False)(kind)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class BuiltInAgent(ABC):
    """Settings of every agent of pdrm. Unknown settings and values out of range are refused when it is made."""

    name: ClassVar[str] = ""
    """The name on the command line and in study files."""
    deep: ClassVar[bool] = False
    unit: ClassVar[str] = "episodes"
    """The unit of training."""
    defaults: ClassVar[Mapping[str, Any]] = {}
    """Settings of an agent that leaves them to the task, unless the task says otherwise."""

    k: int | str = 1
    """Stack symbols that the policy sees: 0, 1, 2, … or `full`; for deep agents also `none`, nothing of the machine."""
    discount: float = FROM_TASK
    """γ"""
    test_every: int = FROM_TASK
    """Training between two evaluations, in episodes or steps (default: a twentieth of all)."""
    test_episodes: int = 10
    """Episodes without exploration per evaluation."""

    def __new__(cls, *placed: object, **settings: Any) -> Self:
        if placed:
            fault = f"`{cls.__name__}` takes keyword settings only, no policy or environment"
            raise WrongArguments(fault, fix=f"pdrm.train(task, pdrm.{cls.__name__}(k=1))")
        check_known(cls.name, settings, [field.name for field in fields(cls)])
        return object.__new__(cls)

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", _check_k(self.k, none=self.deep))
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, list):
                value = tuple(value)
                object.__setattr__(self, field.name, value)
            is_optional = field.default is None or "None" in str(field.type)
            if value is not None or not is_optional:
                check_value(self, field, value)

    def __repr__(self) -> str:
        own = field_values(self)
        said = [
            f"{one.name}={own[one.name]!r}"
            for one in fields(self)
            if one.name == "k" or own[one.name] != one.default
        ]
        return f"{type(self).__name__}({', '.join(said)})"

    @property
    def view(self) -> View | None:
        """The view of the stack; None if nothing of the machine is seen."""
        return None if self.k == NOTHING else view_of(self.k)

    @property
    def total(self) -> int:
        """The length of training, in the agent's unit."""
        return int(field_values(self)[LENGTHS[self.unit]])

    @property
    def between_tests(self) -> int:
        """Training between two evaluations, in the agent's unit."""
        return self.test_every or max(1, self.total // TESTS_PER_RUN)

    @abstractmethod
    def defaults_for(self, task: Task) -> dict[str, Any]:
        """Settings for this task of an agent that leaves them to it."""

    def resolved(self, task: Task | None = None) -> Self:
        """The agent with everything that it leaves to the task."""
        defaults = self.defaults if task is None else self.defaults_for(task)
        left = {
            name: defaults[name]
            for name, value in field_values(self).items()
            if value is None and name in defaults
        }
        return replace(self, **left)

    def record(self) -> dict[str, Any]:
        """The settings as JSON values."""
        own, record = field_values(self), {}
        for field in fields(self):
            value = own[field.name]
            is_whole = isinstance(value, Integral) and str(field.type).startswith("float")
            record[field.name] = plain(float(value) if is_whole else value)
        return record


def field_values(agent: object) -> dict[str, Any]:
    """The fields of an agent: of a dataclass, or what it was given."""
    if is_dataclass(agent):
        return {field.name: getattr(agent, field.name) for field in fields(agent)}
    return dict(vars(agent))


def plain(value: Any) -> Any:
    """A JSON value, or a text of it; of a function or a class the hash of its source."""
    if isinstance(value, tuple | list):
        return [plain(one) for one in value]
    if isinstance(value, Mapping):
        return {str(name): plain(one) for name, one in value.items()}
    if isinstance(value, str | bool | None):
        return value
    if isinstance(value, Integral):
        return int(value)
    if callable(value):
        return {SOURCE: hash_source(value)}
    return float(value) if isinstance(value, Real) else repr(value)


def _check_k(k: Any, *, none: bool) -> int | str:
    """The k that is meant: a non-negative integer (maybe as text), `full`, or `none`."""
    if k == FULL or (none and k == NOTHING):
        return str(k)
    number = int(k) if isinstance(k, str) and k.isascii() and k.isdecimal() else k
    if _is_count(number, 0):
        return int(number)
    others = "full or none" if none else "or full"
    raise bad_setting("k", k, f"a non-negative integer, {others}")


# --- Ranges

SHARES = {
    "discount", "epsilon", "epsilon_decay", "epsilon_least", "gae_lambda", "tau", "restarts",
    "shaping_discount", "exploration_initial_eps", "exploration_final_eps", "exploration_fraction",
}  # fmt: skip
"""Settings from 0 to 1; the learning rate of tables is one, too."""
FROM_ZERO = {"ent_coef", "vf_coef", "learning_starts", "counterfactuals"}
OF_ANY_SIGN = {
    "r_plus",
    "r_minus",
    "option_pay",
    "target_entropy",
    "shaping_scale",
    "shaping_shift",
}
"""Other settings are positive."""


def check_value(agent: BuiltInAgent, field: Field[Any], value: Any) -> None:
    """Raise unless a setting is of its kind and in its range. A traced array passes."""
    name, kind = field.name, str(field.type).removesuffix(" | None")
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    if kind == "tuple[int, ...]":
        right = isinstance(value, tuple) and all(_is_count(one, 1) for one in value)
        wanted = "several positive integers"
    elif kind == "bool":
        right, wanted = isinstance(value, bool), "true or false"
    elif kind == "int":
        least = 0 if name in FROM_ZERO else 1
        right, wanted = _is_count(value, least), f"an integer from {least} to {MOST:,}"
    elif kind not in ("float", "Number") or (hasattr(value, "dtype") and not is_number):
        return
    else:
        right, wanted = is_number and isfinite(value), "a finite number"
        if name in SHARES or (name == "learning_rate" and not agent.deep):
            right, wanted = right and 0 <= value <= 1, "a number from 0 to 1"
        elif name in FROM_ZERO:
            right, wanted = right and value >= 0, "a non-negative number"
        elif name not in OF_ANY_SIGN:
            right, wanted = right and value > 0, "a number above 0"
    if not right:
        raise bad_setting(name, value, wanted)


def _is_count(value: Any, least: int) -> bool:
    is_integer = isinstance(value, Integral) and not isinstance(value, bool)
    return is_integer and least <= int(value) <= MOST


def bad_setting(name: str, value: object, wanted: str) -> BadSetting:
    """The error that a setting is out of its range."""
    return BadSetting(f"{name} is {value!r}, but must be {wanted}", fix=f"set {name} to {wanted}")


def check_choice(name: str, value: object, known: Sequence[str]) -> None:
    """Raise unless a setting is one of a few words."""
    if value not in known:
        raise bad_setting(name, str(value), f"one of {', '.join(known)}")


def check_count(name: str, value: object, least: int) -> None:
    """Raise unless an argument is an integer from `least` on.

    >>> check_count("episodes", "100", 1)
    Traceback (most recent call last):
    pdrm.errors.BadSetting: error[E0801]: episodes is '100', but must be an integer from 1 on
      fix: set episodes to an integer from 1 on
    """
    if not _is_count(value, least):
        raise bad_setting(name, value, f"an integer from {least} on")


def check_known(agent: str, given: Iterable[str], known: Sequence[str]) -> None:
    """Raise unless the agent has all of these settings."""
    for setting in given:
        if setting not in known:
            fix = NAMES_ELSEWHERE.get(setting) or did_you_mean(setting, known)
            raise UnknownSetting(f"agent `{agent}` has no setting `{setting}`", fix=fix)


# --- Texts


@cache
def describe_settings(kind: type) -> dict[str, str]:
    """The docstring under each field, in the class or the nearest parent that has one."""
    if not issubclass(kind, BuiltInAgent):
        return {}
    (tree,) = ast.parse(inspect.getsource(kind)).body
    assert isinstance(tree, ast.ClassDef)
    texts = {**describe_settings(kind.__mro__[1])}
    for field, text in pairwise(tree.body):
        if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr):
            texts[ast.unparse(field.target)] = " ".join(ast.literal_eval(text.value).split())
    return {field.name: texts[field.name] for field in fields(kind)}


def list_settings(kind: type[BuiltInAgent]) -> str:
    """Every setting of an agent with its usual value and its meaning, for `help`."""
    texts, lines = describe_settings(kind), ["Settings, by name:"]
    for field in fields(kind):
        defaults = kind.defaults.get(field.name) if field.default is None else field.default
        lines += [f"    {field.name} = {defaults}", f"        {texts[field.name]}"]
    return "\n".join(lines)


def parse_setting(kind: type[BuiltInAgent], word: str) -> tuple[str, Any]:
    """A setting from `name=value`, whose range is checked when the agent is made.

    >>> from pdrm.learning.agents import PPO, QLearning
    >>> parse_setting(PPO, "net_arch=128,128"), parse_setting(QLearning, "episodes=2e4")
    (('net_arch', (128, 128)), ('episodes', 20000))
    """
    name, _, text = word.partition("=")
    types = {field.name: str(field.type) for field in fields(kind)}
    check_known(kind.name, [name], list(types))
    value: Any = text
    if "str" not in types[name]:
        with suppress(ValueError, SyntaxError):  # the text is refused when the agent is made
            value = ast.literal_eval(text.capitalize())  # true, false and none may be lower case
    if types[name].startswith("tuple") and not isinstance(value, tuple):
        value = (value,)
    is_whole = isinstance(value, float) and value.is_integer()
    return name, int(value) if is_whole else value


# --- Usual settings: the paper's, Stable-Baselines3's, and those tuned for WaterWorld

OPERATIONS = 30_000
"""Operations an episode may take of an automaton that simulates a stack (they grow sixfold with every symbol of the maze):
about what the paper's 0.03 seconds an episode allow."""

STOCHASTIC_LEARNING_RATE = 0.1
"""The learning rate of tables in your own domain if its moves are random: with a larger one a value is the last few outcomes."""

# --- Everywhere, unless the task says otherwise

SUMMARY_DEFAULTS = {"discount": 0.99}

TABULAR_DEFAULTS = {
    "episodes": 10_000,
    "learning_rate": 0.5,
    "discount": 0.99,
    "epsilon": 1.0,
    "epsilon_decay": 0.995,
    "epsilon_least": 0.01,
    "test_every": 100,
}
DEEP_DEFAULTS: dict[str, Any] = {
    "total_timesteps": 100_000,
    "n_envs": 8,
    "learning_rate": 3e-4,
    "linear_decay": False,
    "discount": 0.99,
    "net_arch": (64, 64),
    "staggered": False,
    "test_episodes": 5,
    "shaping": NOTHING,
}
PPO_DEFAULTS = {
    **DEEP_DEFAULTS,
    "total_timesteps": 2_400_000,
    "n_envs": 128,
    "learning_rate": 1e-3,
    "n_steps": 128,
    "batch_size": 2_048,
    "n_epochs": 4,
    "ent_coef": 0.1,
    "restarts": 0.8,
    "shaping": "emitted",
    "shaping_discount": 0.6,
}
RPPO_DEFAULTS = {
    **PPO_DEFAULTS,
    "restarts": 0.0,
    "lstm_hidden_size": 256,
    "sequence_length": 16,
}
_OFF_POLICY = {
    **DEEP_DEFAULTS,
    "buffer_size": 1_000_000,
    "learning_starts": 100,
    "batch_size": 256,
    "tau": 1.0,
    "train_freq": 4,
    "gradient_steps": 1,
    "n_steps": 1,
}
DQN_DEFAULTS = {
    **_OFF_POLICY,
    "total_timesteps": 240_000,
    "discount": 0.98,
    "learning_rate": 2e-3,
    "linear_decay": True,
    "batch_size": 64,
    "buffer_size": 100_000,
    "gradient_steps": 16,
    "tau": 0.05,
    "shaping": "auto",
    "shaping_discount": 0.6,
    "target_update_interval": 32,
    "exploration_fraction": 0.8,
    "exploration_final_eps": 0.1,
}
SAC_DEFAULTS = {
    **_OFF_POLICY,
    "net_arch": (256, 256),
    "tau": 0.005,
    "train_freq": 1,
    "counterfactuals": 0,
}

# --- In the paper's domains

_MAZE = TABULAR_DEFAULTS
_LETTER = {**_MAZE, "learning_rate": 0.01, "epsilon": 0.01, "epsilon_decay": 1.0}
_DELIVER = {**_MAZE, "learning_rate": 0.01, "epsilon_decay": 0.9995, "epsilon_least": 0.1}

PAPER_SETTINGS: dict[str, dict[str, Any]] = {
    "letter": {**_LETTER, "episodes": 5_000},
    "maze-5x5": _MAZE,
    "maze-10x10": _MAZE,
    "maze-20x20": _MAZE,
    "multi-10x10": {**_MAZE, "discount": DISCOUNTS["multi-10x10"]},
    "multi-20x20": {**_MAZE, "discount": DISCOUNTS["multi-20x20"]},
    "deliver-8": _DELIVER,
    "deliver-4-8": {**_DELIVER, "episodes": 15_000},
    # Appendix C gives no rates for PaintWorld; these are the mazes', tested as it says.
    "paint": {**_MAZE, "episodes": 500, "test_every": 5},
    "echo": {**_MAZE, "episodes": 2_000},
}
"""The paper's settings for each of its domains (Appendices C and E), for tabular agents."""

# --- Stable-Baselines3's, and in WaterWorld

_PPO_LIKE_SB3 = {
    "total_timesteps": 100_000,
    "n_envs": 8,
    "learning_rate": 3e-4,
    "n_steps": 2_048,
    "batch_size": 64,
    "n_epochs": 10,
    "ent_coef": 0.0,
    "reward_scale": 1.0,
    "restarts": 0.0,
    "shaping": NOTHING,
    "shaping_discount": None,
}
SB3_SETTINGS: dict[str, dict[str, Any]] = {
    "ppo": _PPO_LIKE_SB3,
    "rppo": {**_PPO_LIKE_SB3, "n_steps": 128, "batch_size": 128},
    "dqn": {
        "total_timesteps": 100_000,
        "discount": 0.99,
        "learning_rate": 1e-4,
        "linear_decay": False,
        "reward_scale": 1.0,
        "buffer_size": 1_000_000,
        "batch_size": 32,
        "tau": 1.0,
        "gradient_steps": 1,
        "counterfactuals": 0,
        "shaping": NOTHING,
        "shaping_discount": None,
        "target_update_interval": 10_000,
        "exploration_fraction": 0.1,
        "exploration_final_eps": 0.05,
    },
    "sac": {"reward_scale": 1.0},
}
"""Stable-Baselines3's defaults, where ours are others, for each deep agent."""

_TUNED = {
    "total_timesteps": 78_643_200,
    "learning_rate": 7e-4,
    "n_envs": 2_048,
    "n_steps": 64,
    "n_epochs": 4,
    "batch_size": 16_384,
    "linear_decay": True,
    "ent_coef": 0.003,
    "reward_scale": 1e-3,
    "reward_clip": 10.0,
    "net_arch": (128, 128),
    "staggered": True,
    "test_episodes": 20,
}
"""Many environments, a larger learning rate and network than printed, scaled rewards (the last one as if it were 1e4)."""
_WATER_OFF_POLICY = {
    "n_envs": 64,
    "train_freq": 4,
    "gradient_steps": 8,
    "n_steps": 10,
    "batch_size": 256,
    "buffer_size": 500_000,
    "learning_starts": 20_000,
    "discount": 0.98,
    "net_arch": (256, 256),
    "staggered": True,
}
"""Of a sweep over discounts, rates, scales and steps of a target, with one seed each, what served the agents without
counterfactual experiences best. With one-step targets neither learnt the task."""

WATER_SETTINGS: dict[str, dict[str, Any]] = {
    "ppo": {**SB3_SETTINGS["ppo"], **_TUNED},
    "rppo": {
        **SB3_SETTINGS["rppo"],
        **_TUNED,
        "lstm_hidden_size": 128,
        "sequence_length": 64,
        "net_arch": (128,),
    },
    "dqn": {
        **SB3_SETTINGS["dqn"],
        **_WATER_OFF_POLICY,
        "total_timesteps": 6_144_000,
        "learning_rate": 1e-4,
        "tau": 0.05,
        "target_update_interval": 256,
        "reward_scale": 1e-3,
        "reward_clip": 10.0,
    },
    "sac": {
        **SB3_SETTINGS["sac"],
        **_WATER_OFF_POLICY,
        "total_timesteps": 3_072_000,
        "learning_rate": 1e-3,
        "reward_scale": 0.1,
        "reward_clip": 1_000.0,
    },
}
"""Ours: the settings tuned for WaterWorld, for each deep agent."""
