"""`pdrm reproduce`: check, compile and draw every machine of the paper, and write the report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pdrm.cli.output import next_command


def reproduce(
    output: Annotated[Path, typer.Option("-o", "--output", help="The folder of the report.")] = Path("report"),
) -> None:
    """Check and draw the paper's machines, write the report.

    Example: pdrm reproduce
    """
    from rich.progress import track

    from pdrm.errors import CannotWrite
    from pdrm.machines.catalogue import names
    from pdrm.machines.text.whole_file import write
    from pdrm.report.machines import machine_section
    from pdrm.report.page import page

    sections = [machine_section(name) for name in track(names(), description="machines")]
    introduction = "Every machine printed in the paper and a few classics, checked and drawn from their files."
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CannotWrite(
            f"the folder {output} cannot be made: {error.strerror}", fix="choose another with -o"
        ) from error
    write(output / "index.html", page("Pushdown reward machines", introduction, sections).encode())
    typer.echo(f"wrote {output / 'index.html'}")
    next_command('pdrm step letter "A A B C C C"')
