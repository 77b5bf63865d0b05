"""The operators of stack symbols against values known by hand: at any height, with any room."""

from fractions import Fraction
from random import Random

import numpy as np
import pytest

import pdrm
from pdrm.analysis import whole_stack
from pdrm.analysis.top_bounds import SilentMoveBound, bound_silent_moves
from pdrm.analysis.whole_stack import WholeStack, world_of
from pdrm.analysis.whole_stack_kernel import NONE, World
from pdrm.domains.finite_domain import from_arrays
from pdrm.errors import BadSetting, ProductTooLarge
from pdrm.language.loading import parse
from pdrm.machines.tables import step_table, tabulate
from tests.properties.plain_summaries import best
from tests.properties.summaries import draw_case

LABELS = [frozenset(), frozenset({"push"}), frozenset({"go"}), frozenset({"pop"})]
WALK, PUSH, GO, POP = range(4)


def table_of(rules, otherwise="stay 0"):
    header = f"name m\nevents push go pop\nexclusive push go pop\nstack # a b\nstart u\nfinal end\notherwise {otherwise}\n"
    return tabulate(parse(header + rules), LABELS)


def ring(places, paid):
    """Walk to the next place, push, go, or pop, which costs something at most places."""
    shape = places, 4
    walk = [
        [(env_state + 1) % places, env_state, env_state, env_state] for env_state in range(places)
    ]
    reward = np.zeros(shape)
    reward[:, POP] = paid
    label = np.tile(np.arange(4), (places, 1))
    return World(
        np.array(walk, np.int32), label.astype(np.int32), reward, np.zeros(places, np.bool_)
    )


TOWER = (
    "u -> u : push, z / a z, -10\nu -> v : go, z / z, 0\n"
    "v -> u : pop, a / eps, 1\nv -> v : go, b / a a, 0\nv -> end : pop, # / #, 0\n"
)
"""Pop a tower of `a` by `go` and `pop` in turn. A `b` becomes two `a`. Pushes have no reward."""


def tower_values(paid, discount, height):
    """[place, state]: the values with `a` so often above `#`, level by level."""
    places = len(paid)
    below = np.zeros((places, 2))
    for level in range(height + 1):
        popped = np.array(paid) + ((1 + discount * below[:, 0]) if level else 0.0)
        value = np.zeros((places, 2))
        for _ in range(2 * places + 2):
            ahead = discount * np.roll(value, -1, axis=0)
            value[:, 1] = np.maximum(ahead[:, 1], popped)
            value[:, 0] = np.maximum(ahead[:, 0], discount * value[:, 1])
        below = value
    return below


def test_a_tower_with_many_exits_at_every_level():
    """All of these are looked at for one value: more than there is room for at first, twice."""
    paid, discount = [-1.0, -0.5, 0.0, -0.8, -0.1], 0.98
    found = WholeStack(ring(5, paid), table_of(TOWER), discount)
    high, low = tower_values(paid, discount, 420), tower_values(paid, discount, 3)
    for env_state, state in ((0, 0), (3, 1)):
        assert best(found, env_state, state, (*(2,) * 420, 1)) == pytest.approx(
            high[env_state, state], abs=found.error_at(500) + 1e-9
        )
    for (env_state, state), value in np.ndenumerate(low):
        assert best(found, env_state, state, (2, 2, 2, 1)) == pytest.approx(
            value, abs=found.error_at(500) + 1e-9
        )
        opened = discount * (low[env_state, 1] if state else discount * low[env_state, 1])
        assert best(found, env_state, state, (3, 2, 1)) == pytest.approx(
            opened, abs=found.error_at(500) + 1e-9
        )


def chain(labels, paid):
    """Nothing to choose: from place to place, and from the last to the first."""
    following = np.roll(np.arange(len(labels), dtype=np.int32), -1)[:, np.newaxis]
    columns = np.array(labels, np.int32)[:, np.newaxis], np.array(paid, np.float64)[:, np.newaxis]
    return World(following, *columns, np.zeros(len(labels), np.bool_))


def play(world, table, discount, env_state, state, stack):
    """What following the only action pays, as long as it can be seen in a number."""
    total = 0.0
    for t in range(60):
        if state >= table.first_final:
            break
        state, stack, paid = step_table(table, state, stack, int(world.label[env_state, 0]))
        total += discount**t * (paid + world.reward[env_state, 0])
        env_state = int(world.next[env_state, 0])
    return total


