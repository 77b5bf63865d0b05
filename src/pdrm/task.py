"""A task: a domain and a machine that belong together, resolved once from names, files, texts or objects, and checked once.

Everything that trains, solves, checks or draws takes a `Task`, so that "which machine is meant" is found out in one place.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from functools import cache, cached_property, partial
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

from pdrm.domains.array_domain import domain_bytes
from pdrm.domains.domain_files import find_domain
from pdrm.domains.finite_domain import FiniteDomain
from pdrm.domains.map_file import RULE, parse_map_file
from pdrm.domains.paper_domains import domain as paper_domain
from pdrm.domains.paper_domains import names as paper_domains
from pdrm.domains.water import LABELS, SIDES, WaterWorld, water_world
from pdrm.errors import (
    CannotTranslate,
    DoesNotApply,
    NoMachine,
    PdrmError,
    UnknownChoice,
    UnknownEvent,
    WrongKind,
    name_alike,
    raise_all,
)
from pdrm.files import means_name
from pdrm.language.document import AnyMachine
from pdrm.language.loading import catalogue, catalogue_names, load, parse
from pdrm.language.writer import to_text
from pdrm.lazy import Displayed, borrow
from pdrm.machines.counting import CountingRewardAutomaton
from pdrm.machines.guards import Label, events_of
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.reward_machine import RewardMachine

if TYPE_CHECKING:
    import gymnasium

Domain = FiniteDomain | WaterWorld
DomainLike = Domain | str | os.PathLike[str]
"""A domain, its name in the catalogue, the path of a map or `.npz` file, or a map's text, which has more than one line."""
MachineLike = AnyMachine | str | os.PathLike[str]
"""A machine, the path of its file, its name in the catalogue (`./letter` where there is a file of the same name), or its text,
which has more than one line or begins with a brace."""

COUNTED = {"letter": "letter-cra"}
"""Machines of the catalogue with a counting automaton of their own; for others the stack is simulated (Section 5)."""


DISCOUNT, DISCOUNTS = 0.99, {"multi-10x10": 0.9, "multi-20x20": 0.9}
"""The discount unless one is given, and the paper's (Appendix C) for the domains of the catalogue where that is another."""

FAILURES = ("lost", "no")
"""What final states that mean failure are called in the catalogue's machines."""


