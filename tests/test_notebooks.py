"""What values look like in a notebook, and that the example notebooks run in a real kernel from the first cell to the last."""

import gc
import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

import pdrm
from pdrm.drawing.rows import Rows
from pdrm.errors import BadSetting, NotRecorded, UnknownFormat

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


def stop(_status):
    raise KeyboardInterrupt


def test_stopping_keeps_what_was_learnt_and_the_same_line_resumes(tmp_path):
    settings = pdrm.QLearning(k=1, episodes=400, test_every=100)
    with pytest.raises(KeyboardInterrupt) as caught:
        pdrm.train("letter", settings, folder=tmp_path, watch=stop)
    (line,) = caught.value._render_traceback_()
    (folder,) = tmp_path.iterdir()
    assert str(folder) in line
    stopped = pdrm.Run.load(folder)
    assert (stopped.done, len(stopped.curve)) == (False, 1)
    assert stopped.evaluate(episodes=2)["episodes"] == 2
    assert "data:image/png" in forms(stopped)["html"]
    told, again = [], []
    resumed = pdrm.train("letter", settings, folder=tmp_path, watch=told.append)
    whole = pdrm.train("letter", settings, watch=again.append)
    assert resumed.folder == folder != whole.folder
    assert (resumed.result, resumed.curve.returns.tolist()) == (
        whole.result,
        whole.curve.returns.tolist(),
    )
    assert (len(told), len(again)) == (3, 4)
    place = whole.folder
    del whole
    gc.collect()
    assert not place.exists(), "a temporary folder lasts as long as its run"


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
