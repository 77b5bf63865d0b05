"""Each property on a few cases; `make prove` runs them at length with new seeds."""

import pytest

from tests.properties import (
    acceptance,
    combining,
    command_lines,
    engines,
    grammars,
    hierarchical,
    jax_machine,
    learners,
    logic,
    mutations,
    peers_counting,
    plain_summaries,
    round_trip,
    shaping,
    sizes,
    sufficient_k,
    summaries,
    task_findings,
    translation,
    values,
    water_twin,
    wrapping,
)


def test_engines():
    assert engines.check(seed=0, machines=20, words=50) == 1_000


def test_acceptance():
    assert acceptance.check(seed=0, machines=20, words=50) == 1_000


def test_translations():
    assert translation.check_translation(seed=0, machines=50) == 10_000
    assert translation.check_simulation(seed=0, machines=50) > 450
    assert peers_counting.check(seed=0, words=5_000) == 5_000


def test_sizes():
    assert sizes.check(seed=0, machines=20) > 500


def test_damaged_files():
    assert mutations.check(seed=0, cases=250) == 250


def test_command_lines():
    counted = command_lines.check(seed=1, cases=12)
    assert counted["cases"] == 12


def test_task_findings():
    counted = task_findings.check(seed=0, tasks=100)
    assert counted["W0606"] + counted["W0607"] > 0
    assert counted["W0608"] > 10


def test_values():
    assert values.check(seed=0, products=8)["cases"] >= 8


def test_summaries():
    counted = summaries.check(seed=0, products=12)
    assert counted["cases"] == 12
    assert counted["decided exactly"] > 20
    assert counted["random stacks"] > 20
    assert plain_summaries.check(seed=0, products=6)["cases"] == 6


def test_sufficient_k():
    counted = sufficient_k.check(seed=0, products=10)
    assert counted["cases"] == 10
    assert counted["losses"] == 2 * 10 * len(sufficient_k.KS)
    assert counted["open"] > 0
    assert counted["losses known"] > counted["losses"] / 2
    assert counted["certificates"] > 20
    assert counted["falsified ones refused"] > 20


def test_sufficient_k_with_growing_stacks():
    counted = sufficient_k.check_growing(seed=0, products=10)
    assert counted["cases"] == 10
    assert counted["losses"] > 20


def test_shaping():
    counted = shaping.check(seed=0, products=15)
    assert counted["cases"] == 15
    assert counted["states with other rewards"] > counted["states"] / 2
    assert counted["values like the solver's"] > 10


def test_grammars():
    counted = grammars.check(seed=4, grammars=8)
    assert counted["cases"] > 2_000
    assert (
        min(
            counted[name]
            for name in ("ambiguous grammars", "grammars that need to look further ahead")
        )
        > 0
    )


def test_round_trip():
    assert round_trip.check(seed=0, machines=40) == 40


def test_formulas_and_expressions():
    counted = logic.check_formulas(seed=0, formulas=60, traces=25)
    assert (counted["formulas"], counted["cases"]) == (60, 1_500)
    assert 300 < counted["satisfied"] < 1_200
    assert counted["words up to the first that satisfies"] > 50
    counted = logic.check_expressions(seed=0, expressions=40, words=25)
    assert (counted["expressions"], counted["cases"]) == (40, 1_000)
    assert 100 < counted["matched"] < 900


def test_combined_machines():
    counted = combining.check(seed=2, combinations=15, words=12)
    assert counted["cases"] == 180
    assert min(counted["final"], counted["undefined moves"], counted["stacks that move apart"]) > 0


def test_wrapped_environments():
    assert wrapping.check(seed=0, episodes=200) == 200


def test_machines_in_jax():
    counted = jax_machine.check(seed=0, machines=12, words=50)
    assert counted["cases"] == 600
    assert (
        min(counted["words with an undefined move"], counted["words that overfill the stack"]) > 10
    )


@pytest.mark.parametrize("seed", range(len(water_twin.WORLDS)))
def test_water_in_jax(seed):
    counted = water_twin.check(seed, steps=300)
    assert counted["cases"] > 290
    assert counted["with an event"] > 0 or water_twin.WORLDS[seed].side > 10, (
        "a large box is mostly empty"
    )


def test_learners():
    counted = learners.check(seed=0, runs=24)
    assert (counted["cases"], counted["over counters"]) == (24, 6)
    assert counted["shaped"] > 5
    assert counted["cut off by a label without a rule"] < 12


def test_hierarchical_agents():
    counted = hierarchical.check(seed=0, runs=24)
    assert counted["cases"] == 24
    assert counted["cut off by a label without a rule"] < 12