class Task(Displayed):
    """A domain and a machine that belong together.

    >>> Task("maze-5x5")
    Task('maze-5x5', machine 'treasure-maze')
    >>> Task("letter", "letter") == Task("letter"), Task("letter").success
    (True, ('u2',))

    domain: a name (`pdrm domains` lists them), the path of a map or `.npz` file, a map's text, a `FiniteDomain` or a `WaterWorld`.
    machine: a name, a file, a text or a machine; None: the one that the domain comes with.
    success: the final machine states that mean the task was achieved; none: those that a rule enters with a reward above 0, or
    all, if there is no such rule (for a machine of the catalogue, all but those that mean failure).
    folder: where relative paths start.
    """

    domain: Domain
    machine: AnyMachine
    """As it was given; `pushdown` and `counting` are what agents learn with."""
    name: str
    """The domain's name."""
    success: tuple[str, ...]
    text: str | None
    """The machine's text; None: the machine that the domain comes with."""
    warned: bool = False
    """Whether training has warned of what is more often a mistake: it does so once."""

    def __init__(
        self,
        domain: DomainLike | Task,
        machine: MachineLike | None = None,
        *,
        success: str | Sequence[str] = (),
        folder: str | os.PathLike[str] = "",
    ) -> None:
        self.domain = _resolve_domain(domain, Path(folder))
        self.name = self.domain.name
        own = None if self.domain.machine is None else catalogue(self.domain.machine)
        given = own if machine is None else find_machine(machine, Path(folder))
        if given is None:
            beside = find_beside(self.domain) or "task.pdrm"
            fix = f'give one: machine="{beside}" (--machine {quote(beside)})'
            raise NoMachine(f"domain `{self.name}` comes with no machine", fix=fix)
        self.machine = given
        self._check_labels()
        self.text = None if given == own else to_text(given)
        self.success = find_success(given, success)

    def __repr__(self) -> str:
        return f"Task({self.name!r}, machine {self.machine.name!r})"

    def __str__(self) -> str:
        """What it consists of, in a few lines."""
        machine, domain, what = (
            self.machine,
            self.domain,
            "pdrm.draw(task), or the task alone in a notebook, shows both",
        )
        size = (
            "continuous"
            if isinstance(domain, WaterWorld)
            else f"{domain.states:,} states, {len(domain.actions)} actions"
        )
        events = f"{len(machine.events)} events, {len(machine.transitions)} rules"
        return (
            f"domain   {self.name}: {size}, episodes of up to {domain.step_limit:,} steps\n"
            f"machine  {machine.name}: {len({*machine.states, *machine.final})} states, {events}\n"
            f"success  {' or '.join(self.success) or 'no final state'}\n{what}"
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Task) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __reduce__(self) -> tuple[Any, ...]:
        domain, machine = (
            self.name if self.catalogued else self.domain,
            None if self.text is None else self.machine,
        )
        return partial(Task, domain, machine, success=self.success), ()

    @property
    def continuous(self) -> bool:
        """Whether the domain is continuous, which only deep agents learn in."""
        return isinstance(self.domain, WaterWorld)

    @property
    def finite(self) -> FiniteDomain:
        """The domain, which must be finite."""
        if isinstance(self.domain, WaterWorld):
            raise DoesNotApply(
                f"`{self.name}` is continuous, and this needs a finite domain",
                fix=f'pdrm.train("{self.name}", "ppo") (pdrm train {self.name} --agent ppo)',
            )
        return self.domain

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
        machine = self.machine
        if self.text is None and machine.name in COUNTED:
            machine = catalogue(COUNTED[machine.name])
        match machine:
            case CountingRewardAutomaton():
                return machine
            case PushdownRewardMachine():
                from pdrm.machines.conversions import pushdown_to_counting

                return pushdown_to_counting(machine)
        raise CannotTranslate(f"`{machine.name}` counts nothing", fix="use agent `q`")

    @cached_property
    def catalogued(self) -> bool:
        """Whether the domain is one of the catalogue's, unchanged."""
        if isinstance(self.domain, WaterWorld):
            return self.name in SIDES and self.domain == water_world(self.name)
        known = _paper_domain(self.name) if self.name in paper_domains() else None
        return known is not None and (
            known is self.domain or domain_bytes(known) == domain_bytes(self.domain)
        )

    def env(
        self,
        k: int | str = 1,
        *,
        flatten: bool = False,
        depth: int | None = None,
        continuous: bool = False,
        render_mode: str | None = None,
    ) -> gymnasium.Env[Any, Any]:
        """The task as a Gymnasium environment: the domain with the machine on it, for acting by hand and for agents of others.

        k, flatten, depth: as for `pdrm.wrap`; every policy of pdrm acts on a dictionary or a flat vector. continuous:
        whether WaterWorld takes pushes in any direction, as SAC chooses them. render_mode: what `env.render()` gives; "ansi":
        a text with the machine's state and stack, "rgb_array": a picture of the domain.

        >>> env = Task("letter").env(k=1)
        >>> env.reset(seed=0)[0]
        {'observation': np.int64(10), 'machine': 0, 'stack': array([1])}
        """
        bare: gymnasium.Env[Any, Any]
        if isinstance(self.domain, WaterWorld):
            from pdrm.domains.water_env import WaterEnv

            bare = WaterEnv(replace(self.domain, continuous=continuous), render_mode)
        else:
            from pdrm.domains.finite_env import FiniteEnv

            if continuous:
                raise DoesNotApply(
                    f"`{self.name}` has numbered actions", fix="leave `continuous` out"
                )
            bare = FiniteEnv(self.domain, render_mode)
        made: gymnasium.Env[Any, Any] = borrow("wrap")(
            bare, self.pushdown, labels="info", k=k, flatten=flatten, depth=depth
        )
        return made

    @property
    def labels(self) -> tuple[Label, ...]:
        """The labels that the domain can emit."""
        return LABELS if isinstance(self.domain, WaterWorld) else self.domain.labels

    @cached_property
    def unheard_events(self) -> tuple[str, ...]:
        r"""Events that the machine's rules read and the domain never emits: most often a misspelling.

        >>> Task("letter", "events A B C D\nstart u\notherwise stay 0\nu -> u : A | D, 1").unheard_events
        ('D',)
        """
        read = frozenset[str]().union(*(events_of(rule.guard) for rule in self.machine.transitions))
        heard = frozenset[str]().union(*self.labels)
        return tuple(event for event in self.machine.events if event in read - heard)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What is allowed and is more often a mistake."""
        if not self.unheard_events:
            return ()
        named = ", ".join(f"`{event}`" for event in self.unheard_events)
        plural = "s" * (len(self.unheard_events) > 1)
        return (
            f"machine `{self.machine.name}` reads event{plural} {named}, which `{self.name}` never emits",
        )

    def _check_labels(self) -> None:
        """Raise unless the machine can read every label that the domain can emit; where a map names the event, with its line."""
        emitted, known = frozenset[str]().union(*self.labels), frozenset(self.machine.events)
        unknown = sorted(emitted - known)
        strange = [event for event in unknown if not self._is_like_one(event)]
        if len(strange) > max(1, len(emitted) / 2):
            raise self._explain_strange(unknown, len(emitted))
        raise_all(self._explain_unknown(event) for event in unknown)
        for label in self.labels:
            self.machine.alphabet.check(label)

    def _is_like_one(self, event: str) -> bool:
        """Whether an event that the machine does not have is spelt like one that it has, or begins one that the domain never emits."""
        return bool(name_alike(event, self.machine.events)) or any(
            one.startswith(event) for one in self.unheard_events
        )

    def _explain_strange(self, unknown: Sequence[str], emitted: int) -> UnknownEvent:
        """The error that the machine knows so few of the domain's events that another one must be meant."""
        named = ", ".join(f"`{event}`" for event in unknown[:6]) + ", …" * (len(unknown) > 6)
        count = "none" if len(unknown) == emitted else f"only {emitted - len(unknown)}"
        fault = f"machine `{self.machine.name}` seems to belong to another domain: it has {count} of the {emitted} events that `{self.name}` emits, and lacks {named}"
        fix = f"give a machine whose `events` line has {named}"
        if beside := find_beside(self.domain):
            fix = f'use {beside}, which has these events: machine="{beside}" (--machine {quote(beside)})'
        where = (
            self.domain.sources.get(unknown[0]) if isinstance(self.domain, FiniteDomain) else None
        )
        return UnknownEvent(fault, where=where, fix=fix, word=unknown[0])

    def _explain_unknown(self, event: str) -> UnknownEvent:
        """The error that the domain emits an event that the machine does not have, and the line to write instead."""
        where = self.domain.sources.get(event) if isinstance(self.domain, FiniteDomain) else None
        fix = f"add `{event}` to the machine's `events` line; no rule has to read it"
        like = name_alike(event, self.unheard_events) or name_alike(event, self.machine.events)
        written = [] if where is None else where.text.partition("//")[0].split()
        row = len(written) == 1  # of the map: only its settings have blanks
        if not like and (
            row or written[:1] == ["place"]
        ):  # a place that the machine waits for has no other name
            like = next(
                iter(sorted(self.unheard_events, key=lambda one: not one.startswith(event[0]))), ""
            )
        if like and where is not None and (row or event == written[-1]):
            line = f"place {event} {like}" if row else " ".join([*written[:-1], like])
            fix = f"in {where.file}, write `{line}` (or {fix})"
        elif like:
            fix = f"did you mean `{like}`? (or {fix})"
        fault = f"`{self.name}` emits the event `{event}`, which machine `{self.machine.name}` does not have"
        return UnknownEvent(fault, where=where, fix=fix, word=event)

    def record(self) -> dict[str, Any]:
        """The task as JSON values, for the spec of a run: one's own domain by the hash of its file."""
        record: dict[str, Any] = {"domain": self.name, "machine": self.text}
        if isinstance(self.domain, WaterWorld) and not self.catalogued:
            record["world"] = asdict(self.domain)
        elif isinstance(self.domain, FiniteDomain) and not self.catalogued:
            record["domain_sha256"] = hashlib.sha256(domain_bytes(self.domain)).hexdigest()
        return record

    @cached_property
    def _key(self) -> tuple[Any, ...]:
        return (*(repr(value) for value in self.record().values()), self.success)


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


