"""Public names of the chapters: importable, documented, and imported only on first use."""

import re
import subprocess
import sys
from pathlib import Path


def test_importing_a_chapter_imports_none_of_its_modules():
    code = "import sys, pdrm.machines, pdrm.language; print([name for name in sys.modules if name.count('.') > 1 and name[:4] == 'pdrm'])"
    assert (
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout
        == "[]\n"
    )


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
