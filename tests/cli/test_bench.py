"""`pdrm bench`: the figures it promises. Speeds depend on the machine, so none is asserted."""

import json
import sys

import pytest

from pdrm.bench.bench_record import BENCHES, read_record
from pdrm.bench.bench_rows import Row
from pdrm.bench.deep_bench import Sizes
from pdrm.errors import MissingPackage

SIZES = ("small", "middle", "large")
CHOICES = ("exhaustive", "deduplicated", "co_observed")
TABULAR = {
    *("q_steps_per_s", "peer_q_steps_per_s", "q_steps_ratio", "q_steps_per_s_top_1"),
    *(
        "cprm_updates_per_s",
        "peer_cql_updates_per_s",
        "cprm_updates_ratio",
        "cprm_updates_per_s_top_1",
    ),
    *("height_cost_10", "height_cost_1000", "height_cost_100000", "height_cost_ratio"),
    *("bytes_per_row", "wrap_cost_us", "wrap_cost_us_flat", "wrap_cost_us_number"),
    *(f"updates_{choice}_{after}" for choice in CHOICES for after in (10, 100, 1000)),
}


def test_tabular_beside_pycrm(pdrm, monkeypatch, tmp_path):
    monkeypatch.setattr("pdrm.bench.tabular_bench.HELD", 400_000)
    monkeypatch.setattr("pdrm.bench.tabular_bench.WRAP_BURSTS", 20)
    outcome = pdrm("bench", "tabular", "--seconds", "0.3", "--record", tmp_path)
    assert outcome.code == 0
    for shown in ("PyCRM", "×", "stack height", "co-observed", "dictionary", "bytes per table row"):
        assert shown in outcome.out
    assert "next: pdrm bench tabular --json" in outcome.err
    figures = read_record(tmp_path / "tabular.json").figures
    assert set(figures) == TABULAR
    assert figures["updates_deduplicated_1000"] <= 2 * (
        1 + 4 + 16
    )  # states times tops: bottom, one or two symbols
    assert figures["updates_exhaustive_1000"] > 10 * figures["updates_exhaustive_10"]
    assert 4 * 8 + 8 < figures["bytes_per_row"] < 200


def test_analysis_beside_storm(pdrm, monkeypatch, tmp_path):
    monkeypatch.setattr(
        "pdrm.bench.analysis_bench.SIZES", {"letter": (3, 5, 9), "brackets": (2, 3, 4)}
    )
    monkeypatch.setattr("pdrm.bench.analysis_bench.GROWTH", {"letter": (2, 4), "maze": range(2, 5)})
    drawn = tmp_path / "growth.svg"
    outcome = pdrm("bench", "analysis", "--seconds", "0.1", "-o", drawn, "--record", tmp_path)
    assert outcome.code == 0
    assert "brackets, stacks up to 4" in outcome.out
    assert "worst ratio" in outcome.out
    assert drawn.read_text().startswith("<?xml")
    figures = read_record(tmp_path / "analysis.json").figures
    assert figures["states_letter_small"] == 166
    ratios = [
        figures[f"storm_time_ratio_{task}_{size}"]
        for task in ("letter", "brackets")
        for size in SIZES
    ]
    assert figures["storm_time_ratio"] == max(ratios) > 0
    assert figures["storm_difference"] <= 2e-6
    assert figures["growth_states_maze_4"] == 85


def test_deep_beside_stable_baselines3(pdrm, monkeypatch, tmp_path):
    monkeypatch.setattr("pdrm.bench.deep_bench.ON_CPU", Sizes(random=(2,), ppo=(2,)))
    monkeypatch.setattr("pdrm.bench.deep_bench.ENV_STEPS", 100)
    # PPO takes long to compile: it is done once, beside the peer, and `measure_ppo` has a test of its own.
    speed = Row({"envs": 2, "epochs": 2}, {"many_ppo_steps_per_s": 5.0})
    costs = Row({"envs": 2}, {"many_ppo_collect_ns": 1.0, "many_ppo_epoch_ns": 2.0})
    monkeypatch.setattr("pdrm.bench.deep_bench.measure_ppo", lambda _: [speed, costs])
    settings = {"": {"n_envs": 1, "n_steps": 8, "batch_size": 4, "n_epochs": 1}}
    monkeypatch.setattr("pdrm.bench.deep_bench.SETTINGS", settings)
    outcome = pdrm("bench", "deep", "--seconds", "0.01", "--record", tmp_path)
    assert outcome.code == 0
    assert "its defaults, 1 environment" in outcome.out
    assert "collecting, ns per step" in outcome.out
    figures = read_record(tmp_path / "deep-cpu.json").figures
    ratio = figures["ppo_steps_per_s"] / figures["sb3_ppo_steps_per_s"]
    assert figures["sb3_ppo_ratio"] == pytest.approx(ratio, rel=1e-4)
    assert figures["sb3_ppo_rounds"] == 1  # at least one, however short the time
    assert {"sb3_env_us", "sb3_env_share", "ppo_weights"} <= set(figures)
    assert figures["random_steps_per_s"] == figures["random_steps_per_s_2_envs"] > 0
    assert figures["many_ppo_steps_per_s"] == figures["many_ppo_steps_per_s_2_envs_2_epochs"] == 5


