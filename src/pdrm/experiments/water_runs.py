"""WaterWorld's programs run on whatever device JAX sees, and their records: one line a test, in tidy files.

`python -m pdrm.experiments.water_runs printed|scaled|tuned|strict|off-policy FOLDER [SEEDS] [SHARE] [PROGRAM]`; SHARE: of the steps,
for a try; PROGRAM: one of the study's, such as ppo, rppo or dqn-cprm.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from pdrm.domains.water import WaterWorld
from pdrm.errors import BadSetting, did_you_mean
from pdrm.experiments.paper import water_programs as water
from pdrm.experiments.water_records import STEPS_COLUMN, Tested, table
from pdrm.files import ensure_folder, write_atomically
from pdrm.language.loading import catalogue
from pdrm.learning.deep.deep_policy import save_policy
from pdrm.learning.deep.deep_run import device_name
from pdrm.learning.deep.deep_training import Checkpoint, DeepTraining, algorithm_of, settings_of, trained
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.product.jax_env.jax_domain import water_domain
from pdrm.product.jax_env.jax_product import JaxProduct, jax_product
from pdrm.product.views import TopK

Programs = Callable[[tuple[int, ...]], tuple[water.Program, ...]]
STUDIES: dict[str, Programs] = {
    "printed": water.as_printed,
    "scaled": lambda seeds: water.as_printed(seeds, water.SCALED),
    "tuned": water.tuned,
    "strict": lambda seeds: water.tuned(seeds, "water-strict"),
    "off-policy": water.off_policy,
}
DEPTH = 16
"""Symbols that a stack may hold: the task needs nine."""
Told = Callable[[water.Program, int, int], None]
"""Called with a program, its training steps so far, and how many there will be."""


def said(program: water.Program, timesteps: int, longest: int) -> None:
    """A line a test."""
    sys.stdout.write(f"{program.name}: {timesteps:,} of {longest:,} steps, {len(program.runs)} runs\n")


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


def executed(program: water.Program, checkpoint: Checkpoint, told: Told) -> tuple[DeepTraining, str]:
    """Train and test all runs of a program to their ends, from its checkpoint if there is one."""
    training = training_of(program)
    longest = max(run.total_timesteps for run in program.runs)

    def test() -> str:
        lines = table(list(_tests(program, training)), head=training.iterations == 0)
        told(program, training.timesteps, longest)
        return lines

    curve = checkpoint.resume(training, STEPS_COLUMN) if checkpoint.exists() else test()
    every = max(1, program.test_every // training.steps_per_iteration)
    return training, trained(training, longest // training.steps_per_iteration, every, checkpoint, test, curve)


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


def programs_of(study: str, seeds: tuple[int, ...], share: float = 1.0, only: str = "") -> tuple[water.Program, ...]:
    """The programs of a study, or one of them. share: of the steps, for a try."""
    if study not in STUDIES:
        raise BadSetting(f"WaterWorld has no study `{study}`", fix=did_you_mean(study, STUDIES))
    programs = {program.name: program for program in STUDIES[study](seeds)}
    if only and only not in programs:
        raise BadSetting(f"study `{study}` has no program `{only}`", fix=did_you_mean(only, programs))
    return tuple(_shortened(programs[name], share) for name in ([only] if only else programs))


def record(study: str, programs: tuple[water.Program, ...], folder: Path, command: str, told: Told = said) -> None:
    """Run programs of a study and write their records as each ends: a table, a description, policies.

    What is recorded already is not repeated, and what was stopped goes on. command: what made them, for the record.
    """
    ensure_folder(folder)
    for program in programs:
        path, began = folder / f"water-{study}-{program.name}.json", time.monotonic()
        if _recorded_id(path) == program.id:
            continue
        checkpoint = Checkpoint(folder / f"unfinished-{study}-{program.name}-{program.id}.npz")
        training, curve = executed(program, checkpoint, told)
        about = {
            "study": study,
            "program": program.name,
            "id": program.id,
            "command": command,
            "device": device_name(),
            "seconds": round(time.monotonic() - began, 1),
            **_described(program, training),
        }
        _keep(folder, study, program, training)
        write_atomically(path.with_suffix(".csv"), curve.encode())
        write_atomically(path, (json.dumps(about, indent=1) + "\n").encode())
        checkpoint.remove()


def _recorded_id(path: Path) -> str:
    """Of the program whose record this is; nothing where there is none."""
    try:
        return str(json.loads(path.read_text(encoding="utf-8"))["id"])
    except (OSError, ValueError, KeyError):
        return ""


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


if __name__ == "__main__":
    _study, _folder, *_rest = sys.argv[1:]
    _seeds, _share, _only = (*_rest, *("10", "1", "")[len(_rest) :])
    _command = " ".join(["python -m pdrm.experiments.water_runs", _study, "FOLDER", *_rest])
    record(_study, programs_of(_study, tuple(range(int(_seeds))), float(_share), _only), Path(_folder), _command)
