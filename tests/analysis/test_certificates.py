"""Certificates prove their claims and survive a round trip; damaged and forged ones are refused."""

import gc
import json
import weakref
from dataclasses import replace

import pytest

from pdrm.analysis import load_certificate, verify
from pdrm.analysis.certificate import Certificate
from pdrm.analysis.checker import Check
from pdrm.analysis.k_search import check_k
from pdrm.domains.finite_domain import from_arrays
from pdrm.errors import BadCertificate
from pdrm.task import Task

ASKED = [
    ("paint", 5, "everywhere", 1e-9),
    ("paint", 3, "start", 0.0234),
    ("maze-5x5", 0, "start", 1e-6),
    ("letter", 1, "start", 1e-9),
    ("echo", 1, "everywhere", 1e-12),
]


@pytest.fixture(scope="module")
def proofs():
    found = {}
    for name, k, question, _ in ASKED:
        found[name, k, question] = check_k(name, k=[k], seconds=5).certificate(k, question)
    return found


@pytest.mark.parametrize(("name", "k", "question", "most"), ASKED)
def test_what_is_proved(proofs, tmp_path, name, k, question, most):
    proof = proofs[name, k, question]
    assert 0 <= proof.bound <= most
    assert verify(proof) == proof.claim
    proof.save(tmp_path / "proof.json")
    assert load_certificate(tmp_path / "proof.json") == proof
    assert verify(tmp_path / "proof.json") == proof.claim


def damage(proof, entry):
    return replace(proof, entries=(entry, *proof.entries[1:]))


@pytest.mark.parametrize(
    "change",
    [
        lambda proof: replace(proof, bound=proof.bound / 2 - 1e-30),
        lambda proof: replace(proof, policy=proof.policy[1:]),
        lambda proof: replace(proof, entries=proof.entries[1:]),
        lambda proof: replace(proof, k=0),
        lambda proof: replace(proof, discount=1.5),
        lambda proof: replace(proof, domain="letter"),
        lambda proof: damage(proof, (*proof.entries[0][:4], -1e3, *proof.entries[0][5:])),
        lambda proof: damage(proof, (10**6, *proof.entries[0][1:])),
        lambda proof: damage(proof, proof.entries[1]),
    ],
)
def test_falsified_ones_are_refused(proofs, change):
    with pytest.raises(BadCertificate):
        verify(change(proofs["paint", 5, "everywhere"]), "paint")


def test_ranges_must_hold(proofs):
    proof = proofs["echo", 1, "everywhere"]
    for change in (
        lambda low, high: (low, high / 2),
        lambda low, high: (high / 2, high),
        lambda low, high: (high, low),
    ):
        ranges = tuple((s, u, *change(low, high)) for s, u, low, high in proof.ranges)
        with pytest.raises(BadCertificate):
            verify(replace(proof, ranges=ranges))


@pytest.mark.parametrize(
    "change",
    [
        {"format": "pdrm certificate 2"},
        {"question": "why"},
        {"bound": None},
        {"bound": float("nan")},
        {"k": -1},
        {"entries": [[0, "ask", ["#"], True]]},
        {"entries": [[0, "ask", ["#"], True, 0.0, [[-1, 0.0, 0, "ask"]]]]},
        {"entries": [[0, "ask", ["#"], False, 1e999, []]]},
        {"files": ["here"]},
        {"more": 1},
    ],
)
def test_damaged_files_are_refused(proofs, tmp_path, change):
    file = tmp_path / "proof.json"
    proofs["paint", 5, "everywhere"].save(file)
    file.write_text(json.dumps({**json.loads(file.read_text()), **change}))
    with pytest.raises(BadCertificate):
        load_certificate(file)


def test_what_is_not_a_certificate(tmp_path):
    file = tmp_path / "proof.json"
    for text in ("", "[]", "{", '{"format": "pdrm certificate 4"}'):
        file.write_text(text)
        with pytest.raises(BadCertificate):
            load_certificate(file)


@pytest.mark.parametrize(
    "change", [{"k": "1"}, {"k": 1.5}, {"bound": "0"}, {"policy": [[]]}, {"other": 1}]
)
def test_a_field_of_another_type_is_refused_at_once(proofs, tmp_path, change):
    file = tmp_path / "proof.json"
    proofs["paint", 5, "everywhere"].save(file)
    file.write_text(json.dumps({**json.loads(file.read_text()), **change}))
    with pytest.raises(BadCertificate, match="is not a certificate"):
        load_certificate(file)


def test_messages_name_states_in_words(proofs):
    proof = proofs["paint", 5, "everywhere"]
    with pytest.raises(BadCertificate) as caught:
        verify(replace(proof, entries=proof.entries[1:]), "paint")
    assert "None" not in caught.value.message
    assert "in paint with its machine" in proof.claim
    assert "with machine m," in replace(proof, machine="m").claim


def test_a_check_is_not_kept_in_memory(proofs):
    check = Check(Task("paint"), proofs["paint", 3, "start"])
    assert check.bound() > 0
    left = weakref.ref(check)
    del check
    gc.collect()
    assert left() is None


def test_a_deeply_nested_file_is_no_certificate(tmp_path):
    file = tmp_path / "deep.json"
    file.write_text("[" * 100_000)
    with pytest.raises(BadCertificate):
        verify(file)


FORK = """name m
events e
stack #
start u
final f
otherwise stay 0
u -> f : !e, # / #, 0
"""


def test_values_without_a_choice_are_checked():
    """A promise of rewards in a state in which all actions do the same is no reason to go there."""
    fork = from_arrays(
        "fork", [[1, 2], [1, 1], [2, 2]], [[0, 0]] * 3, [("e",)], step_limit=9,
        reward=[[[0.0], [0.0]], [[0.0], [0.0]], [[1.0], [1.0]]], actions=("left", "right"),
    )  # fmt: skip
    promised = {0: 50.0, 1: 100.0, 2: 100.0}
    policy = tuple((s, "u", (), "left") for s in promised)
    for whole, top in ((False, ("#",)), (True, ("#",))):
        entries = tuple((s, "u", top, whole, value, ()) for s, value in promised.items())
        proof = Certificate("everywhere", 0, 0.5, "fork", "m", 1e-9, entries, (), (), policy)
        for forged in (proof, replace(proof, policy=policy[:1])):
            with pytest.raises(BadCertificate):
                verify(forged, Task(fork, FORK))
        assert Check(Task(fork, FORK), proof).bound() >= 1  # `left` earns 0, `right` 1


def test_entries_for_whole_stacks_and_for_tops_are_not_mixed(proofs):
    proof = proofs["echo", 1, "everywhere"]
    s, u, *_ = proof.entries[0]
    mixed = (*proof.entries, (s, u, ("#", "#"), True, 1e6, ()))
    with pytest.raises(BadCertificate, match="whole stacks"):
        verify(replace(proof, entries=mixed))
