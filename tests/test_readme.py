"""The Python blocks of the pages print what their comments show. Commands and links exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
PAGES = sorted((ROOT / "docs").glob("*.md"))


def python_blocks(page):
    return re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)


def run_blocks(page, capsys):
    """Run the Python blocks of a page and compare the output with the comments of `print`."""
    for number, code in enumerate(python_blocks(page)):
        if ">>>" not in code:
            exec(compile(code, f"{page.name} block {number}", "exec"), {})
            expected = re.findall(r"print\(.*?\) +# (.*)", code)
            assert capsys.readouterr().out.split("\n")[:-1] == expected, (
                f"{page.name}, block {number}"
            )


def test_the_python_of_the_readme_runs(capsys):
    readme = ROOT / "README.md"
    assert python_blocks(readme)
    run_blocks(readme, capsys)


def test_the_commands_are_in_the_makefile():
    makefile = (ROOT / "Makefile").read_text()
    for command in re.findall(r"^make (\w+)", README, re.MULTILINE):
        assert f"\n{command}:" in makefile


def test_links_to_files_exist():
    for page in (ROOT / "README.md", *PAGES):
        for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text()):
            assert target.startswith("https://") or (page.parent / target).exists(), (
                page.name,
                target,
            )


@pytest.mark.parametrize(
    "page", [page for page in PAGES if python_blocks(page)], ids=lambda page: page.name
)
def test_the_python_of_the_docs_runs(page, capsys):
    run_blocks(page, capsys)
