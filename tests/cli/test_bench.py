"""`pdrm bench`: the figures it promises. Speeds depend on the machine, so they are asserted loosely or not at all."""

import json
import sys

import pytest

from pdrm.bench.bench_record import read_record
from pdrm.bench.deep_bench import Sizes
from pdrm.errors import MissingPackage

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
    monkeypatch.setattr("pdrm.bench.tabular_bench.bench_tabular", lambda _seconds, _told: figures)
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
        ("deep", "--seconds", "0"),
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
    monkeypatch.setattr("pdrm.bench.analysis_bench.SIZES", {"letter": (3, 5, 9), "brackets": (2, 3, 4)})
    monkeypatch.setattr("pdrm.bench.analysis_bench.GROWTH", {"letter": (2, 4), "maze": range(2, 5)})


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


@pytest.fixture
def quick(monkeypatch):
    """Benches that find one figure each at once."""
    for name in ("tabular", "analysis", "deep"):
        found = {f"of_{name}": 0.123456789}
        monkeypatch.setattr(f"pdrm.bench.{name}_bench.bench_{name}", lambda _seconds, _told, found=found: found)


@pytest.mark.usefixtures("quick")
def test_without_a_name_all_are_measured(pdrm):
    outcome = pdrm("bench", "--json")
    assert json.loads(outcome.out) == {"of_tabular": 0.123457, "of_analysis": 0.123457, "of_deep": 0.123457}
    assert "left out" not in outcome.err


@pytest.mark.usefixtures("quick")
def test_without_a_name_what_cannot_run_is_left_out(pdrm, monkeypatch):
    def missing(_seconds, _told):
        raise MissingPackage("Storm is not installed", fix="pip install stormpy")

    monkeypatch.setattr("pdrm.bench.analysis_bench.bench_analysis", missing)
    outcome = pdrm("bench", "--json")
    assert outcome.code == 0
    assert set(json.loads(outcome.out)) == {"of_tabular", "of_deep"}
    assert "left out: analysis (Storm is not installed; fix: pip install stormpy)" in outcome.err
    for name in ("tabular", "deep"):
        monkeypatch.setattr(f"pdrm.bench.{name}_bench.bench_{name}", missing)
    assert pdrm("bench").code == 2


@pytest.mark.usefixtures("quick")
def test_records(pdrm, tmp_path):
    folder = tmp_path / "new" / "records"
    assert pdrm("bench", "--seconds", "3", "--record", folder, "--json").code == 0
    assert {file.name for file in folder.iterdir()} == {"tabular.json", "analysis.json", "deep-cpu.json"}
    record = read_record(folder / "analysis.json")
    assert record.figures == {"of_analysis": 0.123457}
    assert record.command == "pdrm bench analysis --seconds 3"
    assert {"cpu", "cores", "system"} <= set(record.machine)
    assert {"python", "pdrm", "numpy", "numba", "stormpy"} == set(record.versions)


def test_a_folder_for_records_is_asked_for_first(pdrm, tmp_path):
    (tmp_path / "file").touch()
    outcome = pdrm("bench", "--record", tmp_path / "file")
    assert outcome.code == 2
    assert outcome.err.startswith("error[E0502]")


@pytest.fixture
def few(monkeypatch):
    """Few environments and steps."""
    monkeypatch.setattr("pdrm.bench.deep_bench.ON_CPU", Sizes(random=(2,), ppo=(2,)))
    monkeypatch.setattr("pdrm.bench.deep_bench.N_STEPS", 4)
    monkeypatch.setattr("pdrm.bench.deep_bench.BATCHES", 2)
    monkeypatch.setattr("pdrm.bench.deep_bench.EPOCHS", (1, 2))
    beside = {"": {"n_envs": 1, "n_steps": 8, "batch_size": 4, "n_epochs": 1}}
    monkeypatch.setattr("pdrm.bench.deep_bench.BESIDE", beside)


@pytest.mark.usefixtures("few")
def test_deep_beside_stable_baselines3(pdrm, tmp_path):
    outcome = pdrm("bench", "deep", "--seconds", "0.01", "--record", tmp_path)
    assert outcome.code == 0
    figures = read_record(tmp_path / "deep-cpu.json").figures
    assert figures["sb3_ppo_ratio"] > 0
    assert figures["sb3_ppo_ratio"] == pytest.approx(
        figures["ppo_steps_per_s"] / figures["sb3_ppo_steps_per_s"], rel=1e-4
    )
    assert figures["random_steps_per_s"] == figures["random_steps_per_s_2_envs"] > 0
    assert figures["many_ppo_steps_per_s"] == figures["many_ppo_steps_per_s_2_envs_2_epochs"] > 0
    assert "its defaults, 1 environment" in outcome.out
    assert "collecting, ns a step" in outcome.out


def test_deep_without_stable_baselines3_says_how_to_get_it(pdrm, monkeypatch):
    monkeypatch.setitem(sys.modules, "stable_baselines3", None)
    for module in ("pdrm.bench.deep_bench", "pdrm.bench.deep_bench"):
        monkeypatch.delitem(sys.modules, module, raising=False)
    outcome = pdrm("bench", "deep")
    assert outcome.code == 2
    assert "fix: pip install 'pdrm[sb3]'" in outcome.err


def test_deep_without_jax_says_how_to_get_it(pdrm, monkeypatch):
    monkeypatch.setitem(sys.modules, "jax", None)
    monkeypatch.delitem(sys.modules, "pdrm.product.jax_env", raising=False)
    outcome = pdrm("bench", "deep")
    assert outcome.code == 2
    assert "fix: pip install 'pdrm[jax]'" in outcome.err
