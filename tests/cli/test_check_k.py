"""`pdrm check-k`: for people, for programs, with one's own files, and with wrong ones."""

import json
from pathlib import Path

import pytest

from pdrm.language.loading import catalogue
from pdrm.paper.generated_tasks import deliver_tasks, sequences_of

MACHINE = """name fetch
events key door
stack # K
start u
final out
otherwise stay -0.1
u -> u : key & !door, z / K z, 0
u -> u : door & !key, K / eps, 1
u -> out : door & !key, # / #, 5
"""


def test_for_people(pdrm):
    outcome = pdrm("check-k", "paint", "--k", "3..5")
    assert outcome.code == 0
    assert "all 5 states" in outcome.out
    assert "from the start: k = 5 is enough" in outcome.out
    assert "why not from the start at k = 4" in outcome.out
    assert "after `stains_5`" in outcome.out


def test_for_programs(pdrm):
    record = json.loads(pdrm("check-k", "echo", "--depth", 6, "--k", "0,1", "--json").out)
    assert record["k"]["1"] == {"same_values": "no", "everywhere": "yes", "start": "yes"}
    assert record["k"]["0"]["start"] == "no"
    assert record["smallest"] == {
        "same_values": None,
        "everywhere": None,
        "start": 1,
    }  # the depth limits the first two alone
    assert record["furthest"] == {"same_values": None, "everywhere": 1, "start": 1}
    assert (record["recommendation"]["k"], record["recommendation"]["proved"]) == (1, "start")
    assert (record["vacuous"], record["warnings"]) == ({"0": [], "1": []}, [])
    assert record["depths"]["1"] == {"everywhere": 6, "start": None}
    assert [one["actions"] for one in record["witnesses"]["0"]["start"]] == [["say_a"], ["say_b"]]


def test_from_the_start_only(pdrm):
    outcome = pdrm("check-k", "maze-5x5", "--from", "start", "--k", "0")
    assert "from the start: k = 0 is enough" in outcome.out
    assert "everywhere" not in outcome.out


def test_ones_own_map_and_machine(pdrm, tmp_path):
    import pdrm as package
    from pdrm.domains.array_domain import from_arrays

    (tmp_path / "fetch.pdrm").write_text(MACHINE)
    room = from_arrays(
        "room",
        [[0, 1], [0, 1]],
        [[1, 2], [1, 2]],
        [(), ("key",), ("door",)],
        step_limit=20,
        actions=("key", "door"),
    )
    package.domains.save_domain(room, tmp_path / "room.npz")
    arguments = (
        "check-k",
        "--domain",
        tmp_path / "room.npz",
        "--machine",
        tmp_path / "fetch.pdrm",
        "--discount",
        0.9,
    )
    record = json.loads(pdrm(*arguments, "--depth", 5, "--json").out)
    assert record["domain"] == "room"
    assert record["k"]["1"]["start"] == "yes"


