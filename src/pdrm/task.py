"""A task: a domain and a machine that belong together, resolved once from names, files, texts or objects, and checked once.

Everything that trains, solves, checks or draws takes a `Task`, so that the machine is chosen in one place.
"""

from __future__ import annotations

import hashlib
import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, is_dataclass, replace
from functools import cache, cached_property, partial
from pathlib import Path
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from pdrm.domains.domain_files import domain_bytes, find_domain
from pdrm.domains.finite_domain import FiniteDomain
from pdrm.domains.grids import parse_map_file
from pdrm.domains.paper_domains import domain as paper_domain
from pdrm.domains.paper_domains import names as paper_domains
from pdrm.domains.user_worlds import JaxWorld, Labels, LabelsAtReset, UserEnvironment
from pdrm.domains.water import LABELS, SIDES, WaterWorld, water_world
from pdrm.errors import (
    BadSetting,
    DoesNotApply,
    NoMachine,
    UnknownChoice,
    UnknownEvent,
    WrongKind,
    raise_all,
    suggest,
)
from pdrm.files import FilePath, means_name
from pdrm.language.document import AnyMachine
from pdrm.language.loading import catalogue, catalogue_names, load, parse
from pdrm.language.writer import to_text
from pdrm.lazy import Displayed
from pdrm.machines.conversions import counting_to_pushdown, pushdown_to_counting
from pdrm.machines.counting import CountingRewardAutomaton
from pdrm.machines.guards import Label, events_of
from pdrm.machines.pushdown import PushdownRewardMachine

if TYPE_CHECKING:
    import gymnasium

Domain = FiniteDomain | WaterWorld | JaxWorld | UserEnvironment
DomainLike = Domain | FilePath | Callable[[], Any]
"""A domain, its name in the catalogue, the path of a map or `.npz` file, a map's text, which has more than one line, or a function
that makes an environment."""
MachineLike = AnyMachine | FilePath
"""A machine, the path of its file, its name in the catalogue (`./letter` if there is a file of the same name), or its text,
which has more than one line or begins with a brace."""

COUNTED = {"letter": "letter-cra"}
"""Machines of the catalogue with a counting automaton of their own; for others the stack is simulated (Section 5)."""
DISCOUNT, DISCOUNTS = 0.99, {"multi-10x10": 0.9, "multi-20x20": 0.9}
"""The usual discount, and the paper's (Appendix C) for the domains of the catalogue that have another."""
UNSET = {
    "name": "",
    "labels": None,
    "labels_at_reset": None,
    "reward_weight": 1.0,
    "ignore_end": False,
    "remember": None,
}
"""Defaults of the arguments that only environments have."""


