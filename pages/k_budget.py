"""docs/benchmarks/k-budget.json and docs/images/k-budget.svg: how much `check-k` decides within a budget of seconds, on the catalogue, on
the project of `pdrm new` and on random tasks; and the lines about it in docs/sufficient-k.md.

    python -m pages.k_budget                    measures (some minutes) and writes all three
    python -m pages.k_budget --before SOURCE    also measures another source tree, which had no budget but a cap of states

A task counts by the share of its answers (k from 0 to 4, three questions) that are yes or no. The version before is given every
cap of states in turn, and counts by the best that was ready in time.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from typing import Any

from matplotlib.figure import Figure

from pages.bench_pictures import Picture
from pdrm.bench.bench_record import describe_machine
from pdrm.cli.setup_commands import make_project
from pdrm.domains.domain_files import save_domain
from pdrm.domains.paper_domains import names
from pdrm.drawing.plots import COLOURS, INK
from pdrm.language.writer import to_text
from pdrm.task import Task
from proofs.random_products import random_case

ROOT = Path(__file__).parent.parent
RECORD, PAGE, PICTURE = ROOT / "docs/benchmarks/k-budget.json", ROOT / "docs/sufficient-k.md", "k-budget.svg"
BUDGETS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
"""Seconds that a search is given."""
MARKS = (0.125, 0.25, 0.5, 1.0, 2.0)
"""Seconds of the processor by which answers are counted: on a shared computer those on the wall say little."""
RANDOM, SEED, SMALL = 200, 14, 50
CAPS = (1_000, 10_000, 100_000, 1_000_000)
LONGEST = 2
"""Seconds of the processor after which the version before is stopped."""
BEGIN, END = "<!-- k-budget -->", "<!-- end of k-budget -->"
GROUPS = {"catalogue": "the catalogue and the project of `pdrm new`", "random": "random tasks"}

NOW = """
import json, sys, time
from pdrm.analysis.sufficient_k.check_k import KSearch, compile_kernels
from pdrm.task import Task
compile_kernels()
for line in sys.stdin:
    name, domain, machine, budgets = json.loads(line)
    task = Task(domain, machine)
    for budget in budgets:
        wall, processor = time.monotonic(), time.process_time()
        search = KSearch(task, range(5), seconds=budget)
        search.run()
        report = search.report()
        spent = time.monotonic() - wall, time.process_time() - processor
        found = [answer.verdict != "undecided" for at in report.answers.values() for answer in at.values()]
        print(json.dumps([name, budget, *spent, sum(found) / len(found)]), flush=True)
        if report.complete:
            break
"""
BEFORE = """
import json, signal, sys, time
from pdrm.analysis.sufficient_k.check_k import check_k
from pdrm.task import Task
def stop(*_):
    raise TimeoutError
signal.signal(signal.SIGPROF, stop)
check_k("paint", ks=range(2)), check_k("letter", ks=range(2), most=1000)
for line in sys.stdin:
    name, domain, machine, caps, longest = json.loads(line)
    task = Task(domain, machine)
    for cap in caps:
        wall, processor = time.monotonic(), time.process_time()
        signal.setitimer(signal.ITIMER_PROF, longest)
        try:
            report = check_k(task, ks=range(5), most=cap)
        except TimeoutError:
            break
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
        spent = time.monotonic() - wall, time.process_time() - processor
        found = [answer.verdict != "undecided" for at in report.answers.values() for answer in at.values()]
        print(json.dumps([name, cap, *spent, sum(found) / len(found)]), flush=True)
        if all(found):
            break
