"""The README's code runs and prints what it says; its commands and links exist."""

import re
from pathlib import Path

import pytest

from tests.golden import parse_golden

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_the_python_blocks_run(number, capsys):
    code = BLOCKS[number]
    exec(compile(code, f"README block {number}", "exec"), {})  # noqa: S102 - our own README
    expected = re.findall(r"print\(.*?\)   # (.*)", code)
    assert capsys.readouterr().out.split("\n")[:-1] == expected


def test_the_first_block_is_short():
    code = [line for line in BLOCKS[0].splitlines() if line.strip()]
    assert len(code) == 12


def test_the_commands_are_in_the_makefile():
    makefile = (ROOT / "Makefile").read_text()
    for command in re.findall(r"^make (\w+)", README, re.MULTILINE):
        assert f"\n{command}:" in makefile


def test_the_error_shown_is_the_one_printed():
    golden = parse_golden((ROOT / "tests/machines/text/messages.txt").read_text())["two-rules"]
    shown = re.search(r"```text\n(.*?)```", README, re.DOTALL).group(1)
    assert golden.startswith(shown)


@pytest.mark.parametrize(
    "page", [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))], ids=lambda page: page.name
)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text()):
        assert target.startswith("https://") or (page.parent / target).exists(), target


def test_the_commands_are_known(pdrm):
    for command in sorted(set(re.findall(r"^pdrm (\w+)", README, re.MULTILINE))):
        assert pdrm(command, "--help").code == 0


@pytest.mark.parametrize("page", sorted((ROOT / "docs").glob("*.md")), ids=lambda page: page.name)
def test_the_python_of_the_docs_runs(page, capsys):
    for number, code in enumerate(re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)):
        if ">>>" not in code:
            exec(compile(code, f"{page.name} block {number}", "exec"), {})  # noqa: S102 - our own pages
            expected = re.findall(r"print\(.*?\) +# (.*)", code)
            assert capsys.readouterr().out.split("\n")[:-1] == expected
