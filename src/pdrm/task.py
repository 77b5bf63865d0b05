"""A task: a domain and a machine that belong together.

Names, files, texts and objects are resolved and checked once, in `Task`. Everything that trains,
solves, checks or draws takes a `Task`, so the machine is chosen in one place.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import cache, cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pdrm.domains.domain_files import domain_bytes, find_domain
from pdrm.domains.finite_domain import FiniteDomain
from pdrm.domains.grids import parse_map_file
from pdrm.domains.paper_domains import domain as paper_domain, names as paper_domains
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
from pdrm.machines.counting import CountingRewardAutomaton
from pdrm.machines.guards import Label, events_of
from pdrm.machines.pushdown import PushdownRewardMachine

if TYPE_CHECKING:
    import gymnasium

Domain = FiniteDomain | WaterWorld | JaxWorld | UserEnvironment
DomainLike = Domain | FilePath | Callable[[], Any]
"""A domain, its name in the catalogue, the path of a map or `.npz` file, a map's text (more than
one line), or a function that makes an environment."""
MachineLike = AnyMachine | FilePath
"""A machine, the path of its file, its name in the catalogue (`./letter` is the file of that name),
or its text (more than one line, or JSON)."""

COUNTING_TWINS = {"letter": "letter-cra"}
"""Catalogue machines that also exist as a counting automaton. For all others, two counters simulate
the stack (Section 5)."""
DEFAULT_DISCOUNT = 0.99
DISCOUNTS = {"multi-10x10": 0.9, "multi-20x20": 0.9}
"""The paper's discounts (Appendix C) that differ from the default, by domain."""
ENVIRONMENT_DEFAULTS = {
    "name": "",
    "labels": None,
    "labels_at_reset": None,
    "reward_weight": 1.0,
    "ignore_end": False,
    "remember": None,
}
"""The arguments of `Task` that apply only to environments, with their defaults."""


