"""docs/mutants.md: how many mutants the tests noticed, and the others, each with the reason from survivors.toml."""

from __future__ import annotations

import json
import os
import platform
import re
import tomllib
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

REASONS = Path(__file__).parent / "survivors.toml"
BRANCHES = Path(__file__).parent.parent / "docs" / "branches.json"
HEAD = """# Mutants

*Made by `{command}`, with mutmut {mutmut} on Python {python}.*

Tests are worth what they notice. So every function of `machines/` and `language/` is changed in one place at a time (a comparison turned round, a
number one higher, an argument left out, a text altered) and the tests of both that reach it are run: {total:,} such mutants{sample},
of which the tests noticed {noticed:,} ({timeout:,} of them because they never came to an end). The {survived:,} that they did not
notice are below each with the reason: none changes what a user sees, but for what is said there.

The kernels are mutated too, as plain Python; code outside functions (tables of words, regular expressions) is not. Tests with random
cases run with fewer of them than in `make test`. `make mutants` takes some hours on one core, goes on where it was stopped, and
fails where a survivor has no reason; `python -m pages.mutants again` tries the survivors again, `python -m pages.mutants page` writes this page,
and `python -m pages.mutants tenth 3` tries every tenth and writes this page of those.
"""


@dataclass(frozen=True, slots=True)
class Survivor:
    """A mutant that no test noticed: where it is, the line as it stands, and what it became."""

    file: str
    function: str
    line: str
    becomes: str

    def row(self) -> str:
        """The mutant in a table: what it became says what was changed."""
        return f"| `{self.file}` | `{self.function}` | {_code(self.becomes or f'(nothing) {self.line}')} |"


@dataclass(frozen=True, slots=True)
class Reason:
    """Why some survivors do no harm. A place is `FILE FUNCTION: part of the new line`, or the beginning of that."""

    title: str
    why: str
    places: tuple[str, ...]

    def fits(self, survivor: Survivor) -> bool:
        """Whether it is one of these."""
        for place in self.places:
            where, _, text = place.partition(": ")
            file, _, function = where.partition(" ")
            if (
                file in ("*", survivor.file)
                and function in ("", survivor.function)
                and text in (survivor.becomes or survivor.line)
            ):
                return True
        return False


def reasons() -> list[Reason]:
    """The reasons that are known."""
    listed = tomllib.loads(REASONS.read_text(encoding="utf-8"))["reason"]
    return [Reason(one["title"], one["why"], tuple(one["places"])) for one in listed]


def survivor(name: str) -> Survivor:
    """A mutant by mutmut's name for it; to be called in the tree that was mutated."""
    from mutmut.mutation.diff_apply import get_diff_for_mutant  # noqa: PLC0415 - a tool of the run alone

    module, _, mangled = name.removeprefix("pdrm.").rpartition(".")
    function = mangled.rpartition("__mutmut_")[0].removeprefix("xǁ").removeprefix("x_").replace("ǁ", ".")
    lines = get_diff_for_mutant(name).split("\n")
    old = [line[1:].strip() for line in lines if line.startswith("-") and not line.startswith("---")]
    new = [line[1:].strip() for line in lines if line.startswith("+") and not line.startswith("+++")]
    return Survivor(_file(module), function, " ".join(old), " ".join(new))


def survivors_page(
    codes: dict[str, int | None], tree: Path, tenth: str = "", every: int = 0, asked: int = 0
) -> tuple[str, int]:
    """The page, and how many survivors it cannot explain. tenth: the digit that the mutants end in, where they are a sample of all
    `every`, of which `asked` end in it."""
    from mutmut.stats import status_by_exit_code  # noqa: PLC0415 - a tool of the run alone

    counts = Counter(status_by_exit_code[code] for code in codes.values())
    with _inside(tree):
        alive = sorted(
            (survivor(name) for name, code in codes.items() if status_by_exit_code[code] in ("survived", "no tests")),
            key=lambda one: (one.file, one.function, one.becomes),
        )
    sample = (
        f", a sample (of {every:,}, those tried so far of the {asked:,} whose number ends in {tenth})" if tenth else ""
    )
    command = f"python -m pages.mutants tenth {tenth}" if tenth else "make mutants"
    parts = [HEAD.format(**_numbers(counts), sample=sample, command=command), *_branches()]
    known = reasons()
    chosen = [next((reason for reason in known if reason.fits(one)), None) for one in alive]
    for reason in known:
        members = [one for one, why in zip(alive, chosen, strict=True) if why is reason]
        parts += _section(f"{reason.title} ({len(members)})", reason.why, members) if members else []
    left = [one for one, why in zip(alive, chosen, strict=True) if why is None]
    parts += _section(f"Not explained yet ({len(left)})", "Look at these.", left) if left else []
    return "\n".join(parts), len(left)


def _branches() -> list[str]:
    """The branches that the tests take, where `make coverage` has counted them."""
    if not BRANCHES.exists():
        return []
    rows = [
        f"| `{folder}/` | {count['branches']:,} | {count['taken']:,} | {count['taken'] / count['branches']:.1%} |"
        for folder, count in json.loads(BRANCHES.read_text(encoding="utf-8")).items()
    ]
    said = "## Branches\n\nWhich way every condition can go, and which ways the tests take (`make coverage`; it fails below 95 %):\n"
    return [said, "| folder | branches | taken | |", "|---|---|---|---|", *rows, ""]


def _numbers(counts: Counter[str]) -> dict[str, Any]:
    return {
        "mutmut": version("mutmut"),
        "python": platform.python_version(),
        "total": counts.total(),
        "noticed": counts["killed"] + counts["timeout"] + counts["segfault"] + counts["suspicious"],
        "timeout": counts["timeout"],
        "survived": counts["survived"] + counts["no tests"],
    }


def _section(title: str, why: str, members: list[Survivor]) -> list[str]:
    rows = dict.fromkeys(one.row() for one in members)
    return [f"## {title}", "", why.strip(), "", "| file | function | becomes |", "|---|---|---|", *rows, ""]


def _code(text: str) -> str:
    """Code in a cell: spelt so that neither a table nor Markdown finds anything of its own in it."""
    return "<code>" + re.sub(r"[^A-Za-z0-9\s.,:;()='\"/+-]", lambda found: f"&#{ord(found[0])};", text) + "</code>"


def _file(module: str) -> str:
    path = module.replace(".", "/")
    return f"{path}/__init__.py" if path in ("machines", "language") else f"{path}.py"


@contextmanager
def _inside(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)
