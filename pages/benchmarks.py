"""docs/benchmarks.md: the records in docs/benchmarks/ as tables and pictures, within the text in pages/texts/."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pdrm.bench.bench_record import Record, read_record
from pdrm.bench.bench_tables import TABLES, Figures, Grid, numbers

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
    names = ["tabular", "analysis", "deep-cpu", *([GPU] if (folder / f"{GPU}.json").exists() else [])]
    return {name: read_record(folder / f"{name}.json") for name in names}


def benchmarks_page() -> str:
    """The page."""
    found = records()
    gpu = _filled("benchmarks-gpu.md", found, "deep-gpu") if GPU in found else _text("benchmarks-no-gpu.md")
    return _filled("benchmarks.md", found, "deep-cpu", gpu=gpu.strip())


def _text(name: str) -> str:
    return (TEXTS / name).read_text(encoding="utf-8")


def _filled(name: str, found: dict[str, Record], deep: str, **more: str) -> str:
    """A text with its places filled: `{tabular[q_steps_ratio]:.0f}`, `{tables[heights]}`, `{about[tabular]}`."""
    figures = {"tabular": found["tabular"].figures, "analysis": found["analysis"].figures, "deep": found[deep].figures}
    tables = {make.__name__: markdown(make(figures[bench])) for bench, makes in TABLES.items() for make in makes}
    about = {name: about_record(record) for name, record in found.items()}
    places: dict[str, Any] = {**figures, "tables": tables, "about": about, "derived": derived(figures), **more}
    return _text(name).format_map(places)


def markdown(grid: Grid) -> str:
    """A table of a page, numbers to the right.

    >>> print(markdown(Grid(("what", "how much"), [("apples", "3")])))
    | what | how much |
    |---|---:|
    | apples | 3 |
    """
    rule = "|---|" + "---:|" * (len(grid.heads) - 1)
    return "\n".join(
        ("| " + " | ".join(grid.heads) + " |", rule, *("| " + " | ".join(row) + " |" for row in grid.rows))
    )


def about_record(record: Record) -> str:
    """The command, the day, the machine and the versions in a sentence."""
    machine = record.machine
    parts = [str(machine["cpu"]), f"{machine['cores']} cores"]
    parts += [f"{machine['memory_gib']} GiB"] if "memory_gib" in machine else []
    parts += [str(machine["gpu"])] if "gpu" in machine else []
    used = ", ".join(f"{SPELT.get(name, name)} {version}" for name, version in record.versions.items())
    busy = f"; {machine['load']} programs wanted a core, this one among them" if "load" in machine else ""
    where = f"{', '.join(parts)}, {machine['system']}; {used}{busy}"
    return f"`{record.command}` on {record.date}: {where} ([record](benchmarks/{record.name}.json))."


def derived(figures: dict[str, Figures]) -> dict[str, float]:
    """Numbers of the text that are other figures in other units."""
    deep = figures["deep"]
    most = numbers(deep, "many_ppo_epoch_ns_", "_envs")[-1]
    operations = 6 * deep["ppo_weights"]  # two a weight forwards, four backwards
    rate = operations / deep[f"many_ppo_epoch_ns_{most}_envs"]
    return {
        "update_ns": 1e9 / figures["tabular"]["cprm_updates_per_s"],
        "random_ns": 1e9 / deep["random_steps_per_s"],
        "random_g": deep["random_steps_per_s"] / 1e9,
        "ppo_m": deep["many_ppo_steps_per_s"] / 1e6,
        "epoch_kflop": operations / 1e3,
        "epoch_gflops": rate,
        "epoch_tflops": rate / 1e3,
    }
