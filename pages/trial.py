"""*Start here*, tried as a new user would: every shell block of the page, in order, in one shell, in an empty folder.

`python -m pages.trial` does so with a fresh environment and writes the timings into the page.
"""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "start-here.md"
BLOCK = re.compile(r"^## (.+?)$|^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
MARK = "@@ done"
BEGIN, END = "<!-- timings: written by python -m pages.trial -->\n", "<!-- end of timings -->"


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and the commands below it."""

    title: str
    commands: str


def sections(page: str) -> list[Section]:
    """The sections that have commands."""
    found: dict[str, str] = {}
    title = ""
    for heading, commands in BLOCK.findall(page):
        title = heading or title
        if commands:
            found[title] = found.get(title, "") + commands
    return [Section(title, commands) for title, commands in found.items()]


def tried(
    parts: list[Section], folder: Path, environment: dict[str, str]
) -> tuple[list[float], str]:
    """Run them all in a folder that holds the repository as `pdrm`; returns the seconds of each, and what was printed."""
    (folder / "pdrm").symlink_to(ROOT, target_is_directory=True)
    marks = (f"{part.commands}echo {MARK} $EPOCHREALTIME\n" for part in parts)
    script = f"set -eu -o pipefail\necho {MARK} $EPOCHREALTIME\n" + "".join(marks)
    ended = subprocess.run(
        ["bash"],
        input=script,
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if ended.returncode:
        raise RuntimeError(f"the page's commands end with {ended.returncode}:\n{ended.stdout}")
    times = [
        float(moment) for moment in re.findall(rf"^{MARK} ([\d.]+)$", ended.stdout, re.MULTILINE)
    ]
    return [later - earlier for earlier, later in pairwise(times)], ended.stdout


def with_timings(page: str, parts: list[Section], seconds: list[float]) -> str:
    """The page with its table of timings written anew."""
    rows = [f"| {part.title} | {taken:.1f} s |" for part, taken in zip(parts, seconds, strict=True)]
    where = f"{os.cpu_count()} cores, Python {platform.python_version()}, nothing cached but pip's downloads"
    table = "\n".join(
        [
            "| step | time |",
            "|---|---|",
            *rows,
            f"| all | {sum(seconds):.0f} s |",
            "",
            f"({where}.)",
            "",
        ]
    )
    head, _, rest = page.partition(BEGIN)
    return head + BEGIN + table + END + rest.partition(END)[2]


def main() -> None:
    """Try it, and write the timings."""
    page = PAGE.read_text(encoding="utf-8")
    parts = sections(page)
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("VIRTUAL_ENV", "PYTHON"))
    }
    with tempfile.TemporaryDirectory() as folder:
        seconds, said = tried(parts, Path(folder), environment | {"NO_COLOR": "1"})
    sys.stdout.write(said)
    PAGE.write_text(with_timings(page, parts, seconds), encoding="utf-8")


if __name__ == "__main__":
    main()
