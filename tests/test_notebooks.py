"""What values look like in a notebook, and that the example notebooks run in a real kernel from the first cell to the last."""

import gc
import json
import re
from contextlib import contextmanager, suppress
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import pdrm
from pdrm.drawing.curve_plots import CurveLine, study_plot
from pdrm.drawing.rows import Rows
from pdrm.errors import BadRunFolder, BadSetting, NotRecorded, UnknownFormat
from pdrm.learning import execution
from pdrm.progress import _NotebookBar, _show_in_notebook

NOTEBOOKS = sorted((Path(__file__).parent.parent / "examples" / "notebooks").glob("*.ipynb"))


def forms(value):
    """The forms that a notebook is given of a value."""
    found = {
        kind: getattr(value, f"_repr_{kind}_", lambda: None)() for kind in ("html", "svg", "png")
    }
    return {kind: form for kind, form in found.items() if form is not None}


def test_machines_words_domains_and_tasks_show_themselves():
    machine = pdrm.catalogue("letter")
    word = machine.run(pdrm.language.parse_word("A B C C"))
    assert "ended in u2" in forms(word)["html"]
    assert "data:image/png" in forms(pdrm.domain("maze-5x5"))["html"]
    assert "data:image/png" in forms(pdrm.domains.water.WaterWorld())["html"]
    shown = forms(pdrm.Task("maze-5x5"))["html"]
    assert "data:image/svg" in shown
    assert "data:image/png" in shown
    for value in (machine, word, pdrm.domain("letter"), pdrm.Task("letter")):
        assert len(repr(value)) < 100
        assert "\n" not in repr(value)


def test_a_wide_machine_is_scaled_instead_of_cut_off():
    (image,) = re.findall("<img[^>]*>", forms(pdrm.catalogue("paint"))["html"])
    assert "max-width: 100%" in image


def stop(_status):
    raise KeyboardInterrupt


def test_stopping_says_in_one_line_what_was_kept_and_goes_on_from_there(tmp_path, capsys):
    settings = pdrm.QLearning(k=1, episodes=400, test_every=100)
    with pytest.raises(KeyboardInterrupt) as caught:
        pdrm.train("letter", settings, watch=stop)
    (line,) = caught.value._render_traceback_()
    stopped = pdrm.Run.load(re.search(r'Run\.load\("(.*?)"\)', line)[1])
    assert not stopped.done
    assert len(stopped.curve) == 1
    assert "25% trained, return" in repr(stopped)
    assert stopped.evaluate(episodes=2)["episodes"] == 2
    assert "data:image/png" in forms(stopped)["html"]
    whole, told = pdrm.train("letter", settings), []
    assert whole.folder == stopped.folder, "the same line goes on"
    again = pdrm.train("letter", settings, watch=told.append)
    assert again.folder != whole.folder
    assert (again.result, again.curve.returns.tolist()) == (
        whole.result,
        whole.curve.returns.tolist(),
    )
    assert len(told) == 4
    place = whole.folder
    del whole, again, stopped
    gc.collect()
    assert not place.exists(), "a temporary folder lasts as long as its run"
    with pytest.raises(KeyboardInterrupt) as caught:
        pdrm.train("letter", settings, folder=tmp_path, watch=stop)
    (line,) = caught.value._render_traceback_()
    (folder,) = tmp_path.iterdir()
    assert str(folder) in line
    study = pdrm.Study("letter", settings, seeds=1)
    (tmp_path / "runs").mkdir()
    folder.rename(tmp_path / "runs" / folder.name)
    capsys.readouterr()
    study.run(tmp_path, progress=True)
    assert "1 run to do, 1 of them from where they were stopped" in capsys.readouterr().err
    pdrm.train("letter", settings, folder=tmp_path / "runs", progress=True)
    assert capsys.readouterr().err == f"was trained before: {tmp_path / 'runs' / folder.name}\n"


def test_a_folder_of_a_study_is_no_run_and_names_its_runs(tmp_path):
    pdrm.Study("letter", "q", seeds=2, settings={"episodes": 100}).run(tmp_path)
    with pytest.raises(BadRunFolder) as told:
        pdrm.Run.load(tmp_path)
    assert str(tmp_path / "runs" / "letter-q-") in told.value.fix


