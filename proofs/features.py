"""How often random words meet each feature of the semantics: a proof on machines that never use one would say little."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from random import Random

from pdrm.errors import UndefinedMove
from pdrm.machines.configurations import Step
from pdrm.machines.guards import Label
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.transitions import ANY, NONE, Transition
from proofs.random_machines import random_machine, random_words

FEATURES = (
    "silent move",
    "several silent moves in a step",
    "empty stack",
    "label read on the empty stack",
    "stack of four or more",
    "named top beats z",
    "otherwise stay or go",
    "undefined move",
    "final state with labels left",
    "accepted",
)


def shares(machines: int, words: int) -> dict[str, float]:
    """Feature -> the share of words that meet it, over the machines of the first seeds."""
    met: Counter[str] = Counter()
    for seed in range(machines):
        random = Random(seed)
        machine = random_machine(random)
        labels = list(machine.alphabet.labels())
        for word in random_words(random, len(labels), words):
            met.update(set(features(machine, [labels[number] for number in word])))
    return {feature: met[feature] / (machines * words) for feature in FEATURES}


def features(machine: PushdownRewardMachine, word: Sequence[Label]) -> Iterator[str]:
    """The features one word meets."""
    step = machine.begin()
    yield from _features_of_step(machine, step)
    for label in word:
        if step.after.state in machine.final:
            yield "final state with labels left"
            return
        try:
            step = machine.step(step.after, label)
        except UndefinedMove:
            yield "undefined move"
            return
        yield from _features_of_step(machine, step)
    if step.after.state in machine.final:
        yield "accepted"


def _features_of_step(machine: PushdownRewardMachine, step: Step) -> Iterator[str]:
    silent = sum(move.rule is not None and move.rule.silent for move in step.moves)
    if silent:
        yield "silent move"
    if silent > 1:
        yield "several silent moves in a step"
    if not step.after.stack:
        yield "empty stack"
    if step.label is not None and not step.before.stack and step.moves[0].rule is not None:
        yield "label read on the empty stack"
    if len(step.after.stack) >= 4:
        yield "stack of four or more"
    for move in step.moves:
        rule = move.rule
        if rule is None:
            yield "otherwise stay or go"
        elif rule.top not in (ANY, NONE):
            others = (other for other in machine.rules_from(rule.source) if other.top == ANY)
            if any(other.silent if rule.silent else _reads(other, step.label) for other in others):
                yield "named top beats z"


def _reads(rule: Transition, label: Label | None) -> bool:
    return label is not None and rule.guard.holds(label)


if __name__ == "__main__":
    for name, share in shares(machines=1_000, words=50).items():
        print(f"{share:6.1%} of words: {name}")
