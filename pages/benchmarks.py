"""docs/benchmarks.md: the records in docs/benchmarks/ as tables and pictures, within the text in pages/texts/."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pdrm.bench.bench_display import TABLES, Grid
from pdrm.bench.bench_record import Record, read_record
from pdrm.bench.bench_rows import points

RECORDS = Path(__file__).parent.parent / "docs" / "benchmarks"
TEXTS = Path(__file__).parent / "texts"
GPU = "deep-gpu"
SPELT = {
    "python": "Python",
    "numpy": "NumPy",
    "numba": "Numba",
    "gymnasium": "Gymnasium",
    "jax": "JAX",
    "torch": "PyTorch",
    "stable-baselines3": "Stable-Baselines3",
    "pyrewardmachines": "PyCRM",
    "stormpy": "Storm",
}


def records(folder: Path = RECORDS) -> dict[str, Record]:
    """The records that there are, by name; all but that of a GPU are needed."""
    names = [
        "tabular",
        "analysis",
        "deep-cpu",
        *([GPU] if (folder / f"{GPU}.json").exists() else []),
    ]
    return {name: read_record(folder / f"{name}.json") for name in names}


def benchmarks_page() -> str:
    """The page."""
    found = records()
    gpu = (
        _filled("benchmarks-gpu.md", found, "deep-gpu")
        if GPU in found
        else _text("benchmarks-no-gpu.md")
    )
    return _filled("benchmarks.md", found, "deep-cpu", gpu=gpu.strip())


def _text(name: str) -> str:
    return (TEXTS / name).read_text(encoding="utf-8")


def _filled(name: str, found: dict[str, Record], deep: str, **more: str) -> str:
    """A text with its places filled: `{tabular[q_steps_ratio]:.0f}`, `{tables[heights]}`, `{about[tabular]}`."""
    shown = {"tabular": found["tabular"], "analysis": found["analysis"], "deep": found[deep]}
    rows = [row for record in shown.values() for row in record.rows]
    places: dict[str, Any] = {bench: record.figures for bench, record in shown.items()}
    places["tables"] = {table: markdown(TABLES[table].fill(rows)) for table in TABLES}
    places["about"] = {name: about_record(record) for name, record in found.items()}
    places["derived"] = derive(shown["tabular"], shown["deep"])
    return _text(name).format_map(places | more)


def markdown(grid: Grid) -> str:
    """A table of a page, numbers to the right.

    >>> print(markdown(Grid(("what", "how much"), [("apples", "3")])))
    | what | how much |
    |---|---:|
    | apples | 3 |
    """
    rule = "|---|" + "---:|" * (len(grid.heads) - 1)
    return "\n".join(
        (
            "| " + " | ".join(grid.heads) + " |",
            rule,
            *("| " + " | ".join(line) + " |" for line in grid.lines),
        )
    )


def about_record(record: Record) -> str:
    """The command, the day, the machine and the versions in a sentence."""
    machine = record.machine
    parts = [str(machine["cpu"]), f"{machine['cores']} cores"]
    parts += [f"{machine['memory_gib']} GiB"] if "memory_gib" in machine else []
    parts += [str(machine["gpu"])] if "gpu" in machine else []
    used = ", ".join(
        f"{SPELT.get(name, name)} {version}" for name, version in record.versions.items()
    )
    busy = f"; load average {machine['load']}" if "load" in machine else ""
    where = f"{', '.join(parts)}, {machine['system']}; {used}{busy}"
    now = (
        ""
        if record.command.startswith("pdrm ")
        else " (in version 0.1; now `pdrm bench deep --seconds 20`)"
    )
    return f"`{record.command}`{now} on {record.date}: {where} ([record](benchmarks/{record.name}.json))."


def derive(tabular: Record, deep: Record) -> dict[str, float]:
    """Numbers of the text that are other figures in other units."""
    figures = deep.figures
    _, epoch_ns = points(deep.rows, "envs", "many_ppo_epoch_ns")[-1]
    operations = 6 * figures["ppo_weights"]  # per weight, two forwards and four backwards
    return {
        "update_ns": 1e9 / tabular.figures["cprm_updates_per_s"],
        "random_ns": 1e9 / figures["random_steps_per_s"],
        "random_g": figures["random_steps_per_s"] / 1e9,
        "ppo_m": figures["many_ppo_steps_per_s"] / 1e6,
        "epoch_kflop": operations / 1e3,
        "epoch_gflops": operations / epoch_ns,
        "epoch_tflops": operations / epoch_ns / 1e3,
    }
