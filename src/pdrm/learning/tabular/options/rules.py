"""The options of a machine: its reading rules that change the configuration, each the goal of bringing its rule about.

In machine state u the options that leave u may be chosen, whatever the stack. Where there is none, one option without a rule
stands in, so that the agent can act there too: it has nothing to achieve and learns from the real reward alone.
"""

from __future__ import annotations

from pdrm.domains.labelled_mdp import FiniteDomain
from pdrm.learning.tabular.hierarchical_settings import Hierarchical
from pdrm.machines.guard import Label
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.transition import NONE, Transition
from pdrm.product.view import TopK

Option = Transition | None
"""The rule of an option, or None for the one that stands in where no rule changes anything."""

TOP = TopK(1)
"""What an option's policy sees of the stack, whatever the meta-policy sees."""


def changes(rule: Transition) -> bool:
    """Whether a rule leads elsewhere or does more to the stack than putting the same top back.

    >>> from pdrm.machines.guard import ALWAYS
    >>> [changes(Transition("u", "u", ALWAYS, top, push, 0.0)) for top, push in (("z", ("z",)), ("z", ()), ("eps", ()))]
    [False, True, False]
    """
    return rule.target != rule.source or rule.push != (() if rule.top == NONE else (rule.top,))


def options_of(machine: PushdownRewardMachine, state: str) -> tuple[Option, ...]:
    """The options that leave a state, numbered in the machine's order.

    >>> from pdrm.machines.catalogue import catalogue
    >>> [str(option.guard) for option in options_of(catalogue("letter"), "u1")]
    ['{C}', '{C}']
    """
    return tuple(rule for rule in machine.rules_from(state) if not rule.silent and changes(rule)) or (None,)


def is_achieved(machine: PushdownRewardMachine, option: Option, label: Label, top: str | None) -> bool:
    """Whether a label achieves an option: the machine takes its rule, or would but for the top of the stack.

    >>> from pdrm.machines.catalogue import catalogue
    >>> letter = catalogue("letter")
    >>> [is_achieved(letter, option, frozenset("C"), "A") for option in options_of(letter, "u1")]
    [True, True]
    >>> [is_achieved(letter, option, frozenset("C"), "#") for option in options_of(letter, "u1")]
    [False, True]
    """
    if option is None or not option.guard.holds(label):
        return False
    return not option.looks_at(top) or machine.rule(option.source, label, top) is option


def reward_for_achieving(settings: Hierarchical, domain: FiniteDomain, machine: PushdownRewardMachine) -> float:
    """r⁺. Its scale matters: with steps that cost ½ and r⁺ = 1, an option that takes three steps is worth less than giving up.

    >>> from pdrm.domains.catalogue import domain
    >>> from pdrm.machines.catalogue import catalogue
    >>> [reward_for_achieving(Hierarchical(), domain(name), catalogue(name)) for name in ("letter", "echo")]
    [1.0, 1.0]
    """
    if settings.r_plus is not None:
        return float(settings.r_plus)
    rewards = [1.0, machine.otherwise.reward, *(rule.reward for rule in machine.transitions)]
    return float(max(abs(domain.arrays.reward).max(), *map(abs, rewards)))
