import doctest
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "wrap.md"


@pytest.mark.filterwarnings("error")
def test_the_page_says_what_happens():
    assert "fix:" in PAGE.read_text(encoding="utf-8")
    failed, tried = doctest.testfile(
        str(PAGE), module_relative=False, optionflags=doctest.ELLIPSIS, encoding="utf-8"
    )
    assert tried > 10
    assert failed == 0
