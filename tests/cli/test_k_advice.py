"""What `pdrm check-k`, `solve` and `verify` advise, obeyed: the printed commands lead to what was proved."""

import json
import re
import shlex
from pathlib import Path

import pytest

from pdrm import check_k
from pdrm.domains import Outcome, Start, from_outcomes, save_domain

MAP = """step_limit 60
step_reward -0.05
place T tree
place S stand
place G gate

#######
#T.@..#
#.##.S#
#..#..#
##...G#
#######
"""
ORCHARD = """name orchard
events tree stand gate
exclusive tree stand gate
stack # apple
start pick
final home
otherwise stay 0
pick -> pick : tree, z / apple z, 0
pick -> sell : stand, z / z, 0
sell -> sell : stand, apple / eps, 1
sell -> home : gate, # / #, 5
sell -> home : gate, apple / apple, -2
"""
BEADS = """name beads
events x y say-x say-y
exclusive x y say-x say-y
stack # x y
start u
final out bad
otherwise stay -0.1
map say x:say-x y:say-y
for c in x y:
    u -> u : c, z / c z, 0
    u -> u : say(c), c / eps, 1
    u -> out : say(c), # / #, 0
    for d in x y where d != c:
        u -> bad : say(c), d / d, -3
"""
PAIR = """name pair
events a b say-a say-b
exclusive a b say-a say-b
stack # a b
start u
final won lost
otherwise stay 0
u -> u : a, z / a z, 0
u -> u : b, z / b z, 0
u -> won : say-a, a / a, 1
u -> won : say-b, b / b, 1
u -> lost : say-a, b / b, -1
u -> lost : say-b, a / a, -1
"""


@pytest.fixture
def orchard(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "orchard.txt").write_text(MAP)
    (tmp_path / "orchard.pdrm").write_text(ORCHARD)
    return "orchard.txt", "--machine", "orchard.pdrm"


def draw_beads(s, a):
    """Drawing gives a bead or, at last, none; then the beads are named, the last one first."""
    if s == "draw" and a == 0:
        return [
            Outcome("draw", 0.4, frozenset({"x"})),
            Outcome("draw", 0.4, frozenset({"y"})),
            Outcome("tell", 0.2, frozenset()),
        ]
    return [Outcome("tell", 1.0, frozenset() if a == 0 else frozenset({("say-x", "say-y")[a - 1]}))]


def follow(pdrm, outcome):
    """Train as the last line says, and evaluate; its command and what came of it."""
    command = re.search(r"^next: pdrm (train .*)$", outcome.err, re.MULTILINE)
    assert command is not None, outcome.err
    trained = json.loads(pdrm(*shlex.split(command[1]), "--json").out)
    run = trained[0] if isinstance(trained, list) else trained
    return command[1], json.loads(pdrm("evaluate", run["folder"], "--episodes", 1000, "--json").out)


def test_a_step_limit_that_cuts_off_optimal_play_is_raised(pdrm, orchard):
    solved = pdrm("solve", *orchard)
    assert "takes 103 steps" in solved.out
    record = json.loads(pdrm("solve", *orchard, "--json").out)
    assert record["optimal_steps"] == 103
    command, evaluated = follow(pdrm, solved)
    assert evaluated["truncated"] == 0
    assert evaluated["discount"] == 0.99
    assert evaluated["mean_discounted_return"] == pytest.approx(record["value_from_start"])
    asked = pdrm("check-k", *orchard, "--k", 24, "--seconds", 10, "--certificate", "p.json")
    assert "takes 103 steps" in next(
        line for line in asked.out.splitlines() if line.startswith("so: ")
    )
    assert [f"next: pdrm {command}"] == [
        line for line in asked.err.splitlines() if line.startswith("next")
    ]
    assert f"next: pdrm {command}" in pdrm("verify", "p.json").err


