"""`pdrm check-k`: text, JSON, your own files, and errors."""

import json

import pytest

import pdrm as package
from pdrm.domains.finite_domain import from_arrays

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


def write_room(folder):
    (folder / "fetch.pdrm").write_text(MACHINE)
    room = from_arrays(
        "room", [[0, 1], [0, 1]], [[1, 2], [1, 2]], [(), ("key",), ("door",)], step_limit=20, actions=("key", "door")
    )  # fmt: skip
    package.domains.save_domain(room, folder / "room.npz")
    return folder / "room.npz", "--machine", folder / "fetch.pdrm"


def test_text(pdrm):
    outcome = pdrm("check-k", "paint", "--k", "3..5")
    assert outcome.code == 0
    assert "0.006667" in outcome.out
    assert "nothing, proved" in outcome.out
    assert "next: pdrm train paint --k 5" in outcome.err
    outcome = pdrm("check-k", "paint", "--k", 5, "--discount", 0.9)
    assert "paint --set discount=0.9" in outcome.err


def test_json(pdrm):
    record = json.loads(pdrm("check-k", "echo", "--k", "0,1", "--seconds", 5, "--json").out)
    found = record["k"]["1"]
    assert {name: found[name] for name in ("same_values", "everywhere", "start")} == {
        "same_values": "no", "everywhere": "yes", "start": "yes",
    }  # fmt: skip
    assert record["k"]["0"]["start"] == "no"
    assert record["recommended"] == 1
    assert len(record["witnesses"]["0"]) == 2
    assert not record["stopped"]


def test_own_map_and_machine(pdrm, tmp_path):
    record = json.loads(
        pdrm("check-k", *write_room(tmp_path), "--discount", 0.9, "--json", "--seconds", 5).out
    )
    assert record["domain"] == "room"
    assert record["k"]["1"]["start"] == "yes"


def test_pictures_and_certificates(pdrm, tmp_path):
    picture, proof = tmp_path / "witness.png", tmp_path / "proof.json"
    outcome = pdrm("check-k", "paint", "--draw", picture, "--certificate", proof)
    assert outcome.code == 0
    assert "proves: a 5-policy loses at most" in outcome.out
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert json.loads(proof.read_text())["question"] == "everywhere"
    assert pdrm("verify", proof).code == 0
    where = write_room(tmp_path)
    assert pdrm("check-k", *where, "--k", 1, "--certificate", proof, "--seconds", 5).code == 0
    told = json.loads(pdrm("verify", proof, "--json").out)  # it finds the files
    assert told["ok"]
    assert "a 1-policy loses at most" in told["says"]
    proof.write_text(json.dumps({**json.loads(proof.read_text()), "bound": 0.0, "policy": []}))
    assert pdrm("verify", proof).code == 2
    assert not json.loads(pdrm("verify", proof, "--json").out)["ok"]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("mazes-5x5",), "E0701"),
        (("paint", "--k", "few"), "E0801"),
        (("paint", "--k", "-1"), "E0801"),
        (("paint", "--k", "9..2"), "E0801"),
        (("paint", "--k", "0..99999999999"), "E0801"),
        (("paint", "--discount", 1), "E1004"),
        (("paint", "--from", "here"), "E0815"),
        (("paint", "--height", -1), "E0801"),
        (("paint", "--memory", -1), "E0801"),
        (("paint", "--most", 0), "E0801"),
        (("paint", "--seconds", 0), "E0801"),
        (("paint", "--k", "5", "--draw", "w.png"), "E0810"),
        (("paint", "--k", "0", "--draw", "w.gif"), "E0503"),
    ],
)
def test_errors_of_the_user(pdrm, tmp_path, monkeypatch, arguments, code):
    monkeypatch.chdir(tmp_path)
    outcome = pdrm("check-k", *arguments)
    assert outcome.code == 2
    assert "fix:" in outcome.err
    assert code in outcome.err
    assert not list(tmp_path.iterdir())


def test_stopped(pdrm, monkeypatch, tmp_path):
    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("pdrm.analysis.k_search.bound_loss", stop)
    outcome = pdrm("check-k", "maze-5x5", "--k", 0, "--json")
    assert outcome.code == 130
    found = json.loads(outcome.out)
    assert found["stopped"]
    assert found["k"]["0"]["start"] == "undecided"


def test_stopped_before_any_result(pdrm, monkeypatch):
    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("pdrm.analysis.k_search.value_product", stop)
    monkeypatch.setattr("pdrm.analysis.k_search.compile_kernels", lambda: None)
    outcome = pdrm("check-k", "maze-20x20", "--k", 1)
    assert outcome.code == 130
    assert "the optimal value is not known yet" in outcome.out
    assert "nothing" not in outcome.out
    assert "rows" not in outcome.out
    assert "next:" not in outcome.err


def test_a_k_without_a_policy_has_no_table(pdrm, monkeypatch):
    """An interrupted search keeps what is proved and counts no rows that it did not find."""
    from pdrm.analysis import k_search

    def stop_at_two(values, k, *rest):
        if k == 2:
            raise KeyboardInterrupt
        return bound_loss(values, k, *rest)

    bound_loss = k_search.bound_loss
    monkeypatch.setattr(k_search, "bound_loss", stop_at_two)
    outcome = pdrm("check-k", "maze-5x5", "--k", "1,2")
    assert outcome.code == 130
    (row,) = [line for line in outcome.out.splitlines() if line.startswith("2 ")]
    assert row.split()[-1] == "-"
    assert "--k 1" in outcome.err


@pytest.mark.parametrize("depth", [-1, 0])
def test_a_depth_is_above_0(pdrm, depth):
    outcome = pdrm("check-k", "maze-5x5", "--depth", depth)
    assert outcome.code == 2
    assert "E0801" in outcome.err
    assert "`--depth`" in outcome.err


def test_a_very_short_time_limit(pdrm):
    outcome = pdrm("check-k", "maze-5x5", "--k", 1, "--seconds", 1e-9)
    assert outcome.code == 0
    assert "<-" not in outcome.out


def test_solve_a_stochastic_domain(pdrm, tmp_path):
    coin = from_arrays(
        "coin",
        [[[0, 0]]],
        [[[1, 2]]],
        [(), ("key",), ("door",)],
        step_limit=9,
        probability=[[[0.5, 0.5]]],
    )
    package.domains.save_domain(coin, tmp_path / "coin.npz")
    (tmp_path / "m.pdrm").write_text(
        "name m\nevents key door\nstack #\nstart u\nfinal out\notherwise stay 0\nu -> out : door, # / #, 1\n"
    )
    outcome = pdrm(
        "solve",
        tmp_path / "coin.npz",
        "--machine",
        tmp_path / "m.pdrm",
        "--discount",
        0.5,
        "--json",
    )
    assert abs(json.loads(outcome.out)["value_from_start"] - 2 / 3) < 1e-9
    assert pdrm("solve", tmp_path / "coin.npz", "--machine", tmp_path / "m.pdrm").code == 0
