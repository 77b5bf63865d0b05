"""Tasks that pay for the wrong thing are found, in time, and the catalogue's are not blamed."""

import json
import time
from dataclasses import replace

import numpy as np
import pytest

import pdrm
from pdrm.domains.array_domain import from_arrays
from pdrm.domains.paper_domains import names
from pdrm.language.loading import catalogue_names
from pdrm.product import inspect_task, task_findings
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


def test_the_loop_is_printed_as_a_word():
    (found,) = inspect_task(task(*WRONG[0][1:]))
    assert (
        "`d u+x` (actions d u, from row 0, column 1) pays 2 in 2 steps, 15 in an episode of 15"
        in found.message
    )
    alone = [
        finding for finding in task(*WRONG[0][1:]).machine.findings() if finding.code == "W0606"
    ]
    assert [finding.message.partition(" pays")[0] for finding in alone] == [
        "in state `s` with top a, the word `d u`"
    ]


def test_the_catalogue_is_not_blamed():
    for name in names():
        if "20x20" not in name:
            assert inspect_task(pdrm.Task(name)) == [], name
    for name in catalogue_names():
        codes = {finding.code for finding in pushdown_machine(name).findings()}
        assert "W0606" not in codes, name


def test_it_ends_in_time():
    rules = "\n".join(f"s -> s : d, a{i} / a{(i + 1) % 300} a{i}, 1" for i in range(300))
    stack = " ".join(f"a{i}" for i in range(300))
    machine = pdrm.parse(
        f"name m\nevents u d l r t x\nstack # {stack}\nstart s\nfinal done\notherwise stay 0\ns -> s : u, # / a0 #, 1\n{rules}\n"
    )
    begun = time.process_time()
    machine.findings()
    inspect_task(pdrm.Task("maze-10x10", machine))
    assert time.process_time() - begun < 15


def test_where_the_budget_does_not_last_nothing_is_said(monkeypatch):
    going_on, unreachable = WRONG[4], WRONG[5]
    monkeypatch.setattr(task_findings, "MOST_NODES", 1)
    assert [inspect_task(task(*one[1:])) for one in (going_on, unreachable)] == [[], []]


def test_moves_that_are_not_defined_are_no_way_to_an_end():
    """With `otherwise error` nothing is said of what follows a label that has no move: at the start, or later."""
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


def test_a_start_after_which_nothing_is_known_says_nothing_about_going_on():
    text = "name m\nevents u t x\nexclusive u t x\nstack #\nstart s\nfinal done\notherwise error\n"
    rules = "s -> s : u, # / #, 0\ns -> done : t, # / #, -1\n"
    where = from_arrays("w", [[0, 0]], [[0, 1]], [("u",), ("t",), ("x",)], step_limit=9)
    half = np.array([0.5, 0.5])
    for labels, codes in (((-1, 0), ["W0607"]), ((-1, 2), [])):
        starts = {
            "start_state": np.zeros(2, np.int32),
            "start_probability": half,
            "start_label": np.array(labels, np.int32),
        }
        task = pdrm.Task(replace(where, arrays=where.arrays._replace(**starts)), text + rules)
        assert [one.code for one in inspect_task(task)] == codes


def test_the_command_says_so(pdrm, tmp_path):
    path = tmp_path / "task.pdrm"
    path.write_text(HEADER.format("0") + WRONG[0][2] + "\n")
    said = json.loads(pdrm("check", path, "--domain", "maze-5x5", "--json").out)
    assert "W0606" in [warning["code"] for warning in said["warnings"]]
    trained = pdrm(
        "train", "maze-5x5", "--machine", path, "--episodes", 100, "-o", tmp_path / "runs"
    )
    assert "warning[W0606]: a loop pays more than ending: `d u+x`" in trained.err
    line = path.read_text().splitlines().index("s -> s : d, z / a z, 1") + 1
    for outcome in (trained, pdrm("solve", "maze-5x5", "--machine", path)):
        assert f"\n  --> {path}:{line}:1\n  more: pdrm explain W0606\n" in outcome.err
        assert outcome.err.count("more: ") == 1
    assert pdrm("check", path, "--domain", "maze-5x5").err.endswith(
        "next: pdrm explain W0606\n"
    )  # not to train it
    assert pdrm("check", path).out.count("  more: pdrm explain W0604\n") == 1
    assert pdrm("check", "letter", "--domain", "nowhere").code == 2


@pytest.mark.parametrize("name", ["water-17"])
def test_a_continuous_domain_is_left_alone(name):
    assert inspect_task(pdrm.Task(name)) == []
