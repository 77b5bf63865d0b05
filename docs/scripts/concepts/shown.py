"""Data of the pictures, computed with the library: a run, labels, views, counterfactual steps,
results of training and analysis.

Most use the 5×5 maze: find the treasure, then walk back the way you came.
"""

from __future__ import annotations

from functools import cache
from tempfile import TemporaryDirectory
from typing import Any, cast

import pdrm
from docs.scripts.concepts.counterfactual import Experience
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

MAZE = pdrm.domain("maze-5x5")
MACHINE = pushdown_machine("treasure-maze")
WORD = parse_word("d d d r r+t l l u u u+x")
"""The path to the treasure and back."""
PICTURE = cast("GridPicture", MAZE.picture)
ROWS = PICTURE.scenes[0].rows
CELL = PICTURE.cell
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
    """The environment state and the configuration after `steps` steps along the word."""
    s = int(MAZE.arrays.start_state[0])
    for label in WORD[:steps]:
        (action,) = label & set(MAZE.actions)
        s = int(MAZE.arrays.next[s, MAZE.actions.index(action), 0])
    return s, MACHINE.run(WORD[:steps]).after


def labels(steps: int) -> tuple[Any, ...]:
    """The map, a cell, and the effect of each action there."""
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
    """The map, the agent's cell, the last label, and the machine's state and stack."""
    s, configuration = at(steps)
    label = label_text(WORD[steps - 1])
    return ROWS, CELL[s], label, configuration.state, configuration.stack


def views() -> tuple[Any, ...]:
    """Two stacks at the treasure, the second after bumping into a wall, and views of them."""
    one, other = at(5)[1].stack, MACHINE.run(parse_word("d d d r u r+t")).after.stack
    names = {f"k = {k}": len(pdrm.product.TopK(k).of(one)) for k in range(3)}
    return one, other, [*names.items(), ("whole stack", len(pdrm.product.FullStack().of(other)))]


def counterfactuals(steps: int) -> tuple[Any, ...]:
    """A step along the word, and the machine's move from each state with each observed stack."""
    s, configuration = at(steps)
    next_s, _ = at(steps + 1)
    observed = [at(number)[1].stack for number in (steps, 5, 3, 0)]
    experiences = []
    for state in reversed(MACHINE.states):
        for stack in observed:
            step = MACHINE.step(Configuration(state, stack), WORD[steps])
            experience = Experience(
                state=state,
                stack=" ".join(stack),
                next_state=step.after.state,
                next_stack=" ".join(step.after.stack),
                reward=spell_number(step.reward),
                real=(state, stack) == (configuration.state, configuration.stack),
            )
            experiences.append(experience)
    return ROWS, (CELL[s], CELL[next_s]), label_text(WORD[steps]), experiences


def episode(name: str) -> tuple[Any, ...]:
    """A greedy episode after a little training."""
    run = pdrm.train(name, pdrm.CpRM(k=1, episodes=1_000))
    steps = [
        EpisodeStep(moment.state, moment.configuration.state, moment.configuration.stack)
        for moment in run.episode(seed=0)
    ]
    return run.spec.task.finite, steps


def witness(k: int) -> tuple[Any, ...]:
    """Two indistinguishable situations in the maze without a common best action, and a title."""
    report = pdrm.check_k(MAZE, MACHINE, [k], depth=4)
    situations = [
        Situation(
            member.env_state,
            member.state,
            member.stack,
            k,
            " ".join(member.way),
            " or ".join(member.actions),
            f"{member.value[0]:.6g}",
        )
        for member in report.witness(k)
    ]
    return MAZE, situations, f"{MAZE.name}: the top {k} symbols are not enough (everywhere)"


@cache
def deliveries() -> tuple[pdrm.Task, pdrm.Task]:
    """DeliverWorld-8 and DeliverWorld-4-8 with only four and five sequences, to save time."""
    return deliver_tasks(*sequences_of(pdrm.catalogue("deliver-four")))


@cache
def trained() -> list[Curves]:
    """A small study of four agents in DeliverWorld, ten seeds."""
    settings = {**PAPER_SETTINGS["deliver-8"], "episodes": 3_000}
    panel = Panel(name="deliver", domain=deliveries()[0], settings=settings, lines=LINES)
    with TemporaryDirectory() as folder:
        outcome = run_study(pdrm.Study(name="views", panels=(panel,)), folder)
    return [curves for _, curves in outcome.lines]
