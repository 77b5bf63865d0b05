"""Settings: the base class of the built-in agents, frozen dataclasses with a docstring per field.

Options, `--set name=value`, study files, help and docs are derived from the fields. This module
checks settings, records them for the id of a run, parses and describes them. `agents` has the
agents.
"""

from __future__ import annotations

import ast
import inspect
from abc import ABC, abstractmethod
from collections import ChainMap
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import Field, dataclass, fields, is_dataclass, replace
from functools import cache
from itertools import pairwise
from math import ceil, inf, isfinite, ulp
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self, TypeVar, dataclass_transform

from pdrm.errors import BadSetting, UnknownSetting, WrongArguments, did_you_mean
from pdrm.lazy import NAMES_ELSEWHERE
from pdrm.product.observation import View, view_of
from pdrm.task import DISCOUNTS

if TYPE_CHECKING:
    from pdrm.task import Task

MAX_COUNT = 2**31 - 1
"""The largest number of episodes, steps, updates or symbols."""
FULL, NOTHING = "full", "none"
"""Values of k: the whole stack, or nothing of the machine (only for deep agents)."""
FROM_TASK: Any = None
"""The default of a setting that depends on the task. `resolved` fills it in when a run is made."""
SOURCE = "source"
"""In the record of an agent: the hash of a class or function, which a file cannot contain."""
LENGTHS = {"episodes": "episodes", "timesteps": "total_timesteps"}
"""The units of training, and the settings for its length."""
EVALUATIONS_PER_RUN = 20
"""The number of evaluations in training if `test_every` is None."""
Settings = dict[str, Any]
"""Values of settings by name."""
JsonObject = dict[str, Any]
"""A record of JSON values."""
Number = Any
"""A number or a traced array. Runs with other such numbers are compiled together."""


class Range(NamedTuple):
    """The values that a number can have."""

    minimum: float
    maximum: float
    text: str


UNIT_INTERVAL = Range(0, 1, "a number from 0 to 1")
NON_NEGATIVE = Range(0, inf, "a non-negative number")
POSITIVE = Range(ulp(0), inf, "a number above 0")
ANY_NUMBER = Range(-inf, inf, "a finite number")


A = TypeVar("A")


@dataclass_transform(frozen_default=True, kw_only_default=True)
def settings_class(kind: type[A]) -> type[A]:
    """Make a class of settings a frozen dataclass."""
    return dataclass(frozen=True, kw_only=True, repr=False)(kind)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class BuiltInAgent(ABC):
    """Settings of every built-in agent. Unknown settings and invalid values raise `BadSetting`."""

    name: ClassVar[str] = ""
    """The name on the command line and in study files."""
    deep: ClassVar[bool] = False
    unit: ClassVar[str] = "episodes"
    """The unit of training."""
    defaults: ClassVar[Mapping[str, Any]] = {}
    """Values of settings that depend on the task, unless the task has its own."""
    ranges: ClassVar[Mapping[str, Range]] = {"discount": UNIT_INTERVAL}
    """Ranges of the settings that this class declares (default: positive numbers)."""

    k: int | str = 1
    """Stack symbols that the policy sees: 0, 1, 2, … or `full`. For deep agents also `none`:
    nothing of the machine."""
    discount: float = FROM_TASK
    """The discount γ."""
    test_every: int = FROM_TASK
    """Training between two evaluations, in episodes or steps (default: usually 100 episodes; for
    networks a twentieth of the total)."""
    test_episodes: int = 10
    """Episodes without exploration per evaluation."""

    def __new__(cls, *positional: object, **settings: Any) -> Self:
        if positional:
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
        values = field_values(self)
        shown = [
            f"{field.name}={values[field.name]!r}"
            for field in fields(self)
            if field.name == "k" or values[field.name] != field.default
        ]
        return f"{type(self).__name__}({', '.join(shown)})"

    @property
    def view(self) -> View | None:
        """The view of the stack, or None if the agent sees nothing of the machine."""
        return None if self.k == NOTHING else view_of(self.k)

    @property
    def total(self) -> int:
        """The length of training, in the agent's unit."""
        return int(field_values(self)[LENGTHS[self.unit]])

    @property
    def between_tests(self) -> int:
        """Training between two evaluations, in the agent's unit."""
        return self.test_every or max(1, self.total // EVALUATIONS_PER_RUN)

    @abstractmethod
    def defaults_for(self, task: Task) -> Settings:
        """The values of settings that depend on the task."""

    def resolved(self, task: Task | None = None) -> Self:
        """The agent with values for the settings that depend on the task."""
        defaults = self.defaults if task is None else self.defaults_for(task)
        missing = {
            name: defaults[name]
            for name, value in field_values(self).items()
            if value is None and name in defaults
        }
        return replace(self, **missing)

    def record(self) -> JsonObject:
        """The settings as JSON values."""
        record = {}
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, Integral) and str(field.type).startswith("float"):
                value = float(value)
            record[field.name] = to_json_value(value)
        return record


