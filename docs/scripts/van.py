"""Results of tables and networks on small tasks with rare rewards: docs/benchmarks/van.json, and
its table in docs/deep.md.

    python -m docs.scripts.van                           train (an hour of one core) and write both
    python -m docs.scripts.van errand                    only this task
    python -m docs.scripts.van --agent 'PPO()' dock      only this agent on this task

The van is the task of the page *Start here*, the garden that of `pdrm new`. Errand and dock are in
docs/benchmarks, the maze in the catalogue. Settings were chosen with these. The tasks in
docs/benchmarks/held-out were made afterwards, to evaluate the settings, the last two by a user.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import pdrm
from benchmarks.record import describe_machine
from pdrm.cli import setup_commands
from pdrm.errors import NeverSucceeded
from pdrm.task import Task

DOCS = Path(__file__).parents[1]
RECORD = DOCS / "benchmarks/van.json"
PAGE = DOCS / "deep.md"
START_PAGE = DOCS / "start-here.md"
TABLE_START = "<!-- van: written by python -m docs.scripts.van -->"
TABLE_END = "<!-- end of van -->"
HELD_OUT = {
    "ports": "home",
    "library": "done",
    "cellar": "home",
    "heist": "away",
    "office": "done",
    "undo": "saved",
}
"""Tasks made after most settings had been chosen (not PPO's `restarts`), and their success
states."""
EPISODES = 100
SEEDS = 3
AGENTS: dict[str, pdrm.learning.Agent] = {
    "`CpRM()`, a table": pdrm.CpRM(),
    "`DQN()`": pdrm.DQN(),
    '`DQN(shaping="none", total_timesteps=120_000)`': pdrm.DQN(
        shaping="none", total_timesteps=120_000
    ),
    "`PPO()`": pdrm.PPO(),
    "`PPO(restarts=0)`": pdrm.PPO(restarts=0),
    "`DQN.like_sb3()`": pdrm.DQN.like_sb3(),
    "`PPO.like_sb3()`": pdrm.PPO.like_sb3(),
}


def find_tasks(folder: Path) -> dict[str, Task]:
    """All tasks by name, including the van of the page and the garden of a new project."""
    page = START_PAGE.read_text(encoding="utf-8")
    for name in ("van.txt", "van.pdrm"):
        text = page.partition(f"cat > {name} <<'END'\n")[2].partition("\nEND\n")[0]
        (folder / name).write_text(text + "\n", encoding="utf-8")
    grid = Path(setup_commands.__file__).with_name("templates") / "grid"
    map_text = (grid / "map.txt").read_text(encoding="utf-8").replace("@NAME@", "garden")
    (folder / "garden.txt").write_text(map_text, encoding="utf-8")
    return {
        "van": Task(folder / "van.txt", folder / "van.pdrm"),
        "garden": Task(folder / "garden.txt", grid / "task.pdrm", success="home"),
        "errand": Task(RECORD.with_name("errand.txt"), RECORD.with_name("errand.pdrm")),
        "dock": Task(RECORD.with_name("dock.txt"), RECORD.with_name("dock.pdrm"), success="home"),
        "maze-5x5": Task("maze-5x5"),
        **{name: _held_out(name, success) for name, success in HELD_OUT.items()},
    }


def _held_out(name: str, success: str) -> Task:
    folder = RECORD.with_name("held-out")
    return Task(folder / f"{name}.txt", folder / f"{name}.pdrm", success=success)


def measure(folder: Path, names: Sequence[str], agents: Sequence[str]) -> list[dict[str, Any]]:
    """Train these agents on these tasks and evaluate each run. Held-out tasks are only for the
    defaults of pdrm."""
    lines = []
    tasks = find_tasks(folder)
    for task, name in product(names, agents):
        if task in HELD_OUT and "like_sb3" in name:
            continue
        agent = AGENTS[name]
        started = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NeverSucceeded)  # the table shows it
            runs = pdrm.train(tasks[task], agent, seeds=SEEDS, progress=False)
        results = [run.evaluate(episodes=EPISODES) for run in runs]
        seconds = time.process_time() - started
        lines.append(
            {
                "task": task,
                "agent": name,
                "training": f"{agent.total:,} {agent.unit}",
                "success": [result["success"] for result in results],
                "mean_return": [result["mean_return"] for result in results],
                "seconds": round(seconds, 1),
            }
        )
        print(lines[-1], flush=True)
    return lines


def table(record: dict[str, Any]) -> str:
    """The table in Markdown: seeds of each agent that learnt each task, totals, and seconds."""
    line_of = {(line["task"], line["agent"]): line for line in record["lines"]}
    tasks = list(dict.fromkeys(task for task, _ in line_of))
    agents = list(dict.fromkeys(agent for _, agent in line_of))
    rows = [f"| | {' | '.join(agents)} |", f"|---|{'---|' * len(agents)}"]
    for task in tasks:
        cells = [
            _share(line_of[task, agent]["success"]) if (task, agent) in line_of else ""
            for agent in agents
        ]
        rows.append(f"| {task} | {' | '.join(cells)} |")
    totals, seconds = [], []
    for agent in agents:
        lines = [line for line in record["lines"] if line["agent"] == agent]
        success = [share for line in lines for share in line["success"]]
        totals.append(_share(success))
        seconds.append(f"{sum(line['seconds'] for line in lines) / len(success):.1f}")
    rows.append(f"| all | {' | '.join(totals)} |")
    rows.append(f"| seconds per seed | {' | '.join(seconds)} |")
    note = (
        f"*Seeds that succeed in all of {record['episodes']} evaluation episodes. "
        "Seconds of one core, with compilation. Made by `python -m docs.scripts.van`; "
        "returns are in [its record](benchmarks/van.json).*"
    )
    return "\n".join([*rows, "", note])


def _share(success: Sequence[float]) -> str:
    return f"{sum(share == 1 for share in success)} of {len(success)}"


def with_table(page: str) -> str:
    """The page on deep agents, with the table of the record."""
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    before = page.partition(TABLE_START)[0]
    after = page.partition(TABLE_END)[2]
    return f"{before}{TABLE_START}\n{table(record)}\n{TABLE_END}{after}"


def main() -> None:
    """Measure and write. Lines that are not measured again are kept."""
    work = DOCS.parent / ".measured/van"
    work.mkdir(parents=True, exist_ok=True)
    all_tasks = list(find_tasks(work))
    order = [(task, agent) for task in all_tasks for agent in AGENTS]
    parser = argparse.ArgumentParser(
        prog="python -m docs.scripts.van", description="Train small tasks and write the tables."
    )
    parser.add_argument("tasks", nargs="*", metavar="TASK", help="only these tasks")
    parser.add_argument(
        "--agent",
        action="append",
        default=[],
        help="only this agent, such as 'PPO()'; can be repeated",
    )
    options = parser.parse_args()
    short_names = {name.split("`")[1]: name for name in AGENTS}
    unknown = {*options.tasks} - {*all_tasks} | {*options.agent} - {*short_names}
    if unknown:
        parser.error(f"unknown: {', '.join(sorted(unknown))}")
    agents = [short_names[name] for name in options.agent or short_names]
    names = options.tasks or all_tasks
    lines = json.loads(RECORD.read_text(encoding="utf-8"))["lines"]
    lines += measure(work, names, agents)
    line_of = {(line["task"], line["agent"]): line for line in lines}
    lines = [line_of[key] for key in order if key in line_of]
    record = {"about": describe_machine(), "episodes": EPISODES, "lines": lines}
    RECORD.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
