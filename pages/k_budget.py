"""docs/benchmarks/k-budget.json and docs/images/k-budget.svg: how much `check-k` decides within a budget of seconds, on the catalogue, on
the projects of `pdrm new` and on random tasks; and the lines about it in docs/sufficient-k.md.

    python -m pages.k_budget                    measures (ten minutes of one core, half an hour of a busy one) and writes all three
    python -m pages.k_budget --before SOURCE    also measures another source tree, which had no budget but a cap of states
    python -m pages.k_budget --again            makes picture and lines from the record

Seconds are the processor's, also those of a budget: a computer that has other work to do gives a search less of those on the wall.
What was measured is kept in .measured/k-budget/ task by task, and the same command goes on where it was stopped; remove the folder to begin anew.
A task counts by the share of its answers (k from 0 to 4, three questions) that are yes or no. The version before is given every
cap of states in turn, and counts by the best that was ready in time.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from random import Random
from shutil import rmtree
from typing import Any

from matplotlib.figure import Figure

from pages.bench_pictures import Picture
from pdrm.bench.bench_record import describe_machine
from pdrm.cli.setup_commands import make_project
from pdrm.domains.domain_files import save_domain
from pdrm.domains.finite_domain import FiniteDomain
from pdrm.domains.outcomes import Outcome, Start, from_outcomes
from pdrm.domains.paper_domains import names
from pdrm.drawing.plots import COLOURS, INK
from pdrm.language.writer import to_text
from pdrm.progress import show_progress
from pdrm.task import Task
from proofs.random_products import random_case

ROOT = Path(__file__).parent.parent
RECORD, PAGE, PICTURE = (
    ROOT / "docs/benchmarks/k-budget.json",
    ROOT / "docs/sufficient-k.md",
    "k-budget.svg",
)
WORK = ROOT / ".measured/k-budget"
"""Tasks as files, and what was measured so far: one line for each task and version."""
BUDGETS = (0.25, 0.5, 1.0, 2.0)
"""Seconds that a search is given, one after another until all is decided; and by which the answers of the version before are counted."""
RANDOM, SEED, SMALL = 200, 14, 50
COMPARED, ONE = 40, 1.0
"""The first so many of the random tasks are searched with every budget and by the version before, the others with this budget alone."""
GRACE = 0.05
"""Seconds by which an answer may be late and still count, of either version."""
CAPS = (1_000, 10_000, 100_000, 1_000_000)
BEGIN, END = "<!-- k-budget -->", "<!-- end of k-budget -->"
GROUPS = {"catalogue": "the catalogue and the projects of `pdrm new`", "random": "random tasks"}

NOW = """
import importlib, json, sys, time, warnings
from pdrm.analysis import time_limit
from pdrm.errors import UnboundedStep
from pdrm.task import Task
module = importlib.import_module("pdrm.analysis.sufficient_k.check_k")
time_limit.monotonic = module.monotonic = time.process_time
module.compile_kernels(), module.compile_solver()
warnings.simplefilter("ignore")  # of tasks that pay for the wrong thing, as random ones do
for line in sys.stdin:
    domain, machine, budgets, _ = json.loads(line)
    task, rows = Task(domain, machine), []
    for budget in budgets:
        began = time.process_time()
        try:
            report = module.check_k(task, k=range(5), seconds=budget, progress=False)
        except UnboundedStep:
            rows = None  # refused, with the bound of the stack that would do
            break
        spent = time.process_time() - began
        found = [answer.verdict != "undecided" for at in report.answers.values() for answer in at.values()]
        rows.append([budget, spent, sum(found) / len(found)])
        if report.complete:
            break
    print(json.dumps(rows), flush=True)
"""
BEFORE = """
import json, signal, sys, time
from pdrm.analysis.check_k import check_k
def stop(*_):
    raise TimeoutError
signal.signal(signal.SIGPROF, stop)
check_k("paint", "paint", ks=range(2)), check_k("letter", "letter", ks=range(2), most=1000)
for line in sys.stdin:
    domain, machine, caps, longest = json.loads(line)
    rows = []
    for cap in caps:
        began = time.process_time()
        signal.setitimer(signal.ITIMER_PROF, longest)
        try:
            report = check_k(domain, machine, ks=range(5), most=cap)
        except TimeoutError:
            break
        except Exception:
            rows = None  # a machine that it cannot read
            break
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
        spent = time.process_time() - began
        found = [answer.verdict != "undecided" for at in report.answers.values() for answer in at.values()]
        rows.append([cap, spent, sum(found) / len(found)])
        if all(found):
            break
    print(json.dumps(rows), flush=True)