def test_pops_so_late_that_what_is_below_does_not_count():
    """With a discount of 0.05 what is more than 15 steps away cannot be seen in a number."""
    rules = "u -> u : pop, a / eps, 1\nu -> u : pop, b / a a, 2\nu -> end : pop, # / #, 5\n"
    opening = (
        "u -> v : go, z / z, 1\nu -> u : pop, z / a z, 0\n"
        "v -> u : push, b / a b, 2\nv -> u : pop, a / eps, 1\nv -> u : pop, b / eps, 3\n"
    )
    for places, discount, given, begin in (
        (20, 0.05, rules, {}),
        (14, 0.05, rules, {}),
        (9, 0.05, rules, {}),
        (3, 0.0, rules, {}),
        (2, 0.3, rules, {}),
        (16, 0.05, opening, {0: PUSH, 2: GO}),
    ):
        labels = [begin.get(env_state, WALK) for env_state in range(places - 1)] + [POP]
        world, table = chain(labels, [1.0] + [-0.5] * (places - 1)), table_of(given, "stay -0.25")
        found = WholeStack(world, table, discount, precision=1e-12)
        for stack in ((1,), (2, 1), (3, 1), (3, 2, 3, 3, 1), ()):
            for env_state, state in np.ndindex(places, table.first_final):
                expected = play(world, table, discount, env_state, state, stack)
                assert best(found, env_state, state, stack) == pytest.approx(
                    expected, abs=found.error_at(500) + 1e-9
                ), (
                    places,
                    stack,
                )
        assert found.error_at(50) < 1e-9


COSTS = (-8.0, -4.0, -2.0, -1.0, -0.5, -0.25)
PATIENT = "u -> u : pop, a / eps, 0\nu -> u : pop, b / a a, 0\nu -> end : pop, # / #, 100\n"


def patience():
    """The longer one walks before a `pop`, the less it costs; it leads back to the first place."""
    following = [[min(env_state + 1, 5), 0] for env_state in range(6)]
    label, reward = (
        np.tile(np.array([WALK, POP], np.int32), (6, 1)),
        [[0.0, cost] for cost in COSTS],
    )
    return World(np.array(following, np.int32), label, np.array(reward), np.zeros(6, np.bool_))


def test_waiting_makes_it_cheaper():
    """Six lines to one exit, each of them the best for some worth of what is below."""
    discount = 0.9
    found = WholeStack(patience(), table_of(PATIENT), discount)
    _, lines = found.read(0, 0, 2)
    assert sorted(line.t for line in lines)[:6] == [1, 2, 3, 4, 5, 6]
    assert len(lines) <= 7  # the next reaches the constant at one point only
    below = max(discount**t * (100 + cost) for t, cost in enumerate(COSTS))
    for height in range(1, 40):
        below = max(0.0, *(discount**t * (cost + discount * below) for t, cost in enumerate(COSTS)))
        assert best(found, 0, 0, (*(2,) * height, 1)) == pytest.approx(
            below, abs=found.error_at(50)
        )


def draw(random, count):
    """Random worlds, tables and discounts, with configurations to ask for."""
    for _ in range(count):
        case, _ = draw_case(random, most=2)
        world, table = world_of(case.domain.arrays), tabulate(case.machine, case.domain.labels)
        symbols = range(1, table.move.shape[2])
        asked = [
            (
                env_state,
                random.randrange(table.first_final),
                tuple(random.choices(symbols, k=height)),
            )
            for env_state in range(len(world.terminal))
            for height in (0, 1, 3, 9)
        ]
        yield world, table, float(case.discount), asked


def test_values_do_not_depend_on_the_room(monkeypatch):
    """With room for next to nothing at first, with pauses, and with bounds that are cut short."""
    towers = [
        (env_state, 0, (3, *(2,) * height, 1)) for env_state in range(3) for height in (0, 1, 12)
    ]
    for world, table, discount, asked_for in [
        (ring(3, [-1.0, -0.5, 0.0]), table_of(TOWER), 0.9, towers),
        (patience(), table_of(PATIENT), 0.9, [(5, 0, (2, 2, 2, 1)), (0, 0, (3, 2, 1))]),
        *draw(Random(4), 6),
    ]:
        roomy = WholeStack(world, table, discount)
        expected = [best(roomy, *one) for one in asked_for]
        with monkeypatch.context() as patch:
            for name in ("VISITS_PER_CALL", "MAX_SWEEPS"):
                patch.setattr(whole_stack, name, 1)
            tight = WholeStack(world, table, discount)
            found = [best(tight, *one) for one in asked_for]
        slack = roomy.error_at(12) + tight.error_at(12)
        assert found == pytest.approx(expected, abs=slack + 1e-9)
        assert tight.size["entries"] > 0