def test_a_bar_begins_where_the_run_was_stopped(tmp_path, monkeypatch):
    shown = []

    @contextmanager
    def show(*_, **__):
        yield lambda done, note: shown.append((done, note))

    monkeypatch.setattr("pdrm.learning.run.show_progress", show)
    for watch in (stop, None):
        with suppress(KeyboardInterrupt):
            pdrm.train(
                "letter", "q", k=1, episodes=400, test_every=100, folder=tmp_path, watch=watch
            )
    assert [done for done, _ in shown] == [100, 100, 200, 300, 400]
    assert shown[1][1] == "going on from 25%"


def test_a_study_that_is_stopped_says_where_it_goes_on(tmp_path, monkeypatch):
    monkeypatch.setattr(execution, "perform", stop_at_once)
    with pytest.raises(KeyboardInterrupt) as caught:
        pdrm.Study("letter", "q", seeds=2, settings={"episodes": 100}).run(tmp_path)
    (line,) = caught.value._render_traceback_()
    assert "0 of 2 runs are done" in line
    assert str(tmp_path) in line


def stop_at_once(*_):
    raise KeyboardInterrupt


def test_a_machine_too_large_to_draw_shows_its_rules():
    lines = "\n".join(f"s{i} -> s{i + 1} : a, z / z, 1" for i in range(200))
    machine = pdrm.parse(
        f"name m\nevents a\nstack #\nstart s0\nfinal s200\notherwise stay 0\n\n{lines}\n"
    )
    assert list(forms(machine)) == ["html"]
    assert "160 more" in forms(machine)["html"]


def test_names_are_escaped():
    rows = Rows(1, lambda _: type("Row", (), {"record": lambda _: {"<b>": "<script>"}})())
    assert "<script>" not in rows._repr_html_()


def test_draw_gives_the_picture_and_saves_it(tmp_path):
    picture = pdrm.draw("letter", tmp_path / "letter.svg")
    assert (tmp_path / "letter.svg").read_bytes() == picture.render("svg")
    assert str(picture).startswith("letter: starts in u0, ends in u2\n")
    assert "#@###" in str(pdrm.draw(pdrm.domain("maze-5x5")))
    for ending, begins in (("html", b"<figure"), ("svg", b"<svg")):
        pdrm.draw(pdrm.Task("maze-5x5")).save(tmp_path / f"task.{ending}")
        assert (tmp_path / f"task.{ending}").read_bytes().startswith(begins)
    images = ElementTree.parse(tmp_path / "task.svg").getroot()
    kinds = [image.attrib["href"].partition(";")[0] for image in images]
    assert kinds == ["data:image/png", "data:image/svg+xml"]
    with pytest.raises(UnknownFormat):
        picture.save(tmp_path / "letter.bmp")
    with pytest.raises(BadSetting):
        pdrm.draw(3)


def test_runs_and_studies_show_themselves(tmp_path):
    study = pdrm.Study(["letter"], [pdrm.QLearning(k=1, episodes=200)], seeds=2)
    with pytest.raises(NotRecorded):
        study.plot(tmp_path)
    results = study.run(tmp_path)
    run = pdrm.learning.Run.load(next((tmp_path / "runs").iterdir()))
    for value in (study, results, run, run.policy, run.policy.table()):
        assert "<" in forms(value)["html"]
        assert len(repr(value)) < 120
    for figure in (run.plot(), results.plot(), study.plot(tmp_path)):
        assert forms(figure)["png"].startswith(b"\x89PNG")
    assert results.table()[0].seeds == 2
    figure.save(tmp_path / "curves.pdf")
    assert (tmp_path / "curves.pdf").read_bytes().startswith(b"%PDF")


def test_a_film_shows_itself(tmp_path):
    run = pdrm.train("letter", "q", k=1, episodes=200)
    for ending in ("gif", "png"):
        film = run.film(tmp_path / f"film.{ending}")
        assert f"data:image/{ending};base64," in forms(film)["html"]
        assert film["steps"] > 0
        assert len(repr(film).replace(str(tmp_path), "")) < 80


def test_a_policy_is_a_table_of_rows(tmp_path):
    run = pdrm.train("letter", "q", k=1, episodes=200, folder=tmp_path)
    policy, domain = run.policy, pdrm.domain("letter")
    rows = policy.table(domain)
    assert len(rows) == len(policy)
    assert len(list(rows)) == len(rows[:]) == len(rows)
    for row in rows:
        values = policy.values(row.environment_state, row.machine_state, row.stack)
        assert list(row.values.values()) == values.tolist()
        assert row.best == domain.actions[values.argmax()]
        assert row.where == domain.describe(row.environment_state)
    assert rows[-1] == rows[len(rows) - 1]
    with pytest.raises(IndexError):
        rows[len(rows)]
    assert f"{len(rows) - 20} more rows" in str(rows)
    options = pdrm.train("letter", "hrm", episodes=200, folder=tmp_path).policy
    assert {row.best for row in options.table()} <= {
        rule for rules in options.options.values() for rule in rules
    }


