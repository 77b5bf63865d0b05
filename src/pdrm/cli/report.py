"""`pdrm report`: the page, from what is recorded in a folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pdrm.cli.output import next_command
from pdrm.cli.study_options import Report, Seeds
from pdrm.errors import NotRecorded


def report(
    output: Report = Path("report"),
    seeds: Seeds = None,
    theory: Annotated[bool, typer.Option(help="With what can be proved: which k is enough, sizes.")] = True,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Print the results as a Markdown table instead.")
    ] = False,
) -> None:
    """Write the report again from the runs in a folder; nothing is run.

    Example: pdrm report -o report
    """
    from pdrm.experiments.claims.evidence import Evidence
    from pdrm.experiments.claims.register import judged
    from pdrm.experiments.paper.figures import figures
    from pdrm.experiments.reproduce import store_in
    from pdrm.experiments.tables import recorded
    from pdrm.report.build import write_report
    from pdrm.report.results import results_markdown

    store = store_in(output)
    lines = recorded(figures([], seeds), store)
    if not lines:
        raise NotRecorded(f"{output} holds no runs of the paper's figures", fix="pdrm reproduce letter --seeds 2")
    if markdown:
        typer.echo(results_markdown([curves for _, curves in lines]))
        return
    page = write_report(lines, judged(Evidence(store, output, seeds)), store, output, theory=theory)
    typer.echo(f"wrote {page}")
    next_command("pdrm claims --details")