"""


def list_tasks(folder: Path) -> list[tuple[str, str, str | None]]:
    """Name, domain and machine of every task; those that are not in the catalogue are written to a folder."""
    make_project(folder / "garden", "grid")
    found: list[tuple[str, str, str | None]] = [(name, name, None) for name in names()]
    found.append(("garden", str(folder / "garden/map.txt"), str(folder / "garden/task.pdrm")))
    random = Random(SEED)  # noqa: S311 - seeded on purpose
    for number in range(RANDOM):
        case = random_case(random, ("none",), SMALL)[0]
        domain, machine = folder / f"random-{number}.npz", folder / f"random-{number}.pdrm"
        save_domain(case.domain, domain)
        machine.write_text(to_text(case.machine), encoding="utf-8")
        Task(domain, machine)
        found.append((f"random-{number}", str(domain), str(machine)))
    return found


def run_driver(program: str, source: Path, lines: Sequence[list[Any]]) -> list[list[Any]]:
    """Run a program on the lines with the package in a source tree; returns what it prints, line by line."""
    environment = {**os.environ, "PYTHONPATH": str(source / "src"), "OMP_NUM_THREADS": "1"}
    text = "".join(json.dumps(line) + "\n" for line in lines)
    done = subprocess.run(  # noqa: S603 - programs of ours
        [sys.executable, "-c", program], input=text, env=environment, capture_output=True, text=True, check=True
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def measure(before: Path | None) -> dict[str, Any]:
    """Measure now, and the version before where its source is given."""
    with tempfile.TemporaryDirectory() as folder:
        tasks = list_tasks(Path(folder))
        with ThreadPoolExecutor() as pool:  # side by side, so that both meet the same computer
            lines = [[*task, CAPS, LONGEST] for task in tasks]
            then = None if before is None else pool.submit(run_driver, BEFORE, before, lines)
            now = run_driver(NOW, ROOT, [[*task, BUDGETS] for task in tasks])
        record = {"about": describe_machine(), "budgets": BUDGETS, "tasks": [task[0] for task in tasks], "now": now}
        if before is not None:
            commit = ["git", "-C", str(before), "rev-parse", "--short", "HEAD"]
            record["before_commit"] = subprocess.run(commit, capture_output=True, text=True, check=True).stdout.strip()  # noqa: S603
            record["before"] = [] if then is None else then.result()
    return record


def decided(record: dict[str, Any], which: str, group: str) -> list[float]:
    """The mean share of answers that are decided within each time of the processor, over the tasks of a group."""
    tasks = [name for name in record["tasks"] if name.startswith("random-") == (group == "random")]
    shares = []
    for mark in MARKS:
        best = dict.fromkeys(tasks, 0.0)
        for row in record[which]:
            if row[0] in best and row[3] <= mark:
                best[row[0]] = max(best[row[0]], row[4])
        shares.append(sum(best.values()) / len(best))
    return shares


def budget_plot(marks: Sequence[float], curves: dict[str, Sequence[float]]) -> Figure:
    """Shares by budgets; the version before is dashed."""
    figure = Figure(figsize=(6.4, 3.6), layout="constrained")
    axes = figure.subplots()
    for number, (name, shares) in enumerate(curves.items()):
        before = "before" in name
        style = "--" if before else "-"
        axes.plot(marks, shares, style, marker="o", markersize=4, color=COLOURS[number % 2], label=name)
    axes.set(xscale="log", ylim=(0, 1.03), xlabel="seconds of the processor", ylabel="answers decided")
    axes.set_xticks(list(marks), [f"{mark:g}" for mark in marks])
    axes.minorticks_off()
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    axes.grid(visible=True, color="#e4e2dc", linewidth=0.6)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    axes.tick_params(colors=INK)
    axes.legend(fontsize=8, frameon=False, loc="lower right")
    return figure


def picture(record: dict[str, Any]) -> Picture:
    """The picture of a record."""
    found = {f"{group}{'' if which == 'now' else ', before'}": decided(record, which, group) for which in ("now", "before") if which in record for group in GROUPS}  # fmt: skip
    return Picture(budget_plot, (MARKS, found))


def write_lines(record: dict[str, Any]) -> str:
    """What the page says of a record."""
    over = max((row[2] - row[1] for row in record["now"]), default=0.0)
    most = max(min(row[2], row[3]) / row[1] for row in record["now"])
    heads = "".join(f" {mark:g} s |" for mark in MARKS)
    rows = [f"| answers decided within (processor) |{heads}", "|---|" + "---|" * len(MARKS)]
    for which in ("now", "before"):
        for group, said in GROUPS.items() if which in record else ():
            shares = "".join(f" {share:.1%} |" for share in decided(record, which, group))
            version = "" if which == "now" else f", before ({record['before_commit']})"
            rows.append(f"| {said}{version} |{shares}")
    tasks = len(record["tasks"])
    said = (
        f"{tasks} tasks were searched with every budget until all was decided, {len(record['now']):,} searches: all of them answered. The longest took {most:.2f} times its budget, or {over:.1f} s more on the wall of a computer that had other work to do. "
        f"A task counts by the share of its 15 answers (k from 0 to 4, three questions) that are yes or no."
    )
    if "before" in record:
        said += " Before there was a budget, there was a cap of states: each of " + ", ".join(
            f"{cap:,}" for cap in CAPS
        )
        said += " was tried, and the best answer counts that was ready in so many seconds of the processor."
    lines = [
        BEGIN,
        said,
        "",
        *rows,
        "",
        f"![The same as curves](images/{PICTURE})",
        "",
        "*Made by `python -m pages.k_budget`.*",
        END,
    ]
    return "\n".join(lines)


def main() -> None:
    """Measure and write, or only write: `--again` makes the picture and the lines from the record."""
    if "--again" not in sys.argv:
        before = Path(sys.argv[sys.argv.index("--before") + 1]) if "--before" in sys.argv else None
        RECORD.write_text(json.dumps(measure(before)) + "\n", encoding="utf-8")
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    (ROOT / "docs/images" / PICTURE).write_bytes(picture(record).svg())
    page = PAGE.read_text(encoding="utf-8")
    first, last = page.index(BEGIN), page.index(END) + len(END)
    PAGE.write_text(page[:first] + write_lines(record) + page[last:], encoding="utf-8")


if __name__ == "__main__":
    main()
