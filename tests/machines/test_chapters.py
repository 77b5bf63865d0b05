"""The chapters' public names: importable from the chapter, each with a docstring, and imported only when they are used."""

import re
import subprocess
import sys
from pathlib import Path

from pdrm import language, machines


def test_every_public_name_is_there_and_explained():
    for chapter in (machines, language):
        assert dir(chapter) == sorted(chapter.__all__)
        assert len(set(chapter.__all__)) == len(chapter.__all__)
        for name in chapter.__all__:
            assert getattr(chapter, name).__doc__, name


def test_importing_a_chapter_imports_none_of_its_modules():
    code = "import sys, pdrm.machines, pdrm.language; print([name for name in sys.modules if name.count('.') > 1 and name[:4] == 'pdrm'])"
    assert (
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout
        == "[]\n"
    )


def test_no_other_name_is_there():
    for chapter in (machines, language):
        assert not hasattr(chapter, "nothing")
        assert not hasattr(chapter, "test_no_other_name_is_there")


def test_the_notation_names_what_is_there():
    root = Path(__file__).parents[2]
    rows = re.findall(
        r"^\| .+ \| .+ \| (.+) \| (.+) \|$",
        (root / "docs" / "notation.md").read_text(),
        re.MULTILINE,
    )
    for code, files in rows[1:]:
        text = "".join(
            (root / "src" / "pdrm" / file).read_text() for file in re.findall(r"`(.+?)`", files)
        )
        for name in re.findall(r"`(\w{3,})\b", code):
            assert re.search(rf"\b{name}\b", text), (name, files)
