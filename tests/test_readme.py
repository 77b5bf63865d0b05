"""The README's code runs and prints what it says; its commands and links exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


PAGES = sorted((ROOT / "docs").glob("*.md"))


def run_blocks(page, capsys):
    """Run the Python of a page, block by block; what it prints is what its comments say."""
    for number, code in enumerate(re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)):
        if ">>>" not in code:
            exec(compile(code, f"{page.name} block {number}", "exec"), {})
            expected = re.findall(r"print\(.*?\) +# (.*)", code)
            assert capsys.readouterr().out.split("\n")[:-1] == expected, (
                f"{page.name}, block {number}"
            )


def test_the_python_of_the_readme_runs(capsys):
    assert BLOCKS
    run_blocks(ROOT / "README.md", capsys)


def test_the_commands_are_in_the_makefile():
    makefile = (ROOT / "Makefile").read_text()
    for command in re.findall(r"^make (\w+)", README, re.MULTILINE):
        assert f"\n{command}:" in makefile


def test_links_lead_somewhere():
    for page in (ROOT / "README.md", *PAGES):
        for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text()):
            assert target.startswith("https://") or (page.parent / target).exists(), (
                page.name,
                target,
            )


@pytest.mark.parametrize(
    "page", [page for page in PAGES if "```python" in page.read_text()], ids=lambda page: page.name
)
def test_the_python_of_the_docs_runs(page, capsys):
    run_blocks(page, capsys)
