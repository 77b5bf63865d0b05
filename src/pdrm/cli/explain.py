"""`pdrm explain CODE`: what an error or warning means."""

from __future__ import annotations

import inspect
from typing import Annotated

import typer

from pdrm.cli.output import coloured
from pdrm.errors import UnknownCode, did_you_mean, explanations


def explain(
    code: Annotated[str, typer.Argument(help="A code such as E0301; without one, all codes are listed.")] = "",
) -> None:
    """Explain an error or warning code.

    Example: pdrm explain E0301
    """
    table = explanations()
    if not code:
        for known, (title, _) in table.items():
            typer.echo(f"{known}  {title}")
        return
    wanted = code.strip().upper()
    if wanted not in table:
        raise UnknownCode(f"no error or warning has the code `{code}`", fix=did_you_mean(wanted, table))
    title, text = table[wanted]
    typer.echo(coloured(f"{wanted}: {title}", bold=True))
    typer.echo(inspect.cleandoc(text))
