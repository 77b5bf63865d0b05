"""Random small products made from a seed: a machine with plain rewards, a domain that it reads, and a discount."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from random import Random

import numpy as np

from pdrm.domains.finite_domain import NO_LABEL, FiniteDomain, from_arrays
from pdrm.machines.counting import CountingRewardAutomaton
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.transitions import NONE, Otherwise
from tests.properties.plain_product import Case, Plain, plain_product
from tests.properties.random_machines import random_machine

REWARDS = tuple(
    map(
        Fraction,
        ("0", "0", "0", "1", "-1", "2", "0.1", "0.2", "0.3", "-0.3", "-0.01", "1/3", "10", "-10"),
    )
)
CHANCES = tuple(
    tuple(map(Fraction, words.split()))
    for words in (
        "1",
        "1/2 1/2",
        "1/3 2/3",
        "1/10 9/10",
        "1/4 1/4 1/2",
        "1/3 1/3 1/3",
        "3/8 3/8 1/4",
        "0 1",
    )
)
CHANCES_OF_STARTS = {
    1: ((1,),),
    2: ((Fraction(1, 2), Fraction(1, 2)), (Fraction(1, 3), Fraction(2, 3)), (1, 0)),
}
"""By their number."""
LARGE = (*REWARDS, *map(Fraction, (100_000, -100_000)))
DISCOUNTS = tuple(map(Fraction, (0.0, 0.25, 0.5, 0.9, 0.99, 0.999)))
MAX_LABELS = 6
HIGHEST = 4
"""The highest bound of a stack."""
OVER = "over"
"""The final state of a capped machine that a rule leads to if it would exceed the bound."""


def random_case(
    random: Random,
    rules: tuple[str, ...],
    most: int,
    rewards: tuple[Fraction, ...] = REWARDS,
    chance: bool = True,
) -> tuple[Case, Plain]:
    """A random product, and the same in fractions, walked through while it has no more states than `most`.

    It has a state, and nearly all have several stacks. The rule that is drawn is `none`, `open` (only stacks up to a height are
    looked beyond), or `block` or `fail` (the machine is capped).
    """
    while True:
        machine = plainly_paid(random, random_machine(random), rewards)
        height, rule = random.randint(0, HIGHEST), random.choice(rules)
        if rule in ("block", "fail"):
            machine = capped(machine, max(1, height), rule)
        domain = random_domain(random, machine)
        domain = domain if chance else without_chance(domain)
        explored = height if rule == "open" else None
        case = Case(domain, machine, explored, random.choice(DISCOUNTS))
        plain = plain_product(case, most)
        stacks = len({stack for _, _, stack in plain.states})
        if stacks > 1 or (stacks and random.random() < 0.02):
            return case, plain


def without_chance(domain: FiniteDomain) -> FiniteDomain:
    """The domain in which the likeliest outcome of each action always happens."""
    probability = domain.arrays.probability
    sure = np.zeros_like(probability)
    np.put_along_axis(sure, probability.argmax(axis=2)[..., np.newaxis], 1.0, axis=2)
    return replace(domain, arrays=domain.arrays._replace(probability=sure))


def plainly_paid(
    random: Random, machine: PushdownRewardMachine, rewards: tuple[Fraction, ...]
) -> PushdownRewardMachine:
    """The machine with some of these rewards, and a move for every label."""
    few = (
        random.sample(rewards, 3) if random.random() < 0.5 else rewards
    )  # ties are common where rewards are few
    rules = tuple(replace(rule, reward=float(random.choice(few))) for rule in machine.transitions)
    otherwise = Otherwise.stay(float(random.choice(few)))
    if machine.otherwise.action == "go":
        otherwise = replace(machine.otherwise, reward=otherwise.reward)
    return replace(machine, transitions=rules, otherwise=otherwise)


def capped(machine: PushdownRewardMachine, height: int, rule: str) -> PushdownRewardMachine:
    """The machine with stacks of up to a height, counted in its states (where it is not known, from above).

    A rule that would exceed it pays. Then the episode is over, or with `block`, if the rule reads a label, nothing has changed.
    """
    rules = []
    for one in machine.transitions:
        looks = one.top != NONE
        for count in range(height + 1):
            source, after = f"{one.source}_{count}", max(0, count + len(one.push) - looks)
            target = one.target if one.target in machine.final else f"{one.target}_{after}"
            push = one.push
            if after > height:
                target = OVER
                if rule == "block" and not one.silent:
                    target, push = source, (one.top,) * looks
            rules.append(replace(one, source=source, target=target, push=push))
    otherwise = machine.otherwise
    if otherwise.target in machine.states:
        otherwise = replace(otherwise, target=f"{otherwise.target}_{height}")
    return replace(
        machine,
        start=f"{machine.start}_1",
        states=tuple(f"{u}_{count}" for u in machine.states for count in range(height + 1)),
        final=(*machine.final, OVER),
        transitions=tuple(rules),
        otherwise=otherwise,
    )


def random_domain(
    random: Random, machine: PushdownRewardMachine | CountingRewardAutomaton
) -> FiniteDomain:
    """A domain with 1–4 states, 1–3 actions, 1–3 outcomes of each, 1–2 starts, and up to six of the machine's labels."""
    alphabet = list(machine.alphabet.labels())
    labels = random.sample(alphabet, min(len(alphabet), random.randint(1, MAX_LABELS)))
    states, actions = random.randint(1, 4), random.choice((1, 2, 2, 3))
    rows = [[random.choice(CHANCES) for _ in range(actions)] for _ in range(states)]
    width = max(len(chances) for row in rows for chances in row)
    shape = states, actions, width
    chance = np.zeros(shape)
    for s, row in enumerate(rows):
        for a, chances in enumerate(row):
            chance[s, a, : len(chances)] = list(map(float, chances))
            if len(set(chances)) == 1 and random.random() < 0.2:
                chance[s, a] = chance[s, a].round(
                    9
                )  # as a domain may: thirds then sum to a little less than 1
    drawn = np.random.default_rng(random.getrandbits(32))
    paid = np.array([float(reward) for reward in REWARDS])[drawn.integers(0, len(REWARDS), shape)]
    starts = random.sample(range(states), random.randint(1, min(2, states)))
    return from_arrays(
        "random",
        drawn.integers(0, states, shape),
        drawn.integers(0, len(labels), shape),
        labels,
        step_limit=20,
        probability=chance,
        reward=paid if random.random() < 0.5 else 0.0,
        terminal=[random.random() < 0.2 and state not in starts for state in range(states)],
        start=dict(
            zip(starts, map(float, random.choice(CHANCES_OF_STARTS[len(starts)])), strict=True)
        ),
        start_label=random.randrange(len(labels)) if random.random() < 0.3 else NO_LABEL,
        events=machine.events,
    )