def test_the_smallest_k_is_found_though_others_take_all_their_time(orchard, monkeypatch):
    monkeypatch.setattr("pdrm.analysis.sufficient_k.from_start.PLAINLY", 10**9)
    domain, _, machine = orchard
    report = check_k(domain, machine, seconds=6)
    assert report.smallest("start") == 24
    assert (report.ended, report.over_limit, report.optimal_steps) == ("time", True, 103)
    assert report.recommendation.settings == {"step_limit": 206}


def test_what_fails_far_away_is_refused_from_the_start(pdrm, orchard):
    asked = json.loads(pdrm("check-k", *orchard, "--from", "start", "--json").out)
    assert asked["ended"] == "decided"
    assert asked["smallest"]["start"] == 24
    assert {k: one["start"] for k, one in asked["k"].items() if int(k) <= 24} == {
        k: "yes" if k == "24" else "no" for k in asked["k"] if int(k) <= 24
    }
    assert {"0", "1", "2", "3", "4", "23"} <= asked["k"].keys()
    few = pdrm("check-k", *orchard, "--from", "start", "--k", "22,23", "--certificate", "p.json")
    assert few.code == 2
    assert "E0810" in few.err
    assert "next: pdrm train" in few.err
    assert "--step-limit 206" in few.err


def test_a_search_from_the_start_goes_on_with_what_it_knows(orchard, monkeypatch):
    monkeypatch.setattr("pdrm.analysis.sufficient_k.from_start.PLAINLY", 10**9)
    domain, _, machine = orchard
    report = check_k(domain, machine, k=[3, 22], from_="start", seconds=6)
    assert report.answers[3]["start"].verdict == "no"
    assert len(report.witness(3, "start")) == 2
    low, high = report.value_from_start
    assert low == pytest.approx(high)
    assert report.optimal_steps == 103
    assert report.loss(22)[1] < 0.01 * high


def test_what_cannot_be_written_is_refused_before_the_search(pdrm, tmp_path):
    for option in ("--certificate", "--draw"):
        refused = pdrm("check-k", "maze-20x20", option, tmp_path / "none/it.svg")
        assert refused.code == 2
        assert "E0502" in refused.err
        assert not refused.out
    folder = pdrm("check-k", "maze-20x20", "--certificate", tmp_path)
    assert "it is a folder" in folder.err


def test_repetitions_are_folded_where_people_read_them(pdrm, orchard):
    asked = "check-k", *orchard, "--depth", 3, "--seconds", 5
    said = pdrm(*asked).out
    assert "(- tree) × 24 -" in said
    assert "stack apple × 24 #" in said
    record = json.loads(pdrm(*asked, "--json").out)
    assert record["witnesses"]["0"]["start"][1]["word"].count("tree") == 24
    assert record["k"]["0"] == {"same_values": "no", "everywhere": "yes", "start": "no"}


def test_with_random_moves_the_advice_learns(pdrm, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "beads.pdrm").write_text(BEADS)
    events = ["x", "y", "say-x", "say-y"]
    states = {"draw": "draw", "tell": "tell"}
    starts = [Start("draw")]
    acts = ["more", "say-x", "say-y"]
    save_domain(
        from_outcomes("beads", states, acts, draw_beads, starts, events=events, step_limit=50),
        "beads.npz",
    )
    asked = pdrm(
        "check-k",
        "beads.npz",
        "--machine",
        "beads.pdrm",
        "--discount",
        0.8,
        "--k",
        "2,3",
        "--seconds",
        10,
    )
    assert "with some luck" in asked.out
    assert "not known how long optimal play takes" in asked.out
    command, evaluated = follow(pdrm, asked)
    assert "--k 3" in command
    optimal = float(re.search(r"optimal value from the start is ([\d.]+)", asked.out)[1])
    assert 0.9 * optimal < evaluated["mean_discounted_return"] < 1.1 * optimal


