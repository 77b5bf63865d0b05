"""Facts that take long are cached for this code and these questions, and for nothing else."""

import pytest
from pdrm.experiments.fact_cache import read_or_find

from pdrm.experiments import fact_cache

ASKED = {"discounts": {"paint": 0.99}, "k": [0, 1]}


@pytest.fixture
def find():
    """Facts that count how often they were looked for."""
    found = iter(range(100))
    return lambda: {"time": next(found)}


def test_the_same_question_is_not_asked_twice(tmp_path, find):
    file = tmp_path / "facts.json"
    assert read_or_find(file, ASKED, find) == read_or_find(file, dict(ASKED), find) == {"time": 0}


@pytest.mark.parametrize("asked", [{}, {**ASKED, "k": [0]}, {**ASKED, "discounts": {"paint": 0.9}}])
def test_another_question_is_asked(asked, tmp_path, find):
    file = tmp_path / "facts.json"
    read_or_find(file, ASKED, find)
    assert read_or_find(file, asked, find) == {"time": 1}
    assert read_or_find(file, asked, find) == {"time": 1}


def test_other_code_is_asked_anew(tmp_path, find, monkeypatch):
    file = tmp_path / "facts.json"
    read_or_find(file, ASKED, find)
    monkeypatch.setattr(fact_cache, "hash_source", lambda: "other")
    assert read_or_find(file, ASKED, find) == {"time": 1}


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"source": 1', '{"facts": 1}'])
def test_a_damaged_file_is_found_again(text, tmp_path, find):
    file = tmp_path / "facts.json"
    file.write_text(text)
    assert read_or_find(file, ASKED, find) == {"time": 0}
    assert read_or_find(file, ASKED, find) == {"time": 0}


def test_without_a_folder_nothing_is_written(tmp_path, find):
    assert read_or_find(tmp_path / "nowhere" / "facts.json", ASKED, find) == {"time": 0}
    assert not (tmp_path / "nowhere").exists()
