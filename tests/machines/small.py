"""A small machine of each kind, optionally changed, and the text of an error."""

import pytest

from pdrm.errors import PdrmError
from pdrm.machines.counting import CountingRewardAutomaton, CountingTransition
from pdrm.machines.guards import Event
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.transitions import Otherwise, Transition

STAY = Otherwise.stay(0)
UP = CountingTransition("u", "u", Event("A"), ("-",), (1,), 0)


def said(call, *arguments, **settings):
    """The text of the error that a call raises."""
    with pytest.raises(PdrmError) as caught:
        call(*arguments, **settings)
    return str(caught.value)


def rule(**parts):
    """`u -> f : A, # / #, 0`, with changed parts."""
    whole = {
        "source": "u",
        "target": "f",
        "guard": Event("A"),
        "top": "#",
        "push": ("#",),
        "reward": 0,
    }
    return Transition(**{**whole, **parts})


def machine(*rules, stack=("#", "X"), otherwise=STAY, start="u", **more):
    events = more.pop("events", ("A", "B"))
    return PushdownRewardMachine(
        "m", events, stack, start, ("f",), otherwise, rules or (rule(),), **more
    )


def counting(*rules, counters=1, name="c", otherwise=STAY):
    return CountingRewardAutomaton(name, ("A", "B"), counters, "u", ("f",), otherwise, rules)


def reward_machine(name, events, *rest):
    """A reward machine, from the fields without the stack."""
    return PushdownRewardMachine(name, events, ("#",), *rest)


def plain_rule(source, target, guard, reward):
    """A rule that ignores the stack."""
    return Transition(source, target, guard, "eps", (), reward)
