"""The command: `python -m benchmarks [tabular | analysis | deep] [--seconds N] [--json] [--record FOLDER]`."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from benchmarks import Figures
from benchmarks.record import write_record
from pdrm.errors import MissingPackage

NAMES = ("tabular", "analysis", "deep")


def measure(name: str, seconds: float) -> tuple[str, Figures]:
    """The record's name and all figures of one benchmark; MissingPackage without its peer."""

    def on_progress(what: str) -> None:
        print(f"{name}: {what}", file=sys.stderr)

    figures: Figures = {}
    record = name
    if name == "tabular":
        from benchmarks.tabular import bench_tabular

        found = bench_tabular(seconds, on_progress)
    elif name == "analysis":
        from benchmarks.analysis import bench_analysis

        found = bench_analysis(seconds, on_progress)
    else:
        from benchmarks.deep import bench_deep, uses_gpu

        record = "deep-gpu" if uses_gpu() else "deep-cpu"
        found = bench_deep(seconds, on_progress)
    for some in found:
        for figure, value in some.items():
            figures[figure] = int(value) if float(value).is_integer() else float(f"{value:.6g}")
    return record, figures


def main() -> int:
    """Run the chosen benchmarks, or all that this computer can run."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(NAMES)}; all")
    parser.add_argument("--seconds", type=float, default=20.0, help="for each, about")
    parser.add_argument("--json", action="store_true", help="print one flat object")
    parser.add_argument("--record", type=Path, help="write the figures into this folder")
    given = parser.parse_args()
    if unknown := set(given.names) - {*NAMES}:
        parser.error(f"unknown benchmark {min(unknown)}: use {', '.join(NAMES)}")
    if not 0 < given.seconds <= 3_600:
        parser.error("--seconds must lie between 0 and 3600")
    every: Figures = {}
    missing = 0
    for name in given.names or NAMES:
        try:
            record, figures = measure(name, given.seconds)
        except MissingPackage as error:
            print(f"{name} is left out: {error}", file=sys.stderr)
            missing += 1
            continue
        every |= figures
        if given.record is not None:
            command = f"python -m benchmarks {name} --seconds {given.seconds:g}"
            print(f"wrote {write_record(record, command, figures, given.record)}", file=sys.stderr)
        if not given.json:
            for figure, value in figures.items():
                print(f"{figure:<45}{value:>20,}")
    if given.json:
        print(json.dumps(every, indent=1))
    return 2 if not every or (given.names and missing) else 0


if __name__ == "__main__":
    sys.exit(main())
