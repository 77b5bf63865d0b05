"""Certificates are accepted as they are made, saved and loaded; changed ones are not."""

from dataclasses import replace
from fractions import Fraction

import pytest

from pdrm.analysis.certificate import load_certificate
from pdrm.analysis.check_k import check_k
from pdrm.analysis.checker import fault
from pdrm.domains.catalogue import domain
from pdrm.errors import BadCertificate
from pdrm.machines.catalogue import catalogue

CASES = [("paint", None, 5), ("echo", 5, 1), ("letter", 8, 1), ("maze-5x5", 3, 0), ("deliver-4-8", None, 2)]


def made(name, depth, k):
    where = domain(name)
    report = check_k(where, catalogue(where.machine), [k], depth=depth)
    return where, catalogue(where.machine), report


@pytest.mark.parametrize(("name", "depth", "k"), CASES)
def test_every_yes_has_a_certificate_that_holds(name, depth, k, tmp_path):
    where, machine, report = made(name, depth, k)
    proved = [question for question, answer in report.answers[k].items() if answer.verdict == "yes"]
    assert proved
    for question in proved:
        proof = report.certificate(k, question)
        assert fault(where, machine, proof) is None
        proof.save(tmp_path / "proof.json")
        assert fault(where, machine, load_certificate(tmp_path / "proof.json")) is None


def test_a_no_has_none():
    _, _, report = made("paint", None, 4)
    with pytest.raises(BadCertificate, match="only a yes"):
        report.certificate(4, "everywhere")


@pytest.fixture(scope="module")
def paint():
    where, machine, report = made("paint", None, 5)
    return where, machine, report.certificate(5, "everywhere")


@pytest.fixture(scope="module")
def echo():
    where, machine, report = made("echo", 4, 1)
    return where, machine, report.certificate(1, "everywhere")


def test_changed_values_are_found(paint):
    where, machine, proof = paint
    for x in range(5):
        value = str(Fraction(proof.exact[str(x)]) + Fraction(1, 10**30))
        assert "exact value" in fault(where, machine, replace(proof, exact={**proof.exact, str(x): value}))
    assert "lower bound" in fault(where, machine, replace(proof, lower=[value + 1e-6 for value in proof.lower]))
    assert "upper bound" in fault(where, machine, replace(proof, upper=[value - 1e-6 for value in proof.upper]))


def test_changed_choices_are_found(echo):
    where, machine, proof = echo
    wrong = [(s, u, seen, 1 - a) for s, u, seen, a in proof.choice]
    assert "chooses badly" in fault(where, machine, replace(proof, choice=wrong))
    assert "no action" in fault(where, machine, replace(proof, choice=[]))
    assert "two actions" in fault(where, machine, replace(proof, choice=[*proof.choice, proof.choice[0]]))


def test_changed_states_are_found(echo):
    where, machine, proof = echo
    assert "missing" in fault(where, machine, replace(proof, states=[*proof.states[:-1], (0, 0, 0)]))
    assert "twice" in fault(where, machine, replace(proof, states=[*proof.states[:-1], proof.states[0]]))
    assert fault(where, machine, replace(proof, depth=proof.depth + 3)) is not None
    assert "open" in fault(where, machine, replace(proof, depth=None))


def test_changed_bounds_of_open_states_are_found(echo):
    where, machine, proof = echo
    tight = [[[value - 0.5 for value in row] for row in part] for part in proof.glimpse_upper]
    assert "upper bound" in fault(where, machine, replace(proof, glimpse_upper=tight))
    assert "is open" in fault(
        where,
        machine,
        replace(
            proof, upper=[0.0 if not looked else upper for upper, looked in zip(proof.upper, proof.looked, strict=True)]
        ),
    )


def test_blocks_that_are_not_alike_are_found(echo):
    where, machine, proof = echo
    one = [0 if block >= 0 else -1 for block in proof.block]
    assert "not like its block" in fault(where, machine, replace(proof, block=one, exact={}))


def test_another_task_and_a_stronger_claim_are_refused(paint):
    where, machine, proof = paint
    assert "another task" in fault(domain("echo"), catalogue("echo"), proof)
    assert fault(where, machine, replace(proof, k=4)) is not None
    assert "no question" in fault(where, machine, replace(proof, question="anything"))
    assert "discount" in fault(where, machine, replace(proof, discount=1.0))


def test_damaged_files(tmp_path):
    file = tmp_path / "proof.json"
    for text in ("", "[]", "{}", '{"format": "pdrm certificate 1"}', '{"format": "other"}'):
        file.write_text(text)
        with pytest.raises(BadCertificate):
            load_certificate(file)
