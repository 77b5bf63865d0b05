"""`python -m benchmarks`: the figures that it promises. Speeds depend on the computer, so none is asserted."""

import json
import sys

import pytest

from benchmarks import analysis, tabular
from benchmarks.__main__ import main

SIZES = ("small", "middle", "large")
TABULAR = {
    *("q_steps_per_s", "peer_q_steps_per_s", "q_steps_ratio", "q_steps_per_s_top_1"),
    *("cprm_updates_per_s", "peer_cql_updates_per_s", "cprm_updates_ratio"),
    *("cprm_updates_per_s_top_1", "bytes_per_row", "wrap_cost_us", "wrap_cost_us_flat"),
    *("height_cost_10", "height_cost_1000", "height_cost_100000", "height_cost_ratio"),
}


@pytest.fixture
def bench(monkeypatch, capsys):
    """Run the command and return its exit code and its JSON."""

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["benchmarks", *map(str, arguments), "--json"])
        code = main()
        return code, json.loads(capsys.readouterr().out)

    return run


def test_tabular_next_to_pycrm(bench, monkeypatch):
    monkeypatch.setattr(tabular, "HELD", 400_000)
    monkeypatch.setattr(tabular, "WRAP_BURSTS", 20)
    code, figures = bench("tabular", "--seconds", "0.3")
    assert (code, set(figures)) == (0, TABULAR)
    assert 4 * 8 + 8 < figures["bytes_per_row"] < 200


def test_analysis_next_to_storm(bench, monkeypatch, tmp_path):
    monkeypatch.setattr(analysis, "SIZES", {"letter": (3, 5, 9), "brackets": (2, 3, 4)})
    code, figures = bench("analysis", "--seconds", "0.1", "--record", tmp_path)
    assert code == 0
    assert figures["states_letter_small"] == 166
    ratios = [
        figures[f"storm_time_ratio_{task}_{size}"]
        for task in ("letter", "brackets")
        for size in SIZES
    ]
    assert figures["storm_time_ratio"] == max(ratios) > 0
    assert figures["storm_difference"] <= 2e-6
    record = json.loads((tmp_path / "analysis.json").read_text())
    assert record["figures"] == figures
    assert {"python", "pdrm", "numpy", "numba", "stormpy"} == set(record["versions"])