class Task(Displayed):
    """A domain and a machine that belong together.

    Args:
        domain: A name (`pdrm domains` lists them), the path of a map or `.npz` file, a map's text,
            a `FiniteDomain`, a `WaterWorld`, a `JaxWorld`, or a function that makes a Gymnasium
            environment, with `labels` and `name`.
        machine: A name, a file, a text or a machine (default: the domain's own machine).
        success: The final machine states that mean success (default: the states entered with a
            reward above 0, or all final states if there are none).
        folder: The folder that paths are relative to.
        name: The environment's name. This and the remaining arguments apply only to
            environments; see `pdrm.wrap`.
        labels: A function of observation, action, next observation and info.
        labels_at_reset: A function of observation and info.
        reward_weight: The factor of the environment's reward.
        ignore_end: Continue episodes when the environment returns `terminated`.
        remember: A function of the environment, called before every step.

    >>> Task("maze-5x5")
    Task('maze-5x5', machine 'treasure-maze')
    >>> Task("letter", "letter") == Task("letter"), Task("letter").success
    (True, ('u2',))
    """

    domain: Domain
    machine: AnyMachine
    """The machine as given. Agents learn with `pushdown` or `counting`."""
    name: str
    """The domain's name."""
    success: tuple[str, ...]
    text: str | None
    """The machine's text; None for the domain's own machine."""
    warned: bool = False
    """True once training has warned of common mistakes in the task."""

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
        if isinstance(domain, Task):
            if machine is None:
                machine = domain.machine
                success = success or domain.success
            domain = domain.domain
        self.domain = _resolve_domain(domain, Path(folder), name, settings)
        self.name = self.domain.name
        default_name = getattr(self.domain, "machine", None)
        default = None if default_name is None else catalogue(default_name)
        chosen = default if machine is None else find_machine(machine, Path(folder))
        if chosen is None:
            fault = f"domain `{self.name}` has no machine of its own"
            raise NoMachine(fault, fix="name a machine, such as task.pdrm")
        self.machine = chosen
        self._check_labels()
        self.text = None if chosen == default else to_text(chosen)
        self.success = find_success(chosen, success)

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
        """True for WaterWorld."""
        return isinstance(self.domain, WaterWorld)

    @property
    def finite(self) -> FiniteDomain:
        """The domain; `DoesNotApply` if it is not finite."""
        if isinstance(self.domain, FiniteDomain):
            return self.domain
        fault = f"this needs a finite domain, but `{self.name}` is continuous or has no transition table"
        fix = 'train a network: `pdrm train` with `--agent ppo`, or pdrm.SB3("PPO") or your own agent in Python'
        raise DoesNotApply(fault, fix=fix)

    @property
    def tested_on(self) -> tuple[Task, ...]:
        """The tasks used for evaluation: itself, unless the domain has evaluation domains."""
        if not isinstance(self.domain, FiniteDomain) or not self.domain.tests:
            return (self,)
        domains = self.domain.tested_on
        return tuple(Task(domain, self.machine, success=self.success) for domain in domains)

    @property
    def discount(self) -> float:
        """Default discount: the paper's for catalogue domains, otherwise 0.99.

        >>> Task("multi-10x10").discount, Task("maze-10x10").discount
        (0.9, 0.99)
        """
        return DISCOUNTS.get(self.name, DEFAULT_DISCOUNT) if self.catalogued else DEFAULT_DISCOUNT

    @cached_property
    def pushdown(self) -> PushdownRewardMachine:
        """The machine as a pushdown reward machine."""
        return pushdown_machine(self.machine)

    @cached_property
    def counting(self) -> CountingRewardAutomaton:
        """The machine as a counting automaton. A stack is simulated by two counters."""
        if isinstance(self.machine, CountingRewardAutomaton):
            return self.machine
        twin = catalogue(COUNTING_TWINS[self.machine.name]) if self.has_counting_automaton else None
        if isinstance(twin, CountingRewardAutomaton):
            return twin
        from pdrm.machines.conversions import pushdown_to_counting

        return pushdown_to_counting(self.machine)

    @property
    def has_counting_automaton(self) -> bool:
        """True if `counting` was written as a counting automaton; False if it simulates a stack."""
        has_twin = self.text is None and self.machine.name in COUNTING_TWINS
        return has_twin or isinstance(self.machine, CountingRewardAutomaton)

    @cached_property
    def catalogued(self) -> bool:
        """True if the domain is an unchanged domain of the catalogue."""
        if isinstance(self.domain, WaterWorld):
            return self.name in SIDES and self.domain == water_world(self.name)
        if not isinstance(self.domain, FiniteDomain) or self.name not in paper_domains():
            return False
        original = _paper_domain(self.name)
        return original is self.domain or domain_bytes(original) == domain_bytes(self.domain)

    def env(
        self,
        k: int | str = 1,
        *,
        flatten: bool = False,
        depth: int | None = None,
        continuous: bool = False,
        render_mode: str | None = None,
    ) -> gymnasium.Env[Any, Any]:
        """The task as a Gymnasium environment, for manual stepping and third-party agents.

        Args:
            k: As for `pdrm.wrap`.
            flatten: As for `pdrm.wrap`. Policies of pdrm accept dictionaries and flat vectors.
            depth: As for `pdrm.wrap`.
            continuous: Continuous actions, for WaterWorld only (SAC needs them).
            render_mode: "ansi" for text with the machine's state and stack, "rgb_array" for a
                picture of the domain. Not for your own environments.

        >>> env = Task("letter").env(k=1)
        >>> env.reset(seed=0)[0]
        {'observation': np.int64(10), 'machine': 0, 'stack': array([1])}
        """
        from pdrm.product.wrapping import MachineEnv

        if continuous and not self.continuous:
            raise DoesNotApply(f"`{self.name}` has its own actions", fix="leave `continuous` out")
        if render_mode is not None and isinstance(self.domain, JaxWorld | UserEnvironment):
            fault = f"`render_mode` does not apply to `{self.name}`, which is your own environment"
            fix = "leave it out; gymnasium.make(…, render_mode=…) in the function that you give"
            raise DoesNotApply(fault, fix=fix)
        bare: gymnasium.Env[Any, Any]
        settings: Mapping[str, Any] = {"labels": "info"}
        if isinstance(self.domain, JaxWorld):
            from pdrm.product.jax_env.jax_domain import JaxWorldEnv

            bare = JaxWorldEnv(self.domain)
        elif isinstance(self.domain, UserEnvironment):
            bare = self.domain.make()
            settings = self.domain.settings
        elif isinstance(self.domain, WaterWorld):
            from pdrm.domains.environments import WaterEnv

            bare = WaterEnv(replace(self.domain, continuous=continuous), render_mode)
        else:
            from pdrm.domains.environments import FiniteEnv

            bare = FiniteEnv(self.domain, render_mode)
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
        """The labels that the domain can emit; empty for an environment, where they are unknown."""
        if isinstance(self.domain, UserEnvironment):
            return ()
        return LABELS if isinstance(self.domain, WaterWorld) else self.domain.labels

    @cached_property
    def events_never_emitted(self) -> tuple[str, ...]:
        r"""Events that the machine's rules read but the domain never emits, often misspelt ones.

        >>> machine = "events A B C D\nstart u\notherwise stay 0\nu -> u : A | D, 1"
        >>> Task("letter", machine).events_never_emitted
        ('D',)
        """
        read = frozenset[str]().union(*(events_of(rule.guard) for rule in self.machine.transitions))
        missing = read.difference(*self.labels) if self.labels else ()
        return tuple(event for event in self.machine.events if event in missing)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings about likely mistakes."""
        if not self.events_never_emitted:
            return ()
        events = ", ".join(f"`{event}`" for event in self.events_never_emitted)
        return (f"machine `{self.machine.name}` reads {events}, which `{self.name}` never emits",)

    def _check_labels(self) -> None:
        """Raise unless the machine can read every label that the domain can emit."""
        emitted = frozenset[str]().union(*self.labels)
        unknown = emitted.difference(self.machine.events)
        raise_all(self._unknown_event_error(event) for event in sorted(unknown))
        for label in self.labels:
            self.machine.alphabet.check(label)

    def _unknown_event_error(self, event: str) -> UnknownEvent:
        """The error for an event that the machine does not have, with its line if a map names
        it."""
        where = self.domain.sources.get(event) if isinstance(self.domain, FiniteDomain) else None
        fix = f"add `{event}` to the machine's `events` line; no rule has to read it"
        fix = suggest(event, (*self.events_never_emitted, *self.machine.events), fix)
        fault = f"`{self.name}` emits the event `{event}`, which machine `{self.machine.name}` does not have"
        return UnknownEvent(fault, where=where, fix=fix, word=event)

    def record(self) -> dict[str, Any]:
        """The task as JSON values, for the spec of a run.

        Domains of your own are identified by the hash of their file, environments by their source.
        """
        record: dict[str, Any] = {"domain": self.name, "machine": self.text}
        if isinstance(self.domain, UserEnvironment | JaxWorld):
            from pdrm.source_hash import hash_source

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
    task: Task | DomainLike, machine: MachineLike | None = None, success: str | Sequence[str] = ()
) -> Task:
    """A task, or the task of a domain; optionally with another machine and success.

    >>> task_for("letter"), task_for(Task("maze-5x5"), success="lost").success
    (Task('letter', machine 'letter'), ('lost',))
    """
    if not isinstance(task, Task):
        return Task(task, machine, success=success)
    if machine is None and not success:
        return task
    return Task(task, task.machine if machine is None else machine, success=success)


def largest_reward(domain: Domain, machine: AnyMachine) -> float:
    """The largest absolute reward of a step of the domain or a rule of the machine.

    >>> task = Task("letter")
    >>> largest_reward(task.domain, task.machine)
    1.0
    """
    largest = max(abs(float(rule.reward)) for rule in (*machine.transitions, machine.otherwise))
    if isinstance(domain, FiniteDomain):
        rewards = domain.arrays.reward[domain.arrays.probability > 0]
        largest = max(largest, float(abs(rewards).max(initial=0.0)))
    return largest


def find_success(machine: AnyMachine, success: str | Sequence[str] = ()) -> tuple[str, ...]:
    """The final states that mean success, checked against the machine.

    By default the states that a rule enters with a reward above 0, or all if there are none.

    >>> find_success(catalogue("treasure-maze"))
    ('home',)
    """
    states = (success,) if isinstance(success, str) else tuple(success or ())
    for state in states:
        if state not in machine.final:
            fault = f"`{state}` is not a final state of machine `{machine.name}`"
            known = ", ".join(machine.final) or "a `final` line"
            raise UnknownChoice(fault, fix=f"choose from {known}, or leave `success` out")
    if states:
        return states
    rules = (*machine.transitions, machine.otherwise)
    rewarded = {rule.target for rule in rules if rule.reward > 0}
    return tuple(state for state in machine.final if state in rewarded) or machine.final


@cache
def _paper_domain(name: str) -> FiniteDomain:
    """Cached, because the large mazes take a second to build."""
    return paper_domain(name)


def _resolve_domain(domain: object, folder: Path, name: str, settings: Mapping[str, Any]) -> Domain:
    """The domain of a `DomainLike`; `name` and `settings` are those of an environment."""
    if callable(domain):
        if settings["labels"] is None or not name:
            fix = 'pdrm.Task(make, machine, labels=events_of, name="doors")'
            raise BadSetting("an environment needs `labels` and a `name`", fix=fix)
        return UserEnvironment(name, domain, settings)
    if {"name": name, **settings} != ENVIRONMENT_DEFAULTS:
        given = [key for key, value in settings.items() if value != ENVIRONMENT_DEFAULTS[key]]
        arguments = ", ".join(given) or "name"
        fault = (
            f"{arguments}: only for a function that makes an environment, not for {domain!r:.60}"
        )
        fix = "pdrm.Task(lambda: gymnasium.make(…), machine, …); a domain has its own events"
        raise BadSetting(fault, fix=fix)
    if isinstance(domain, Task):
        return domain.domain
    if isinstance(domain, str | os.PathLike):
        return _find_domain(domain, folder)
    if isinstance(domain, WaterWorld):
        return replace(domain, continuous=False)  # `Task.env` chooses the kind of action
    if isinstance(domain, Domain):
        return domain
    fix = "give a name, a file, or a function that makes an environment, with `labels` and a `name`"
    raise WrongKind(f"{domain!r:.60} is not a domain", fix=fix)


def _find_domain(path: FilePath, folder: Path) -> Domain:
    """The domain of a name, a file or a map's text."""
    word = str(path)
    if path in SIDES:
        return water_world(word)
    if path in paper_domains():
        return _paper_domain(word)
    if "\n" in word:
        return parse_map_file(word, "map")
    return find_domain(path if means_name(path, paper_domains(), folder) else folder / path)


def find_machine(machine: MachineLike, folder: Path = Path()) -> AnyMachine:
    """The machine of a `MachineLike`. Paths are relative to the folder.

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
    """The machine as a pushdown reward machine; `CannotTranslate` if it has several counters.

    >>> pushdown_machine("letter").stack, pushdown_machine("letter-counting").stack
    (('#', 'A'), ('#', '□'))
    """
    resolved = find_machine(machine)
    if isinstance(resolved, PushdownRewardMachine):
        return resolved
    from pdrm.machines.conversions import counting_to_pushdown

    return counting_to_pushdown(resolved)
