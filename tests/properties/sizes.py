"""Section 5 on random machines and domains: counts equal those of a plain walk, and bounds hold."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from random import Random

from pdrm.analysis.reachable_rows import count_reachable, count_views, find_heads
from pdrm.analysis.sizes import count_stack_strings, theorem_2
from pdrm.domains.finite_domain import NO_LABEL, FiniteDomain
from pdrm.machines.heads import stack_growth
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.transitions import Configuration, Otherwise
from tests.properties.random_domains import random_domain
from tests.properties.random_machines import described, random_machine

MACHINES = 100
STEPS = 5
KS = (0, 1, 2, 3)
DEEP = 60
"""Steps within which all inputs of a k-policy occur; 14 were enough for 300 machines."""
MOST = 5_000
"""Product states after which a plain walk stops."""

State = tuple[int, Configuration]


def check(seed: int, machines: int = MACHINES) -> int:
    """Compare counts on random machines; return the number of comparisons with a bound."""
    random = Random(seed)
    return sum(compared(*random_product(random)) for _ in range(machines))


def random_product(random: Random) -> tuple[FiniteDomain, PushdownRewardMachine]:
    """A random machine that reads every label, and a random domain that emits some of them."""
    machine = random_machine(random)
    if machine.otherwise.action == "error":
        machine = replace(machine, otherwise=Otherwise.stay(0))
    return random_domain(random, machine), machine


def compared(domain: FiniteDomain, machine: PushdownRewardMachine) -> int:
    """Compare the counts with a plain walk and with the bounds, after 0, 1, 2, … steps."""
    growth, walk = stack_growth(machine), count_reachable(domain, machine, STEPS)
    views = count_views(machine, find_heads(domain, machine), KS)
    most_rows = domain.states * len(machine.states)
    said = described(machine)
    cases = 0
    for n, found in enumerate(plain_walk(domain, machine)):
        labels = n + int(bool((domain.arrays.start_label != NO_LABEL).any()))
        place = min(n, walk.steps)
        assert place == n or walk.closed, said
        acting = list_acting(found, domain, machine)
        stacks = {at.stack for _, at in found}
        below = {stack[1:] for stack in stacks}
        counted = walk.rows[place], walk.strings[place], walk.counters[place]
        assert counted == (len(acting), len(stacks), len(below)), (n, counted, said)
        assert max(map(len, stacks)) <= growth.longest(labels), (n, growth, said)
        bound = count_stack_strings(growth, labels)
        assert len(below) <= len(stacks) <= bound, (n, growth, said)
        assert len(acting) <= most_rows * bound, (n, growth, said)
        for k, met in count_met(found, domain, machine).items():
            assert met <= views[k] <= most_rows * theorem_2(growth, k), (n, k, said)
        cases += 3 + len(KS)
    # all inputs of k-policies occur in the end, unless the walk grows too large before
    for found in plain_walk(domain, machine, DEEP):
        if count_met(found, domain, machine) == views:
            break
    else:
        assert len(found) > MOST, said
    return cases


def count_met(
    found: set[State], domain: FiniteDomain, machine: PushdownRewardMachine
) -> dict[int, int]:
    """The number of inputs of a k-policy, for each k."""
    acting = list_acting(found, domain, machine)
    return {k: len({(s, at.state, at.stack[:k]) for s, at in acting}) for k in KS}


def list_acting(
    found: set[State], domain: FiniteDomain, machine: PushdownRewardMachine
) -> list[State]:
    """The product states in which the agent acts."""
    return [
        (s, at)
        for s, at in found
        if at.state not in machine.final and not domain.arrays.terminal[s]
    ]


def plain_walk(
    domain: FiniteDomain, machine: PushdownRewardMachine, steps: int = STEPS
) -> Iterator[set[State]]:
    """The product states within 0, 1, 2, … steps, by the readable machine."""
    arrays, begun = domain.arrays, machine.begin().after
    layer: set[State] = set()
    for s, label in zip(arrays.start_state.tolist(), arrays.start_label.tolist(), strict=True):
        unread = label == NO_LABEL or begun.state in machine.final
        layer.add((s, begun if unread else machine.step(begun, domain.labels[label]).after))
    found = set(layer)
    for _ in range(steps):
        yield found
        layer = {after for state in layer for after in successors(domain, machine, *state)} - found
        found |= layer
        if len(found) > MOST:
            return
    yield found


def successors(
    domain: FiniteDomain, machine: PushdownRewardMachine, s: int, here: Configuration
) -> Iterator[State]:
    """The states after a step."""
    arrays = domain.arrays
    if here.state in machine.final or arrays.terminal[s]:
        return
    for a in range(arrays.next.shape[1]):
        for o in range(arrays.next.shape[2]):
            if arrays.probability[s, a, o] > 0:
                label = domain.labels[arrays.label[s, a, o]]
                yield int(arrays.next[s, a, o]), machine.step(here, label).after
