"""Warnings about tasks are true: compared, on random small tasks, with walks of the readable machine through the domain.

A final state that is said to be out of reach is in no walk. A loop that is said to pay is gone round three times. If never ending
is said to be best, no walk to an end pays more.
"""

from __future__ import annotations

from collections import Counter
from math import inf
from random import Random
from typing import Any

from pdrm.domains.finite_domain import NO_LABEL, FiniteDomain
from pdrm.machines.findings import HeadMove, RewardLoop
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.transitions import Configuration
from pdrm.product import task_findings
from pdrm.task import Task
from tests.properties.random_machines import described, random_machine
from tests.properties.random_products import REWARDS, plainly_paid, random_domain

TASKS, MOST, LIMIT = 200, 100, 8
NEAR = 1e-6

Here = tuple[int, Configuration]


def check(seed: int, tasks: int = TASKS) -> Counter[str]:
    """Check some random tasks; returns how many, and how many warnings of each kind there were."""
    random, counts = Random(seed), Counter[str]()
    while counts["cases"] < tasks:
        machine = plainly_paid(random, random_machine(random), REWARDS)
        if machine.final:
            counts["cases"] += 1
            counts.update(_check_task(random_domain(random, machine), machine))
    return counts


def _check_task(domain: FiniteDomain, machine: PushdownRewardMachine) -> list[str]:
    walk, found = Walk(domain, machine), task_findings.inspect_task(Task(domain, machine))
    codes, what = [finding.code for finding in found], described(machine)
    survey = task_findings._explore_heads(domain, machine)
    reached = {state for (_, state), _ in survey}
    assert walk.ends <= reached, f"{walk.ends - reached} can be reached\n{what}"
    if "W0607" in codes and walk.closed:
        going_on = walk.going_on()
        assert going_on > walk.best_ending, (
            f"ending pays {walk.best_ending}, not {going_on}\n{what}"
        )
    for loop in task_findings._find_loops(survey):
        walk.go_round(loop, survey, what)
    return codes


class Walk:
    """All that the readable machine does in a domain within a number of steps, up to a limit."""

    def __init__(self, domain: FiniteDomain, machine: PushdownRewardMachine) -> None:
        self.domain, self.machine = domain, machine
        self.ends: set[str] = set()
        self.best_ending = -inf
        begin, arrays = machine.begin(), domain.arrays
        self.starts: list[tuple[float, Here | None, float]] = []
        layer: dict[Here, float] = {}
        starts = zip(arrays.start_probability, arrays.start_state, arrays.start_label, strict=True)
        for chance, place, label in starts:
            here, paid = begin.after, begin.reward
            if label != NO_LABEL and here.state not in machine.final:
                step = machine.step(here, domain.labels[label])
                here, paid = step.after, paid + step.reward
            if chance > 0:
                ended = self._end(here, paid)
                self.starts.append((float(chance), None if ended else (int(place), here), paid))
                if not ended and not arrays.terminal[place]:
                    layer[int(place), here] = max(paid, layer.get((int(place), here), -inf))
        self.known: dict[Here, list[list[tuple[float, float, Here | None, bool]]]] = {}
        for _ in range(LIMIT):
            after: dict[Here, float] = {}
            for here, paid in layer.items() if len(self.known) < MOST else ():
                for outcome in (one for action in self.follow(here) for one in action):
                    _, reward, there, ended = outcome
                    if ended:
                        self.best_ending = max(self.best_ending, paid + reward)
                    elif there is not None:
                        after[there] = max(paid + reward, after.get(there, -inf))
            layer = after
        self.closed = not layer or len(self.known) < MOST

    def _end(self, here: Configuration, paid: float) -> bool:
        if here.state in self.machine.final:
            self.ends.add(here.state)
            self.best_ending = max(self.best_ending, paid)
            return True
        return False

    def follow(self, here: Here) -> list[list[tuple[float, float, Here | None, bool]]]:
        """[action][outcome]: the chance, what is paid, where it leads (None: nowhere), and whether the task has ended."""
        if here not in self.known:
            arrays, (place, configuration) = self.domain.arrays, here
            self.known[here] = []
            for a in range(arrays.next.shape[1]):
                outcomes = []
                for o in range(arrays.next.shape[2]):
                    if arrays.probability[place, a, o] > 0:
                        step = self.machine.step(
                            configuration, self.domain.labels[arrays.label[place, a, o]]
                        )
                        ended, after = (
                            step.after.state in self.machine.final,
                            int(arrays.next[place, a, o]),
                        )
                        if ended:
                            self.ends.add(step.after.state)
                        there = None if ended or arrays.terminal[after] else (after, step.after)
                        paid = float(arrays.reward[place, a, o]) + step.reward
                        outcomes.append(
                            (float(arrays.probability[place, a, o]), paid, there, ended)
                        )
                self.known[here].append(outcomes)
        return self.known[here]

    def going_on(self) -> float:
        """What a policy that never ends the task is paid at most."""
        values: dict[tuple[Here, int], float] = {}

        def value(here: Here, steps: int) -> float:
            if steps == 0:
                return 0.0
            if (here, steps) not in values:
                found = [-inf]
                for outcomes in self.follow(here):
                    if not any(ended for *_, ended in outcomes):
                        parts = (
                            chance * (paid + (0.0 if there is None else value(there, steps - 1)))
                            for chance, paid, there, _ in outcomes
                        )
                        found.append(sum(parts))
                values[here, steps] = max(found)
            return values[here, steps]

        total = 0.0
        for chance, here, paid in self.starts:
            over = here is None or bool(self.domain.arrays.terminal[here[0]])
            total += chance * (paid + (0.0 if over or here is None else value(here, LIMIT)))
        return total

    def go_round(
        self, loop: RewardLoop, survey: dict[Any, list[list[HeadMove | None]]], what: str
    ) -> None:
        """Go round a loop three times, from wherever a walk meets its head. Silent moves are part of the step before them."""
        actions = []
        head = loop.head
        for move in loop.moves:
            if self.machine.rule(head[0][1], None, head[1]) is None:
                actions.append(survey[head].index([move]))
            head = move.target, move.replacement[0] if move.replacement else None
        for here in list(self.known):
            if ((here[0], here[1].state), here[1].top) == loop.head:
                now, paid = here, []
                for _ in range(3):
                    paid.append(0.0)
                    for action in actions:
                        ((_, reward, there, ended),) = self.follow(now)[action]
                        assert there is not None, f"the loop ends\n{what}"
                        assert not ended, f"the loop ends\n{what}"
                        now, paid[-1] = there, paid[-1] + reward
                wrong = [one for one in paid if one <= 0 or abs(one - loop.reward) > NEAR]
                assert not wrong, f"the loop pays {wrong}, not {loop.reward}\n{what}"
                return
