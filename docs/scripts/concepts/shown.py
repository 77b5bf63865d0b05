"""What the pictures show, asked of the library: a run, labels, views, imagined steps, what training and analysis find.

The example of most of them is the 5×5 maze: find the treasure, then walk back the way you came.
"""

from __future__ import annotations

from functools import cache
from tempfile import TemporaryDirectory
from typing import Any, cast

import pdrm
from docs.scripts.concepts.counterfactual import Imagined
from docs.scripts.concepts.labels import Move
from docs.scripts.concepts.run import Moment
from pdrm.domains.finite_domain import Picture as GridPicture
from pdrm.drawing.figure import spell_number
from pdrm.drawing.plots import EpisodeStep, Situation
from pdrm.experiments.curves import Curves
from pdrm.experiments.panel import AgentLine, Panel
from pdrm.experiments.study import run_study
from pdrm.learning.settings import PAPER_SETTINGS
from pdrm.machines.guards import label_text, parse_word
from pdrm.machines.transitions import Configuration
from pdrm.paper.generated_tasks import deliver_tasks, sequences_of
from pdrm.task import pushdown_machine

MAZE, MACHINE = pdrm.domain("maze-5x5"), pushdown_machine("treasure-maze")
WORD = parse_word("d d d r r+t l l u u u+x")
"""The way to the treasure and back."""
PICTURE = cast("GridPicture", MAZE.picture)
ROWS, CELL = PICTURE.scenes[0].rows, PICTURE.cell
TOWARDS = {"u": (-1, 0), "d": (1, 0), "l": (0, -1), "r": (0, 1)}
LINES = (
    AgentLine(name="1-pdRM", agent="q", k="1"),
    AgentLine(name="pdRM", agent="q", k="full"),
    AgentLine(name="0-pdRM (ours)", agent="q", k="0", ours=True),
    AgentLine(name="1-CpRM, deduplicated (ours)", agent="cprm", k="1", ours=True),
)


def moments() -> list[Moment]:
    """The machine along the word."""
    steps = MACHINE.run(WORD).steps
    labels = ["" if step.label is None else label_text(step.label) for step in steps]
    return [
        Moment(
            label, step.after.state, step.after.stack, spell_number(step.reward) if label else ""
        )
        for label, step in zip(labels, steps, strict=True)
    ]


def at(steps: int) -> tuple[int, Configuration]:
    """The environment state and the configuration after so many steps along the word."""
    s = int(MAZE.arrays.start_state[0])
    for label in WORD[:steps]:
        (action,) = label & set(MAZE.actions)
        s = int(MAZE.arrays.next[s, MAZE.actions.index(action), 0])
    return s, MACHINE.run(WORD[:steps]).after


def labels(steps: int) -> tuple[Any, ...]:
    """The map, a place on it, and what each action does there."""
    s, _ = at(steps)
    moves = []
    for number, action in enumerate(MAZE.actions):
        label = MAZE.labels[MAZE.arrays.label[s, number, 0]]
        moves.append(
            Move(
                action,
                TOWARDS[action],
                bool(MAZE.arrays.next[s, number, 0] != s),
                label_text(label),
            )
        )
    return ROWS, CELL[s], moves


def moment(steps: int) -> tuple[Any, ...]:
    """The map with the agent, the label that led there, the machine's state and stack."""
    s, there = at(steps)
    return ROWS, CELL[s], label_text(WORD[steps - 1]), there.state, there.stack


def views() -> tuple[Any, ...]:
    """Two stacks at the treasure, the second after a bump into the wall on the way, and views of them."""
    one, other = at(5)[1].stack, MACHINE.run(parse_word("d d d r u r+t")).after.stack
    names = {f"k = {k}": len(pdrm.product.TopK(k).of(one)) for k in range(3)}
    return one, other, [*names.items(), ("whole stack", len(pdrm.product.FullStack().of(other)))]


def counterfactuals(steps: int) -> tuple[Any, ...]:
    """A step along the word, and what the machine does in it from each state with each stack met so far."""
    (s, here), (after, _) = at(steps), at(steps + 1)
    met = [at(number)[1].stack for number in (steps, 5, 3, 0)]
    found = []
    for state in reversed(MACHINE.states):
        for stack in met:
            step = MACHINE.step(Configuration(state, stack), WORD[steps])
            then = step.after
            real = (state, stack) == (here.state, here.stack)
            found.append(
                Imagined(
                    state,
                    " ".join(stack),
                    then.state,
                    " ".join(then.stack),
                    spell_number(step.reward),
                    real,
                )
            )
    return ROWS, (CELL[s], CELL[after]), label_text(WORD[steps]), found


def episode(name: str) -> tuple[Any, ...]:
    """A greedy episode after a little training."""
    run = pdrm.train(name, pdrm.CpRM(k=1, episodes=1_000))
    went = run.episode(seed=0)
    return run.spec.task.finite, [
        EpisodeStep(one.state, one.configuration.state, one.configuration.stack) for one in went
    ]


def witness(k: int) -> tuple[Any, ...]:
    """Two situations in the maze that a k-policy takes for one and that have no best action in common, and a title."""
    report = pdrm.check_k(MAZE, MACHINE, [k], depth=4)
    drawn = [
        Situation(
            one.env_state,
            one.state,
            one.stack,
            k,
            " ".join(one.way),
            " or ".join(one.actions),
            f"{one.value[0]:.6g}",
        )
        for one in report.witness(k)
    ]
    return MAZE, drawn, f"{MAZE.name}: the top {k} symbols are not enough (everywhere)"


def sizes(name: str) -> dict[str, Any]:
    """How a domain's tables grow."""
    return pdrm.sizes(name)


@cache
def deliveries() -> tuple[pdrm.Task, pdrm.Task]:
    """DeliverWorld-8 and DeliverWorld-4-8 with few sequences, four and five: what is learnt and proved of them takes seconds."""
    return deliver_tasks(*sequences_of(pdrm.catalogue("deliver-four")))


def trade() -> tuple[Any, ...]:
    """Views, the share of the optimal value that a best policy with each reaches, and the rows of its table."""
    _, task = deliveries()
    report = pdrm.check_k(task, k=range(3))
    sizes = {
        size["what"]: size["reachable"] for size in pdrm.sizes(task, k=tuple(report.loss))["sizes"]
    }
    best = report.value[0]
    kept = [round(100 * (1 - high / best), 1) for _, high in report.loss.values()]
    rows = [sizes[f"{k}-policy"] for k in report.loss]
    return (
        [*(f"k = {k}" for k in report.loss), "whole stack"],
        [*kept, 100.0],
        [*rows, sizes["full policy"]],
    )


@cache
def trained() -> list[Curves]:
    """A small study of four agents in DeliverWorld, ten seeds."""
    settings = {**PAPER_SETTINGS["deliver-8"], "episodes": 3_000}
    panel = Panel(name="deliver", domain=deliveries()[0], settings=settings, lines=LINES)
    with TemporaryDirectory() as folder:
        outcome = run_study(pdrm.Study(name="views", panels=(panel,)), folder)
    return [curves for _, curves in outcome.lines]


def tested(curves: Curves) -> tuple[str, list[int], list[list[float]]]:
    """An agent's name, the episodes of its tests, and a list of mapped returns a seed."""
    scores = curves.normalised.mean(axis=2).round(4)
    return curves.line.name, curves.at.tolist(), scores.tolist()
