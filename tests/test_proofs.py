"""A small dose of every proof that `make prove` runs at length, and the runner itself."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from proofs import mutations, sufficient_k, values
from proofs.pool import PROOFS, proof_of
from proofs.record import Record, load, save, source_hash

ROOT = Path(__file__).parent.parent
AT_LEAST = {"resume": 200, "clusters": 8, "values": 10_000, "exact-values": 10_000, "sufficient-k": 10_000}
"""A case of these takes longer: a whole product, or seconds."""


def test_damaged_files():
    assert mutations.check(seed=0, cases=500) == 500


def test_values():
    counted = values.check(seed=0, products=20)
    assert counted["cases"] >= 20
    assert values.check_exact(seed=0, products=20)["cases"] == 20


def test_sufficient_k():
    counted = sufficient_k.check(seed=0, products=20)
    assert counted["cases"] >= 20
    asked_twice = 2 * 20 * 3 * len(sufficient_k.KS)  # of all states, and to a depth
    assert counted["answers"] + counted["answers (to a depth)"] == asked_twice
    assert counted["no"] > 0
    assert counted["undecided"] == 0
    assert counted["certificates accepted"] == counted["false ones rejected"] > 0


@pytest.mark.parametrize("name", PROOFS)
def test_every_proof_is_there_and_states_its_claim(name):
    proof = proof_of(name)
    assert proof.name == name
    assert proof.claim
    assert proof.target >= AT_LEAST.get(name, 100_000)
    assert all((ROOT / "src" / "pdrm" / folder).is_dir() for folder in proof.about)


def test_a_record_counts_for_its_source_only(tmp_path):
    record = Record("one")
    record.add(3, 100, 0.5, "")
    record.add(4, 100, 0.5, "it went wrong")
    save("p", record, tmp_path)
    assert load("p", "one", tmp_path) == record
    assert load("p", "two", tmp_path) == Record("two")
    assert json.loads((tmp_path / "p.json").read_text())["wrong"] == {"4": "it went wrong"}


def test_the_source_hash_sees_every_change(tmp_path):
    for folder in ("proofs", "src/pdrm/machines", "src/pdrm/cli"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "a.py").write_text("1")
    before = source_hash(("machines",), tmp_path)
    (tmp_path / "src/pdrm/cli/a.py").write_text("2")
    assert source_hash(("machines",), tmp_path) == before
    (tmp_path / "src/pdrm/machines/a.py").write_text("2")
    assert source_hash(("machines",), tmp_path) != before


def test_the_runner_refuses_what_it_does_not_know():
    done = subprocess.run(
        [sys.executable, "-m", "proofs", "nothing"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "no proof is called nothing" in done.stderr