def test_a_coarse_precision_says_so():
    """Whatever is let go, the true value is within the error that is stated."""
    patient, off = (
        (
            patience(),
            table_of(PATIENT),
            0.9,
            [(env_state, 0, (2, 3, 2, 2, 1)) for env_state in range(6)],
        ),
        0,
    )
    for world, table, discount, asked in [patient, *draw(Random(11), 10)]:
        coarse, fine = (
            WholeStack(world, table, discount, precision=0.2),
            WholeStack(world, table, discount),
        )
        found = [best(coarse, *one) for one in asked]
        for one, value in zip(asked, found, strict=True):
            off += abs(value - best(fine, *one)) > fine.error_at(9)
            assert abs(value - best(fine, *one)) <= coarse.error_at(9) + fine.error_at(9)
    assert off


def test_what_is_unknown_or_undefined_has_no_value():
    table = table_of(TOWER, "error")
    world = ring(3, [-1.0, -0.5, 0.0])
    world.next[2, WALK] = NONE  # not known
    found = WholeStack(world, table, 0.9)
    values = found.action_values(2, 1, (2, 1))
    assert np.isnan(values).tolist() == [True, True, True, False]
    assert found.undefined is not None


def test_what_is_too_large_or_too_long_is_refused(monkeypatch):
    world, table = chain([WALK, POP], [0.0, 0.0]), table_of("u -> end : pop, # / #, 0\n")
    with pytest.raises(BadSetting, match="too close to 1"):
        WholeStack(world, table, 1 - 1e-9)
    monkeypatch.setattr(whole_stack, "MAX_HEADS", 5)
    with pytest.raises(ProductTooLarge):
        WholeStack(world, table, 0.9)


# --- Silent moves


def test_silent_moves_are_counted():
    """A `b` becomes two `a`, and each of them goes: three silent moves, and then what is below."""
    unpack = "u -> v : pop, b / b, 0\nv -> w : eps, b / a a, 0\nw -> w : eps, a / eps, 1\n"
    table = table_of(unpack)
    silent_moves = bound_silent_moves(table)  # a tower of `a` goes at once
    assert silent_moves == SilentMoveBound(per_step=39, per_symbol=3, pushed=12)
    world = chain([POP], [0.0])
    assert best(WholeStack(world, table, 0.5), 0, 0, (3, 2, 2, 1)) == pytest.approx(4.0)


RING = """name m
events pop
stack # a
start u
final end
otherwise stay -0.25
u -> u : pop, a / eps, 1
u -> end : pop, # / #, 5
"""


def go_round(places, discount, env_state, height):
    """The exact return on a ring: reward 1 in the first state, else -0.5; the last emits `pop`."""
    total, power = Fraction(0), Fraction(1)
    while True:
        own = Fraction(1) if env_state == 0 else Fraction(-1, 2)
        pops = env_state == places - 1
        total += power * (own + (Fraction(-1, 4) if not pops else 1 if height else 5))
        if pops and not height:
            return total
        height -= pops
        env_state, power = (env_state + 1) % places, power * discount


@pytest.mark.parametrize(
    ("places", "discount", "precision"),
    [(14, 0.05, 1e-12), (30, 0.3, 1e-12), (60, 0.6, 1e-12), (40, 0.5, 1e-9), (14, 0.05, 1e-6)],
)
def test_the_proved_error_is_no_less_than_the_true_one(places, discount, precision):
    following = [[(env_state + 1) % places] for env_state in range(places)]
    label = [[0]] * (places - 1) + [[1]]
    reward = [[[1.0 if env_state == 0 else -0.5]] for env_state in range(places)]
    ring = from_arrays("ring", following, label, [(), ("pop",)], step_limit=99, reward=reward)
    solution = pdrm.solve(ring, RING, discount=discount, precision=precision)
    worst = Fraction(0)
    for env_state in range(places):
        value = solution.value(env_state, "u", ("a", "#"))
        off = abs(Fraction(value) - go_round(places, Fraction(str(discount)), env_state, 1))
        worst = max(worst, off)
    assert worst <= Fraction(solution.error_at(2)), (
        f"off by {float(worst):.3g}, said to be at most {solution.error_at(2):.3g}"
    )
