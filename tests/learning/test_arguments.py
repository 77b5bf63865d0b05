"""What a training run is made of, and how far it is asked to go: anything else is refused with the way to say it."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import pdrm
from pdrm.errors import BadSetting


@pytest.mark.parametrize(
    ("given", "fix"),
    [
        ({"domain": "maze-5x5"}, "pdrm.domains.find_domain('maze-5x5')"),
        ({"domain": pdrm.domains.FiniteEnv("maze-5x5")}, "env.unwrapped.domain"),
        ({"domain": 7}, "pdrm.domains.from_arrays"),
        ({"machine": "x.pdrm"}, "pdrm.load('x.pdrm')"),
        ({"machine": Path("x.pdrm")}, "pdrm.load('x.pdrm')"),
        ({"machine": "letter"}, "pdrm.catalogue('letter')"),
        ({"machine": "name x\nevents a"}, "pdrm.parse(text)"),
        ({"machine": None}, "pdrm.load("),
        (
            {"machine": pdrm.parse("events u\nstart s\notherwise stay 0\ns -> s : u, 1")},
            "pdrm.machines.reward_machine_to_pushdown",
        ),
        ({"view": 1}, "pdrm.product.TopK(1)"),
        ({"view": "full"}, "pdrm.product.FullStack()"),
        ({"settings": {}}, "Q"),
    ],
)
@pytest.mark.parametrize("kind", [pdrm.learning.QTraining, pdrm.learning.HierarchicalTraining])
def test_what_is_no_part_of_a_run_is_refused(kind, given, fix):
    maze = pdrm.domain("maze-5x5")
    settings = pdrm.QLearning() if kind is pdrm.learning.QTraining else pdrm.Hierarchical()
    parts = {
        "domain": maze,
        "machine": pdrm.catalogue(maze.machine),
        "view": pdrm.product.TopK(1),
        "settings": settings,
    }
    with pytest.raises(BadSetting) as caught:
        kind(**{**parts, **given}, seed=0)
    assert fix in caught.value.fix or (fix == "Q" and f"pdrm.{type(settings).__name__}" in caught.value.fix)


@pytest.mark.parametrize("kind", [pdrm.learning.QTraining, pdrm.learning.HierarchicalTraining])
def test_a_run_advances_by_whole_episodes_up_to_its_last(kind):
    maze = pdrm.domain("maze-5x5")
    settings = (pdrm.QLearning if kind is pdrm.learning.QTraining else pdrm.Hierarchical)(episodes=5)
    training = kind(maze, pdrm.catalogue(maze.machine), pdrm.product.TopK(1), settings, seed=0)
    for wrong in (2.5, -5, True, "3"):
        with pytest.raises(BadSetting, match="non-negative integer"):
            training.advance(wrong)
    assert training.episodes == 0
    for more, episodes in ((np.int64(2), 2), (0, 2), (1, 3), (2**40, 5), (1, 5)):
        training.advance(more)
        assert training.episodes == episodes


def test_rewards_beyond_what_sums_of_numbers_can_be_are_refused():
    letter, machine = pdrm.domain("letter"), pdrm.catalogue("letter")
    huge = replace(letter, arrays=letter.arrays._replace(reward=np.full_like(letter.arrays.reward, -1e200)))
    with pytest.raises(BadSetting, match=r"a reward of ±1e\+200 is too large"):
        pdrm.learning.QTraining(huge, machine, pdrm.product.TopK(1), pdrm.QLearning(), seed=0)
    rich = replace(machine, transitions=(replace(machine.transitions[0], reward=1e300), *machine.transitions[1:]))
    with pytest.raises(BadSetting, match=r"a reward of ±1e\+300 is too large"):
        pdrm.learning.QTraining(letter, rich, pdrm.product.TopK(1), pdrm.QLearning(), seed=0)
    scaled = pdrm.learning.QTraining(letter, machine, pdrm.product.TopK(1), pdrm.QLearning(), seed=0)
    scaled.advance(2)
    scaled.values.value[0] = np.nan
    with pytest.raises(BadSetting, match="grown beyond the largest number"):
        pdrm.learning.policy_of(scaled)