class Task(Displayed):
    """A domain and a machine that belong together.

    Args:
        domain: A name (`pdrm domains` lists them), the path of a map or `.npz` file, a map's text, a `FiniteDomain`, a
            `WaterWorld`, a `JaxWorld`, or a function that makes a Gymnasium environment, with `labels` and `name`.
        machine: A name, a file, a text or a machine (default: the one that the domain comes with).
        success: The final machine states that mean success (default: those that a rule enters with a reward above 0, or
            all, if no rule does).
        folder: The folder that paths are relative to.
        name: Of an environment, as all that follow, which are as for `pdrm.wrap`.
        labels: A function of observation, action, next observation and info.
        labels_at_reset: A function of observation and info.
        reward_weight: The factor of the environment's own reward.
        ignore_end: Continue episodes when the environment says `terminated`.
        remember: A function of the environment, called before every step.

    >>> Task("maze-5x5")
    Task('maze-5x5', machine 'treasure-maze')
    >>> Task("letter", "letter") == Task("letter"), Task("letter").success
    (True, ('u2',))
    """

    domain: Domain
    machine: AnyMachine
    """As it was given; `pushdown` and `counting` are what agents learn with."""
    name: str
    """The domain's name."""
    success: tuple[str, ...]
    text: str | None
    """The machine's text; None if it is the one that the domain comes with."""
    warned: bool = False
    """True if training has warned of common mistakes in it: it does so once."""

    def __init__(
        self,
        domain: DomainLike | Task,
        machine: MachineLike | None = None,
        *,
        success: str | Sequence[str] = (),
        folder: FilePath = "",
        name: str = "",
        labels: Labels | None = None,
        labels_at_reset: LabelsAtReset | None = None,
        reward_weight: float = 1.0,
        ignore_end: bool = False,
        remember: Callable[[Any], Any] | None = None,
    ) -> None:
        settings = {
            "labels": labels,
            "labels_at_reset": labels_at_reset,
            "reward_weight": reward_weight,
            "ignore_end": ignore_end,
            "remember": remember,
        }
        self.domain = _resolve_domain(domain, Path(folder), name, settings)
        self.name = self.domain.name
        named = getattr(self.domain, "machine", None)
        own = None if named is None else catalogue(named)
        given = own if machine is None else find_machine(machine, Path(folder))
        if given is None:
            fault = f"domain `{self.name}` comes with no machine"
            raise NoMachine(fault, fix="give a machine, such as task.pdrm")
        self.machine = given
        self._check_labels()
        self.text = None if given == own else to_text(given)
        self.success = find_success(given, success)

    def __repr__(self) -> str:
        return f"Task({self.name!r}, machine {self.machine.name!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Task) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __reduce__(self) -> tuple[Any, ...]:
        domain = self.name if self.catalogued else self.domain
        machine = None if self.text is None else self.machine
        return partial(Task, domain, machine, success=self.success), ()

    @property
    def continuous(self) -> bool:
        """True for WaterWorld, in which only deep agents learn."""
        return isinstance(self.domain, WaterWorld)

    @property
    def finite(self) -> FiniteDomain:
        """The domain, which must be finite."""
        if isinstance(self.domain, FiniteDomain):
            return self.domain
        fault = f"`{self.name}` is continuous or has no table of its moves, and this needs a finite domain"
        fix = 'pdrm.train(task, "ppo"), pdrm.SB3("PPO"), or an agent of your own that acts on task.env()'
        raise DoesNotApply(fault, fix=fix)

    @property
    def tested_on(self) -> tuple[Task, ...]:
        """The tasks for its evaluation: itself, unless its domain has others for that."""
        if isinstance(self.domain, FiniteDomain) and self.domain.tests:
            return tuple(
                Task(one, self.machine, success=self.success) for one in self.domain.tested_on
            )
        return (self,)

    @property
    def discount(self) -> float:
        """γ unless one is given, for everything that trains, solves or checks: the paper's for a domain of the catalogue, else 0.99.

        >>> Task("multi-10x10").discount, Task("maze-10x10").discount
        (0.9, 0.99)
        """
        return DISCOUNTS.get(self.name, DISCOUNT) if self.catalogued else DISCOUNT

    @cached_property
    def pushdown(self) -> PushdownRewardMachine:
        """The machine as a pushdown reward machine."""
        return pushdown_machine(self.machine)

    @cached_property
    def counting(self) -> CountingRewardAutomaton:
        """The machine as a counting automaton; a stack is simulated with two counters."""
        if isinstance(self.machine, CountingRewardAutomaton):
            return self.machine
        known = catalogue(COUNTED[self.machine.name]) if self.counts else None
        if isinstance(known, CountingRewardAutomaton):
            return known
        return pushdown_to_counting(self.machine)

    @property
    def counts(self) -> bool:
        """True if `counting` is a machine of its own, and does not simulate a stack."""
        is_known = self.text is None and self.machine.name in COUNTED
        return is_known or isinstance(self.machine, CountingRewardAutomaton)

    @cached_property
    def catalogued(self) -> bool:
        """True if the domain is one of the catalogue's, unchanged."""
        if isinstance(self.domain, WaterWorld):
            return self.name in SIDES and self.domain == water_world(self.name)
        if not isinstance(self.domain, FiniteDomain) or self.name not in paper_domains():
            return False
        known = _paper_domain(self.name)
        return known is self.domain or domain_bytes(known) == domain_bytes(self.domain)

    def env(
        self,
        k: int | str = 1,
        *,
        flatten: bool = False,
        depth: int | None = None,
        continuous: bool = False,
        render_mode: str | None = None,
    ) -> gymnasium.Env[Any, Any]:
        """The task as a Gymnasium environment: the domain with the machine on it, for manual stepping and third-party agents.

        Args:
            k: As for `pdrm.wrap`.
            flatten: As for `pdrm.wrap`; every policy of pdrm acts on a dictionary or a flat vector.
            depth: As for `pdrm.wrap`.
            continuous: WaterWorld takes pushes in any direction, as SAC chooses them.
            render_mode: "ansi" for a text with the machine's state and stack, "rgb_array" for a picture of the domain.

        >>> env = Task("letter").env(k=1)
        >>> env.reset(seed=0)[0]
        {'observation': np.int64(10), 'machine': 0, 'stack': array([1])}
        """
        from pdrm.product.wrapping import MachineEnv

        bare: gymnasium.Env[Any, Any]
        settings: Mapping[str, Any] = {"labels": "info"}
        if isinstance(self.domain, JaxWorld):
            from pdrm.product.jax_env.jax_domain import JaxWorldEnv

            bare = JaxWorldEnv(self.domain)
        elif isinstance(self.domain, UserEnvironment):
            bare, settings = self.domain.make(), self.domain.settings
        elif isinstance(self.domain, WaterWorld):
            from pdrm.domains.environments import WaterEnv

            bare = WaterEnv(replace(self.domain, continuous=continuous), render_mode)
        else:
            from pdrm.domains.environments import FiniteEnv

            bare = FiniteEnv(self.domain, render_mode)
        if continuous and not self.continuous:
            raise DoesNotApply(f"`{self.name}` has its own actions", fix="leave `continuous` out")
        return MachineEnv(
            bare,
            self.pushdown,
            k=k,
            flatten=flatten,
            depth=depth,
            success=[state for state in self.success if state in self.pushdown.final],
            **settings,
        )

    @property
    def labels(self) -> tuple[Label, ...]:
        """The labels that the domain can emit; none for an environment, which does not say."""
        if isinstance(self.domain, UserEnvironment):
            return ()
        return LABELS if isinstance(self.domain, WaterWorld) else self.domain.labels

    @cached_property
    def events_never_emitted(self) -> tuple[str, ...]:
        r"""Events that the machine's rules read and the domain never emits: most often a misspelling.

        >>> Task("letter", "events A B C D\nstart u\notherwise stay 0\nu -> u : A | D, 1").events_never_emitted
        ('D',)
        """
        read = frozenset[str]().union(*(events_of(rule.guard) for rule in self.machine.transitions))
        unheard = read.difference(*self.labels) if self.labels else ()
        return tuple(event for event in self.machine.events if event in unheard)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Notes about what is allowed and is more often a mistake."""
        if not self.events_never_emitted:
            return ()
        named = ", ".join(f"`{event}`" for event in self.events_never_emitted)
        return (f"machine `{self.machine.name}` reads {named}, which `{self.name}` never emits",)

    def _check_labels(self) -> None:
        """Raise unless the machine can read every label that the domain can emit; if a map names the event, with its line."""
        emitted, known = frozenset[str]().union(*self.labels), frozenset(self.machine.events)
        raise_all(self._explain_unknown(event) for event in sorted(emitted - known))
        for label in self.labels:
            self.machine.alphabet.check(label)

    def _explain_unknown(self, event: str) -> UnknownEvent:
        """The error that the domain emits an event that the machine does not have."""
        where = self.domain.sources.get(event) if isinstance(self.domain, FiniteDomain) else None
        fix = f"add `{event}` to the machine's `events` line; no rule has to read it"
        fix = suggest(event, (*self.events_never_emitted, *self.machine.events), fix)
        fault = f"`{self.name}` emits the event `{event}`, which machine `{self.machine.name}` does not have"
        return UnknownEvent(fault, where=where, fix=fix, word=event)

    def record(self) -> dict[str, Any]:
        """The task as JSON values, for the spec of a run: your own domain by the hash of its file, an environment by its name."""
        record: dict[str, Any] = {"domain": self.name, "machine": self.text}
        if isinstance(self.domain, UserEnvironment | JaxWorld):
            record["environment"] = {
                name: hash_source(value) if callable(value) else value
                for name, value in self.domain.settings.items()
            }
            if isinstance(self.domain, UserEnvironment):
                record["environment"]["make"] = hash_source(self.domain.make)
        elif not self.catalogued and isinstance(self.domain, WaterWorld):
            record["world"] = asdict(self.domain)
        elif not self.catalogued and isinstance(self.domain, FiniteDomain):
            record["domain_sha256"] = hashlib.sha256(domain_bytes(self.domain)).hexdigest()
        return record

    @cached_property
    def _key(self) -> tuple[Any, ...]:
        return (*(repr(value) for value in self.record().values()), self.success)


def task_for(
    given: Task | DomainLike, machine: MachineLike | None = None, success: str | Sequence[str] = ()
) -> Task:
    """The task that is given, or made of a domain; with another machine and success, if these are given, too.

    >>> task_for("letter"), task_for(Task("maze-5x5"), success="lost").success
    (Task('letter', machine 'letter'), ('lost',))
    """
    if not isinstance(given, Task):
        return Task(given, machine, success=success)
    if machine is None and not success:
        return given
    return Task(given, given.machine if machine is None else machine, success=success)


def hash_source(made: Any) -> str:
    """A hash of what a class or function does: of its source, what it captured, and what it uses of its own module.

    >>> def labels_for(goal): return lambda place: place == goal
    >>> first, other = labels_for(1), labels_for(2)
    >>> hash_source(first) == hash_source(labels_for(1)), hash_source(first) == hash_source(other)
    (True, False)
    """
    return hashlib.sha256(repr(_list_parts(made, set())).encode()).hexdigest()[:16]


def _list_parts(made: Any, listed: set[int]) -> list[Any]:
    """What decides a function, a class or a value, as nested lists of text. listed: functions and classes that are listed already."""
    text, parts = "", list[Any]()
    match made:
        case FunctionType() | type() if id(made) in listed:
            text = made.__qualname__
        case FunctionType() | type():
            listed.add(id(made))
            parts = [_read_source(made), *_find_used(made)]
        case partial():
            parts = [made.func, made.args, made.keywords]
        case MethodType():
            parts = [made.__self__, made.__func__]
        case Mapping():
            parts = [one for item in made.items() for one in item]
        case list() | tuple() | set() | frozenset():
            parts = list(made) if isinstance(made, Sequence) else sorted(made, key=repr)
        case np.ndarray():
            parts = [made.dtype.str, made.shape, made.tobytes()]
        case None | str() | bytes() | int() | float():
            text = repr(made)
        case _:
            text = type(made).__qualname__
            if callable(made) or is_dataclass(made):
                parts = [type(made), made.__getstate__()]
    return [text, *(_list_parts(one, listed) for one in parts)]


def _read_source(made: FunctionType | type) -> str:
    """The source, or the name if that is unknown."""
    try:
        return inspect.getsource(made)
    except (OSError, TypeError):
        return f"{made.__module__}.{made.__qualname__}"


def _find_used(made: FunctionType | type) -> list[Any]:
    """What a function captured, and what it or a class uses of the module it stands in: functions, classes and values."""
    functions = [made] if isinstance(made, FunctionType) else list(vars(made).values())
    found: list[Any] = []
    for one in functions:
        if isinstance(one, FunctionType):
            captured = inspect.getclosurevars(one).nonlocals
            found += [one.__defaults__, one.__kwdefaults__, captured]
            names: set[str] = set()
            codes = [one.__code__]
            while codes:
                code = codes.pop()
                names.update(code.co_names)
                codes += [part for part in code.co_consts if isinstance(part, CodeType)]
            used = {name: one.__globals__[name] for name in sorted(names & one.__globals__.keys())}
            found += [
                value
                for value in used.values()
                if getattr(value, "__module__", made.__module__) == made.__module__
                and not isinstance(value, ModuleType)
            ]
    return found


def largest_reward(domain: Domain, machine: AnyMachine) -> float:
    """The largest reward, or loss, that a step of the domain or a rule of the machine pays.

    >>> task = Task("letter")
    >>> largest_reward(task.domain, task.machine)
    1.0
    """
    own = 0.0
    if isinstance(domain, FiniteDomain):
        own = float(abs(domain.arrays.reward[domain.arrays.probability > 0]).max(initial=0.0))
    return max(
        own, *(abs(float(rule.reward)) for rule in (*machine.transitions, machine.otherwise))
    )


def find_success(machine: AnyMachine, success: str | Sequence[str] = ()) -> tuple[str, ...]:
    """The final states that mean success: those given. By default those that a rule enters with a reward above 0; all, if
    no rule does.

    >>> find_success(catalogue("treasure-maze"))
    ('home',)
    """
    states = (success,) if isinstance(success, str) else tuple(success or ())
    for state in states:
        if state not in machine.final:
            fault = f"`{state}` is not a final state of machine `{machine.name}`"
            named = ", ".join(machine.final) or "those of a `final` line"
            raise UnknownChoice(fault, fix=f"name one of {named}, or leave `success` out")
    if states:
        return states
    paid = {rule.target for rule in (*machine.transitions, machine.otherwise) if rule.reward > 0}
    return tuple(state for state in machine.final if state in paid) or machine.final


@cache
def _paper_domain(name: str) -> FiniteDomain:
    """Built once: the large mazes take a second."""
    return paper_domain(name)


def _resolve_domain(given: object, folder: Path, name: str, settings: Mapping[str, Any]) -> Domain:
    """The domain that is given: itself, or by a name, a file, a map's text or a function that makes an environment."""
    if callable(given):
        if settings["labels"] is None or not name:
            fix = 'pdrm.Task(make, machine, labels=events_of, name="doors")'
            raise BadSetting("an environment needs `labels` and a `name`", fix=fix)
        return UserEnvironment(name, given, settings)
    if {"name": name, **settings} != UNSET:
        fault = f"{', '.join(UNSET)} can only be set of a function that makes an environment"
        fix = "give the function: pdrm.Task(lambda: gymnasium.make(…), machine, …); a domain has its own events"
        raise BadSetting(fault, fix=fix)
    if isinstance(given, Task):
        return given.domain
    if isinstance(given, str | os.PathLike):
        return _find_domain(given, folder)
    if isinstance(given, WaterWorld):
        return replace(given, continuous=False)  # the agent says which kind of action it chooses
    if isinstance(given, FiniteDomain | UserEnvironment | JaxWorld):
        return given
    fix = "give a name, a file, or a function that makes an environment, with `labels` and a `name`"
    raise WrongKind(f"{given!r:.60} is not a domain", fix=fix)


