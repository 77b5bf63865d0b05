"""Readings of the paper: their choices, generated tasks with a solution, and claims."""

import json

import pytest

from pdrm.domains.paper_domains import letter
from pdrm.errors import UnknownStudy
from pdrm.language.loading import catalogue
from pdrm.paper import claims
from pdrm.paper.claims import judge_physics
from pdrm.paper.figures import WATER_READINGS, study
from pdrm.paper.generated_tasks import draw_maze, draw_places, draw_sequences
from pdrm.paper.judging import NOT_RUN, ClaimPart, Evidence
from pdrm.paper.readings import (
    READINGS,
    about_readings,
    cells,
    reading_of,
)
from pdrm.task import Task


def ids(of):
    return {(panel.name, line.name): panel.specs(line, (0,))[0].id for panel, line in of.lines()}


def test_readings_have_names_and_descriptions():
    named = [(reading.figure, reading.name) for reading in READINGS]
    assert len(set(named)) == len(named)
    assert all(reading.about for reading in READINGS)
    with pytest.raises(UnknownStudy, match="no reading `repo`"):
        reading_of("letter", "repo")


def test_a_reading_changes_only_its_choice():
    default, python = ids(study("maze")), ids(reading_of("maze", "python").study)
    assert {key for key in default if default[key] != python[key]} == {
        (panel.name, line) for panel in study("maze").panels for line in ("CpRM", "1-CpRM")
    }
    short = ids(reading_of("maze", "limit-15").study)
    assert {panel for panel, line in default if default[panel, line] != short[panel, line]} == {
        "maze-10x10"
    }
    assert not set(ids(study("letter")).values()) & set(
        ids(reading_of("letter", "repository").study).values()
    )
    slow = reading_of("paint", "slow").study.panels[0]
    assert slow.agent(slow.lines[0]).learning_rate == 0.01
    (paint,) = study("paint").panels
    assert paint.agent(paint.lines[0]).learning_rate == 0.5


def test_the_repository_reading_makes_all_of_its_choices():
    """Also the choices about agents that an earlier choice has replaced."""
    (panel,) = reading_of("letter", "repository-all").study.panels
    agents = {line.name: panel.agent(line) for line in panel.lines}
    assert {agent.ties for agent in agents.values()} == {"first"}
    ending = {name for name, agent in agents.items() if agent.limit_ends}
    assert ending == {"pdRM", "1-pdRM", "0-pdRM (ours)", "Q-CRA"}
    assert agents["CQL-CRA"].counter_values == 20


def test_nothing_left_to_retrace_can_end_or_lose():
    for name, paid in (("end", 0), ("lose", -1e5)):
        machine = reading_of("maze", name).study.panels[0].task.machine
        # straight to the treasure's label, back, and one step too many
        run = machine.run([frozenset("dt"), frozenset("u"), frozenset("d")])
        assert (run.after.state, run.steps[-1].reward) == ("lost", paid)


def test_in_the_repository_a_can_turn_before_it_is_read():
    world = letter(turned_first=True)
    states = list(world.picture.cell)
    beside = next(s for s, cell in enumerate(states) if cell == (1, 2))
    west = world.actions.index("l")
    seen = {world.labels[label] for label in world.arrays.label[beside, west]}
    assert seen == {frozenset("A"), frozenset("B")}
    assert Task(world).counting.name == catalogue("letter-cra").name
    near_c = next(s for s, cell in enumerate(states) if cell == (1, 4))
    assert world.labels[world.arrays.label[near_c, world.actions.index("r"), 0]] == frozenset()


def test_generated_tasks_have_a_solution():
    for size, away in ((10, 15), (20, 24)):
        for seed in range(4):
            maze = draw_maze(size, seed, away=away)
            assert len(maze.rows) == size
            assert maze.distances(maze.starts[0]).keys() == set(maze.cells)
            (treasure,) = maze.places("t")
            assert maze.distances(maze.starts[0])[treasure] == away
    assert draw_maze(10, 7, away=15) == draw_maze(10, 7, away=15) != draw_maze(10, 8, away=15)
    assert len(set(draw_sequences(4, 256, seed=1))) == 256
    assert draw_places(1) != draw_places(2)


def test_a_reading_is_run_and_judged(pdrm, tmp_path):
    outcome = pdrm(
        "reproduce", "paint", "--reading", "slow", "--seeds", 1, "--workers", 1, "-o", tmp_path
    )
    assert outcome.code == 0
    assert "does not hold" in outcome.out
    record = json.loads(pdrm("claims", tmp_path, "--readings", "--json").out)
    (claim,) = record["paint"]["slow"]
    assert (claim["id"], claim["seeds"]) == ("paint", 1)
    shown = pdrm("claims", tmp_path, "--readings", "--details").out
    assert "slow" in shown
    assert pdrm("reproduce", "paint", "--reading", "fast", "-o", tmp_path).code == 2


def test_other_physics_can_refute_a_claim_but_not_confirm_it(tmp_path, monkeypatch):
    """Recurrent PPO was not run there, so no claim about it can hold."""
    found = {
        (cell.reading, cell.record["id"]): cell
        for cell in cells(tmp_path)
        if cell.figure == "water"
    }
    assert {name for name, _ in found} == {"default", *about_readings("water")}
    record = found["slow", "water-20"].record
    assert record["verdict"] == "does not hold"
    assert record["rests_on"] == {
        f"water-slow-20, {line}": [0, 1, 2] for line in ("PPO + 1-pdRM", "PPO")
    }
    kind = ClaimPart("anything", holds=True, numbers={})
    monkeypatch.setitem(
        claims.BY_TWO_AGENTS, "water-20", lambda _panel: (lambda _evidence: [kind],)
    )
    physics = [study(name) for name in WATER_READINGS]
    (judged,) = [
        one
        for one in judge_physics(physics[0], Evidence(tmp_path, None, physics))
        if one.claim.id == "water-20"
    ]
    assert (judged.verdict, judged.why) == (NOT_RUN, claims.TWO_AGENTS)
