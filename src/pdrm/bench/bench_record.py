"""Benches run and recorded: the rows with the command, the date, the machine and the versions, as one small JSON file."""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib import import_module, metadata
from pathlib import Path

from pdrm import __version__
from pdrm.bench.bench_rows import Figures, OnProgress, Row, flatten
from pdrm.errors import BadSetting
from pdrm.files import write_atomically

BENCHES = ("tabular", "analysis", "deep")
LONGEST = 3_600
"""Seconds that a bench may be asked to take."""
PACKAGES = {
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
    rows: tuple[Row, ...]

    @property
    def figures(self) -> Figures:
        """All figures as one flat object."""
        return flatten(self.rows)


def run_bench(bench: str, seconds: float, on_progress: OnProgress) -> Record:
    """Run one of the `BENCHES`; `seconds` is about how long it measures beside its peer."""
    if not 0 < seconds <= LONGEST:
        raise BadSetting(f"a bench cannot measure for {seconds:g} seconds", fix="use --seconds 20")
    name = bench
    if bench == "deep":
        import pdrm.product.jax_env  # noqa: F401 - fails when jax is not installed
        from pdrm.bench.deep_bench import uses_gpu

        name = "deep-gpu" if uses_gpu() else "deep-cpu"
    module = import_module(
        f"pdrm.bench.{bench}_bench"
    )  # says what to install where a peer is missing
    rows: Iterator[Row] = getattr(module, f"bench_{bench}")(seconds, on_progress)
    return Record(
        command=f"pdrm bench {bench} --seconds {seconds:g}",
        rows=tuple(row.rounded() for row in rows),
        name=name,
        date=datetime.now(UTC).date().isoformat(),
        machine=describe_machine(),
        versions=list_versions(name),
    )


def describe_machine() -> dict[str, str | int | float]:
    """Processor, cores, memory, GPU if there is one, operating system and load average."""
    about: dict[str, str | int | float] = {"cpu": _processor(), "cores": os.cpu_count() or 1}
    if hasattr(os, "sysconf"):
        about["memory_gib"] = round(
            os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
        )
    if shutil.which(ASK_GPU[0]):
        asked = subprocess.run(ASK_GPU, capture_output=True, text=True, check=False)
        names = asked.stdout.strip().splitlines() if asked.returncode == 0 else []
        about |= {"gpu": ", ".join(names)} if names else {}
    try:
        about["system"] = platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, KeyError):
        about["system"] = f"{platform.system()} {platform.release()}"
    return about | ({"load": round(os.getloadavg()[0], 1)} if hasattr(os, "getloadavg") else {})


def _processor() -> str:
    listed = Path("/proc/cpuinfo")
    lines = listed.read_text(encoding="utf-8").splitlines() if listed.exists() else []
    models = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(models, "") or platform.processor() or platform.machine()


def list_versions(name: str) -> dict[str, str]:
    """The versions of Python, of pdrm, and of the packages that a record's figures depend on.

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


def write_record(record: Record, folder: Path) -> Path:
    """Write it into a folder, under its name, with a line for each row; returns the file."""
    head = {name: value for name, value in asdict(record).items() if name != "rows"}
    rows = [json.dumps(asdict(row), ensure_ascii=False) for row in record.rows]
    text = json.dumps(head, indent=1, ensure_ascii=False).removesuffix("\n}") + ',\n "rows": [\n  '
    path = folder / f"{record.name}.json"
    write_atomically(path, (text + ",\n  ".join(rows) + "\n ]\n}\n").encode())
    return path


def read_record(path: Path) -> Record:
    """Read what `write_record` wrote."""
    fields = json.loads(path.read_text(encoding="utf-8"))
    return Record(**fields | {"rows": tuple(Row(**row) for row in fields["rows"])})
