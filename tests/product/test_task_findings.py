"""Warnings about tasks that reward the wrong behaviour, and none about the catalogue's."""

import pytest

import pdrm
from pdrm.domains.finite_domain import from_arrays
from pdrm.domains.paper_domains import names
from pdrm.language.loading import catalogue_names
from pdrm.product import inspect_task
from pdrm.task import pushdown_machine

HEADER = "name m\nevents u d l r t x\nexclusive u d l r\nstack # a\nstart s\nfinal done\notherwise stay {}\n"

WRONG = [
    ("W0606", "0", "s -> s : d, z / a z, 1\ns -> s : u, a / eps, 1\ns -> done : t, # / #, 1"),
    ("W0606", "0", "s -> s : d & !t, z / a z, 2\ns -> done : t, a / a, 1"),
    ("W0606", "1", "s -> done : t, # / #, 1"),
    ("W0607", "0", "s -> done : t, # / #, -1"),
    ("W0607", "-0.1", "s -> done : t, # / #, -1000"),
    ("W0608", "-0.1", "s -> done : t & x, # / #, 1"),
    ("W0608", "-0.1", "s -> s : d & !t, z / a z, -0.1\ns -> done : t, # / #, 1"),
]
RIGHT = [
    ("-0.1", "s -> done : t, # / #, 1"),
    ("-0.1", "s -> s : d & !t, z / a z, -0.1\ns -> done : t, a / a, 1"),
    ("0", "s -> s : d & !t, z / z, 0.001\ns -> done : t, # / #, 1000"),
]


def task(otherwise, rules):
    return pdrm.Task("maze-5x5", HEADER.format(otherwise) + rules)


def test_tasks_that_pay_for_the_wrong_thing():
    for code, otherwise, rules in WRONG:
        assert [finding.code for finding in inspect_task(task(otherwise, rules))] == [code], rules
    for otherwise, rules in RIGHT:
        assert inspect_task(task(otherwise, rules)) == [], rules


def test_the_catalogue_is_not_blamed():
    for name in names():
        if "20x20" not in name:
            assert inspect_task(pdrm.Task(name)) == [], name
    for name in catalogue_names():
        codes = {finding.code for finding in pushdown_machine(name).findings()}
        assert "W0606" not in codes, name


def test_moves_that_are_not_defined_are_no_way_to_an_end():
    """With `otherwise error`, labels without a move lead nowhere, at the start or later."""
    text = "name m\nevents u t x\nexclusive u t x\nstack #\nstart s\nfinal done\notherwise error\n"
    rules = "s -> s : u, # / #, 1\ns -> done : t, # / #, -1\n"
    arrays = [[0, 0, 0]], [[0, 1, 2]], [("u",), ("t",), ("x",)]
    found = {
        label: [
            one.code
            for one in inspect_task(
                pdrm.Task(from_arrays("w", *arrays, step_limit=9, start_label=label), text + rules)
            )
        ]
        for label in (-1, 0, 2)
    }
    assert found == {-1: ["W0606"], 0: ["W0606"], 2: ["W0608"]}


@pytest.mark.parametrize("name", ["water-17"])
def test_a_continuous_domain_is_left_alone(name):
    assert inspect_task(pdrm.Task(name)) == []
