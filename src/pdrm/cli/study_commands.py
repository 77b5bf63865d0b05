"""The commands for studies: run, reproduce, claims, report."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

import pdrm.experiments
import pdrm.learning
from pdrm.cli.arguments import Json, Seeds
from pdrm.cli.output import FAILED, coloured, next_command, print_json
from pdrm.errors import ConflictingOptions, NotRecorded, UnknownStudy

if TYPE_CHECKING:
    from pdrm.experiments.study import Results, Study
    from pdrm.learning.execution import Workers

# --- Shared by `pdrm run` and `pdrm reproduce`

CORES = os.cpu_count() or 1
Count = Annotated[int, Option(help="Number of parallel runs.")]
Backend = Annotated[str, Option(help="loky (this machine), dask or ray.")]
Address = Annotated[str | None, Option(help="Address of a running Dask scheduler or Ray cluster.")]
REPORT = Path("report")


def run_shown(studies: Sequence[Study], folder: Path, workers: Workers) -> Results:
    """Run studies with a progress bar, and write the tables."""
    results = pdrm.experiments.run_study(studies, folder, workers, progress=True)
    if results.failures:
        typer.echo(f"failed runs: {len(results.failures)}; repeat to retry", err=True)
    return results


# --- `pdrm run`: your own study from a file


def run(
    study: Annotated[Path, Argument(help="A .toml file, or a .py file that sets STUDY.")],
    seeds: Seeds = None,
    workers: Count = CORES,
    backend: Backend = "loky",
    address: Address = None,
    output: Annotated[
        Path | None,
        Option("-o", "--output", help="The folder for runs and tables. [runs/NAME]"),
    ] = None,
    as_json: Json = False,
) -> None:
    """Run a study. After Ctrl-C, the same command resumes it.

    Example: pdrm run study.toml --seeds 5 --workers 4
    """
    from pdrm.drawing.rows import Cells

    pool = pdrm.learning.Workers(count=workers, backend=backend, address=address)
    seeded = pdrm.experiments.load_study(study).seeded(seeds)
    results = run_shown([seeded], output or Path("runs") / seeded.name, pool)
    page = results.report()
    records = [row.record() for row in results.table()]
    if as_json:
        print_json(records)
    else:
        typer.echo(Cells.from_records(records).text())
        typer.echo(f"wrote {page}, with curves and tables next to it")
    if results.failures:
        raise typer.Exit(FAILED)
    if not as_json:
        next_command("pdrm replay {}", results.lines[0][1].runs[0].folder)


# --- `pdrm claims`: the verdicts on the paper's claims

COLOURS = {"holds": "green", "does not hold": "red", "not run": "yellow"}
MARGIN = " " * 15


def claims(
    folder: Annotated[Path, Argument(help="A folder written by `pdrm reproduce`.")] = REPORT,
    seeds: Seeds = None,
    details: Annotated[bool, Option("--details", help="Print the numbers of all parts.")] = False,
    readings: Annotated[
        bool, Option("--readings", help="Judge them under all alternative readings of the paper.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Judge the paper's claims by recorded runs.

    Example: pdrm claims --details
    """
    if readings:
        _claim_readings(folder, seeds, details=details, as_json=as_json)
        return
    from pdrm.paper.claims import judge_claims
    from pdrm.paper.judging import Evidence

    evidence = Evidence(folder, seeds)
    if not evidence.has_runs:
        fault = f"{folder} contains no runs of the paper's figures"
        raise NotRecorded(fault, fix="pdrm reproduce letter --seeds 2")
    records = [claim.record() for claim in judge_claims(evidence)]
    if as_json:
        print_json(records)
        return
    print_claims(records, details=details)
    missing = next((claim["figure"] for claim in records if claim["verdict"] == "not run"), "")
    command = f"pdrm reproduce {missing} -o {{}}" if missing else "pdrm claims {} --details"
    next_command(command, folder)


def _claim_readings(folder: Path, seeds: int | None, *, details: bool, as_json: bool) -> None:
    """Print the verdict on each claim under each reading, with the number of parts and seeds."""
    from pdrm.paper.readings import cells, count_holding, readings_record

    verdicts = cells(folder, seeds)
    if as_json:
        print_json(readings_record(verdicts))
        return
    for claim in dict.fromkeys(cell.record["id"] for cell in verdicts):
        typer.echo(f"{claim}: holds under {count_holding(verdicts, claim)} readings")
        for cell in verdicts:
            if cell.record["id"] == claim:
                origin = ", packaged" if cell.came_with_package else ""
                typer.echo(f"  {_verdict(cell.record)} {cell.reading:<16} {cell.basis}{origin}")
                if details:
                    _print_parts(cell.record["parts"])
    next_command("pdrm reproduce letter --reading repository -o {}", folder)


def print_claims(records: Iterable[Mapping[str, Any]], *, details: bool) -> None:
    """Print each claim with its remarks and failing parts (with `details`: all parts).

    The last line lists the claims that were not run.
    """
    from pdrm.paper.claims_section import remarks

    missing = []
    for claim in records:
        if claim["verdict"] == "not run":
            missing.append(claim["id"])
            continue
        typer.echo(f"{_verdict(claim)} {claim['id']:<14} {claim['claim']}")
        for remark in remarks(claim):
            typer.echo(f"{MARGIN}{remark}")
        _print_parts(part for part in claim["parts"] if details or not part["holds"])
    if missing:
        typer.echo(f"{coloured('not run', fg='yellow'):<14} {', '.join(missing)}")


