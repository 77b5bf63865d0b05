"""The command `python -m benchmarks`: measure, print and record the figures."""

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
    """Run a benchmark and return the record's name and its figures.

    Raises:
        MissingPackage: The library to compare with is not installed.
    """

    def on_progress(what: str) -> None:
        print(f"{name}: {what}", file=sys.stderr)

    figures: Figures = {}
    record = name
    if name == "tabular":
        from benchmarks.tabular import bench_tabular

        results = bench_tabular(seconds, on_progress)
    elif name == "analysis":
        from benchmarks.analysis import bench_analysis

        results = bench_analysis(seconds, on_progress)
    else:
        from benchmarks.deep import bench_deep, uses_gpu

        record = "deep-gpu" if uses_gpu() else "deep-cpu"
        results = bench_deep(seconds, on_progress)
    for result in results:
        for figure, value in result.items():
            figures[figure] = int(value) if float(value).is_integer() else float(f"{value:.6g}")
    return record, figures


def main() -> int:
    """Run the chosen benchmarks, or all that this computer can run."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"{', '.join(NAMES)} (default: all)"
    )
    parser.add_argument("--seconds", type=float, default=20.0, help="approximate time of each")
    parser.add_argument("--json", action="store_true", help="print one flat object")
    parser.add_argument("--record", type=Path, help="write the figures into this folder")
    options = parser.parse_args()
    if unknown := set(options.names) - {*NAMES}:
        parser.error(f"unknown benchmark {min(unknown)}: use {', '.join(NAMES)}")
    if not 0 < options.seconds <= 3_600:
        parser.error("--seconds must be between 0 and 3600")
    all_figures: Figures = {}
    missing = 0
    for name in options.names or NAMES:
        try:
            record, figures = measure(name, options.seconds)
        except MissingPackage as error:
            print(f"skipped {name}: {error}", file=sys.stderr)
            missing += 1
            continue
        all_figures |= figures
        if options.record is not None:
            command = f"python -m benchmarks {name} --seconds {options.seconds:g}"
            path = write_record(record, command, figures, options.record)
            print(f"wrote {path}", file=sys.stderr)
        if not options.json:
            for figure, value in figures.items():
                print(f"{figure:<45}{value:>20,}")
    if options.json:
        print(json.dumps(all_figures, indent=1))
    return 2 if not all_figures or (options.names and missing) else 0


if __name__ == "__main__":
    sys.exit(main())
