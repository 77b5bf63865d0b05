"""`pdrm bench tabular`: the figures it promises. Speeds depend on the machine, so they are asserted loosely or not at all."""

import json
import sys

import pytest

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
    outcome = pdrm("bench")
    assert outcome.code == 0
    assert "PyCRM" in outcome.out
    assert "1,234×" in outcome.out
    assert "next: pdrm bench tabular --json" in outcome.err


@pytest.mark.parametrize("arguments", [("tabula",), ("tabular", "--seconds", "0"), ("tabular", "--seconds", "nan")])
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