def _verdict(record: Mapping[str, Any]) -> str:
    return coloured(f"{record['verdict']:<14}", fg=COLOURS[record["verdict"]])


def _print_parts(parts: Iterable[Mapping[str, Any]]) -> None:
    from pdrm.paper.claims_section import numbers_text

    for part in parts:
        verdict = "holds" if part["holds"] else "fails"
        typer.echo(f"{MARGIN}{verdict}: {part['text']} ({numbers_text(part['numbers'])})")


# --- `pdrm report`: the page about recorded runs


def report(
    folders: Annotated[
        list[Path] | None,
        Argument(
            help="The folder of a study or of `pdrm reproduce`, or run folders to compare. [report]"
        ),
    ] = None,
    output: Annotated[
        Path | None,
        Option(
            "-o",
            "--output",
            help="The folder for the report. [the study's, or the first run's]",
        ),
    ] = None,
    seeds: Seeds = None,
    markdown: Annotated[
        bool, Option("--markdown", help="Print the results as a Markdown table instead.")
    ] = False,
) -> None:
    """Write the report on recorded runs. Nothing is run.

    The runs can be of the paper's figures or your own.

    Example: pdrm report runs/letter-* -o compared
    """
    from pdrm.paper.report import find_results, write_results

    results = find_results(folders or [REPORT], seeds)
    if markdown:
        typer.echo(results.table().to_markdown())
        return
    if output is not None:
        if results.of_the_paper:
            fault = (
                "-o does not apply: the report of the paper's figures is written next to its runs"
            )
            raise ConflictingOptions(fault, fix="leave -o out")
        results = replace(results, folder=output)
    page = write_results(results, seeds, theory=True)
    typer.echo(f"wrote {page}")
    if results.of_the_paper:
        next_command("pdrm claims {} --details", results.folder)
    else:
        next_command("pdrm replay {}", results.lines[0][1].runs[0].folder)


# --- `pdrm reproduce`: the paper's figures, with tables, claims and the report


def reproduce(
    figure: Annotated[
        list[str] | None,
        Argument(
            help="letter, maze, multi, deliver, paint, or a panel such as maze-5x5; water, "
            "water-tuned, water-strict, water-off-policy, water-scaled, water-readings (deep "
            "agents); ours (agent summary); letter-longer, deliver-longer, maze-wall-clock (hours); "
            "or readings. [the first five]"
        ),
    ] = None,
    reading: Annotated[
        str | None,
        Option(help="An alternative reading of the figure (see pdrm claims --readings)."),
    ] = None,
    seeds: Seeds = None,
    workers: Count = CORES,
    backend: Backend = "loky",
    address: Address = None,
    output: Annotated[
        Path, Option("-o", "--output", help="The folder for runs, tables and the report.")
    ] = REPORT,
) -> None:
    """Run the paper's experiments and judge its claims.

    Also writes the report. After Ctrl-C, the same command resumes.

    Example: pdrm reproduce letter --seeds 2
    """
    from pdrm.paper.claims import judge_claims
    from pdrm.paper.figures import DEEP, figures, study
    from pdrm.paper.judging import Evidence, write_claims
    from pdrm.paper.recorded import known_lines
    from pdrm.paper.report import write_report

    pool = pdrm.learning.Workers(count=workers, backend=backend, address=address)
    if reading is not None or figure == ["readings"]:
        _reproduce_readings(figure or [], reading, seeds, pool, output)
        return
    studies = figures(figure or [], seeds)
    results = run_shown(studies, output, pool)
    evidence = Evidence(output, seeds)
    judged = judge_claims(evidence, {study.name for study in studies} if figure else None)
    write_claims(judged, output)
    print_claims((claim.record() for claim in judged), details=False)
    lines = results.lines
    if not figure:
        lines = known_lines([*studies, *map(study, ("ours", *DEEP))], evidence.store)
    page = write_report(lines, judged, evidence, theory=not figure)
    typer.echo(f"wrote {page}, with tables next to it")
    if results.failures:
        raise typer.Exit(FAILED)
    next_command("pdrm claims {} --details", output)


def _reproduce_readings(
    figures: list[str], name: str | None, seeds: int | None, workers: Workers, output: Path
) -> None:
    """Run a reading of some figures, or all readings, and judge the claims under each."""
    from pdrm.experiments.curves import write_tables
    from pdrm.experiments.study import recorded_lines
    from pdrm.paper.figures import STUDIES, study
    from pdrm.paper.readings import READINGS, judge_reading, note_run, reading_of

    chosen = list(READINGS) if name is None else [reading_of(figure, name) for figure in figures]
    if not chosen:
        fix = f"pdrm reproduce letter --reading {name}"
        raise UnknownStudy("--reading needs a figure", fix=fix)
    n_failures = 0
    for number, reading in enumerate(chosen, 1):
        about = f"{reading.figure}, {reading.name}: {reading.about}"
        typer.echo(f"reading {number} of {len(chosen)}: {about}")
        note_run(reading, output)
        results = run_shown([reading.study.seeded(seeds)], output, workers)
        n_failures += len(results.failures)
        judged = judge_reading(reading.figure, reading.name, output, seeds)
        print_claims((claim.record() for claim in judged), details=False)
    studies = [*map(study, STUDIES), *(reading.study for reading in chosen)]
    seeded = [one.seeded(seeds) for one in studies]
    write_tables(recorded_lines(seeded, pdrm.experiments.Store.below(output)), output)
    if n_failures:
        raise typer.Exit(FAILED)
    next_command("pdrm claims {} --readings", output)
