"""What tables and networks make of small tasks with rare rewards: docs/benchmarks/van.json, and its table in docs/deep.md.

    python -m docs.scripts.van                           trains (an hour of one core) and writes both
    python -m docs.scripts.van errand                    the same for this task alone
    python -m docs.scripts.van --agent 'PPO()' dock      the same for this agent on this task

The van is the task that the page *Start here* writes, the garden that of `pdrm new`; errand and dock are in docs/benchmarks, the
maze in the catalogue. Settings were chosen with these. Those in docs/benchmarks/held-out were made afterwards, to judge the settings; the last two by a user.
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

DOCS = Path(__file__).parent.parent / "docs"
RECORD, PAGE, START = DOCS / "benchmarks/van.json", DOCS / "deep.md", DOCS / "start-here.md"
BEGIN, END = "<!-- van: written by python -m docs.scripts.van -->", "<!-- end of van -->"
HELD_OUT = {
    "ports": "home",
    "library": "done",
    "cellar": "home",
    "heist": "away",
    "office": "done",
    "undo": "saved",
}
"""Tasks that were made after most settings had been chosen (not `restarts` of PPO), and the state in which each is achieved."""
EPISODES, SEEDS = 100, 3
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
    """The tasks: one from the files that the page tells its reader to write, one from those of a new project."""
    page = START.read_text(encoding="utf-8")
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
    """Train these agents on these tasks, and test each run. Held-out tasks are for our own defaults."""
    lines = []
    tasks = find_tasks(folder)
    for where, name in product(names, agents):
        if where in HELD_OUT and "like_sb3" in name:
            continue
        agent = AGENTS[name]
        began = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NeverSucceeded)  # the table says it
            runs = pdrm.train(tasks[where], agent, seeds=SEEDS, progress=False)
        found = [run.evaluate(episodes=EPISODES) for run in runs]
        spent = time.process_time() - began
        lines.append(
            {
                "task": where,
                "agent": name,
                "training": f"{agent.total:,} {agent.unit}",
                "success": [one["success"] for one in found],
                "mean_return": [one["mean_return"] for one in found],
                "seconds": round(spent, 1),
            }
        )
        print(lines[-1], flush=True)
    return lines


def table(record: dict[str, Any]) -> str:
    """How many seeds of each agent learnt each task, in all, and how long it took."""
    found = {(line["task"], line["agent"]): line for line in record["lines"]}
    tasks, agents = (list(dict.fromkeys(column)) for column in zip(*found, strict=True))
    rows = [f"| | {' | '.join(agents)} |", f"|---|{'---|' * len(agents)}"]
    for task in tasks:
        cells = [
            _share(found[task, agent]["success"]) if (task, agent) in found else ""
            for agent in agents
        ]
        rows.append(f"| {task} | {' | '.join(cells)} |")
    mine = {agent: [line for line in record["lines"] if line["agent"] == agent] for agent in agents}
    whole = [_share([one for line in lines for one in line["success"]]) for lines in mine.values()]
    spent = [
        sum(line["seconds"] for line in lines) / sum(len(line["success"]) for line in lines)
        for lines in mine.values()
    ]
    rows.append(f"| all | {' | '.join(whole)} |")
    rows.append(f"| seconds for each seed | {' | '.join(f'{seconds:.1f}' for seconds in spent)} |")
    said = f"*Seeds that achieve the task in all of {record['episodes']} test episodes. Seconds of one core, with compiling. Made by `python -m docs.scripts.van`; returns are in [its record](benchmarks/van.json).*"
    return "\n".join([*rows, "", said])


def _share(success: Sequence[float]) -> str:
    return f"{sum(one == 1 for one in success)} of {len(success)}"


def with_table(page: str) -> str:
    """The page on deep agents, with the table as the record has it."""
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    before, after = page.partition(BEGIN)[0], page.partition(END)[2]
    return f"{before}{BEGIN}\n{table(record)}\n{END}{after}"


def main() -> None:
    """Measure and write. Lines that are not measured again stay."""
    work = DOCS.parent / ".measured/van"
    work.mkdir(parents=True, exist_ok=True)
    order = [(task, agent) for task in find_tasks(work) for agent in AGENTS]
    parser = argparse.ArgumentParser(
        prog="python -m docs.scripts.van", description="Train small tasks and write the tables."
    )
    parser.add_argument("tasks", nargs="*", metavar="TASK", help="only these tasks")
    parser.add_argument(
        "--agent",
        action="append",
        default=[],
        help="only this agent, such as 'PPO()'; may be repeated",
    )
    given = parser.parse_args()
    agents = [name for name in AGENTS if not given.agent or name.split("`")[1] in given.agent]
    names = [name for name in find_tasks(work) if not given.tasks or name in given.tasks]
    if unknown := {*given.tasks} - {*names} | {*given.agent} - {
        name.split("`")[1] for name in agents
    }:
        parser.error(f"unknown: {', '.join(sorted(unknown))}")
    before = json.loads(RECORD.read_text(encoding="utf-8"))["lines"]
    found = {
        (line["task"], line["agent"]): line for line in [*before, *measure(work, names, agents)]
    }
    lines = [found[which] for which in order if which in found]
    record = {"about": describe_machine(), "episodes": EPISODES, "lines": lines}
    RECORD.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