def tuple_of(words: str | Sequence[str] | None) -> tuple[str, ...]:
    """One word, several, or none.

    >>> tuple_of("home"), tuple_of(["home", "away"]), tuple_of(None)
    (('home',), ('home', 'away'), ())
    """
    if isinstance(words, str):
        return (words,)
    if words is not None and not isinstance(words, Iterable):
        raise WrongKind(
            f"{_shorten(words)} is not a state or several",
            fix='success="home", or success=["home", "away"]',
        )
    return tuple(words or ())


def find_success(machine: AnyMachine, success: str | Sequence[str] = ()) -> tuple[str, ...]:
    """The final states that mean success: those given. By default those that a rule enters with a reward above 0; all, where
    there is no such rule; of the catalogue's machines, all but those that mean failure.

    >>> find_success(catalogue("treasure-maze"))
    ('home',)
    """
    states = tuple_of(success)
    for state in states:
        if state not in machine.final:
            fault = f"`{state}` is not a final state of machine `{machine.name}`"
            fix = (
                f"name one of {', '.join(machine.final)}"
                if machine.final
                else "leave `success` out, or add a `final` line"
            )
            raise UnknownChoice(fault, fix=fix)
    if states:
        return states
    if machine.name in catalogue_names() and machine == catalogue(machine.name):
        return tuple(state for state in machine.final if state not in FAILURES)
    paid = {rule.target for rule in (*machine.transitions, machine.otherwise) if rule.reward > 0}
    return tuple(state for state in machine.final if state in paid) or machine.final


