"""WaterWorld's programs run on whatever device JAX sees, and their records: one line a test, in tidy files.

`python -m pdrm.experiments.water_runs printed|scaled|tuned|strict|off-policy FOLDER [SEEDS] [SHARE] [PROGRAM]`; SHARE: of the steps,
for a try; PROGRAM: one of the study's, such as ppo, rppo or dqn-cprm.
"""

from __future__ import annotations

import csv
import io
import json
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import mean, median
from typing import Any

from pdrm.domains.water import WaterWorld
from pdrm.errors import BadSetting, did_you_mean
from pdrm.experiments.paper import water
from pdrm.files.whole_file import write
from pdrm.learning.deep.algorithm import algorithm_of, settings_of
from pdrm.learning.deep.device import device_name
from pdrm.learning.deep.policy import save_policy
from pdrm.learning.deep.training import DeepTraining
from pdrm.machines.catalogue import catalogue
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.product.jax_env.domain import water_domain
from pdrm.product.jax_env.product import JaxProduct, jax_product
from pdrm.product.view import TopK

Programs = Callable[[tuple[int, ...]], tuple[water.Program, ...]]
STUDIES: dict[str, Programs] = {
    "printed": water.as_printed,
    "scaled": lambda seeds: water.as_printed(seeds, water.SCALED),
    "tuned": water.tuned,
    "strict": lambda seeds: water.tuned(seeds, "water-strict"),
    "off-policy": water.off_policy,
}
RECORDED = Path(__file__).parent / "paper" / "recorded"
"""Where the records of full runs are kept as data."""
DEPTH = 16
"""Symbols that a stack may hold: the task needs nine."""


@dataclass(frozen=True, slots=True)
class Tested:
    """The mean over the episodes of one test of one run."""

    domain: str
    line: str
    seed: int
    timesteps: int
    returned: float
    """The raw return."""
    steps: float
    achieved: float
    """The share of episodes that ended in `done`."""


def training_of(program: water.Program) -> DeepTraining:
    """The program's runs, before their first step."""
    machine = catalogue(program.machine)
    assert isinstance(machine, PushdownRewardMachine)  # noqa: S101 - those of WaterWorld are
    world = WaterWorld(**program.world)
    compiled = jax_product(water_domain(world), machine, TopK(1), depth=DEPTH)
    settings = settings_of(program.agent, dict(program.settings))

    def task(numbers: dict[str, Any]) -> tuple[JaxProduct, Any]:
        domain = water_domain(replace(world, side=numbers["side"]))
        rates = {name: numbers[name] for name in ("learning_rate", "total_timesteps")}
        return replace(compiled, domain=domain, visible=numbers["visible"]), replace(settings, **rates)

    columns = {name: [run.numbers[name] for run in program.runs] for name in program.runs[0].numbers}
    return DeepTraining(algorithm_of(program.agent), task, [run.seed for run in program.runs], columns)


