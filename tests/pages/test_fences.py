"""Every code block of the README and of the pages written by hand says what it is, and is run, parsed or loaded.

Blocks of Python are run by tests/test_readme.py, of *Start here* and *Coming from* by their own tests.
"""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

import pdrm

ROOT = Path(__file__).parents[2]
MADE = ("api.md", "commands.md", "errors.md", "mutants.md", "promises.md", "benchmarks.md", "settings.md")
"""Pages that are made from the source, and tested with their makers."""
OWN_TESTS = ("start-here.md", "from-pycrm.md", "from-reward-machines.md")
LANGUAGES = ("python", "py", "pdrm", "sh", "toml", "text")
PAGES = [ROOT / "README.md", *(page for page in sorted((ROOT / "docs").glob("*.md")) if page.name not in MADE)]
HEADS = {
    "language.md": "events u d l r t x\nexclusive u d l r\nstack # u d l r\nstart search\nfinal lost\nstates search return\notherwise stay 0\n",
    "start-here.md": "events u d l r treasure\nexclusive u d l r\nstack # u d l r\nstart search\notherwise stay 0\nmap back u:d d:u l:r r:l\n",
}
"""What stands above the rules that a page shows alone."""
SMALLER = {
    "--steps 200000": "--steps 2000",
    "--steps 20000": "--steps 2000",
    "maze-10x10 --agent cprm": "maze-10x10 --agent cprm --episodes 200",
    "--seeds 5": "--seeds 1",
    "runs/…": "$(ls -d runs/* | head -1)",
}
NOT_RUN = {
    "make reproduce": "25 minutes; tests/cli/test_reproduce.py runs parts of it",
    "make test": "runs this",
    "pdrm reproduce": "minutes; tests/cli/test_reproduce.py runs parts of it",
    "pdrm train water-17": "an hour on two cores; tests/cli/test_train_deep.py trains there for a moment",
    "pdrm film": "needs such a run; tests/cli/test_train_deep.py films one",
}
"""Commands that no block's test runs, and why."""


class Fence(NamedTuple):
    """A code block of a page."""

    page: str
    line: int
    language: str
    title: str
    code: str


def fences(page):
    text = page.read_text()
    for found in re.finditer(r"^( *)```(\S*)(?: title=\"(.+?)\")?\n(.*?)^\1```$", text, re.DOTALL | re.MULTILINE):
        code = "".join(line.removeprefix(found[1]) for line in found[4].splitlines(keepends=True))
        yield Fence(page.name, text.count("\n", 0, found.start()) + 1, found[2], found[3] or "", code)


ALL = [fence for page in PAGES for fence in fences(page)]


def named(*languages):
    chosen = [fence for fence in ALL if fence.language in languages]
    return pytest.mark.parametrize("fence", chosen, ids=lambda fence: f"{fence.page}:{fence.line}")


def test_every_block_says_what_it_is():
    assert not [fence[:3] for fence in ALL if fence.language not in LANGUAGES]
    assert {fence.language for fence in ALL} == set(LANGUAGES)


@named("pdrm")
def test_machines_can_be_built(fence):
    head = "" if "start " in fence.code else HEADS[fence.page]
    assert pdrm.parse(head + fence.code).transitions


@named("text")
def test_texts_are_files_that_load(fence, tmp_path):
    if fence.page == "README.md":
        return  # an error message, compared in tests/test_readme.py
    file = tmp_path / fence.title
    file.write_text(fence.code)
    loaded = pdrm.load_domain(file) if "###" in fence.code else pdrm.load(file)
    assert loaded.events


@pytest.mark.parametrize("page", [page for page in PAGES if page.name not in OWN_TESTS], ids=lambda page: page.name)
def test_commands_run(page, tmp_path):
    lines = [line for fence in fences(page) if fence.language == "sh" for line in fence.code.splitlines()]
    script = [line for line in lines if not line.startswith(tuple(NOT_RUN))]
    for long, short in SMALLER.items():
        script = [line.replace(long, short) for line in script]
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    done = subprocess.run(
        ["/bin/bash", "-eu", "-c", "\n".join(script)],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_what_is_not_run_is_still_there():
    lines = [line for fence in ALL if fence.language == "sh" for line in fence.code.splitlines()]
    assert [start for start in NOT_RUN if not any(line.startswith(start) for line in lines)] == []
