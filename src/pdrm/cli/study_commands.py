"""The commands about studies: run, reproduce, claims, report."""

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

# --- The options of every command that runs studies.

CORES = os.cpu_count() or 1
Count = Annotated[int, Option(help="Runs at a time.")]
Backend = Annotated[str, Option(help="loky (this machine), dask or ray.")]
Address = Annotated[str | None, Option(help="Of a Dask scheduler or a Ray cluster that is there.")]
REPORT = Path("report")


# --- What `pdrm run` and `pdrm reproduce` share: the runs with their display, and how they end.


def run_shown(studies: Sequence[Study], folder: Path, workers: Workers) -> Results:
    """Do the runs, show how they go, write the tables."""
    results = pdrm.experiments.run_study(studies, folder, workers, progress=True)
    if results.failures:
        said = f"runs that failed: {len(results.failures)}; the same command tries them again"
        typer.echo(said, err=True)
    return results


# --- `pdrm run`: a study of your own, from a file.


def run(
    study: Annotated[Path, Argument(help="A study: a .toml file, or a .py file that sets STUDY.")],
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
    """Run a study; stop with Ctrl-C; the same command resumes.

    Example: pdrm run study.toml --seeds 5 --workers 4
    """
    chosen = pdrm.learning.Workers(count=workers, backend=backend, address=address)
    asked = pdrm.experiments.load_study(study).seeded(seeds)
    outcome = run_shown([asked], output or Path("runs") / asked.name, chosen)
    page = outcome.report()
    table = outcome.table()
    if as_json:
        print_json([row.record() for row in table])
    else:
        typer.echo(table)
        typer.echo(f"wrote {page}, the curves and the tables next to it")
    if outcome.failures:
        raise typer.Exit(FAILED)
    if not as_json:
        next_command("pdrm replay {}", outcome.lines[0][1].runs[0].folder)


# --- `pdrm claims`: what the paper says, and what the recorded runs say about it.

COLOURS = {"holds": "green", "does not hold": "red", "not run": "yellow"}
MARGIN = " " * 15


def claims(
    folder: Annotated[
        Path, Argument(help="The folder that `pdrm reproduce` has written.")
    ] = REPORT,
    seeds: Seeds = None,
    details: Annotated[bool, Option("--details", help="The numbers of every part.")] = False,
    readings: Annotated[
        bool, Option("--readings", help="Under every reading of what the paper leaves open.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Judge the paper's claims by the runs that are recorded.

    Example: pdrm claims --details
    """
    if readings:
        _claim_readings(folder, seeds, details=details, as_json=as_json)
        return
    from pdrm.paper.claims import judge_claims
    from pdrm.paper.judging import Evidence

    evidence = Evidence(folder, seeds)
    if not evidence.anything:
        fault = f"{folder} holds no runs of the paper's figures"
        raise NotRecorded(fault, fix="pdrm reproduce letter --seeds 2")
    found = [one.record() for one in judge_claims(evidence)]
    if as_json:
        print_json(found)
        return
    print_claims(found, details=details)
    missing = next((one["figure"] for one in found if one["verdict"] == "not run"), "")
    command = f"pdrm reproduce {missing} -o {{}}" if missing else "pdrm claims {} --details"
    next_command(command, folder)


def _claim_readings(folder: Path, seeds: int | None, *, details: bool, as_json: bool) -> None:
    """Each claim about a figure, and under each reading whether it holds, how many of its parts do, and by how many seeds."""
    from pdrm.paper.readings import cells, count_holding, readings_record

    found = cells(folder, seeds)
    if as_json:
        print_json(readings_record(found))
        return
    for claim in dict.fromkeys(cell.record["id"] for cell in found):
        typer.echo(f"{claim}: holds under {count_holding(found, claim)} readings")
        for cell in found:
            if cell.record["id"] == claim:
                came = ", came with pdrm" if cell.came_with_package else ""
                typer.echo(f"  {_verdict(cell.record)} {cell.reading:<16} {cell.rests}{came}")
                if details:
                    _print_parts(cell.record["parts"])
    next_command("pdrm reproduce letter --reading repository -o {}", folder)


def print_claims(found: Iterable[Mapping[str, Any]], *, details: bool) -> None:
    """A line per claim; below it, what its verdict rests on, and each part that fails (with details, every part). Those not run are a line."""
    from pdrm.paper.claims_section import remarks

    missing = []
    for one in found:
        if one["verdict"] == "not run":
            missing.append(one["id"])
            continue
        typer.echo(f"{_verdict(one)} {one['id']:<14} {one['claim']}")
        for remark in remarks(one):
            typer.echo(f"{MARGIN}{remark}")
        _print_parts(part for part in one["parts"] if details or not part["holds"])
    if missing:
        typer.echo(f"{coloured('not run', fg='yellow'):<14} {', '.join(missing)}")


def _verdict(record: Mapping[str, Any]) -> str:
    return coloured(f"{record['verdict']:<14}", fg=COLOURS[record["verdict"]])


def _print_parts(parts: Iterable[Mapping[str, Any]]) -> None:
    from pdrm.paper.claims_section import numbers_text

    for part in parts:
        said = "holds" if part["holds"] else "fails"
        typer.echo(f"{MARGIN}{said}: {part['text']} ({numbers_text(part['numbers'])})")


# --- `pdrm report`: the page, from what is recorded in folders.


def report(
    folders: Annotated[
        list[Path] | None,
        Argument(
            help="The folder of a study or of `pdrm reproduce`; or folders of runs to compare. [report]"
        ),
    ] = None,
    output: Annotated[
        Path | None,
        Option(
            "-o",
            "--output",
            help="The folder for the report. [that of the study, or of the first runs]",
        ),
    ] = None,
    seeds: Seeds = None,
    markdown: Annotated[
        bool, Option("--markdown", help="Print the results as a Markdown table instead.")
    ] = False,
) -> None:
    """Write the report again from recorded runs, of the paper's figures or of your own; nothing is run.

    Example: pdrm report runs/letter-* -o compared
    """
    from pdrm.paper.report import find_results, write_results

    found = find_results(folders or [REPORT], seeds)
    if markdown:
        typer.echo(found.table().to_markdown())
        return
    if output is not None:
        if found.of_the_paper:
            fault = "the report of the paper's figures stands next to their runs"
            raise ConflictingOptions(fault, fix="leave -o out")
        found = replace(found, folder=output)
    page = write_results(found, seeds, theory=True)
    typer.echo(f"wrote {page}")
    if found.of_the_paper:
        next_command("pdrm claims {} --details", found.folder)
    else:
        next_command("pdrm replay {}", found.lines[0][1].runs[0].folder)


# --- `pdrm reproduce`: the paper's figures, the tables and claims from them, and the report.


def reproduce(
    figure: Annotated[
        list[str] | None,
        Argument(
            help="letter, maze, multi, deliver, paint, a panel such as maze-5x5; or water, water-tuned, water-strict, "
            "water-off-policy, water-scaled, water-readings (deep agents); ours (agent summary); letter-longer, deliver-longer; maze-wall-clock (hours); "
            "or readings. [the first five]"
        ),
    ] = None,
    reading: Annotated[
        str | None,
        Option(help="Another reading of the figure: pdrm claims --readings lists them."),
    ] = None,
    seeds: Seeds = None,
    workers: Count = CORES,
    backend: Backend = "loky",
    address: Address = None,
    output: Annotated[
        Path, Option("-o", "--output", help="The folder for runs, tables and the report.")
    ] = REPORT,
) -> None:
    """Run the paper's experiments, judge its claims, write the report.

    Stop with Ctrl-C; the same command resumes. Example: pdrm reproduce letter --seeds 2
    """
    from pdrm.paper.claims import judge_claims
    from pdrm.paper.figures import DEEP, figures, study
    from pdrm.paper.judging import Evidence, write_claims
    from pdrm.paper.recorded import known_lines
    from pdrm.paper.report import write_report

    chosen = pdrm.learning.Workers(count=workers, backend=backend, address=address)
    if reading is not None or figure == ["readings"]:
        _reproduce_readings(figure or [], reading, seeds, chosen, output)
        return
    studies = figures(figure or [], seeds)
    outcome = run_shown(studies, output, chosen)
    evidence = Evidence(output, seeds)
    judged = judge_claims(evidence, {study.name for study in studies} if figure else None)
    write_claims(judged, output)
    print_claims((one.record() for one in judged), details=False)
    lines = outcome.lines
    if not figure:
        lines = known_lines([*studies, *map(study, ("ours", *DEEP))], evidence.store)
    page = write_report(lines, judged, evidence, theory=not figure)
    typer.echo(f"wrote {page} and the tables next to it")
    if outcome.failures:
        raise typer.Exit(FAILED)
    next_command("pdrm claims {} --details", output)


def _reproduce_readings(
    figures: list[str], name: str | None, seeds: int | None, workers: Workers, output: Path
) -> None:
    """One reading of some figures, or every reading of all tabular ones; the claims under each."""
    from pdrm.experiments.curves import write_tables
    from pdrm.experiments.study import recorded
    from pdrm.paper.figures import STUDIES, study
    from pdrm.paper.readings import READINGS, judge_reading, note_run, reading_of

    chosen = list(READINGS) if name is None else [reading_of(figure, name) for figure in figures]
    if not chosen:
        fix = f"pdrm reproduce letter --reading {name}"
        raise UnknownStudy("a reading is one of a figure", fix=fix)
    failed = False
    for place, one in enumerate(chosen, 1):
        typer.echo(f"{one.figure}, {one.name} ({place} of {len(chosen)}): {one.about}")
        note_run(one, output)
        failed |= bool(run_shown([one.study.seeded(seeds)], output, workers).failures)
        judged = judge_reading(one.figure, one.name, output, seeds)
        print_claims((claim.record() for claim in judged), details=False)
    every = [*map(study, STUDIES), *(one.study for one in chosen)]
    studies = [one.seeded(seeds) for one in every]
    write_tables(recorded(studies, pdrm.experiments.Store.below(output)), output)
    if failed:
        raise typer.Exit(FAILED)
    next_command("pdrm claims {} --readings", output)
