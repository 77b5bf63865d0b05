"""The page on the architecture shows the chapters in the order of the tested layers."""

import re
from pathlib import Path

from tests.test_architecture import LAYERS, SOURCE

PAGE = Path(__file__).parents[2] / "docs" / "architecture.md"


def is_folder(chapter):
    return (SOURCE / chapter).is_dir()


def test_the_diagram_shows_the_layers():
    rows = re.findall(r"^    ((?:\w+ +)+?) {2,}\S.*$", PAGE.read_text(), re.MULTILINE)
    shown = [list(filter(is_folder, row.split())) for row in rows]
    tested = [list(filter(is_folder, layer)) for layer in LAYERS]
    assert list(filter(None, shown)) == list(filter(None, tested))
