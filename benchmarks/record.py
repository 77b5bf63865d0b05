"""Recorded figures with the command, the date, the computer and the versions, as a JSON file."""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

from benchmarks import Figures
from pdrm import __version__
from pdrm.files import write_atomically

PACKAGES = {
    "tabular": ("numpy", "numba", "gymnasium", "pyrewardmachines"),
    "analysis": ("numpy", "numba", "stormpy"),
    "deep-cpu": ("numpy", "jax", "optax", "gymnasium", "torch", "stable-baselines3"),
    "deep-gpu": ("numpy", "jax", "optax"),
}
"""The packages whose versions the figures of a record depend on."""
ASK_GPU = ("nvidia-smi", "--query-gpu=name", "--format=csv,noheader")


def write_record(name: str, command: str, figures: Figures, folder: Path) -> Path:
    """Write the figures of a benchmark into a folder and return the file."""
    record = {
        "name": name,
        "command": command,
        "date": datetime.now(UTC).date().isoformat(),
        "machine": describe_machine(),
        "versions": list_versions(name),
        "figures": figures,
    }
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.json"
    write_atomically(path, (json.dumps(record, indent=1, ensure_ascii=False) + "\n").encode())
    return path


def describe_machine() -> dict[str, str | int | float]:
    """Processor, cores, memory, GPU (if present), operating system and load average."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    about: dict[str, str | int | float] = {
        "cpu": _processor(),
        "cores": os.cpu_count() or 1,
        "memory_gib": round(memory / 2**30),
        "system": f"{platform.system()} {platform.release()}",
        "load": round(os.getloadavg()[0], 1),
    }
    if shutil.which(ASK_GPU[0]):
        asked = subprocess.run(ASK_GPU, capture_output=True, text=True, check=False)
        if asked.returncode == 0:
            about["gpu"] = ", ".join(asked.stdout.split("\n")).strip(", ")
    return about


def _processor() -> str:
    listed = Path("/proc/cpuinfo")
    lines = listed.read_text(encoding="utf-8").splitlines() if listed.exists() else []
    models = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(models, "") or platform.processor() or platform.machine()


def list_versions(name: str) -> dict[str, str]:
    """The versions of Python, pdrm, and the packages that a record's figures depend on.

    >>> list(list_versions("analysis"))[:4]
    ['python', 'pdrm', 'numpy', 'numba']
    """
    found = {"python": platform.python_version(), "pdrm": __version__}
    for package in PACKAGES[name]:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:  # on the path without being installed
            continue
    return found
