"""`pdrm bench`: the figures it promises. Speeds depend on the machine, so they are asserted loosely or not at all."""

import json
import sys

import pytest

SIZES = ("small", "middle", "large")
PROMISED = {
    "q_steps_per_s",
    "peer_q_steps_per_s",
    "q_steps_ratio",
    "cprm_updates_per_s",
    "peer_cql_updates_per_s",
    "cprm_updates_ratio",
    "height_cost_10",
    "height_cost_1000",
    "height_cost_100000",
    "height_cost_ratio",
    "bytes_per_row",
    "wrap_cost_us",
    "wrap_cost_us_flat",
    "wrap_cost_us_number",
    *(
        f"updates_{choice}_{after}"
        for choice in ("exhaustive", "deduplicated", "co_observed")
        for after in (10, 100, 1000)
    ),
}


def test_the_figures_are_there(pdrm):
    outcome = pdrm("bench", "tabular", "--json", "--seconds", "0.5")
    assert outcome.code == 0
    figures = json.loads(outcome.out)
    assert set(figures) >= PROMISED
    assert min(figures[name] for name in PROMISED) > 0
    assert figures["updates_deduplicated_1000"] <= 2 * (
        1 + 4 + 16
    )  # states times tops: bottom alone, one or two symbols
    assert figures["updates_exhaustive_1000"] > 10 * figures["updates_exhaustive_10"]
    assert 4 * 8 + 8 < figures["bytes_per_row"] < 200


def test_the_table(pdrm, monkeypatch):
    figures = dict.fromkeys(PROMISED | {"q_steps_per_s_top_1", "cprm_updates_per_s_top_1"}, 1234.5)
    monkeypatch.setattr("pdrm.experiments.bench_tabular.bench_tabular", lambda _seconds, _told: figures)
    outcome = pdrm("bench", "tabular")
    assert outcome.code == 0
    assert "PyCRM" in outcome.out
    assert "1,234×" in outcome.out
    assert "next: pdrm bench tabular --json" in outcome.err


@pytest.mark.parametrize(
    "arguments",
    [
        ("tabula",),
        ("tabular", "--seconds", "0"),
        ("tabular", "--seconds", "nan"),
        ("analysis", "--seconds", "0"),
        ("tabular", "-o", "growth.svg"),
    ],
)
def test_bad_input(arguments, pdrm):
    outcome = pdrm("bench", *arguments)
    assert outcome.code == 2
    assert outcome.err.startswith("error[E0801]")
    assert "fix:" in outcome.err


def test_without_the_peer_it_says_how_to_get_it(pdrm, monkeypatch):
    monkeypatch.setitem(sys.modules, "pycrm.agents.tabular.ql", None)
    outcome = pdrm("bench", "tabular", "--seconds", "0.1")
    assert outcome.code == 2
    assert "fix: pip install pyrewardmachines" in outcome.err


@pytest.fixture
def small(monkeypatch):
    """Products that take a moment."""
    monkeypatch.setattr("pdrm.experiments.bench_analysis.SIZES", {"letter": (3, 5, 9), "brackets": (2, 3, 4)})
    monkeypatch.setattr("pdrm.experiments.bench_analysis.GROWTH", {"letter": (2, 4), "maze": range(2, 5)})


@pytest.mark.usefixtures("small")
def test_analysis_beside_storm(pdrm):
    outcome = pdrm("bench", "analysis", "--json", "--seconds", "0.1")
    assert outcome.code == 0
    figures = json.loads(outcome.out)
    assert figures["states_letter_small"] == 166
    ratios = [figures[f"storm_time_ratio_{task}_{size}"] for task in ("letter", "brackets") for size in SIZES]
    assert figures["storm_time_ratio"] == max(ratios) > 0
    assert figures["storm_difference"] <= 2e-6
    assert figures["growth_states_maze_4"] == 85


@pytest.mark.usefixtures("small")
def test_analysis_as_tables_and_drawn(pdrm, tmp_path):
    drawn = tmp_path / "growth.svg"
    outcome = pdrm("bench", "analysis", "--seconds", "0.1", "-o", drawn)
    assert outcome.code == 0
    assert "brackets, stacks up to 4" in outcome.out
    assert "worst ratio" in outcome.out
    assert drawn.read_text().startswith("<?xml")


def test_a_plot_needs_a_format_before_anything_is_measured(pdrm, tmp_path):
    outcome = pdrm("bench", "analysis", "-o", tmp_path / "growth.txt")
    assert outcome.code == 2
    assert ".svg" in outcome.err


@pytest.mark.usefixtures("small")
def test_without_storm_it_says_how_to_get_it(pdrm, monkeypatch):
    monkeypatch.setitem(sys.modules, "stormpy", None)
    outcome = pdrm("bench", "analysis", "--seconds", "0.1")
    assert outcome.code == 2
    assert "fix: pip install stormpy" in outcome.err


def test_without_a_name_all_are_measured(pdrm, monkeypatch):
    monkeypatch.setattr("pdrm.experiments.bench_tabular.bench_tabular", lambda _seconds, _told: {"one": 1.0})
    monkeypatch.setattr("pdrm.experiments.bench_analysis.bench_analysis", lambda _seconds, _told: {"two": 2.0})
    assert json.loads(pdrm("bench", "--json").out) == {"one": 1.0, "two": 2.0}
