"""Certificates are accepted as they are made, saved and loaded; changed ones are not."""

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import pytest

from pdrm.analysis.sufficient_k.certificate import load_certificate
from pdrm.analysis.sufficient_k.check_k import check_k
from pdrm.analysis.sufficient_k.checker import find_ends, find_fault
from pdrm.domains.array_domain import from_arrays
from pdrm.domains.paper_domains import domain
from pdrm.errors import BadCertificate, TooLarge
from pdrm.language.loading import catalogue, parse
from pdrm.machines.configurations import Configuration
from pdrm.paper.generated_tasks import deliver_tasks, sequences_of
from pdrm.task import Task

FOUR_EIGHT = deliver_tasks(*sequences_of(catalogue("deliver-four")))[1]
CASES = [
    ("paint", None, 5),
    ("echo", 5, 1),
    ("letter", 8, 1),
    ("maze-5x5", 3, 0),
    (FOUR_EIGHT, None, 2),
]


def made(name, depth, k):
    task = Task(name) if isinstance(name, str) else name
    return task.finite, task.machine, check_k(task, k=[k], depth=depth)


@pytest.mark.compiled
@pytest.mark.parametrize(("name", "depth", "k"), CASES)
def test_every_yes_has_a_certificate_that_holds(name, depth, k, tmp_path):
    where, machine, report = made(name, depth, k)
    proved = [question for question, answer in report.answers[k].items() if answer.verdict == "yes"]
    assert proved
    for question in proved:
        proof = report.certificate(k, question)
        assert find_fault(where, machine, proof) is None
        proof.save(tmp_path / "proof.json")
        assert find_fault(where, machine, load_certificate(tmp_path / "proof.json")) is None


def test_a_certificate_says_what_it_proves(paint):
    _, _, proof = paint
    assert proof.describe() == "some 5-policy is optimal from every state"
    far = replace(proof, question="same_values", depth=7, height=3, rule="block").describe()
    assert far.endswith(", within 7 steps of the start, with stacks up to 3 symbols (block beyond)")


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
        assert "exact value" in find_fault(
            where, machine, replace(proof, exact={**proof.exact, str(x): value})
        )
    assert "lower bound" in find_fault(
        where, machine, replace(proof, lower=[value + 1e-6 for value in proof.lower])
    )
    assert "upper bound" in find_fault(
        where, machine, replace(proof, upper=[value - 1e-6 for value in proof.upper])
    )


def test_changed_choices_are_found(echo):
    where, machine, proof = echo
    wrong = [(s, u, seen, 1 - a) for s, u, seen, a in proof.choice]
    assert "chooses badly" in find_fault(where, machine, replace(proof, choice=wrong))
    assert "no action" in find_fault(where, machine, replace(proof, choice=[]))
    assert "two actions" in find_fault(
        where, machine, replace(proof, choice=[*proof.choice, proof.choice[0]])
    )


def test_changed_states_are_found(echo):
    where, machine, proof = echo
    assert "missing" in find_fault(
        where, machine, replace(proof, states=[*proof.states[:-1], (0, 0, 0)])
    )
    assert "twice" in find_fault(
        where, machine, replace(proof, states=[*proof.states[:-1], proof.states[0]])
    )
    assert find_fault(where, machine, replace(proof, depth=proof.depth + 3)) is not None
    assert "frontier" in find_fault(where, machine, replace(proof, depth=None))


def test_changed_bounds_of_open_states_are_found(echo):
    where, machine, proof = echo
    tight = [[[value - 0.5 for value in row] for row in part] for part in proof.glimpse_upper]
    assert "upper bound" in find_fault(where, machine, replace(proof, glimpse_upper=tight))
    assert "on the frontier" in find_fault(
        where,
        machine,
        replace(
            proof,
            upper=[
                0.0 if not looked else upper
                for upper, looked in zip(proof.upper, proof.looked, strict=True)
            ],
        ),
    )


def test_blocks_that_are_not_alike_are_found(echo):
    where, machine, proof = echo
    one = [0 if block >= 0 else -1 for block in proof.block]
    assert "not like its block" in find_fault(where, machine, replace(proof, block=one, exact={}))


def test_another_task_and_a_stronger_claim_are_refused(paint):
    where, machine, proof = paint
    assert "another task" in find_fault(domain("echo"), catalogue("echo"), proof)
    assert find_fault(where, machine, replace(proof, k=4)) is not None
    assert "no such question" in find_fault(where, machine, replace(proof, question="anything"))
    assert "discount" in find_fault(where, machine, replace(proof, discount=1.0))