def test_a_loss_of_all_is_known(pdrm, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pair.pdrm").write_text(PAIR)

    def deal(s, a):
        dealt = [Outcome("ask", 0.5, frozenset({"a"})), Outcome("ask", 0.5, frozenset({"b"}))]
        return dealt if s == "deal" else [Outcome("ask", 1.0, frozenset({("say-a", "say-b")[a]}))]

    states, events = {"deal": "deal", "ask": "ask"}, ["a", "b", "say-a", "say-b"]
    pair = from_outcomes(
        "pair", states, ["say-a", "say-b"], deal, [Start("deal")], events=events, step_limit=10
    )
    save_domain(pair, "pair.npz")
    said = pdrm(
        "check-k", "pair.npz", "--machine", "pair.pdrm", "--discount", 0.9, "--k", 0, "--seconds", 5
    ).out
    assert "at most 0.9 (all of it)" in said
    said = pdrm(
        "check-k",
        "pair.npz",
        "--machine",
        "pair.pdrm",
        "--k",
        "1",
        "--from",
        "start",
        "--seconds",
        5,
    ).out
    assert "vacuous" not in said
    assert "within 0 steps" not in said


def test_refusals_name_what_would_do(pdrm, orchard):
    for stack in ("apple # apple", "# apple #"):
        refused = pdrm("solve", *orchard, "--stack", stack)
        assert "E0801" in refused.err
        fix = shlex.split(re.search(r"--stack ('.*')", refused.err.partition("fix:")[2])[1])
        assert pdrm("solve", *orchard, "--stack", *fix).code == 0
    wrong = pdrm("solve", *orchard, "--state", "sell")
    assert "E0404" in wrong.err
    assert "--in sell" in wrong.err
    unread = pdrm("verify", "orchard.txt")
    assert "E1003" in unread.err
    assert "Expecting" not in unread.err
    small = pdrm("check-k", *orchard, "--memory", 0.0001, "--seconds", 3)
    assert "E1001" in small.err
    more = re.search(r"--memory ([\d.]+)", small.err)[1]
    assert pdrm("check-k", *orchard, "--memory", more, "--seconds", 3).code == 0


def test_a_capped_task_is_not_trained(pdrm):
    asked = pdrm(
        "check-k", "maze-5x5", "--k", "0,1", "--height", 3, "--rule", "block", "--seconds", 5
    )
    assert "so: ask without --height" in asked.out
    assert "next: pdrm check-k maze-5x5 --k 0,1\n" in asked.err


def test_a_task_that_pays_for_the_wrong_thing_is_mended_first(pdrm, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pdrm("new", "garden")
    monkeypatch.chdir(tmp_path / "garden")
    Path("task.pdrm").write_text(Path("task.pdrm").read_text().replace("step z, 0 ", "step z, 1 "))
    asked = pdrm("check-k", "map.txt", "--machine", "task.pdrm", "--k", 0, "--seconds", 3)
    assert "W060" in asked.err
    assert "next: pdrm explain W060" in asked.err


def test_where_there_are_several_starts_a_witness_names_its_own(pdrm, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pdrm("new", "garden")
    monkeypatch.chdir(tmp_path / "garden")
    asked = pdrm("check-k", "map.txt", "--machine", "task.pdrm", "--depth", 3, "--seconds", 8)
    assert "(actions d d r r r, from row 1, column 1)" in asked.out
    assert "(actions d d l l l, from row 1, column 7)" in asked.out
    Path("map.txt").write_text(
        Path("map.txt").read_text().replace("step_limit", "slip 0.1\nstep_limit")
    )
    record = json.loads(
        pdrm(
            "check-k",
            "map.txt",
            "--machine",
            "task.pdrm",
            "--seconds",
            8,
            "--discount",
            0.9,
            "--json",
        ).out
    )
    for one in record["witnesses"]["0"][
        "start"
    ]:  # the most probable of the shortest ways: no step slips
        assert one["word"].replace("+treasure", "").split() == one["way"]
