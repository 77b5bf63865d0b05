"""Facts about the grid domains, checked by hand, and the range of their returns."""

import numpy as np
import pytest

from pdrm import catalogue
from pdrm.domains import domain
from pdrm.domains.grids import load_shipped_map
from pdrm.language.loading import parse
from pdrm.paper import generated_tasks
from pdrm.paper.generated_tasks import deliver_machine, draw_sequences, sequences_of
from tests.domains.walks import reachable, reverse, run, shortest, walk, words


def state(world, row, column, scene=0):
    """The number of a state, by its name."""
    picture = world.picture
    return next(
        number
        for number, (cell, seen) in enumerate(zip(picture.cell, picture.scene, strict=True))
        if cell == (row, column) and seen == scene
    )


def test_letter_turns_half_the_time_after_the_visit():
    letter = domain("letter")
    arrays, before = letter.arrays, state(letter, 1, 2)
    entering = (before, letter.actions.index("l"))
    assert arrays.probability[entering].tolist() == [0.5, 0.5]
    assert {letter.labels[label] for label in arrays.label[entering]} == {frozenset("A")}
    assert arrays.next[entering].tolist() == [state(letter, 1, 1), state(letter, 1, 1, scene=1)]
    turned = (state(letter, 1, 2, scene=1), letter.actions.index("l"), 0)
    assert letter.labels[arrays.label[turned]] == {"B"}
    assert arrays.next[turned] == state(letter, 1, 1, scene=1)
    assert reachable(letter) == set(range(42))


def test_letters_luckiest_episode():
    letter = domain("letter")
    lucky = next(seed for seed in range(20) if "B" in words(walk(letter, "llrl", seed=seed)[0]))
    labels, paid = walk(letter, "llrl" + "rrrr" + "lr", seed=lucky)
    assert words(labels) == ["", "A", "", "B", "", "", "", "C", "", "C"]
    ended = catalogue("letter").run(labels)
    assert ended.after.state == "u2"
    assert ended.reward + paid == pytest.approx(letter.highest)


def test_the_5x5_maze_is_the_one_drawn():
    maze = domain("maze-5x5")
    assert maze.picture.scenes[0].rows == ("#x###", "#...#", "#.###", "#..t#", "#####")
    start, treasure = maze.arrays.start_state[0], state(maze, 3, 3)
    assert maze.picture.cell[start] == (0, 1)
    assert shortest(maze, int(start), treasure) == "dddrr"
    labels, _ = walk(maze, "uddddrrlluuu")
    assert words(labels) == ["u", "d", "d", "d", "d", "r", "r+t", "l", "l", "u", "u", "u+x"]


def test_mazes_have_their_distance_loops_and_dead_ends():
    for size, steps, limit in [(5, 5, 15), (10, 15, 150), (20, 24, 300)]:
        maze = domain(f"maze-{size}x{size}")
        grid = load_shipped_map(f"maze-{size}x{size}", places="xt", start="x")
        assert maze.picture.size == (size, size)
        assert grid.distances(grid.starts[0])[grid.places("t")[0]] == steps
        assert maze.step_limit == limit
        assert reachable(maze) == set(range(maze.states))
        degree = [
            len({grid.neighbour(cell, action) for action in range(4)} - {cell})
            for cell in grid.cells
        ]
        assert degree.count(1) >= 3
        loops = sum(degree) // 2 - len(grid.cells) + 1
        assert loops == {5: 0, 10: 2, 20: 6}[size]


