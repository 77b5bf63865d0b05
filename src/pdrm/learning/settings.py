"""What every agent is: settings with a docstring under each field, checked when they are set.

Command-line options, `--set name=value`, study files, the settings page and help are derived from the fields: here is how a setting
is checked, recorded for the id of a run, read from a text and described. The agents themselves are in `agents`.
"""

from __future__ import annotations

import ast
import inspect
import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import Field, dataclass, fields
from functools import cache
from itertools import pairwise
from math import inf, isfinite, nan
from numbers import Integral, Real
from typing import Any, ClassVar, Self

from pdrm.errors import BadSetting, UnknownSetting, WrongArguments, WrongKind, did_you_mean
from pdrm.habits import HABITS
from pdrm.product.views import FullStack, TopK, View

MOST = 2**31 - 1
"""The largest number of episodes, steps or updates."""
MOST_TEST_EPISODES = 1_000_000
"""Per test: the return of each of them is kept."""
LONGEST_K = 100
"""Digits. A shorter k that is too large for a table is refused with it."""
FULL, NOTHING = "full", "none"
"""In place of a number of symbols: the whole stack; nothing of the machine at all (deep agents only)."""
LATER: dict[str, Any] = {
    "shaping": NOTHING,
    "shaping_scale": 1.0,
    "shaping_shift": 0.0,
    "shaping_discount": None,
    "ties": "random",
    "limit_ends": False,
    "counter_values": None,
    "restarts": 0.0,
}
"""Settings that earlier versions did not have, and what those did. Where an agent does the same, they are not recorded, so that
runs keep their ids."""


