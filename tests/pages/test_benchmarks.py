"""The page of benchmarks: its pictures show what the records say, and it stands without a GPU's record."""

import re
import shutil
from pathlib import Path

from pages import benchmarks
from pages.bench_pictures import Axis, Bar, Curve, pictures, plot_curves, plot_ratios, plot_shares
from pages.benchmarks import GPU, RECORDS, benchmarks_page, records
from pdrm.bench.bench_display import TABLES

DOCS = Path(__file__).parents[2] / "docs"


def test_pictures_show_what_the_records_say_now():
    page = (DOCS / "benchmarks.md").read_text()
    for name, picture in pictures().items():
        drawn = (DOCS / "images" / name).read_text()
        assert drawn.endswith(f"<!-- shows {picture.digest} -->\n"), (
            "draw it again: python -m pages benchmarks.md"
        )
        assert f"images/{name}" in page
    assert {path.name for path in (DOCS / "images").glob("bench-*")} == set(pictures())


def test_a_picture_is_an_svg_and_the_same_bytes_each_time():
    picture = pictures()["bench-ratios.svg"]
    assert picture.svg() == picture.svg()
    assert picture.svg().startswith(b"<?xml")


def test_plots_say_what_they_were_given():
    bars = plot_ratios([Bar("steps", "a peer", 20.0), Bar("updates", "another", 300.0)])
    assert [text.get_text() for text in bars.axes[0].texts] == ["20.0×", "300×"]
    curves = plot_curves(
        [Curve("a step", [(10, 15.0), (1000, 15.5)])], Axis("stack height", "ns", from_zero=True)
    )
    assert curves.axes[0].get_ylim()[0] == 0
    shares = plot_shares({"64": {"collecting": 3.0, "learning": 1.0}})
    assert [text.get_text() for text in shares.axes[0].texts] == ["75 %", "25 %"]


def test_records_say_where_they_are_from_and_fill_every_table():
    for name, record in records().items():
        assert record.name == name
        assert re.fullmatch(r"\d{4}-\d\d-\d\d", record.date)
        assert record.command.split()[0] in ("pdrm", "python")
        assert {"cpu", "cores", "system"} <= set(record.machine)
        assert {"python", "pdrm", "numpy"} <= set(record.versions)
    rows = [row for record in records().values() for row in record.rows]
    assert [name for name, table in TABLES.items() if not table.fill(rows).lines] == []


def test_the_promised_figures_are_recorded():
    found = records()
    assert {"q_steps_ratio", "cprm_updates_ratio", "height_cost_ratio"} <= set(
        found["tabular"].figures
    )
    assert "storm_time_ratio" in found["analysis"].figures
    assert "sb3_ppo_ratio" in found["deep-cpu"].figures


def test_the_page_with_and_without_a_gpu(monkeypatch, tmp_path):
    """In place of a GPU's record any record of the deep bench will do."""
    for name in ("tabular", "analysis", "deep-cpu"):
        shutil.copy(RECORDS / f"{name}.json", tmp_path)
    monkeypatch.setattr(benchmarks, "records", lambda: records(tmp_path))
    assert "python -m pdrm bench deep --record" in benchmarks_page()
    text = (RECORDS / "deep-cpu.json").read_text()
    text = text.replace('"cores"', '"gpu": "a fast one", "cores"').replace("deep-cpu", GPU)
    (tmp_path / f"{GPU}.json").write_text(text)
    page = benchmarks_page().partition("### On a GPU")[2]
    assert "a fast one" in page
    assert "environments | random steps per second" in page
