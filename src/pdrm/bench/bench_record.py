"""What a bench found, kept: its figures with the command, the day, the machine and the versions, as one small JSON file."""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

from pdrm import __version__
from pdrm.files import write_atomically

Figures = dict[str, float]
"""Named numbers, as `pdrm bench --json` prints them."""
Told = Callable[[str, float], None]
"""Called with what is measured next, and the share of the bench that is done."""

USED = {
    "tabular": ("numpy", "numba", "gymnasium", "pyrewardmachines"),
    "analysis": ("numpy", "numba", "stormpy"),
    "deep-cpu": ("numpy", "jax", "optax", "gymnasium", "torch", "stable-baselines3"),
    "deep-gpu": ("numpy", "jax", "optax"),
}
"""Record -> the packages whose versions its figures depend on."""
ASK_GPU = ("nvidia-smi", "--query-gpu=name", "--format=csv,noheader")


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One run of one bench."""

    name: str
    """tabular, analysis, deep-cpu or deep-gpu."""
    command: str
    date: str
    machine: dict[str, str | int | float]
    versions: dict[str, str]
    figures: Figures


def recorded(name: str, command: str, figures: Figures) -> Record:
    """The figures with everything about here and now that they depend on.

    >>> record = recorded("tabular", "pdrm bench tabular", {"one": 1 / 3})
    >>> record.figures, "cores" in record.machine, "numba" in record.versions
    ({'one': 0.333333}, True, True)
    """
    today = datetime.now(UTC).date().isoformat()
    return Record(
        name=name,
        command=command,
        date=today,
        machine=machine(),
        versions=versions(name),
        figures=rounded(figures),
    )


def rounded(figures: Figures) -> Figures:
    """Six digits of what was measured, which is more than any clock is good for; what was counted as it is.

    >>> rounded({"states": 2204977.0, "ratio": 2 / 3})
    {'states': 2204977, 'ratio': 0.666667}
    """
    return {name: int(value) if float(value).is_integer() else float(f"{value:.6g}") for name, value in figures.items()}


def machine() -> dict[str, str | int | float]:
    """The computer in words: processor, cores, memory, GPU if any, the system, and how many programs want a core now."""
    about: dict[str, str | int | float] = {"cpu": _processor(), "cores": os.cpu_count() or 1}
    if hasattr(os, "sysconf"):
        about["memory_gib"] = round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30)
    if shutil.which(ASK_GPU[0]):
        asked = subprocess.run(ASK_GPU, capture_output=True, text=True, check=False)  # noqa: S603 - our own question
        names = asked.stdout.strip().splitlines() if asked.returncode == 0 else []
        about |= {"gpu": ", ".join(names)} if names else {}
    about["system"] = _system()
    return about | ({"load": round(os.getloadavg()[0], 1)} if hasattr(os, "getloadavg") else {})


def _processor() -> str:
    listed = Path("/proc/cpuinfo")
    lines = listed.read_text(encoding="utf-8").splitlines() if listed.exists() else []
    models = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(models, "") or platform.processor() or platform.machine()


def _system() -> str:
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, KeyError):
        return f"{platform.system()} {platform.release()}"


def versions(name: str) -> dict[str, str]:
    """Python's, ours, and those of the packages that a record's figures depend on.

    >>> list(versions("analysis"))[:4]
    ['python', 'pdrm', 'numpy', 'numba']
    """
    found = {"python": platform.python_version(), "pdrm": __version__}
    for package in USED[name]:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:  # carried along without being installed
            continue
    return found


def write_record(record: Record, folder: Path) -> Path:
    """Write it into a folder, under its name; returns the file."""
    path = folder / f"{record.name}.json"
    write_atomically(path, (json.dumps(asdict(record), indent=1, ensure_ascii=False) + "\n").encode())
    return path


def read_record(path: Path) -> Record:
    """What was written."""
    return Record(**json.loads(path.read_text(encoding="utf-8")))