KINDS: dict[str, type[Agent]] = {}
"""Every agent that has been defined, by its name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent(ABC):
    """What every agent has. Settings that it does not have, or that are out of range, are refused when it is made."""

    name: ClassVar[str] = ""
    """As the command line and study files call it."""
    deep: ClassVar[bool] = False
    unit: ClassVar[str] = "episodes"
    """What training is counted in."""

    k: int | str = 1
    """Stack symbols that the policy sees: 0, 1, 2, … or `full`; for deep agents also `none`, nothing of the machine."""

    def __init_subclass__(cls) -> None:
        if cls.name:
            KINDS[cls.name] = cls

    def __new__(cls, *placed: object, **settings: Any) -> Self:
        if placed:
            fault = f"`{cls.__name__}` takes settings by their names, and neither a policy nor an environment"
            if not isinstance(placed[0], int):
                raise WrongArguments(fault, fix=_how_to_train(cls))
            length = "total_timesteps" if cls.deep else "episodes"
            raise WrongArguments(
                fault, fix=f"{cls.__name__}(k=1, {length}=…): which of its settings is {placed[0]}?"
            )
        check_known(cls, settings)
        return object.__new__(cls)

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", _check_k(self.k, none=self.deep))
        for field in fields(self):
            value = getattr(self, field.name)
            if field.type == SEVERAL and isinstance(value, list):
                value = tuple(value)  # equal to what a tuple gives, and hashable
                object.__setattr__(self, field.name, value)
            _check_kind(self, field, value)
            for one in value if isinstance(value, tuple | list) else (value,):
                _check_number(self, field, one)

    @property
    def view(self) -> View | None:
        """The view of the stack; None: nothing of the machine is seen."""
        if self.k == NOTHING:
            return None
        return FullStack() if self.k == FULL else TopK(int(self.k))

    @property
    @abstractmethod
    def total(self) -> int:
        """How long it trains, in its unit."""

    @property
    @abstractmethod
    def discount(self) -> float:
        """γ: of each agent, a setting."""

    def record(self) -> dict[str, Any]:
        """The settings as JSON values: 1 and 1.0 are the same where the field is a float."""
        names = RECORDED_AS if self.deep else {}
        kept = [
            one
            for one in fields(self)
            if one.name not in LATER or getattr(self, one.name) != LATER[one.name]
        ]
        return {
            names.get(field.name, field.name): _plain_value(field, getattr(self, field.name))
            for field in kept
        }


def _how_to_train(kind: type[Agent]) -> str:
    """What to write in place of what other libraries have."""
    name = kind.__name__
    train = f"run = pdrm.train(task, pdrm.{name}()), then run.policy.act"
    if not kind.deep:
        return f"{train}(state, machine_state, stack)"
    others = "sb3_contrib" if kind.name == "rppo" else "stable_baselines3"
    return f"{train}(observation); on an environment of your own: {others}.{name} and pdrm.wrap(env, …)"


RECORDED_AS = {"discount": "gamma"}
"""What settings of deep agents are called in records, whose hashes are the ids of runs: as version 0.2 called them."""


def _plain_value(field: Field[Any], value: Any) -> Any:
    """A setting as a JSON value."""
    if isinstance(value, tuple):
        return list(value)
    if isinstance(value, bool) or not isinstance(value, Real):
        return value
    real = isinstance(field.default, float) or "float" in str(field.type)
    return int(value) if isinstance(value, Integral) and not real else float(value)


def check_agent(agent: object) -> Agent:
    """The agent that is given; raise unless it is one."""
    if isinstance(agent, type) and issubclass(agent, Agent):
        raise WrongKind(
            f"{agent.__name__} is a class, not yet an agent", fix=f"add (): pdrm.{agent.__name__}()"
        )
    if not isinstance(agent, Agent):
        fix = 'use a name or settings, such as "ppo" or pdrm.PPO(n_envs=8); agents of other libraries learn on pdrm.wrap(…)'
        raise WrongKind(f"{agent!r} is not an agent of pdrm", fix=fix)
    return agent


WHOLE = ("all", "whole", "everything", "entire", "stack", "inf", "infinity", "infinite", "max", "∞")
"""What others say where `full` is meant."""


def _check_k(k: object, *, none: bool) -> int | str:
    """The k that is meant: a non-negative integer (maybe as text), `full`, or `none`."""
    if isinstance(k, str) and k.isascii() and k.isdigit() and len(k) < LONGEST_K:
        return int(k)
    if (
        k == FULL
        or (none and k == NOTHING)
        or (isinstance(k, int) and not isinstance(k, bool) and k >= 0)
    ):
        return k if isinstance(k, str) else int(str(k))
    others = "full or none" if none else "or full"
    fix = "1 is the top symbol alone: k=1, or --k 1"
    if str(k).lower() in WHOLE:
        fix = f'the whole stack is k="{FULL}", or --k {FULL}; {fix}'
    raise BadSetting(f"k is `{k}`, but must be a non-negative integer, {others}", fix=fix)


Number = Any
"""A number, or a traced scalar array: runs that differ in such a number alone are then one compiled program."""
SEVERAL = "tuple[int, ...]"
INTEGERS, REALS = ("int", "int | None", SEVERAL), ("float", "float | None", "Number")
"""How fields of numbers are annotated."""
SHARES = (
    *(
        "discount",
        "epsilon",
        "epsilon_decay",
        "epsilon_least",
        "gae_lambda",
        "tau",
        "shaping_discount",
    ),
    *("exploration_initial_eps", "exploration_final_eps", "exploration_fraction", "restarts"),
)
"""Settings from 0 to 1; the learning rate of tables is one, too."""
FROM_ZERO = ("ent_coef", "vf_coef", "learning_starts", "counterfactuals")
"""Settings that may be 0."""
OF_ANY_SIGN = ("r_plus", "r_minus", "target_entropy", "shaping_scale", "shaping_shift")
"""All others are above 0."""


def _check_kind(agent: Agent, field: Field[Any], value: object) -> None:
    """Raise unless a setting is several values, a flag or one value, as its field is."""
    several, flag = field.type == SEVERAL, field.type == "bool"
    right = isinstance(value, bool) if flag else isinstance(value, tuple | list) == several
    if not right or isinstance(value, Mapping):
        wanted = "true or false" if flag else "several integers" if several else "one value"
        example = (value, value) if several and type(value) is int else _read_example(field, value)
        error = bad_setting(
            agent, field.name, value, wanted, field.default if example is None else example
        )
        if isinstance(value, list | tuple) and value and not several:
            made = ", ".join(
                f"pdrm.{type(agent).__name__}({field.name}={one!r})" for one in value[:3]
            )
            error.fix = f"to compare several, give several agents: pdrm.Study(task, [{made}])"
        raise error


def _check_number(agent: Agent, field: Field[Any], value: object) -> None:
    """Raise unless a setting is in its range. A traced array cannot be looked at, and passes."""
    name, whole = field.name, field.type in INTEGERS
    optional = field.default is None or "None" in str(field.type)
    if not (whole or field.type in REALS) or (value is None and optional):
        return
    if field.type == "Number" and hasattr(value, "dtype") and not isinstance(value, Real):
        return
    wanted = _describe_range(agent, field, value)
    if not wanted:
        return
    example = _read_example(field, value)
    if example is None or _describe_range(agent, field, example):
        example = (100 if whole else 1.0) if field.default is None else field.default
    error = bad_setting(agent, name, value, wanted, example)
    if name == "learning_rate" and callable(value):
        error.fix += "; linear_decay=True lets it fall to 0"
    raise error


def _read_example(field: Field[Any], value: object) -> Any:
    """The value that a text says, or 1e3 for an integer; None: it says none."""
    if isinstance(value, float) and field.type in INTEGERS and value.is_integer():
        return int(value)
    with suppress(KeyError, ValueError):
        return _read_value(value, field) if isinstance(value, str) else None
    return None


def _describe_range(agent: Agent, field: Field[Any], value: object) -> str:
    """What a number must be that is out of its range; nothing: it is in it."""
    name, whole = field.name, field.type in INTEGERS
    number = nan if isinstance(value, bool) or not isinstance(value, Real) else float(value)
    if whole:
        least, most = (
            int(name not in FROM_ZERO),
            MOST_TEST_EPISODES if name == "test_episodes" else MOST,
        )
        right, wanted = (
            isinstance(value, Integral) and least <= number <= most,
            f"an integer from {least} to {most:,}",
        )
    elif name in SHARES or (name == "learning_rate" and not agent.deep):
        right, wanted = 0 <= number <= 1, "a number from 0 to 1"
    elif name in OF_ANY_SIGN:
        right, wanted = isfinite(number), "a finite number"
    elif name in FROM_ZERO:
        right, wanted = 0 <= number < inf, "a non-negative number"
    else:
        right, wanted = 0 < number < inf, "a number above 0"
    return "" if right else wanted


def bad_setting(agent: Agent, name: str, value: object, wanted: str, example: object) -> BadSetting:
    """The error that a setting is out of its range."""
    word = ",".join(map(str, example)) if isinstance(example, tuple) else str(example)
    option = f"--set {name}={word}" if agent.deep else f"--{name.replace('_', '-')} {word}"
    return BadSetting(
        f"{name} is {value!r}, but must be {wanted}", fix=f"set {name}={example!r} ({option})"
    )


def check_count(name: str, value: object, least: int) -> None:
    """Raise unless an argument is an integer from `least` on.

    >>> check_count("episodes", "100", 1)
    Traceback (most recent call last):
    pdrm.errors.BadSetting: error[E0801]: episodes is '100', but must be an integer from 1 on
      fix: episodes=100
    """
    if type(value) is int and value >= least:
        return
    example = (
        int(value) if isinstance(value, str) and value.isascii() and value.isdigit() else least
    )
    raise BadSetting(
        f"{name} is {value!r}, but must be an integer from {least} on",
        fix=f"{name}={max(least, example)}",
    )


def check_known(kind: type[Agent], given: Mapping[str, Any]) -> None:
    """Raise unless the agent has every one of these settings."""
    known = [field.name for field in fields(kind)]
    for setting in given:
        if setting not in known:
            others = [
                other.name
                for other in KINDS.values()
                if setting in {field.name for field in fields(other)}
            ]
            used = f" (agents that have it: {', '.join(others)})" if others else ""
            fix = HABITS.get(setting) or did_you_mean(setting, known)
            raise UnknownSetting(f"agent `{kind.name}` has no setting `{setting}`", fix=fix + used)


@cache
def _definitions(module: str) -> dict[str, ast.ClassDef]:
    """The classes of a module, by name."""
    tree = ast.parse(inspect.getsource(sys.modules[module]))
    return {one.name: one for one in tree.body if isinstance(one, ast.ClassDef)}


@cache
def describe_settings(kind: type[Agent]) -> dict[str, str]:
    """What each setting of an agent means: the docstring under its field, in the class or the nearest parent that has one."""
    texts: dict[str, str] = {}
    for parent in reversed(kind.__mro__):
        definition = (
            _definitions(parent.__module__).get(parent.__name__)
            if issubclass(parent, Agent)
            else None
        )
        for field, text in pairwise(definition.body if definition else ()):
            if (
                isinstance(field, ast.AnnAssign)
                and isinstance(text, ast.Expr)
                and isinstance(text.value, ast.Constant)
            ):
                texts[ast.unparse(field.target)] = " ".join(str(text.value.value).split())
    return {field.name: texts[field.name] for field in fields(kind)}


def _list_settings(kind: type[Agent]) -> str:
    """Every setting of an agent with its type, its default and its meaning."""
    texts, lines = describe_settings(kind), ["Settings, by name:"]
    for field in fields(kind):
        lines += [
            f"    {field.name}: {str(field.type).replace('Number', 'float')} = {field.default!r}"
        ]
        lines += [f"        {texts[field.name]}"]
    return "\n".join(lines)


def introduce(kind: type[Agent]) -> None:
    """Have `help` list the settings of a kind of agent, an agent shown by those that are not the defaults, and errors end in the user's
    own line."""
    kind.__repr__ = _name_changed  # type: ignore[assignment,method-assign]
    kind.__doc__ = f"{inspect.cleandoc(kind.__doc__ or '')}\n\n{_list_settings(kind)}"


def _name_changed(agent: Agent) -> str:
    """An agent by the settings that are not its defaults."""
    changed = [
        one for one in fields(agent) if one.name == "k" or getattr(agent, one.name) != one.default
    ]
    return f"{type(agent).__name__}({', '.join(f'{one.name}={getattr(agent, one.name)!r}' for one in changed)})"


def parse_setting(kind: type[Agent], word: str) -> tuple[str, Any]:
    """A setting from `name=value`, of the type that the field has.

    >>> from pdrm.learning.agents import PPO, QLearning
    >>> parse_setting(PPO, "net_arch=128,128"), parse_setting(QLearning, "episodes=200")
    (('net_arch', (128, 128)), ('episodes', 200))
    """
    name, equals, text = word.partition("=")
    if not equals:
        raise BadSetting(f"`--set {word}` gives no value", fix=f"--set {name}=VALUE")
    check_known(kind, {name: text})
    field = next(field for field in fields(kind) if field.name == name)
    try:
        return name, _read_value(text, field)
    except (KeyError, ValueError):
        raise BadSetting(
            f"`{text}` is not a value for `{name}`", fix=f"its default is {field.default}"
        ) from None


def _read_value(text: str, field: Field[Any]) -> Any:
    if field.name == "k" or isinstance(field.default, str):
        return text
    if text.lower() == "none" and "None" in str(field.type):
        return None
    if isinstance(field.default, bool):
        return {"true": True, "false": False}[text.lower()]
    if isinstance(field.default, tuple):
        return tuple(int(part) for part in text.split(","))
    number = float(text)
    whole = field.type in INTEGERS or isinstance(field.default, int)
    return int(number) if whole and number.is_integer() else number