@cache
def _paper_domain(name: str) -> FiniteDomain:
    """Built once: the large mazes take a second."""
    return paper_domain(name)


def _resolve_domain(given: object, folder: Path) -> Domain:
    if isinstance(given, Task | FiniteDomain):
        return given.domain if isinstance(given, Task) else given
    if isinstance(given, WaterWorld):
        return replace(given, continuous=False)  # the agent says which kind of action it chooses
    if isinstance(given, str) and given in SIDES:
        return water_world(given)
    if isinstance(given, str) and "\n" in given:
        if RULE in given:
            fix = "a machine's text comes second: pdrm.Task(domain, text), or machine=text"
            raise WrongKind(
                f"{_shorten(given)} is a machine's text, and a domain is needed", fix=fix
            )
        return parse_map_file(given, "map")
    if isinstance(given, str | os.PathLike):
        if given in paper_domains():
            return _paper_domain(str(given))
        return find_domain(given if means_name(given, paper_domains(), folder) else folder / given)
    if isinstance(given, PushdownRewardMachine | RewardMachine | CountingRewardAutomaton):
        raise WrongKind(
            f"{_shorten(given)} is a machine",
            fix="the domain comes first: pdrm.Task(domain, machine)",
        )
    raise WrongKind(f"{_shorten(given)} is not a domain", fix=suggest_domain(given))


def suggest_domain(given: Any) -> str:
    """What to do with something that is no domain: an environment without a table is for agents of other libraries."""
    if not hasattr(given, "step") or not hasattr(given, "reset"):
        return "pdrm.domain('letter'), pdrm.load_domain('my_map.txt'), or pdrm.domains.from_arrays"
    bare = getattr(given, "unwrapped", given)
    if isinstance(getattr(bare, "domain", None), Domain):
        return "use its domain, `env.unwrapped.domain`: pdrm.Task(env.unwrapped.domain, machine)"
    if hasattr(bare, "P"):
        return "pdrm.from_gymnasium(env, labels), with the bare environment, makes a domain of its transition table"
    product = hasattr(given, "observing")  # it is one of `pdrm.wrap`
    named = product and hasattr(given.observation_space, "spaces")
    first = "" if product else "env = pdrm.wrap(env, machine, labels, flatten=True)\n       "
    agent = f'stable_baselines3.PPO("{"MultiInputPolicy" if named else "MlpPolicy"}", env).learn(100_000)'
    return f"it has no transition table, so train it with Stable-Baselines3:\n       {first}{agent}"


MOST_BESIDE = 10
"""Files that are tried to find a machine that fits a map."""


def find_beside(domain: Domain) -> str:
    """The first machine file beside a domain's map that knows all its events; nothing where there is none."""
    if (
        not isinstance(domain, FiniteDomain) or not domain.events
    ):  # any machine knows all of no events
        return ""
    maps = {Path(where.file) for where in domain.sources.values()}
    for path in sorted(path for one in maps if one.is_file() for path in one.parent.glob("*.pdrm"))[
        :MOST_BESIDE
    ]:
        with suppress(PdrmError):
            if set(domain.events) <= set(load(path).events):
                return path.as_posix()
    return ""


def find_machine(machine: MachineLike, folder: Path = Path()) -> AnyMachine:
    """The machine that is given: itself, or by the name, file or text that is given; files are looked for in the folder.

    >>> find_machine("letter").name
    'letter'
    """
    if isinstance(machine, PushdownRewardMachine | RewardMachine | CountingRewardAutomaton):
        return machine
    if isinstance(machine, str) and ("\n" in machine or machine.lstrip().startswith("{")):
        return parse(machine)
    if isinstance(machine, str | os.PathLike):
        return (
            catalogue(str(machine))
            if means_name(machine, catalogue_names(), folder)
            else load(folder / machine)
        )
    fix = "give a machine, the path of a .pdrm file, or a name of the catalogue"  # type: ignore[unreachable] # or is it?
    raise WrongKind(f"{_shorten(machine)} is not a machine", fix=fix)


def pushdown_machine(machine: MachineLike) -> PushdownRewardMachine:
    """The machine as a pushdown one; `CannotTranslate` for more than one counter.

    >>> pushdown_machine("letter").stack, pushdown_machine("letter-counting").stack
    (('#', 'A'), ('#', '□'))
    """
    found = find_machine(machine)
    if isinstance(found, PushdownRewardMachine):
        return found
    from pdrm.machines import conversions

    if isinstance(found, RewardMachine):
        return conversions.reward_machine_to_pushdown(found)
    return conversions.counting_to_pushdown(found)


def _shorten(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
