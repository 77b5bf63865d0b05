"""The finite product against the readable machine, state by state and step by step."""

from random import Random

import numpy as np
import pytest

from pdrm.domains.finite_domain import from_arrays
from pdrm.domains.paper_domains import domain
from pdrm.errors import PdrmError, UndefinedMove
from pdrm.language.loading import catalogue, parse
from pdrm.machines.transitions import Configuration
from pdrm.product.finite_kernel import END, FiniteProduct
from tests.properties.random_domains import random_domain
from tests.properties.random_machines import random_machine


def placed(where, machine, s, here):
    """A product state of the readable machine, or None if the episode is over."""
    if here.state in machine.final or where.arrays.terminal[s]:
        return None
    return (int(s), here.state, here.stack)


def started(where, machine):
    """The initial product states."""
    for s, label in zip(where.arrays.start_state, where.arrays.start_label, strict=True):
        here = machine.begin().after
        if label >= 0 and here.state not in machine.final:
            here = machine.step(here, where.labels[label]).after
        yield placed(where, machine, s, here)


def readable(where, machine, depth, height):
    """All product states within some steps, and every step, of the readable machine."""
    arrays, starts = where.arrays, list(started(where, machine))
    steps, layer = {}, [x for x in starts if x]
    seen = set(layer)
    for _ in range(depth):
        inside = [x for x in layer if height is None or len(x[2]) <= height]
        layer = []
        for x in inside:
            steps[x] = {}
            for a, o in np.argwhere(arrays.probability[x[0]] > 0):
                step = machine.step(Configuration(*x[1:]), where.labels[arrays.label[x[0], a, o]])
                y = placed(where, machine, arrays.next[x[0], a, o], step.after)
                steps[x][a, o] = y, step.reward + arrays.reward[x[0], a, o]
                if y is not None and y not in seen:
                    seen.add(y)
                    layer.append(y)
    return starts, seen, steps


def check_the_product_is_the_readable_one(seed):
    random = Random(seed)
    machine = random_machine(random)
    where = random_domain(random, machine)
    height = random.choice([None, 2])
    depth = random.randint(0, 4)
    try:
        starts, seen, steps = readable(where, machine, depth, height)
    except PdrmError:
        with pytest.raises(PdrmError):
            FiniteProduct(where, machine, height).explore(depth)
        return
    product = FiniteProduct(where, machine, height)
    product.explore(depth)
    named = [
        (int(product.env_state[x]), product.machine_state(x), product.stack(x))
        for x in range(len(product))
    ]
    assert set(named) == seen
    assert len(named) == len(seen)
    assert [None if x == END else named[x] for x in product.starts] == starts
    for x, name in enumerate(named):
        assert bool(product.states.expanded[x]) == (name in steps)
        for (a, o), (y, paid) in steps.get(name, {}).items():
            after = product.next[x, a, o]
            assert (None if after == END else named[after]) == y
            assert product.reward[x, a, o] == paid


def test_the_product_is_the_readable_one():
    for seed in range(150):
        check_the_product_is_the_readable_one(seed)


def test_shortest_words_lead_where_they_say():
    maze = domain("maze-5x5")
    machine = catalogue(maze.machine)
    product = FiniteProduct(maze, machine)
    product.explore(depth=5)
    for x in range(0, len(product), 37):
        way = product.path_to(x).actions
        assert len(way) == product.states.depth[x]
        s, here = int(maze.arrays.start_state[0]), machine.begin().after
        for action in way:
            a = maze.actions.index(action)
            here = machine.step(here, maze.labels[maze.arrays.label[s, a, 0]]).after
            s = int(maze.arrays.next[s, a, 0])
        assert (s, here.state, here.stack) == (
            product.env_state[x],
            product.machine_state(x),
            product.stack(x),
        )
    assert product.path_to(0).word == ""


def test_a_product_that_would_not_fit_is_left_while_it_is_small():
    maze = domain("maze-10x10")
    small = FiniteProduct(maze, catalogue(maze.machine), memory=2**20)
    small.explore(depth=12)
    assert small.frontier.size
    assert small.max_states < len(small) < 8 * small.max_states


def test_a_missing_move_is_named():
    machine = parse(
        "name m\nevents a b\nstack # A\nstart u\notherwise error\nu -> u : {a}, z / A z, 0\n",
        "m.pdrm",
    )
    line = from_arrays("line", [[1], [1]], [[0], [1]], [("a",), ("b",)], step_limit=5)
    with pytest.raises(UndefinedMove, match=r"no rule for label \{?b\}? at u, A #"):
        FiniteProduct(line, machine).explore(depth=5)


def test_a_survey_keeps_the_ends_and_no_steps():
    """The third A ends the episode with a stack that the usual product does not contain."""
    text = "events a\nstack # A B\nstart u\nfinal f\notherwise stay 0\nu -> u : a, # / A #, 1\nu -> f : a, A / B A, 1\n"
    where = from_arrays("d", [[0]], [[0]], [("a",)], step_limit=9)
    product, survey = (
        FiniteProduct(where, parse(text)),
        FiniteProduct(where, parse(text), count_only=True),
    )
    for one in (product, survey):
        one.explore()
    assert [product.stack(x) for x in range(len(product))] == [("#",), ("A", "#")]
    assert [survey.stack(x) for x in range(len(survey))] == [("#",), ("A", "#"), ("B", "A", "#")]
    assert (len(survey.next), survey.machine_state(2), survey.path_to(2).word) == (0, "f", "a a")
    assert not survey.expand(np.array([1]), max_states=2)
