"""The page *Promises* lists every proof and every test there is, and its numbers are the records'."""

import re
from pathlib import Path

import pytest

from proofs.checked import Checked
from proofs.page import BESIDE, page
from proofs.promises import GROUPS, PROOFS
from proofs.record import fresh_record, save
from proofs.source import ROOT, Sources
from proofs.tested import TESTED
from tests.proofs.checks import proof

PAGE = ROOT / "docs" / "promises.md"


def structure(text):
    """A page without what is recorded."""
    text = re.sub(r"^\*\*.* cases in all.*$|^(Python|nothing yet).*$", "", text, flags=re.MULTILINE)
    text = re.sub(rf" {BESIDE}.*$", "", text, flags=re.MULTILINE)
    return re.sub(r"^(\|.*?\(`[\w-]+`\)) \|.*$", r"\1", text, flags=re.MULTILINE)


def test_the_page_is_what_would_be_made_now_but_for_its_numbers(tmp_path):
    assert structure(PAGE.read_text()) == structure(page(PROOFS, tmp_path)), "write it anew: python -m proofs --page"


@pytest.mark.parametrize("one", PROOFS, ids=lambda one: one.name)
def test_every_proof_is_on_the_page_and_nothing_is_wrong(one):
    row = re.search(rf"^\| {re.escape(one.promise)} \(`{one.name}`\) \| (.*) \|$", PAGE.read_text(), re.MULTILINE)[1]
    untried = r"not yet on this source \| \| `[0-9a-f]{12}` \|"
    tried = rf"[\d,]+( of [\d,]+)? {re.escape(one.unit)} \| 0 \| `[0-9a-f]{{12}}` \| \d+ \w+ \d+(, \d+ sessions)?"
    assert re.fullmatch(f"{untried}|{tried}", row)
    assert f"- `{one.name}`: {one.compared}." in PAGE.read_text()


def test_promises_are_plain_sentences_in_known_groups():
    assert {one.group for one in PROOFS} == set(GROUPS)
    for one in PROOFS:
        assert one.promise.endswith(".")
        assert one.promise.count(". ") == 0
        assert "|" not in one.promise + one.compared


@pytest.mark.parametrize("path", TESTED.values())
def test_every_test_that_holds_a_promise_is_there(path):
    assert "def test_" in (ROOT / path).read_text()
    assert f"`{path}`" in PAGE.read_text()


def test_numbers_are_the_records(tmp_path):
    one, other = proof("holds", target=1_000, oracles=("automata-lib",)), proof("slow")
    record = fresh_record(one, Sources().digest(one))
    for session in ("2026-11-14T10:00:00+00:00", "2026-11-15T10:00:00+00:00"):
        record.add(Checked("holds", 0, 321, 60.0, "", {"large": 3}), session)
    save(one, record, tmp_path)
    text = page([one, other], tmp_path)
    row = f"| It holds. (`holds`) | 642 of 1,000 tries | 0 | `{record.source}` | 15 November 2026, 2 sessions |"
    assert row in text
    assert f"It slow. (`slow`) | not yet on this source | | `{Sources().digest(other)}` | |" in text
    assert "**642 cases in all, 0 wrong**, in 2m00s of one process" in text
    assert "- `holds`: nothing with nothing. Counted beside: 6 large." in text
    assert f"automata-lib {record.versions['automata-lib']}" in text


def test_cases_of_another_source_are_not_shown(tmp_path):
    one = proof("holds")
    record = fresh_record(one, "other")
    record.add(Checked("holds", 0, 321, 60.0, "", {}), "2026-11-14T10:00:00+00:00")
    save(one, record, tmp_path)
    assert "321" not in page([one], tmp_path)


def test_it_says_how_to_run_it():
    text = PAGE.read_text()
    assert "make prove PROVE=8h" in text
    assert "\nPROVE ?= 5m\nprove:" in (ROOT / "Makefile").read_text()
    assert Path(PAGE).name in (ROOT / "zensical.toml").read_text()
