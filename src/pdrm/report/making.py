"""How a report was made: versions, machine, time, and where its numbers are."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from html import escape
from importlib.metadata import PackageNotFoundError, version

from pdrm import __version__
from pdrm.experiments.curves import Curves
from pdrm.experiments.store import Store
from pdrm.experiments.study import Study
from pdrm.report.html import table
from pdrm.report.page import Section

PACKAGES = ("numpy", "numba", "gymnasium", "joblib", "matplotlib", "lark", "pygraphviz")


def making_section(lines: Sequence[tuple[Study, Curves]], store: Store, data: str, again: str) -> Section:
    """The section; `data` and `again` (how to make it again) are HTML."""
    timings = [store.timing(spec) for _, curves in lines for spec in curves.panel.specs(curves.line, curves.seeds)]
    seconds = sum(timing["seconds"] for timing in timings)
    when = sorted(timing["finished"] for timing in timings)
    rows = [
        ["pdrm", __version__],
        ["Python", f"{platform.python_version()} on {platform.system()} {platform.machine()}, {os.cpu_count()} cores"],
        ["packages", escape(", ".join(f"{name} {_version(name)}" for name in PACKAGES))],
        ["runs", f"{len(timings):,}, {seconds / 60:.1f} minutes of one core in all"],
        ["made", f"{when[0]} to {when[-1]}" if when else "–"],
        ["data", data],
        ["again", again],
    ]
    return Section("making", "How it was made", table(["", ""], rows))


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "(not installed)"
