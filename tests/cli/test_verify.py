"""`pdrm verify`: certificates of `pdrm check-k` are checked anew; what is changed or another's proves nothing."""

import json

import pytest

from pdrm.analysis.sufficient_k.every_stack import EveryStack
from pdrm.task import Task
from tests.cli.test_check_k import MACHINE


@pytest.fixture
def proof(pdrm, tmp_path):
    """A certificate that PaintWorld needs five symbols."""
    file = tmp_path / "proof.json"
    assert pdrm("check-k", "paint", "--k", "5", "--certificate", file).code == 0
    return file


def changed(file, **values):
    file.write_text(json.dumps({**json.loads(file.read_text()), **values}))


def test_for_people(pdrm, proof):
    outcome = pdrm("verify", proof)
    assert outcome.code == 0
    assert "proof.json: it holds" in outcome.out
    assert "paint with machine paint, discount 0.99" in outcome.out
    assert "some 5-policy is optimal from every state" in outcome.out
    assert outcome.err.endswith("next: pdrm train paint --agent cprm --k 5\n")


def test_for_every_stack(pdrm, tmp_path):
    file = tmp_path / "proof.json"
    EveryStack.of(Task("echo"), 0.99).prove("everywhere", 1).save(file)
    said = pdrm("verify", file).out
    assert "some 1-policy is optimal from every state, with every stack" in said
    assert "6 heads and 5 views of the stack, checked one by one" in said
    assert json.loads(pdrm("verify", file, "--json").out)["scope"] == "every stack"
    changed(file, views=json.loads(file.read_text())["views"][1:])
    refused = pdrm("verify", file)
    assert refused.code == 2
    assert "proves nothing: a view of the start is missing" in refused.err


def test_for_programs(pdrm, proof):
    told = json.loads(pdrm("verify", proof, "--json").out)
    assert told["ok"]
    assert (told["domain"], told["question"], told["k"], told["depth"], told["states"]) == (
        "paint",
        "everywhere",
        5,
        None,
        5,
    )


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ({"k": 4}, "no action is chosen for"),
        ({"lower": [0.0] * 5}, "the lower bound of state"),
        ({"discount": "much"}, "the discount is not a number"),
        ({"states": [[0, 99, 0]]}, "it is damaged"),
        ({"machine": "letter"}, "it is about another task"),
        ({"format": "other"}, "not a certificate of this version"),
    ],
)
def test_what_is_changed_proves_nothing(values, why, pdrm, proof):
    changed(proof, **values)
    outcome = pdrm("verify", proof)
    assert outcome.code == 2
    assert outcome.out == ""
    assert outcome.err.startswith("error[E1003]")
    assert why in outcome.err
    told = pdrm("verify", proof, "--json")
    assert told.code == 2
    assert json.loads(told.out)["ok"] is False
    assert why in json.loads(told.out)["errors"][0]["message"]


def test_files_that_are_none(pdrm, tmp_path):
    (tmp_path / "text.json").write_text("no certificate")
    for name, code in {"text.json": "E1003", "nowhere.json": "E0501"}.items():
        outcome = pdrm("verify", tmp_path / name)
        assert (outcome.code, outcome.err[:12]) == (2, f"error[{code}]")


def test_ones_own_domain_is_named(pdrm, tmp_path, monkeypatch):
    import pdrm as package

    (tmp_path / "fetch.pdrm").write_text(MACHINE)
    room = package.domains.from_arrays(
        "room", [[0, 1]] * 2, [[1, 2]] * 2, [(), ("key",), ("door",)], step_limit=20
    )
    package.domains.save_domain(room, tmp_path / "room.npz")
    own = ("--domain", tmp_path / "room.npz", "--machine", tmp_path / "fetch.pdrm")
    pdrm(
        "check-k",
        *own,
        "--discount",
        0.9,
        "--k",
        "1",
        "--depth",
        5,
        "--certificate",
        tmp_path / "proof.json",
    )
    outcome = pdrm("verify", tmp_path / "proof.json", *own)
    assert outcome.code == 0, outcome.err
    assert "some 1-policy is optimal from the start" in outcome.out
    for folder in (tmp_path, tmp_path.parent):  # it says where its files are, seen from where it is
        monkeypatch.chdir(folder)
        assert pdrm("verify", tmp_path / "proof.json").code == 0
        assert package.verify(tmp_path / "proof.json") == "some 1-policy is optimal from the start"
    (tmp_path / "elsewhere").mkdir()
    lonely = tmp_path / "elsewhere" / "proof.json"
    lonely.write_bytes((tmp_path / "proof.json").read_bytes())
    unnamed = pdrm("verify", lonely)
    assert unnamed.code == 2
    assert "it is about `room`" in unnamed.err
    assert f"{lonely} --domain FOLDER/room.npz --machine FOLDER/fetch.pdrm" in unnamed.err
    for wrong in ([], {"domain": 3}, {"domain": "."}):  # a hint is no more than that
        changed(lonely, files=wrong)
        assert pdrm("verify", lonely).code == 2
    (tmp_path / "fetch.pdrm").write_text(MACHINE.replace("K / eps, 1", "K / eps, 2"))
    assert "proves nothing" in pdrm("verify", tmp_path / "proof.json", *own).err
