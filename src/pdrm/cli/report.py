"""`pdrm report`: the page, from what is recorded in a folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pdrm.cli.output import next_command
from pdrm.cli.study_options import Report, Seeds
from pdrm.errors import NotRecorded

if TYPE_CHECKING:
    from pdrm.experiments.store import Store
    from pdrm.experiments.study import Study


def report(
    output: Report = Path("report"),
    seeds: Seeds = None,
    theory: Annotated[bool, typer.Option(help="With what can be proved: which k is enough, sizes.")] = True,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Print the results as a Markdown table instead.")
    ] = False,
) -> None:
    """Write the report again from the runs in a folder, of the paper's figures or of a study of your own; nothing is run.

    Example: pdrm report -o report
    """
    from pdrm.experiments.claims.evidence import Evidence
    from pdrm.experiments.claims.register import judged
    from pdrm.experiments.kept_study import kept_studies
    from pdrm.experiments.paper.figures import figures
    from pdrm.experiments.reproduce import store_in
    from pdrm.experiments.tables import recorded
    from pdrm.report.build import write_report
    from pdrm.report.results import results_markdown

    store = store_in(output)
    if own := kept_studies(output, store):
        _own_report([study.seeded(seeds) for study in own], store, output, markdown=markdown)
        return
    lines = recorded(figures([], seeds), store)
    if not lines:
        fault = f"{output} holds no runs of the paper's figures, and no study of your own"
        raise NotRecorded(fault, fix="pdrm reproduce letter --seeds 2, or pdrm run STUDY.toml")
    if markdown:
        typer.echo(results_markdown([curves for _, curves in lines]))
        return
    page = write_report(lines, judged(Evidence(store, output, seeds)), store, output, theory=theory)
    typer.echo(f"wrote {page}")
    next_command("pdrm claims --details")


def _own_report(studies: list[Study], store: Store, output: Path, *, markdown: bool) -> None:
    """The same for studies of one's own."""
    from pdrm.experiments.tables import recorded
    from pdrm.report.own_study import write_own_report
    from pdrm.report.results import own_results_markdown

    lines = recorded(studies, store)
    if not lines:
        raise NotRecorded(f"no run of the study in {output} is done", fix="pdrm run STUDY.toml")
    if markdown:
        typer.echo(own_results_markdown([curves for _, curves in lines]))
        return
    for path in write_own_report(lines, store, output):
        typer.echo(f"wrote {path}")
    next_command(f"pdrm replay {store.folder(next(studies[0].runs())[2])}")
