"""Every code block of the README and of the pages names its language, and is run, parsed or loaded.

tests/test_readme.py runs the Python blocks, and tests/test_coming_from.py those of *Coming from*.
"""

import re
from pathlib import Path
from typing import NamedTuple

import pytest

import pdrm
from tests.shell import run_commands

ROOT = Path(__file__).parents[2]
OWN_TESTS = ("from-pycrm.md", "from-reward-machines.md")
LANGUAGES = ("python", "py", "pdrm", "sh", "toml", "text", "bibtex")
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
HEADERS = {
    "language.md": "events u d l r t x\nexclusive u d l r\nstack # u d l r\nstart search\nfinal lost\nstates search return\notherwise stay 0\n",
    "start-here.md": "events u d l r treasure\nexclusive u d l r\nstack # u d l r\nstart search\notherwise stay 0\nmap back u:d d:u l:r r:l\n",
}
"""Header lines for pages that show only rules."""
SMALLER = {
    "--steps 200000": "--steps 2000",
    "--steps 20000": "--steps 2000",
    "maze-10x10 --agent cprm": "maze-10x10 --agent cprm --episodes 200",
    "--seeds 5": "--seeds 1",
    "--seeds 10": "--seeds 1",
    "garden/study.toml": "garden/study.toml --seeds 1",
    "check-k maze-5x5 --draw": "check-k maze-5x5 --k 0..1 --depth 4 --draw",
    "check-k maze-5x5 --k 0..2 --draw": "check-k maze-5x5 --k 0..2 --depth 4 --draw",
    "--seconds 20": "--seconds 2",
    "runs/…": "runs/*",
}
NOT_RUN = {
    "make reproduce": "minutes; tests/cli/test_reproduce.py runs parts of it",
    "make test": "runs this",
    "pip install": "tests/test_wheel.py installs it",
    "python3 -m venv": "the tests run in an environment of their own",
    ". .venv/bin/activate": "the same",
    "pdrm reproduce": "minutes; tests/cli/test_reproduce.py runs parts of it",
    "pdrm train map.txt --machine task.pdrm --agent ppo": "tests/cli/test_train_deep.py trains on its own map and machine",
    "pdrm train echo --agent ppo": "tests/cli/test_train_deep.py runs it with fewer steps",
    "pdrm train water-17": "an hour on two cores; tests/cli/test_train_deep.py trains there briefly",
    "pdrm film": "needs such a run; tests/cli/test_train_deep.py films one",
}
"""Commands that are not run here, and the reason."""


class Fence(NamedTuple):
    """A code block of a page."""

    page: str
    line: int
    language: str
    title: str
    code: str


def fences(page):
    text = page.read_text()
    pattern = r"^( *)```(\S*)(?: title=\"(.+?)\")?\n(.*?)^\1```$"
    for match in re.finditer(pattern, text, re.DOTALL | re.MULTILINE):
        indent, language, title, body = match.groups()
        code = "".join(line.removeprefix(indent) for line in body.splitlines(keepends=True))
        line = text.count("\n", 0, match.start()) + 1
        yield Fence(page.name, line, language, title or "", code)


FENCES = [fence for page in PAGES for fence in fences(page)]


def commands(page):
    return [
        line for fence in fences(page) if fence.language == "sh" for line in fence.code.splitlines()
    ]


WITH_COMMANDS = [page for page in PAGES if page.name not in OWN_TESTS and commands(page)]


def test_every_block_names_its_language():
    assert not [fence[:3] for fence in FENCES if fence.language not in LANGUAGES]
    assert {fence.language for fence in FENCES} == set(LANGUAGES)


def test_machines_can_be_built():
    for fence in FENCES:
        if fence.language == "pdrm":
            header = "" if "start " in fence.code else HEADERS[fence.page]
            assert pdrm.parse(header + fence.code).transitions, fence


def test_texts_are_files_that_load(tmp_path):
    for fence in FENCES:
        if fence.language == "text":
            file = tmp_path / fence.title
            file.write_text(fence.code)
            loaded = pdrm.load_domain(file) if "###" in fence.code else pdrm.load(file)
            assert loaded.events, fence


@pytest.mark.parametrize("page", WITH_COMMANDS, ids=lambda page: page.name)
def test_commands_run(page, tmp_path, monkeypatch, request):
    monkeypatch.chdir(tmp_path)
    script = "\n".join(line for line in commands(page) if not line.startswith(tuple(NOT_RUN)))
    for long, short in SMALLER.items():
        script = script.replace(long, short)
    run_commands(script, request.getfixturevalue("pdrm"))


def test_commands_that_are_not_run_exist():
    lines = [line for page in PAGES for line in commands(page)]
    assert [start for start in NOT_RUN if not any(line.startswith(start) for line in lines)] == []
