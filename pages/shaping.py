"""docs/shaping.md: what the study `examples/shaping.toml` came to, within the text in pages/texts/.

`python -m pages.shaping FOLDER` keeps what the page tells of a finished study: its curves as a picture, and, of every run, the
episodes after which a test first came close to the highest return.
"""

from __future__ import annotations

import csv
import json
import shutil
import statistics
import sys
from pathlib import Path

from pages.benchmarks import RECORDS, TEXTS, markdown
from pdrm.bench.bench_display import Grid

KEPT = RECORDS / "shaping.json"
PICTURE = RECORDS.parent / "images" / "shaping.svg"
CLOSE = 0.9
"""Of the way from the lowest return there is to the highest: what the episodes are counted to."""
BEFORE = "not shaped"
Found = dict[str, dict[str, dict[str, int | None]]]
"""domain -> line -> seed -> episodes, or None: never."""


def keep(folder: Path) -> None:
    """Write the record and the picture of a finished study."""
    found: Found = {}
    with (folder / "curves.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            seeds = found.setdefault(row["panel"], {}).setdefault(row["line"], {})
            seeds.setdefault(row["seed"], None)
            reached = float(row["normalised"]) >= 2 * CLOSE - 1
            if reached and seeds[row["seed"]] is None:
                seeds[row["seed"]] = int(row["at"])
    KEPT.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    shutil.copyfile(folder / "curves.svg", PICTURE)


def shaping_page() -> str:
    """The page."""
    found: Found = json.loads(KEPT.read_text(encoding="utf-8"))
    lines = [
        (domain, line, _median(seeds), _each(seeds), _ratio(lines[BEFORE], seeds))
        for domain, lines in found.items()
        for line, seeds in lines.items()
    ]
    table = markdown(
        Grid(
            ("domain", "potential", "episodes (median)", "of each seed", "not shaped / shaped"),
            lines,
        )
    )
    best = max(
        (_factor(lines[BEFORE], seeds), domain, line)
        for domain, lines in found.items() for line, seeds in lines.items() if line != BEFORE
    )  # fmt: skip
    places = {
        "table": table,
        "seeds": len(next(iter(next(iter(found.values())).values()))),
        "factor": f"{best[0]:.1f}",
        "domain": best[1],
        "line": best[2],
        "close": f"{CLOSE:.0%}".replace("%", " %"),
    }
    return (TEXTS / "shaping.md").read_text(encoding="utf-8").format_map(places)


def _typical(seeds: dict[str, int | None]) -> float:
    """The median, where a run that never got there took for ever."""
    return statistics.median(float("inf") if count is None else count for count in seeds.values())


def _median(seeds: dict[str, int | None]) -> str:
    typical = _typical(seeds)
    return "never" if typical == float("inf") else f"{typical:,.0f}"


def _each(seeds: dict[str, int | None]) -> str:
    return ", ".join("never" if count is None else f"{count:,}" for count in seeds.values())


def _factor(before: dict[str, int | None], seeds: dict[str, int | None]) -> float:
    own, other = _typical(before), _typical(seeds)
    return 0.0 if other == float("inf") else own / other


def _ratio(before: dict[str, int | None], seeds: dict[str, int | None]) -> str:
    return "" if seeds is before else f"{_factor(before, seeds):.2f}"


if __name__ == "__main__":
    keep(Path(sys.argv[1]))
