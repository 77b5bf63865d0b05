"""The page of benchmarks: its pictures show what the records say, and it stands without a GPU's record."""

import re
from pathlib import Path

import pytest

from pages import benchmarks
from pages.bench_pictures import pictures
from pages.bench_plots import Axis, Bar, Curve, curve_plot, ratio_plot, share_plot
from pages.benchmarks import GPU, RECORDS, benchmarks_page, records

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("name", pictures())
def test_a_picture_shows_what_the_records_say_now(name):
    drawn = (DOCS / "images" / name).read_text()
    assert drawn.endswith(f"<!-- shows {pictures()[name].digest} -->\n"), "draw it anew: python -m pages benchmarks.md"
    assert f"images/{name}" in (DOCS / "benchmarks.md").read_text()


def test_no_picture_is_left_over():
    assert {path.name for path in (DOCS / "images").glob("bench-*")} == set(pictures())


def test_a_picture_is_an_svg_and_the_same_bytes_each_time():
    picture = pictures()["bench-ratios.svg"]
    assert picture.svg() == picture.svg()
    assert picture.svg().startswith(b"<?xml")


def test_plots_say_what_they_were_given():
    bars = ratio_plot([Bar("steps", "a peer", 20.0), Bar("updates", "another", 300.0)])
    assert [text.get_text() for text in bars.axes[0].texts] == ["20.0×", "300×"]
    curves = curve_plot([Curve("a step", [(10, 15.0), (1000, 15.5)])], Axis("stack height", "ns", from_zero=True))
    assert curves.axes[0].get_ylim()[0] == 0
    shares = share_plot({"64": {"collecting": 3.0, "learning": 1.0}}, "share of the time")
    assert [text.get_text() for text in shares.axes[0].texts] == ["75 %", "25 %"]


@pytest.mark.parametrize("name", records())
def test_a_record_says_where_it_is_from(name):
    record = records()[name]
    assert record.name == name
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", record.date)
    assert record.command.split()[0] in ("pdrm", "python")
    assert {"cpu", "cores", "system"} <= set(record.machine)
    assert {"python", "pdrm", "numpy"} <= set(record.versions)


def test_the_promised_figures_are_recorded():
    found = records()
    assert {"q_steps_ratio", "cprm_updates_ratio", "height_cost_ratio"} <= set(found["tabular"].figures)
    assert "storm_time_ratio" in found["analysis"].figures
    assert "sb3_ppo_ratio" in found["deep-cpu"].figures


def test_without_a_gpu_the_page_says_how_to_record_one(monkeypatch, tmp_path):
    for name in ("tabular", "analysis", "deep-cpu"):
        (tmp_path / f"{name}.json").write_bytes((RECORDS / f"{name}.json").read_bytes())
    monkeypatch.setattr(benchmarks, "records", lambda: records(tmp_path))
    assert "python -m pdrm.bench.deep_bench" in benchmarks_page()


def test_with_a_gpu_the_page_shows_it(monkeypatch, tmp_path):
    """Any record of the deep bench will do: the figures on many environments are the same."""
    for name in ("tabular", "analysis", "deep-cpu"):
        (tmp_path / f"{name}.json").write_bytes((RECORDS / f"{name}.json").read_bytes())
    text = (RECORDS / "deep-cpu.json").read_text()
    (tmp_path / f"{GPU}.json").write_text(
        text.replace('"cores"', '"gpu": "a fast one", "cores"').replace("deep-cpu", GPU)
    )
    monkeypatch.setattr(benchmarks, "records", lambda: records(tmp_path))
    page = benchmarks_page().partition("### On a GPU")[2]
    assert "a fast one" in page
    assert "environments | random steps a second" in page
