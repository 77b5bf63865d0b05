"""The page on the architecture shows the layers that are tested."""

import re
from pathlib import Path

from tests.test_architecture import LAYERS

PAGE = Path(__file__).parents[2] / "docs" / "architecture.md"


def test_the_diagram_shows_the_layers():
    rows = re.findall(r"^    ((?:\w+ +)+?) {2,}\S.*$", PAGE.read_text(), re.MULTILINE)
    assert tuple(tuple(row.split()) for row in rows) == LAYERS