def out_of(maze, length):
    """A path of this length to the treasure that can be retraced.

    It goes back and forth after the first two steps and, for the right parity, bumps once between
    two walls.
    """
    path = shortest(maze, int(maze.arrays.start_state[0]), treasure_of(maze))
    if (length - len(path)) % 2:
        place, here = bump_of(maze, path)
        path = path[:place] + here + path[place:]
    return path[:2] + (reverse(path[1]) + path[1]) * ((length - len(path)) // 2) + path[2:]


def treasure_of(maze):
    return next(
        number
        for number, (r, c) in enumerate(maze.picture.cell)
        if maze.picture.scenes[0].rows[r][c] == "t"
    )


def bump_of(maze, path):
    """The positions on a path where a step to a side bumps, with such a step."""
    here = int(maze.arrays.start_state[0])
    for place, move in enumerate(path):
        for pair in ("ud", "lr"):
            if place and all(
                maze.arrays.next[here, maze.actions.index(a), 0] == here for a in pair
            ):
                return place, pair[0]
        here = int(maze.arrays.next[here, maze.actions.index(move), 0])
    raise AssertionError


def test_mazes_allow_the_returns_they_say():
    for name in ["maze-5x5", "maze-10x10", "maze-20x20"]:
        maze = domain(name)
        path = out_of(maze, maze.step_limit // 2)
        best, total = run(maze, path + reverse(path))
        assert best.after.state == "home"
        assert total == maze.highest
        path = out_of(maze, len(shortest(maze, int(maze.arrays.start_state[0]), treasure_of(maze))))
        worst, total = run(maze, path + path[-1])
        assert worst.after.state == "lost"
        assert total == maze.lowest


def test_multiple_treasure_maze_in_order():
    for name in ["multi-10x10", "multi-20x20"]:
        maze = domain(name)
        grid = load_shipped_map(name, places="xst", start="x")
        (x,), (s,), treasures = grid.starts, grid.places("s"), grid.places("t")
        there = way_between(grid, x, s, set())
        labels, _ = walk(maze, there)
        assert "s" in labels[-1]
        assert not any("t" in label or "s" in label for label in labels[:-1])
        ways = [
            way_between(grid, s, treasure, set(treasures) - {treasure}) for treasure in treasures
        ]
        tour = there + "".join(way + reverse(way) for way in ways) + reverse(there)
        labels, _ = walk(maze, tour)
        seen = [event for label in labels for event in ("s", "t", "T", "x") if event in label]
        assert seen == ["s", "t", "s", "t", "s", "t", "s", "T", "x"]
        ended, total = run(maze, tour)
        assert ended.after.state == "home"
        assert total <= maze.highest
        wasted = len(there) + sum(map(len, ways))
        assert total == maze.highest - (maze.step_limit // 2 - wasted)
        assert run(maze, there + ways[0] + ways[0][-1])[1] == maze.lowest


def way_between(grid, source, target, avoid):
    came, frontier = {source: ""}, [source]
    for cell in frontier:
        for action, name in enumerate("udlr"):
            there = grid.neighbour(cell, action)
            if there not in came and there not in avoid:
                came[there] = came[cell] + name
                frontier.append(there)
    return came[target]


LONG = [frozenset({f"seq_{i}"}) for i in range(1, 65)]
SHORT = [frozenset({f"short_{i}"}) for i in range(1, 65)]


def sequence(label):
    """The places that the machine pushes for a label, in the order of the visits."""
    return catalogue("deliver").run([label]).after.stack[:-1]


def test_deliver_sequences():
    assert [sequence(label) for label in LONG] == list(draw_sequences(8, 64, seed=0))
    assert [sequence(label) for label in SHORT] == list(draw_sequences(4, 64, seed=0))
    drawn = draw_sequences(8, 64, 0), draw_sequences(4, 64, 0)
    assert sequences_of(catalogue("deliver")) == drawn
    assert sequences_of(parse(deliver_machine(*drawn))) == drawn


def starts(world):
    return [world.labels[first] for first in world.arrays.start_label]


def test_deliver_trains_and_tests_on_its_sequences():
    eight, four = domain("deliver-8"), domain("deliver-4-8")
    assert starts(eight) == LONG == starts(four.tests[0])
    assert starts(four) == SHORT
    assert eight.tested_on == (eight,)
    assert eight.labels == four.labels
    assert np.array_equal(eight.arrays.label, four.arrays.label)
    assert (eight.arrays.reward == -0.5).all()
    assert set(eight.events) == set(catalogue("deliver").events)
    assert eight.states == 400


def test_deliver_allows_the_returns_it_says():
    eight, four = domain("deliver-8"), domain("deliver-4-8")
    grid = load_shipped_map("deliver", places="MSCP")
    for world, labels, deliveries in ((eight, LONG, 8), (four, SHORT, 4), (four.tests[0], LONG, 8)):
        fewest = min(generated_tasks.fewest_steps(grid, sequence(label)) for label in labels)
        assert world.highest == 1e3 * (deliveries + 1) - 0.5 * fewest
        assert world.lowest == -1000