def test_bad_input(pdrm):
    wrong = [("tabula",), ("tabular", "--seconds", "nan"), ("tabular", "-o", "growth.svg")]
    for arguments in (*wrong, *((name, "--seconds", "0") for name in BENCHES)):
        outcome = pdrm("bench", *arguments)
        assert outcome.code == 2
        assert outcome.err.startswith(
            "error[E0815]" if arguments == ("tabula",) else "error[E0801]"
        ), arguments
        assert "fix:" in outcome.err


def test_files_are_checked_before_anything_is_measured(pdrm, tmp_path):
    outcome = pdrm("bench", "analysis", "-o", tmp_path / "growth.txt")
    assert outcome.code == 2
    assert ".svg" in outcome.err
    (tmp_path / "file").touch()
    outcome = pdrm("bench", "--record", tmp_path / "file")
    assert outcome.code == 2
    assert outcome.err.startswith("error[E0502]")


def test_a_missing_peer_is_named_with_what_to_install(pdrm, monkeypatch):
    for bench, absent, ours, fix in (
        (
            "tabular",
            "pycrm.agents.tabular",
            ("tabular_bench", "pycrm_letter"),
            "pip install pyrewardmachines",
        ),
        ("analysis", "stormpy", ("analysis_bench", "storm_product"), "pip install stormpy"),
        ("deep", "stable_baselines3", (), "pip install 'pdrm[sb3]'"),
        ("deep", "jax", (), "pip install 'pdrm[jax]'"),
    ):
        with monkeypatch.context() as patch:
            patch.setitem(sys.modules, absent, None)
            for module in (*(f"pdrm.bench.{name}" for name in ours), "pdrm.product.jax_env"):
                if (
                    module in sys.modules
                ):  # and in its package: both get back the module that others have imported
                    patch.delattr(module, raising=False)
                    patch.delitem(sys.modules, module)
            outcome = pdrm("bench", bench)
        assert outcome.code == 2
        assert f"fix: {fix}" in outcome.err


@pytest.fixture
def quick(monkeypatch):
    """Benches that find one figure each at once."""
    for name in BENCHES:
        rows = [Row({"of": name}, {"figure": 0.123456789})]
        monkeypatch.setattr(
            f"pdrm.bench.{name}_bench.bench_{name}", lambda _seconds, _progress, rows=rows: rows
        )


@pytest.mark.usefixtures("quick")
def test_without_a_name_all_are_measured_and_recorded(pdrm, tmp_path):
    folder = tmp_path / "new" / "records"
    outcome = pdrm("bench", "--seconds", "3", "--record", folder, "--json")
    assert json.loads(outcome.out) == {f"figure_{name}": 0.123457 for name in BENCHES}
    assert "left out" not in outcome.err
    assert {file.name for file in folder.iterdir()} == {
        "tabular.json",
        "analysis.json",
        "deep-cpu.json",
    }
    record = read_record(folder / "analysis.json")
    assert record.rows == (Row({"of": "analysis"}, {"figure": 0.123457}),)
    assert record.command == "pdrm bench analysis --seconds 3"
    assert {"cpu", "cores", "system"} <= set(record.machine)
    assert {"python", "pdrm", "numpy", "numba", "stormpy"} == set(record.versions)


@pytest.mark.usefixtures("quick")
def test_without_a_name_what_cannot_run_is_left_out(pdrm, monkeypatch):
    def missing(_seconds, _progress):
        raise MissingPackage("Storm is not installed", fix="pip install stormpy")

    monkeypatch.setattr("pdrm.bench.analysis_bench.bench_analysis", missing)
    outcome = pdrm("bench", "--json")
    assert outcome.code == 0
    assert set(json.loads(outcome.out)) == {"figure_tabular", "figure_deep"}
    assert "left out: analysis (Storm is not installed; fix: pip install stormpy)" in outcome.err
    for name in BENCHES:
        monkeypatch.setattr(f"pdrm.bench.{name}_bench.bench_{name}", missing)
    assert pdrm("bench").code == 2
