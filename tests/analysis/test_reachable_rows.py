"""Counting what is reached: beginnings that need room, limits and refusals."""

from dataclasses import replace

import numpy as np
import pytest

from pdrm.analysis.reachable_rows import count_reachable, count_views, find_heads
from pdrm.analysis.sizes import MAX_LABELS, all_words, sizes, to_json
from pdrm.domains.finite_domain import from_arrays
from pdrm.errors import BadSetting
from pdrm.language.loading import parse


@pytest.mark.parametrize("first", [{}, {"start_label": 0}])
def test_the_first_stack_may_need_more_room_than_there_is(first):
    """Silent moves before or after the first label push more symbols than initially fit."""
    pushes = " ".join(["A"] * 1500)
    guard = "a" if first else "eps"
    text = f"name m\nevents a\nstack # A\nstart u\nstates u v\notherwise stay 0\nu -> v : {guard}, # / {pushes} #, 0\n"
    where, machine = from_arrays("d", [[0]], [[0]], [("a",)], step_limit=3, **first), parse(text)
    walk = count_reachable(where, machine)
    assert (walk.rows, walk.closed) == ((1, 1), True)
    assert count_views(machine, find_heads(where, machine), [1]) == {1: 1}


def test_a_start_without_a_chance_is_not_counted():
    machine = parse(
        "name m\nevents a\nstack # A\nstart u\notherwise stay 0\nu -> u : a, # / A #, 0\n"
    )
    where = from_arrays("d", [[0], [1]], [[0], [0]], [("a",)], step_limit=3, start={0: 1.0, 1: 0.0})
    assert count_reachable(where, machine).rows == (1, 2, 2)
    both = replace(where, arrays=where.arrays._replace(start_probability=np.array([0.5, 0.5])))
    assert count_reachable(both, machine).rows == (2, 4, 4)
    assert [count_views(machine, find_heads(one, machine), [1])[1] for one in (where, both)] == [
        2,
        4,
    ]


def test_more_labels_than_can_be_listed_are_refused():
    head = "name m\nstack #\nstart u\notherwise stay 0\n"
    events = " ".join(f"e{i}" for i in range(13))
    with pytest.raises(BadSetting, match=f"more than {MAX_LABELS:,} labels"):
        all_words(parse(head + f"events {events}\n"))
    assert len(all_words(parse(head + f"events {events}\nexclusive {events}\n")).labels) == 14


@pytest.mark.parametrize("settings", [{"steps": -1}, {"k": (0, -1)}])
def test_steps_and_ks_are_not_negative(settings):
    with pytest.raises(BadSetting, match="integer"):
        sizes("letter", **settings)


def test_a_number_that_is_not_known_stays_so():
    assert to_json(None) is None