def test_pictures_and_certificates(pdrm, tmp_path):
    picture, proof = tmp_path / "witness.png", tmp_path / "proof.json"
    import pdrm as package

    _, few = deliver_tasks(*sequences_of(catalogue("deliver-four")))
    package.domains.save_domain(few.finite, tmp_path / "few.npz")
    where = ("--domain", tmp_path / "few.npz", "--machine", "deliver-four")
    outcome = pdrm("check-k", *where, "--k", "0..3", "--draw", picture, "--certificate", proof)
    assert outcome.code == 0
    assert picture.read_bytes().startswith(b"\x89PNG")
    found = json.loads(proof.read_text())
    assert (found["question"], found["k"]) == ("everywhere", 3)  # what `so:` relies on
    assert "(For k = 3: proved enough for all states" in outcome.out
    pdrm("check-k", "maze-5x5", "--k", 0, "--certificate", proof)
    assert json.loads(proof.read_text())["question"] == "start"
    pdrm("check-k", *where, "--k", 3, "--certificate", proof)
    assert pdrm("verify", proof).code == 0  # it finds the files


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("mazes-5x5",), "no domain `mazes-5x5`"),
        ((), "name one domain"),
        (("paint", "--k", "few"), "use integers from 0 to 1000"),
        (("paint", "--k", "-1"), "use integers from 0 to 1000"),
        (("paint", "--discount", 1), "the discount is 1"),
        (("paint", "--from", "here"), "--from start"),
        (("paint", "--rule", "fail"), "needs a bound"),
        (("paint", "--memory", -1), "--memory 4"),
        (("paint", "--most", 0), "fix: --most 1500000"),
        (("paint", "--k", "0..99999999999"), "from 0 to 1000"),
        (("paint", "--k", "9" * 5000), "from 0 to 1000"),
        (("letter", "--height", 0, "--rule", "block"), "--height 1 or more"),
        (("paint", "--seconds", 0), "fix: --seconds 60"),
        (("paint", "--seconds", "nan"), "fix: --seconds 60"),
        (("paint", "--k", "5", "--draw", "w.png"), "no witness to draw"),
        (("deliver-8", "--k", "0", "--draw", "w.gif"), "a format for plots"),
    ],
)
def test_wrong_turns(pdrm, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    outcome = pdrm("check-k", *arguments)
    assert outcome.code == 2
    assert message in outcome.err
    assert "fix:" in outcome.err
    assert not list(tmp_path.iterdir())


def test_from_the_start_is_answered_by_what_lies_there(pdrm):
    """Echo's word comes after the start: a look at the start alone says nothing about it."""
    outcome = pdrm("check-k", "echo", "--from", "start", "--k", "0..1", "--most", 20_000)
    assert "0    no" in outcome.out
    assert "from the start: k = 1 is enough, for every stack" in outcome.out
    assert "pdrm check-k echo --k 0..1 --from start --draw witness.svg" in outcome.out
    assert "next: pdrm train echo --k 1" in outcome.err
    found = json.loads(pdrm("check-k", "echo", "--from", "start", "--k", "0", "--json").out)
    assert found["k"]["0"]["start"] == "no"


def test_a_yes_to_a_depth_says_so(pdrm):
    said = pdrm("check-k", "echo", "--k", 1, "--depth", 2).out
    assert "everywhere: k = 1 is enough, within 2 steps of the start" in said


def test_an_empty_range_is_refused(pdrm):
    outcome = pdrm("check-k", "echo", "--k", "9..2")
    assert outcome.code == 2
    assert "--k 2..9" in outcome.err


def test_the_next_command_keeps_machine_and_discount(pdrm, tmp_path):
    machine = tmp_path / "own.pdrm"
    machine.write_text(pdrm("catalogue", "letter").out)
    said = pdrm(
        "check-k", "letter", "--machine", machine, "--discount", 0.5, "--depth", 3, "--k", 0
    ).err
    assert f"--machine {machine}" in said
    assert "--discount 0.5" in said


def test_undecided_is_not_called_no(pdrm):
    """With few states to look at, the maze's upper bounds stay open."""
    outcome = pdrm("check-k", "multi-10x10", "--k", "0..1", "--depth", 2, "--most", 100)
    assert "undecided" in outcome.out.split("same values: ")[0]
    assert "same values: undecided for k = 0, 1; a larger --most may help" in outcome.out
    assert "no k up to" not in outcome.out


def test_what_may_help_to_a_certificate(pdrm, tmp_path):
    few = pdrm(
        "check-k",
        "letter",
        "--k",
        "0",
        "--depth",
        5,
        "--most",
        20,
        "--certificate",
        tmp_path / "p.json",
    )
    assert (
        "there is no yes to certify\n  fix: a larger --most may help (some k are undecided), or try a larger --k"
        in few.err
    )
    none = pdrm("check-k", "paint", "--k", "0", "--certificate", tmp_path / "p.json")
    assert "there is no yes to certify\n  fix: try a larger --k" in none.err


def test_a_k_that_learns_is_next(pdrm):
    """k = 0 is enough to act from the start in the maze, not to learn it."""
    assert (
        "next: pdrm train maze-5x5 --agent cprm --k 1"
        in pdrm("check-k", "maze-5x5", "--from", "start", "--k", "0").err
    )
    assert (
        "next: pdrm train letter --k 1" in pdrm("check-k", "letter", "--k", "0", "--depth", 3).err
    )
    assert "next: pdrm train paint --agent cprm --k 5" in pdrm("check-k", "paint", "--k", "5").err


def test_a_discount_of_0_needs_no_look_ahead(pdrm, tmp_path):
    proof = tmp_path / "proof.json"
    record = json.loads(
        pdrm("check-k", "letter", "--discount", 0, "--k", 0, "--certificate", proof, "--json").out
    )
    assert record["k"]["0"] == {"same_values": "no", "everywhere": "yes", "start": "yes"}
    assert record["states_looked_at"] <= record["states_asked"]
    assert pdrm("verify", proof).code == 0
    maze = pdrm(
        "check-k", "maze-5x5", "--discount", 0, "--k", 0, "--depth", 3, "--certificate", proof
    )
    assert "same values: k = 0 is enough, within 3 steps" in maze.out
    assert pdrm("verify", proof).code == 0


def test_the_picture_is_announced_and_its_ending_is_seen_first(pdrm, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    outcome = pdrm("check-k", "paint", "--k", "4", "--draw", "w.svg")
    assert "wrote w.svg" in outcome.out
    assert "wrote" not in pdrm("check-k", "paint", "--k", "4", "--draw", "w.svg", "--json").out
    late = pdrm("check-k", "paint", "--k", "4", "--draw", "w.gif")
    assert (late.code, late.out) == (2, "")


def test_ways_are_told_by_labels_and_by_actions(pdrm):
    assert (
        "after `a now` (actions say_a say_a, with some luck)"
        in pdrm("check-k", "echo", "--k", "0", "--depth", 3).out
    )


def test_without_k_it_looks_upwards(pdrm):
    outcome = pdrm("check-k", "paint")
    assert "from the start: k = 5 is enough" in outcome.out
    assert "why not from the start at k = 4" in outcome.out


def test_a_depth_that_would_not_fit_is_answered_as_far_as_it_does(pdrm):
    record = json.loads(
        pdrm("check-k", "maze-10x10", "--depth", 60, "--most", 3_000, "--k", 0, "--json").out
    )
    assert 0 < record["depth"] < 60
    assert record["ended"] == "states"
    assert not record["complete"]
    assert record["seconds"] < 60


def test_stopping_it_prints_what_is_known(pdrm, monkeypatch):
    from pdrm.analysis.sufficient_k.check_k import KSearch

    run = KSearch.run

    def stop(search):
        run(search)
        if search.depth is None:  # else it is the look from the start, which comes first
            raise KeyboardInterrupt

    monkeypatch.setattr(KSearch, "run", stop)
    outcome = pdrm("check-k", "paint")
    assert outcome.code == 130
    assert "from the start: k = 5 is enough" in outcome.out
    assert "stopped; this is what was known by then" in outcome.err
    assert "next: pdrm train paint --agent cprm --k 5" in outcome.err
    assert json.loads(pdrm("check-k", "paint", "--json").out)["stopped"]


def test_stopping_it_writes_what_can_be_written(pdrm, monkeypatch, tmp_path):
    from pdrm.analysis.sufficient_k.check_k import KSearch
    from pdrm.analysis.sufficient_k.k_report import KReport

    def stop(*_):
        raise KeyboardInterrupt

    run = KSearch.run
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(
        KSearch, "run", lambda search: (run(search), search.depth is None and stop())
    )
    assert pdrm("check-k", "paint", "--certificate", "p.json", "--draw", "w.svg").code == 130
    assert pdrm("verify", "p.json").code == 0
    assert Path("w.svg").is_file()
    without = pdrm("check-k", "paint", "--k", 4, "--certificate", "none.json")
    assert without.code == 130
    assert "none.json was not written" in without.err
    monkeypatch.setattr(KReport, "certificate", stop)
    again = pdrm("check-k", "paint", "--certificate", "q.json", "--draw", "x.svg")
    assert again.code == 130
    assert "not written: q.json, x.svg" in again.err


def test_a_pipe_is_told_how_it_goes(pdrm, monkeypatch):
    for name in ("QUICK", "EVERY"):
        monkeypatch.setattr(f"pdrm.analysis.sufficient_k.check_k.{name}", -1.0)
    said = pdrm("check-k", "letter", "--depth", 4, "--k", 0)
    lines = said.err.splitlines()
    assert "% decided" in lines[0]
    assert all(len(line) < 80 for line in lines)
    assert lines[-3] != lines[-2] != lines[-1]
    assert "decided;" not in said.out
    assert not pdrm("check-k", "letter", "--depth", 4, "--k", 0, "--json").err


def test_a_machine_in_place_of_a_domain_is_explained(pdrm, tmp_path):
    (tmp_path / "fetch.pdrm").write_text(MACHINE)
    outcome = pdrm("check-k", tmp_path / "fetch.pdrm")
    assert outcome.code == 2
    assert f": DOMAIN --machine {tmp_path / 'fetch.pdrm'}" in outcome.err
    assert "pdrm train" not in outcome.err


def test_what_to_train_with_is_one_line(pdrm):
    outcome = pdrm("check-k", "paint")
    assert "so: train with k = 5: proved enough for all states, so it loses nothing" in outcome.out
    assert "next: pdrm train paint --agent cprm --k 5" in outcome.err
    assert "pdrm check-k paint --draw" in outcome.out


def test_every_suggestion_keeps_what_was_asked(pdrm, tmp_path):
    """A capped task is another one: what is said of it says so."""
    outcome = pdrm(
        "check-k", "echo", "--k", "0..1", "--height", 3, "--rule", "block", "--discount", 0.9
    )
    assert "pdrm check-k echo --k 0..1 --discount 0.9 --height 3 --rule block --draw" in outcome.out
    (advice,) = (line for line in outcome.out.splitlines() if line.startswith("so: "))
    assert "capped at 3 symbols (block beyond)" in advice
    file = tmp_path / "p.json"
    assert pdrm("check-k", "paint", "--discount", 0.7, "--k", 5, "--certificate", file).code == 0
    assert "next: pdrm train paint --agent cprm --k 5 --discount 0.7" in pdrm("verify", file).err


def test_what_is_more_often_a_mistake_is_said_first(pdrm, tmp_path):
    import pdrm as package

    (tmp_path / "fetch.pdrm").write_text(MACHINE)
    room = package.domains.from_arrays(
        "room", [[0, 1]] * 2, [[1, 0]] * 2, [(), ("key",)], step_limit=20
    )
    package.domains.save_domain(room, tmp_path / "room.npz")
    own = (tmp_path / "room.npz", "--machine", tmp_path / "fetch.pdrm")
    for command in (("check-k", *own, "--depth", 1, "--seconds", 1), ("solve", *own)):
        outcome = pdrm(*command)
        assert "W0609" in outcome.err
        assert "W0608" in outcome.err
        told = pdrm(*command, "--json")
        assert [one["code"] for one in json.loads(told.out)["warnings"]] == ["W0609", "W0608"]
        assert "W0609" not in told.err


def test_stopped_before_anything_is_known(pdrm, monkeypatch):
    def stop():
        raise KeyboardInterrupt

    monkeypatch.setattr("pdrm.analysis.sufficient_k.check_k.compile_kernels", stop)
    outcome = pdrm("check-k", "paint")
    assert (outcome.code, outcome.out) == (130, "")
    assert "stopped before anything was known" in outcome.err
    outcome = pdrm("check-k", "paint", "--k", "0,2", "--json")
    record = json.loads(outcome.out)
    assert (outcome.code, record["ended"], record["stopped"], record["complete"]) == (
        130,
        "stopped",
        True,
        False,
    )
    assert {k: set(found.values()) for k, found in record["k"].items()} == {
        "0": {"undecided"},
        "2": {"undecided"},
    }