def test_rows_become_a_frame():
    pandas = pytest.importorskip("pandas")
    rows = pdrm.train("letter", "q", k=1, episodes=200).policy.table()
    frame = rows.frame()
    assert isinstance(frame, pandas.DataFrame)
    assert len(frame) == len(rows)
    assert frame["value_u"].tolist() == [row.values["u"] for row in rows]


def test_curves_and_words_become_frames(tmp_path):
    pandas = pytest.importorskip("pandas")
    run = pdrm.train("letter", "q", k=1, episodes=200, folder=tmp_path)
    kept = pandas.read_csv(run.folder / "curve.csv")
    pandas.testing.assert_frame_equal(run.curve.frame(), kept, check_dtype=False)
    results = pdrm.Study("letter", pdrm.QLearning(k=1, episodes=200), seeds=2).run(
        tmp_path / "study"
    )
    kept = pandas.read_csv(tmp_path / "study" / "curves.csv")
    pandas.testing.assert_frame_equal(results.curves().frame(), kept, check_dtype=False, rtol=1e-8)
    assert results.table()["panel"] == ["letter"]
    for name, seen in (("letter", "stack"), ("letter-counting", "counters")):
        word = pdrm.catalogue(name).run("A B")
        frame = word.frame()
        assert frame["label"].tolist()[1:] == ["{A}", "{B}"]
        assert frame["reward"].sum() == word.reward
        assert seen in frame


def test_the_bar_of_a_notebook_is_one_output_drawn_anew():
    shown = []

    class Handle:
        def update(self, bar):
            shown.append(repr(bar))

    with _show_in_notebook(lambda *_, **__: Handle(), _NotebookBar("steps", 10)) as update:
        for done in range(10_000):
            update(done / 1_000, "<note>")
    assert len(shown) < 50
    assert shown[-1] == "steps: 100%  0 s  <note>"
    assert "&lt;note&gt;" in _NotebookBar("steps", 0, note="<note>")._repr_html_()


def test_the_notebooks_run():
    """All in one kernel, one after the other, because starting one takes a second."""
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    books = [nbformat.reads(path.read_text(), as_version=4) for path in NOTEBOOKS]
    assert len(books) == 3
    cells = [cell for book in books for cell in book.cells]
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number}"
    whole = nbformat.v4.new_notebook(cells=cells)
    nbclient.NotebookClient(whole, timeout=300).execute()
    outputs = [output for cell in whole.cells for output in cell.get("outputs", ())]
    assert {output.get("name") for output in outputs} <= {None, "stdout"}, (
        "nothing is printed in red"
    )
    kinds = [kind for output in outputs for kind in output.get("data", {})]
    assert {"image/png", "text/html"} <= set(kinds)
    bars = [output for output in outputs if output.output_type == "display_data"]
    assert len(bars) == 5, "three trainings, a study and a search for k, a bar each"
    assert all("100%" in bar["data"]["text/plain"] for bar in bars)


def test_notebooks_are_kept_with_what_they_show():
    """As `python -m pages notebooks` wrote them: every cell was executed, in order and without an error, and none is large."""
    for path in NOTEBOOKS:
        cells = [
            cell for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == "code"
        ]
        assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1)), (
            path.name
        )
        outputs = [output for cell in cells for output in cell["outputs"]]
        assert all(cell["outputs"] for cell in cells), path.name
        assert "error" not in {output["output_type"] for output in outputs}, path.name
        assert path.stat().st_size < 500_000, path.name


def test_tables_and_networks_with_different_units_are_drawn_apart():
    at, flat = np.array([10, 20]), np.ones(2)
    lines = [
        CurveLine(name, "echo", unit, at, flat, flat, flat)
        for name, unit in (("q 1", "episodes"), ("cprm 1", "episodes"), ("ppo 1", "timesteps"))
    ]
    first, second = study_plot([lines]).axes
    assert (first.get_xlabel(), second.get_xlabel()) == ("training episodes", "training timesteps")
    assert len({line.get_color() for line in (*first.lines, *second.lines)}) == 3