def field_values(agent: object) -> Settings:
    """The fields of a dataclass, or the attributes of another agent."""
    if is_dataclass(agent):
        return {field.name: getattr(agent, field.name) for field in fields(agent)}
    return dict(vars(agent))


def to_json_value(value: Any) -> Any:
    """A value for JSON. A function or class is represented by the hash of its source."""
    if isinstance(value, tuple | list):
        return [to_json_value(item) for item in value]
    if isinstance(value, Mapping):
        return {str(name): to_json_value(item) for name, item in value.items()}
    if isinstance(value, str | bool | None):
        return value
    if isinstance(value, Integral):
        return int(value)
    if callable(value):
        from pdrm.source_hash import hash_source

        return {SOURCE: hash_source(value)}
    return float(value) if isinstance(value, Real) else repr(value)


def _check_k(k: Any, *, none: bool) -> int | str:
    """Return k as a non-negative integer, `full` or `none`. Text can be a number."""
    if k == FULL or (none and k == NOTHING):
        return str(k)
    number = int(k) if isinstance(k, str) and k.isascii() and k.isdecimal() else k
    if _is_count(number, 0):
        return int(number)
    others = "full or none" if none else "or full"
    raise bad_setting("k", k, f"a non-negative integer, {others}")


# --- Checks


def check_value(agent: BuiltInAgent, field: Field[Any], value: Any) -> None:
    """Raise unless a setting has its type and is in its range. A traced array passes."""
    name = field.name
    kind = str(field.type).removesuffix(" | None")
    ranges = ChainMap(*(vars(cls).get("ranges", {}) for cls in type(agent).__mro__))
    allowed = ranges.get(name, POSITIVE)
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    if kind == "tuple[int, ...]":
        valid = isinstance(value, tuple) and all(_is_count(item, 1) for item in value)
        wanted = "several positive integers"
    elif kind == "bool":
        valid = isinstance(value, bool)
        wanted = "true or false"
    elif kind == "int":
        minimum = ceil(allowed.minimum)
        valid = _is_count(value, minimum)
        wanted = f"an integer from {minimum} to {MAX_COUNT:,}"
    elif kind not in ("float", "Number") or (hasattr(value, "dtype") and not is_number):
        return
    else:
        valid = is_number and isfinite(value) and allowed.minimum <= value <= allowed.maximum
        wanted = allowed.text
    if not valid:
        raise bad_setting(name, value, wanted)


def _is_count(value: Any, minimum: int) -> bool:
    is_integer = isinstance(value, Integral) and not isinstance(value, bool)
    return is_integer and minimum <= int(value) <= MAX_COUNT


def bad_setting(name: str, value: object, wanted: str) -> BadSetting:
    """The error for a setting with an invalid value."""
    return BadSetting(
        f"`{name}` is {value!r}, but must be {wanted}", fix=f"set `{name}` to {wanted}"
    )


def check_choice(name: str, value: object, known: Sequence[str]) -> None:
    """Raise unless a setting has one of these values."""
    if value not in known:
        raise bad_setting(name, str(value), f"one of {', '.join(known)}")


def check_count(name: str, value: object, minimum: int) -> None:
    """Raise unless an argument is an integer of at least `minimum`.

    >>> check_count("episodes", "100", 1)
    Traceback (most recent call last):
    pdrm.errors.BadSetting: error[E0801]: `episodes` is '100', but must be an integer from 1 on
      fix: set `episodes` to an integer from 1 on
    """
    if not _is_count(value, minimum):
        raise bad_setting(name, value, f"an integer from {minimum} on")


