"""The Concepts pages: one for each folder, each with a picture and code that runs; the pictures show what the library says now."""

import re
import tomllib
from pathlib import Path

from pages.concept_pictures import pictures
from pages.concepts import shown

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
OF_FOLDERS = {
    "machines": "machines.md",
    "language": "machines.md",
    "domains": "domains.md",
    "product": "product.md",
    "analysis": "analysis.md",
    "learning": "learning.md",
    "experiments": "studies.md",
    "bench": "studies.md",
    "drawing": "drawing.md",
    "report": "drawing.md",
    "cli": "drawing.md",
}
"""Folder of the package -> the page that explains it, in the paper's order."""
OTHERS = {"errors", "files"}
"""Folders that are no concept of the paper's."""
CONCEPTS = list(dict.fromkeys(OF_FOLDERS.values()))
NAMES = sorted(path.name for path in (DOCS / "images").glob("concept-*.svg"))
EARLIER = {"letter.svg", "trace.svg", "witness-maze-5x5.svg", "sizes-maze-10x10.svg"}
EARLIER |= {
    f"summary-{name}.svg" for name in ("lines", "composition", "growth", "mazes", "deliveries")
}


def test_every_folder_has_a_page():
    folders = {
        path.name for path in (ROOT / "src" / "pdrm").iterdir() if (path / "__init__.py").exists()
    }
    assert folders - OTHERS == set(OF_FOLDERS)
    for folder, page in OF_FOLDERS.items():
        assert f"`{folder}/`" in (DOCS / page).read_text().split("\n\n")[1], folder


def test_the_pages_are_in_the_papers_order():
    nav = tomllib.loads((ROOT / "zensical.toml").read_text())["project"]["nav"]
    (chapter,) = (entry["Concepts"] for entry in nav if "Concepts" in entry)
    listed = [page for entry in chapter for page in entry.values()]
    assert [page for page in listed if page in CONCEPTS] == CONCEPTS
    assert (
        re.findall(r"^\d\. \[.+?\]\((.+?)\)", (DOCS / "index.md").read_text(), re.MULTILINE)
        == CONCEPTS
    )


def test_a_page_begins_with_a_picture_and_says_what_can_go_wrong():
    for page in CONCEPTS:
        text = (DOCS / page).read_text()
        before, *parts = text.split("\n## ")
        assert re.search(r"!\[.{40,}\]\(images/[\w-]+\.svg\)", before), (
            f"{page}: a picture, told in words too"
        )
        titles = [part.partition("\n")[0] for part in parts]
        assert titles[-2:] == ["What can go wrong", "Read on"], page
        assert "```python" in text, page


def the_trade_is_as_the_page_tells_it():
    _, kept, rows = shown.trade()
    text = (DOCS / "analysis.md").read_text()
    for number in (*kept[:2], *rows):
        assert f"{number:,}" in text
    assert kept[2:] == [100.0, 100.0]


def the_curves_are_as_the_page_tells_them():
    one, full, none, imagining = (
        curves.quartiles(curves.normalised).median for curves in shown.trained()
    )
    tops = [int(100 * (1 + (median > 0.98).argmax())) for median in (imagining, one)]
    assert tops == [200, 2_300]
    text = (DOCS / "learning.md").read_text()
    assert "within 200 episodes, Q-learning with k = 1 after 2,300" in text
    assert none.max() < -0.9
    assert -0.9 < full[-1] < 0


def test_the_pictures_and_the_pages_show_what_the_library_says_now():
    """One test, because what they show takes a while to find out."""
    assert set(pictures()) == set(NAMES) | EARLIER
    pages = "".join(page.read_text() for page in (*DOCS.glob("*.md"), ROOT / "README.md"))
    for name, picture in pictures().items():
        drawn = (DOCS / "images" / name).read_text()
        assert drawn.endswith(f"<!-- shows {picture.digest} -->\n"), (
            f"{name}: draw it anew: python -m pages concepts"
        )
        assert f"images/{name}" in pages
    for name in ("concept-machine.svg", "concept-views.svg"):
        assert pictures()[name].svg() == pictures()[name].svg(), name
    the_trade_is_as_the_page_tells_it()
    the_curves_are_as_the_page_tells_them()


def test_the_run_is_as_the_page_tells_it():
    moments = shown.moments()
    assert [len(moment.stack) for moment in moments] == [1, 2, 3, 4, 5, 6, 5, 4, 3, 2, 1]
    assert (moments[-1].state, moments[-1].paid) == ("home", "1e5")


def test_the_labels_are_as_the_page_tells_them():
    _, _, moves = shown.labels(steps=4)
    assert {move.action: (move.moves, move.label) for move in moves} == {
        "u": (False, "{u}"),
        "d": (False, "{d}"),
        "l": (True, "{l}"),
        "r": (True, "{r, t}"),
    }


def test_two_stacks_look_alike_up_to_one_symbol():
    one, other, views = shown.views()
    alike = [one[:seen] == other[:seen] for _, seen in views]
    assert alike == [True, True, False, False]


def test_one_imagined_experience_is_the_real_one():
    _, _, _, imagined = shown.counterfactuals(steps=6)
    (real,) = [one for one in imagined if one.real]
    after = shown.at(7)[1]
    assert (real.after, real.then) == (after.state, " ".join(after.stack))
    assert len(set(imagined)) == len(imagined) == 8
