"""The tabular agents of the paper by name: what each learns with, and over which kind of machine."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from pdrm.domains.finite_domain import FiniteDomain
from pdrm.errors import BadSetting, CannotTranslate, UnknownAgent, did_you_mean
from pdrm.language.document import AnyMachine
from pdrm.language.loading import catalogue_text, parse
from pdrm.learning.tabular.settings import PAPER_SETTINGS, Hierarchical, QLearning
from pdrm.learning.tabular.training import HierarchicalTraining, Training
from pdrm.machines.conversions import counting_to_pushdown, pushdown_to_counting, reward_machine_to_pushdown
from pdrm.machines.counting import CountingRewardAutomaton
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.reward_machine import RewardMachine
from pdrm.product.views import FullStack, TopK

AnySettings = QLearning | Hierarchical
AnyTraining = Training | HierarchicalTraining
COUNTED = {"letter": "letter-cra"}
"""Machines (and the domains of that name) with a counting automaton; for others the stack is simulated (Section 5)."""

OPERATIONS = 30_000
"""Operations an episode may take of an automaton that simulates a stack (they grow sixfold with every symbol of the maze):
about what the paper's 0.03 seconds an episode allow."""


@dataclass(frozen=True, slots=True)
class Agent:
    """A name's meaning: the choice of counterfactuals, and whether it counts or has options."""

    counterfactuals: str = "none"
    counts: bool = False
    options: bool = False

    @property
    def settings(self) -> type[QLearning] | type[Hierarchical]:
        """The kind of settings it has."""
        return Hierarchical if self.options else QLearning


AGENTS = {
    "q": Agent(),
    "cprm": Agent("deduplicated"),
    "hrm": Agent(options=True),
    "cra-q": Agent(counts=True),
    "cra-cql": Agent("exhaustive", counts=True),
}


def agent_of(name: str) -> Agent:
    """The agent of this name."""
    if name not in AGENTS:
        raise UnknownAgent(f"no agent is called `{name}`", fix=did_you_mean(name, AGENTS))
    return AGENTS[name]


def settings_for(domain: str, name: str, given: dict[str, Any]) -> AnySettings:
    """The paper's settings for a domain of the catalogue, overridden by those given; ones the agent does not have are
    refused. For one's own domain, give no name (`""`): the settings are then those of the mazes."""
    agent = agent_of(name)
    kind = agent.settings
    known = [field.name for field in fields(kind)]
    for setting in given:
        if setting not in known:
            raise BadSetting(f"agent `{name}` has no setting `{setting}`", fix=did_you_mean(setting, known))
    _check_used(name, agent, given)
    choice = given.get("counterfactuals", agent.counterfactuals)
    if (choice == "none") != (agent.counterfactuals == "none"):
        fault = f"agent `{name}` with counterfactuals `{choice}` would be another agent"
        raise BadSetting(fault, fix="use q or cra-q without counterfactuals, cprm or cra-cql with them")
    own: dict[str, Any] = {} if agent.options else {"counterfactuals": agent.counterfactuals}
    if agent.counts and domain not in COUNTED:
        own["operations_per_episode"] = OPERATIONS
    return kind(**{**own, **PAPER_SETTINGS.get(domain, {}), **given})


def _check_used(name: str, agent: Agent, given: dict[str, Any]) -> None:
    """Refuse settings that say nothing to an agent: it imagines nothing, or has no counters."""
    others = {
        "updates_per_step": "cprm or cra-cql" if agent.counterfactuals == "none" else "",
        "operations_per_episode": "" if agent.counts else "cra-q or cra-cql",
    }
    for setting, meant in others.items():
        if meant and given.get(setting) is not None:
            fault = f"{setting} says nothing to agent `{name}`"
            raise BadSetting(fault, fix=f"leave it out, or choose agent {meant}")


def machine_for(domain: FiniteDomain, name: str, text: str | None) -> PushdownRewardMachine | CountingRewardAutomaton:
    """The machine an agent learns with: the given one, or the catalogue's for the domain, translated where need be."""
    counts = agent_of(name).counts
    if text is None:
        if domain.machine is None:
            raise BadSetting(f"domain `{domain.name}` comes with no machine", fix="give one: --machine FILE.pdrm")
        text = catalogue_text(COUNTED.get(domain.machine, domain.machine) if counts else domain.machine)
    machine = parse(text, "machine.pdrm")
    return _counting(machine) if counts else _pushdown(machine)


def _pushdown(machine: AnyMachine) -> PushdownRewardMachine:
    if isinstance(machine, RewardMachine):
        return reward_machine_to_pushdown(machine)
    return counting_to_pushdown(machine) if isinstance(machine, CountingRewardAutomaton) else machine


def _counting(machine: AnyMachine) -> CountingRewardAutomaton:
    if isinstance(machine, RewardMachine):
        raise CannotTranslate(f"`{machine.name}` counts nothing", fix="use `--agent q`")
    return pushdown_to_counting(machine) if isinstance(machine, PushdownRewardMachine) else machine


def training_for(  # noqa: PLR0913, PLR0917 - a run is six things
    domain: FiniteDomain, name: str, k: str, settings: AnySettings, seed: int, text: str | None
) -> AnyTraining:
    """A run of the agent, before its first episode."""
    view = FullStack() if k == "full" else TopK(int(k))
    machine = machine_for(domain, name, text)
    if isinstance(settings, Hierarchical):
        if not isinstance(machine, PushdownRewardMachine):
            raise CannotTranslate(f"`{machine.name}` has counters, not options", fix="use `--agent cra-q`")
        return HierarchicalTraining(domain, machine, view, settings, seed)
    return Training(domain, machine, view, settings, seed)