"""


def model_hall(doors: int = 3) -> FiniteDomain:
    """The environment of `pdrm new --gym` as a finite domain: what is seen next is drawn when it is seen."""
    colours = ("red", "blue")

    def outcomes(time: int, action: int) -> list[Outcome]:
        if time < doors:
            return [Outcome(time + 1, 0.5, frozenset({"seen", colour})) for colour in colours]
        return [Outcome(min(time + 1, 2 * doors), 1.0, frozenset({"pressed", colours[action]}))]

    events = ["seen", "pressed", *colours]
    states = {time: f"time {time}" for time in range(2 * doors + 1)}
    return from_outcomes(
        "hall", states, list(colours), outcomes, [Start(0)], events=events, step_limit=2 * doors
    )


def list_tasks(folder: Path) -> list[tuple[str, str, str]]:
    """Name, domain and machine of every task; what is not in the catalogue is written to the folder."""
    for name, kind in (("garden", "grid"), ("hall", "gym")):
        rmtree(folder / name, ignore_errors=True)
        make_project(folder / name, kind)
    tasks: list[tuple[str, str | FiniteDomain, Task]] = [
        (name, name, Task(name)) for name in names()
    ]
    garden, hall = folder / "garden", model_hall()
    tasks.append(
        ("garden", str(garden / "map.txt"), Task(garden / "map.txt", garden / "task.pdrm"))
    )
    tasks.append(("hall", hall, Task(hall, folder / "hall/task.pdrm")))
    random = Random(SEED)
    for number in range(RANDOM):
        case = random_case(random, ("none",), SMALL)[0]
        tasks.append((f"random-{number}", case.domain, Task(case.domain, case.machine)))
    found = []
    for name, _, task in tasks:
        machine, arrays = folder / f"{name}.pdrm", folder / f"{name}.npz"
        machine.write_text(to_text(task.pushdown), encoding="utf-8")
        save_domain(
            task.finite, arrays
        )  # also what has a name: it may have meant fewer starts in another version
        found.append((name, str(arrays), str(machine)))
    return found


@contextmanager
def start_driver(program: str, source: Path) -> Iterator[subprocess.Popen[str]]:
    """A program that answers line by line, with the package in a source tree."""
    environment = {**os.environ, "PYTHONPATH": str(source / "src"), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", program]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, text=True
    ) as driver:
        yield driver
        if driver.stdin is not None:
            driver.stdin.close()


def is_compared(name: str) -> bool:
    """Whether a task is searched with every budget, and by the version before."""
    return not name.startswith("random-") or int(name.removeprefix("random-")) < COMPARED


def ask(driver: subprocess.Popen[str], line: list[Any]) -> list[list[float]] | None:
    """What a driver says about one task."""
    if driver.stdin is None or driver.stdout is None:
        raise RuntimeError("the driver has no pipes")
    driver.stdin.write(json.dumps(line) + "\n")
    driver.stdin.flush()
    answer = driver.stdout.readline()
    if not answer:
        raise RuntimeError(f"the driver ended at {line}; its error is above")
    rows: list[list[float]] | None = json.loads(answer)
    return rows


def measure(before: Path | None) -> dict[str, Any]:
    """Measure now, and the version before where its source is given: a task by both in turn, so that they meet the same computer."""
    WORK.mkdir(parents=True, exist_ok=True)
    tasks = list_tasks(WORK)
    versions = {"now": (NOW, ROOT, BUDGETS)} | (
        {} if before is None else {"before": (BEFORE, before, CAPS)}
    )
    record: dict[str, Any] = {
        "about": describe_machine(),
        "budgets": BUDGETS,
        "tasks": [task[0] for task in tasks],
    }
    done = WORK / "rows.jsonl"
    known = (
        [json.loads(line) for line in done.read_text(encoding="utf-8").splitlines()]
        if done.exists()
        else []
    )
    rows = {(version, name): found for version, name, found in known}
    with ExitStack() as stack:
        drivers = {
            name: stack.enter_context(start_driver(*of[:2])) for name, of in versions.items()
        }
        file = stack.enter_context(done.open("a", encoding="utf-8"))
        shown = stack.enter_context(show_progress(len(tasks), "tasks"))
        for number, (name, domain, machine) in enumerate(tasks):
            compared = is_compared(name)
            for version in versions if compared else ("now",):
                if (version, name) not in rows:
                    line = [
                        domain,
                        machine,
                        versions[version][2] if compared else [ONE],
                        BUDGETS[-1],
                    ]
                    rows[version, name] = ask(drivers[version], line)
                    file.write(json.dumps([version, name, rows[version, name]]) + "\n")
                    file.flush()
            shown(number + 1, name)
    for version in versions:
        found = {name: rows[version, name] for name in record["tasks"] if (version, name) in rows}
        record[version] = [[name, *row] for name in found for row in found[name] or ()]
        record[f"{version}_tasks"] = [name for name in found if found[name] is not None]
    if before is not None:
        commit = ["git", "-C", str(before), "rev-parse", "--short", "HEAD"]
        record["before_commit"] = subprocess.run(
            commit, capture_output=True, text=True, check=True
        ).stdout.strip()
    return record


def decided(record: dict[str, Any], which: str, group: str) -> list[float]:
    """The mean share of answers that were ready within as many seconds as each budget has, over the tasks of a group that are compared
    and that both versions can read."""
    read = set(record.get("before_tasks", record["tasks"]))
    tasks = [name for name in record["tasks"] if is_compared(name) and name in read]
    tasks = [name for name in tasks if name.startswith("random-") == (group == "random")]
    shares = []
    for budget in record["budgets"]:
        best = dict.fromkeys(tasks, 0.0)
        for name, _, spent, share in record[which]:
            if name in best and spent <= budget + GRACE:
                best[name] = max(best[name], share)
        shares.append(sum(best.values()) / len(best))
    return shares


def budget_plot(marks: Sequence[float], curves: dict[str, Sequence[float]]) -> Figure:
    """Shares by budgets; the version before is dashed."""
    figure = Figure(figsize=(6.4, 3.6), layout="constrained")
    axes = figure.subplots()
    for number, (name, shares) in enumerate(curves.items()):
        before = "before" in name
        style = "--" if before else "-"
        axes.plot(
            marks, shares, style, marker="o", markersize=4, color=COLOURS[number % 2], label=name
        )
    axes.set(xscale="log", ylim=(0, 1.03), xlabel="seconds", ylabel="answers decided")
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
    versions = [which for which in ("now", "before") if which in record]
    found = {
        f"{group}{'' if which == 'now' else ', before'}": decided(record, which, group)
        for which in versions
        for group in GROUPS
    }
    return Picture(budget_plot, (record["budgets"], found))


def write_lines(record: dict[str, Any]) -> str:
    """What the page says of a record."""
    rows, budgets = record["now"], record["budgets"]
    name, budget, spent, _ = max(rows, key=lambda row: row[2] - row[1])
    very = [row for row in rows if row[2] > row[1] + 0.1]
    heads = "".join(f" {budget:g} s |" for budget in budgets)
    table = [f"| answers decided within |{heads}", "|---|" + "---|" * len(budgets)]
    for which in ("now", "before"):
        for group, said in GROUPS.items() if which in record else ():
            shares = "".join(f" {share:.1%} |" for share in decided(record, which, group))
            version = "" if which == "now" else ", an earlier version"
            table.append(f"| {said}{version} |{shares}")
    compared = [name for name in record["tasks"] if is_compared(name)]
    given = ", ".join(f"{budget:g}" for budget in budgets)
    none = len(record["tasks"]) - len(record["now_tasks"])
    first = (
        f"Every search answers, and soon after its time is up: of {len(rows):,} searches, with budgets from {budgets[0]:g} to {budgets[-1]:g} s, {len(very)} ended more than a tenth of a second late, "
        f"the latest {spent - budget:.2f} s (`{name}`, {budget:g} s). The table says which share of the answers is a yes or a no by then."
    )
    said = (
        f"How it was measured: {len(record['tasks'])} tasks (every finite one of the catalogue, both projects of `pdrm new`, and {RANDOM} random ones) were searched with a budget of {ONE:g} s, {len(compared)} of them with each of {given} s until all was decided. "
        f"The table is of the latter. A task counts by the share of its 15 answers (k from 0 to 4, three questions) that were ready in time, within {GRACE:g} s of it."
    )
    if none:
        said += f" {none} of the tasks is refused at once, because one step of its machine can take any number of silent moves (`pdrm explain E1002`)."
    if "before" in record:
        caps, unread = (
            ", ".join(f"{cap:,}" for cap in CAPS),
            len(compared) - len(record["before_tasks"]),
        )
        said += f" The earlier version (commit {record['before_commit']}) had a limit of states and no budget: each of {caps} was tried, and the best answer that was ready counts"
        said += (
            f"; {unread} machines that it could not read are left out of all lines."
            if unread
            else "."
        )
        said += " Its *yes* from the start could be one up to some depth, which is no answer any more: it counts there, and as undecided now."
    lines = [
        BEGIN,
        first,
        "",
        *table,
        "",
        f"![The same as curves](images/{PICTURE})",
        "",
        said,
        "",
        "*Seconds of the processor. Made by `python -m pages.k_budget`.*",
        END,
    ]
    return "\n".join(lines)


def k_page() -> str:
    """The page, with the lines as the record has them."""
    page, record = PAGE.read_text(encoding="utf-8"), json.loads(RECORD.read_text(encoding="utf-8"))
    return page.partition(BEGIN)[0] + write_lines(record) + page.partition(END)[2]


def main() -> None:
    """Measure and write, or only write: `--again` makes the picture and the lines from the record."""
    if "--again" not in sys.argv:
        before = Path(sys.argv[sys.argv.index("--before") + 1]) if "--before" in sys.argv else None
        RECORD.write_text(json.dumps(measure(before)) + "\n", encoding="utf-8")
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    (ROOT / "docs/images" / PICTURE).write_bytes(picture(record).svg())
    PAGE.write_text(k_page(), encoding="utf-8")


if __name__ == "__main__":
    main()