def _find_domain(given: FilePath, folder: Path) -> Domain:
    """The domain of a name, a file or a map's text."""
    word = str(given)
    if given in SIDES:
        return water_world(word)
    if given in paper_domains():
        return _paper_domain(word)
    if "\n" in word:
        return parse_map_file(word, "map")
    return find_domain(given if means_name(given, paper_domains(), folder) else folder / given)


def find_machine(machine: MachineLike, folder: Path = Path()) -> AnyMachine:
    """The machine that is given: itself, or by the name, file or text that is given; files are looked for in the folder.

    >>> find_machine("letter").name
    'letter'
    """
    if isinstance(machine, PushdownRewardMachine | CountingRewardAutomaton):
        return machine
    if isinstance(machine, str) and ("\n" in machine or machine.lstrip().startswith("{")):
        return parse(machine)
    if isinstance(machine, str | os.PathLike):
        is_name = means_name(machine, catalogue_names(), folder)
        return catalogue(str(machine)) if is_name else load(folder / machine)
    fix = "give a machine, the path of a .pdrm file, or a name of the catalogue"  # type: ignore[unreachable] # a caller without types may give anything
    raise WrongKind(f"{machine!r:.60} is not a machine", fix=fix)


def pushdown_machine(machine: MachineLike) -> PushdownRewardMachine:
    """The machine as a pushdown one; `CannotTranslate` for more than one counter.

    >>> pushdown_machine("letter").stack, pushdown_machine("letter-counting").stack
    (('#', 'A'), ('#', '□'))
    """
    found = find_machine(machine)
    if isinstance(found, PushdownRewardMachine):
        return found
    return counting_to_pushdown(found)