def executed(program: water.Program, told: Callable[[str], object]) -> tuple[DeepTraining, list[Tested]]:
    """Train and test all runs of a program to their ends."""
    training, records = training_of(program), list[Tested]()
    longest = max(run.total_timesteps for run in program.runs)
    a_test = max(1, program.test_every // training.steps_per_iteration)
    records += _tests(program, training)
    while training.timesteps + training.steps_per_iteration <= longest:
        left = (longest - training.timesteps) // training.steps_per_iteration
        training.advance(min(a_test, left))
        records += _tests(program, training)
        told(f"{program.agent}: {training.timesteps:,} of {longest:,} steps, {len(program.runs)} runs")
    return training, records


def _tests(program: water.Program, training: DeepTraining) -> Iterator[Tested]:
    """One test of every run that still goes on."""
    machine = catalogue(program.machine)
    done = (*machine.states, *machine.final).index("done")
    episodes = training.test(program.test_episodes, seed=training.iterations)
    for number, run in enumerate(program.runs):
        if training.timesteps <= run.total_timesteps:
            ends = episodes.ends[number] == done
            yield Tested(
                run.domain,
                run.line,
                run.seed,
                training.timesteps,
                round(float(episodes.returns[number].mean()), 1),
                round(float(episodes.steps[number].mean()), 1),
                round(float(ends.mean()), 3),
            )


def record(study: str, folder: Path, seeds: tuple[int, ...], share: float = 1.0, only: str = "") -> None:
    """Run a study, or one program of it, and write its records as each program ends: a table, a description, policies."""
    if study not in STUDIES:
        raise BadSetting(f"WaterWorld has no study `{study}`", fix=did_you_mean(study, STUDIES))
    programs = {program.name: program for program in STUDIES[study](seeds)}
    if only and only not in programs:
        raise BadSetting(f"study `{study}` has no program `{only}`", fix=did_you_mean(only, programs))
    for name in [only] if only else programs:
        program, began = _shortened(programs[name], share), time.monotonic()
        training, tests = executed(program, lambda text: sys.stdout.write(f"{text}\n"))
        about = {
            "study": study,
            "program": name,
            "command": f"python -m pdrm.experiments.water_runs {study} FOLDER {len(seeds)} {share:g} {name}",
            "device": device_name(),
            "seconds": round(time.monotonic() - began, 1),
            **_described(program, training),
        }
        write(folder / f"water-{study}-{name}.csv", table(tests).encode())
        write(folder / f"water-{study}-{name}.json", (json.dumps(about, indent=1) + "\n").encode())
        _keep(folder, study, program, training)


def _shortened(program: water.Program, share: float) -> water.Program:
    runs = tuple(replace(run, total_timesteps=int(run.total_timesteps * share)) for run in program.runs)
    return replace(program, runs=runs)


def _described(program: water.Program, training: DeepTraining) -> dict[str, Any]:
    steps = sum(min(run.total_timesteps, training.timesteps) for run in program.runs)
    world = {name: value for name, value in asdict(WaterWorld(**program.world)).items() if name != "side"}
    return {
        "agent": program.agent,
        "machine": program.machine,
        "runs": len(program.runs),
        "timesteps": steps,
        "settings": dict(program.settings),
        "learning_rate": {f"{run.domain}, {run.line}": run.learning_rate for run in program.runs},
        "world": world,
    }


def _keep(folder: Path, study: str, program: water.Program, training: DeepTraining) -> None:
    """The policy of the first seed of each line, on the larger map there is."""
    last = {run.line: number for number, run in enumerate(program.runs) if run.seed == program.runs[0].seed}
    for line, number in last.items():
        name = line.lower().replace(" ", "").replace("+", "-")
        run, machine = program.runs[number], catalogue(program.machine)
        about = {"domain": run.domain, "line": line, "seed": run.seed, "timesteps": training.timesteps}
        save_policy(folder / f"{study}-{name}.npz", training, number, machine, about)


def table(tests: list[Tested]) -> str:
    """The tests as a tidy table."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(["domain", "line", "seed", "timesteps", "return", "steps", "achieved"])
    rows.writerows(
        [one.domain, one.line, one.seed, one.timesteps, f"{one.returned:g}", f"{one.steps:g}", f"{one.achieved:g}"]
        for one in tests
    )
    return text.getvalue()


def read_table(path: Path) -> list[Tested]:
    """The tests in a table."""
    with path.open(encoding="utf-8", newline="") as file:
        return [
            Tested(
                row["domain"],
                row["line"],
                int(row["seed"]),
                int(row["timesteps"]),
                float(row["return"]),
                float(row["steps"]),
                float(row["achieved"]),
            )
            for row in csv.DictReader(file)
        ]


def last_tests(name: str) -> list[str]:
    """The last tests in a record, in words: one line of a table for each map and agent.

    >>> last_tests("water-tuned-ppo")[0]
    '| water-17 | PPO + 1-pdRM | 79 M | 116,001 | 100 % | 2,532 |'
    """
    tests = read_table(RECORDED / f"{name}.csv")
    lines = []
    for domain, line in dict.fromkeys((test.domain, test.line) for test in tests):
        own = [test for test in tests if (test.domain, test.line) == (domain, line)]
        end = max(test.timesteps for test in own)
        final = [test for test in own if test.timesteps == end]
        middle, achieved = median(test.returned for test in final), mean(test.achieved for test in final)
        steps = mean(test.steps for test in final)
        lines.append(f"| {domain} | {line} | {end / 1e6:.0f} M | {middle:,.0f} | {achieved:.0%} | {steps:,.0f} |")
    return [text.replace("%", " %") for text in lines]


if __name__ == "__main__":
    record(
        sys.argv[1],
        Path(sys.argv[2]),
        tuple(range(int(sys.argv[3]) if len(sys.argv) > 3 else 10)),
        float(sys.argv[4]) if len(sys.argv) > 4 else 1.0,
        sys.argv[5] if len(sys.argv) > 5 else "",
    )