def test_damaged_files(tmp_path):
    file = tmp_path / "proof.json"
    for text in ("", "[]", "{}", '{"format": "pdrm certificate 2"}', '{"format": "other"}'):
        file.write_text(text)
        with pytest.raises(BadCertificate):
            load_certificate(file)


def test_what_is_no_certificate_at_all_is_said_to_be_damaged(paint):
    where, machine, proof = paint
    for changed in (
        {"states": [(0, 99, 0), *proof.states[1:]]},
        {"exact": {"0": "much"}},
        {"choice": [(0,)]},
    ):
        said = find_fault(where, machine, replace(proof, **changed))
        assert "is damaged: something is missing" in said
        assert "Error" not in said
    assert "out of order" in find_fault(
        where, machine, replace(proof, stacks=[proof.stacks[0], (5, 1)])
    )
    assert "no such rule" in find_fault(where, machine, replace(proof, rule="bend"))
    assert "below 0" in find_fault(where, machine, replace(proof, k=-1))


def test_where_the_environment_ends_open_states_are_bounded_too():
    """A walk along three cells, the last of which ends it; a pushes for ever. Only states within 2 steps are asked about."""
    text = "name m\nevents a b\nexclusive a b\nstack # A\nstart u\notherwise stay 0\nu -> u : a, z / A z, 1\n"
    moves, labels = [[0, 1], [0, 2], [2, 2]], [[0, 1], [0, 1], [1, 1]]
    where = from_arrays(
        "d", moves, labels, [("a",), ("b",)], step_limit=9, terminal=[False, False, True]
    )
    report = check_k(where, parse(text), [1], depth=2, most=20)
    assert report.optimal.product.frontier.size
    proof = report.certificate(1, "everywhere")
    assert not all(proof.looked)
    assert find_fault(where, parse(text), proof) is None
    tight = [[[value - 0.5 for value in row] for row in part] for part in proof.glimpse_upper]
    assert "upper bound" in find_fault(where, parse(text), replace(proof, glimpse_upper=tight))


def test_a_step_of_more_silent_moves_than_can_be_followed_is_refused():
    """Each of 14 symbols becomes two of the next: 2^14 moves."""
    names = [f"S{i}" for i in range(15)]
    rules = "".join(f"v -> v : eps, {one} / {two} {two}, 0\n" for one, two in pairwise(names))
    head = f"name m\nevents a\nstack # {' '.join(names)}\nstart u\nstates u v\notherwise stay 0\n"
    last = f"v -> v : eps, {names[-1]} / eps, 0\n"
    many = parse(head + "u -> v : a, z / S0 z, 0\n" + rules + last)
    with pytest.raises(BadCertificate, match="too many silent moves"):
        find_ends(many, Configuration("u", ("#",)), frozenset("a"))
    few = parse(head + "u -> v : a, z / S9 z, 0\n" + rules + last)
    assert find_ends(few, Configuration("u", ("#",)), frozenset("a")) == {
        (0.0, Configuration("v", ("#",)))
    }


def test_certificates_that_would_fill_the_memory_are_refused(paint, tmp_path, monkeypatch):
    *_, proof = paint
    file = tmp_path / "proof.json"
    chain = [(0, 0), *((below, 1) for below in range(30_000))]
    for changed in (
        replace(proof, exact={"0": "1e1000000000"}),
        replace(proof, lower=["1e1000000000"]),
        replace(proof, glimpse_lower=[[["1e1000000000"]]]),
        replace(proof, stacks=chain),
        replace(proof, upper=[float("inf")] * len(proof.upper)),
    ):
        changed.save(file)
        with pytest.raises(
            BadCertificate, match=r"proof\.json is damaged: .*(fraction|finite number|symbols)"
        ):
            load_certificate(file)
    proof.save(file)
    with monkeypatch.context() as patch:
        patch.setattr("pdrm.analysis.sufficient_k.certificate.MOST_NODES", 9)
        with pytest.raises(BadCertificate, match="holds more than 9 values"):
            load_certificate(file)
    with pytest.raises(TooLarge):
        load_certificate("/dev/zero")


def test_a_policy_from_the_start_has_no_depth():
    where, machine, report = made("maze-5x5", 3, 0)
    proof = report.certificate(0, "start")
    assert (proof.depth, find_fault(where, machine, proof)) == (None, None)
    assert "there is no depth" in find_fault(where, machine, replace(proof, depth=5))