def check_known(agent: str, names: Iterable[str], known: Sequence[str]) -> None:
    """Raise unless the agent has settings of all these names."""
    for setting in names:
        if setting not in known:
            fix = NAMES_ELSEWHERE.get(setting) or did_you_mean(setting, known)
            raise UnknownSetting(f"agent `{agent}` has no setting `{setting}`", fix=fix)


# --- Help and parsing


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
    """The settings of an agent with their defaults and descriptions, for `help`."""
    texts = describe_settings(kind)
    lines = ["Settings, by name:"]
    for field in fields(kind):
        default = kind.defaults.get(field.name) if field.default is None else field.default
        lines += [f"    {field.name} = {default}", f"        {texts[field.name]}"]
    return "\n".join(lines)


def parse_setting(kind: type[BuiltInAgent], word: str) -> tuple[str, Any]:
    """Parse a setting from `name=value`. The agent checks its range.

    >>> from pdrm.learning.agents import PPO, QLearning
    >>> parse_setting(PPO, "net_arch=128,128"), parse_setting(QLearning, "episodes=2e4")
    (('net_arch', (128, 128)), ('episodes', 20000))
    """
    name, equals, text = word.partition("=")
    if not equals:
        raise BadSetting(f"`{word}` has no value", fix="--set NAME=VALUE")
    types = {field.name: str(field.type) for field in fields(kind)}
    check_known(kind.name, [name], list(types))
    value: Any = text
    if "str" not in types[name]:
        with suppress(ValueError, SyntaxError):  # the agent refuses the text
            value = ast.literal_eval(text.capitalize())  # also true, false and none
    if types[name].startswith("tuple") and not isinstance(value, tuple):
        value = (value,)
    is_whole = isinstance(value, float) and value.is_integer()
    return name, int(value) if is_whole else value


# --- Defaults

DEFAULT_OPERATIONS_PER_EPISODE = 30_000
"""The operations of an episode if the automaton simulates a stack, about as many as the paper's
0.03 seconds allow. They grow sixfold with every symbol of the maze."""

STOCHASTIC_LEARNING_RATE = 0.1
"""The learning rate of tables in a stochastic domain of your own. With a larger one, a value
depends on the last few outcomes only."""

TABULAR_DEFAULTS = {
    "episodes": 10_000,
    "learning_rate": 0.5,
    "discount": 0.99,
    "epsilon": 1.0,
    "epsilon_decay": 0.995,
    "epsilon_least": 0.01,
    "test_every": 100,
}
DEEP_DEFAULTS: Settings = {
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

# --- The paper's settings for its domains

_MAZE = TABULAR_DEFAULTS
_LETTER = {**_MAZE, "learning_rate": 0.01, "epsilon": 0.01, "epsilon_decay": 1.0}
_DELIVER = {**_MAZE, "learning_rate": 0.01, "epsilon_decay": 0.9995, "epsilon_least": 0.1}

PAPER_SETTINGS: dict[str, Settings] = {
    "letter": {**_LETTER, "episodes": 5_000},
    "maze-5x5": _MAZE,
    "maze-10x10": _MAZE,
    "maze-20x20": _MAZE,
    "multi-10x10": {**_MAZE, "discount": DISCOUNTS["multi-10x10"]},
    "multi-20x20": {**_MAZE, "discount": DISCOUNTS["multi-20x20"]},
    "deliver-8": _DELIVER,
    "deliver-4-8": {**_DELIVER, "episodes": 15_000},
    # Appendix C gives no rates for PaintWorld: these are those of the mazes, with its evaluations.
    "paint": {**_MAZE, "episodes": 500, "test_every": 5},
    "echo": {**_MAZE, "episodes": 2_000},
}
"""The paper's settings for each of its domains (Appendices C and E), for tabular agents."""

# --- Stable-Baselines3's settings, and those tuned for WaterWorld

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
SB3_SETTINGS: dict[str, Settings] = {
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
"""For each deep agent, Stable-Baselines3's defaults if they differ from those of pdrm."""

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
"""More environments, a larger learning rate and network than in the paper, scaled rewards."""
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
"""The best settings without counterfactuals from a sweep (one seed each) over discount, learning
rate, reward scale and n-step. With one-step targets neither agent learnt the task."""

WATER_SETTINGS: dict[str, Settings] = {
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
"""For each deep agent, the settings tuned for WaterWorld."""
