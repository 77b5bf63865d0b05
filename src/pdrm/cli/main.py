"""The command's entry: the list of commands, and what happens to an error (exit code 2, never a traceback)."""

from __future__ import annotations

import signal
import sys
from typing import Annotated

import typer

from pdrm import __version__
from pdrm.cli import machine_commands
from pdrm.cli.bench_command import bench
from pdrm.cli.k_commands import check_k, verify
from pdrm.cli.output import print_error
from pdrm.cli.setup_commands import doctor, explain, new
from pdrm.cli.size_command import sizes
from pdrm.cli.study_commands import claims, report, reproduce, run
from pdrm.cli.train_commands import domains, evaluate, train
from pdrm.cli.watch_commands import film, replay
from pdrm.errors import PdrmError

app = typer.Typer(
    name="pdrm",
    help="Pushdown reward machines: write a task that needs a stack, check it, draw it, run it, compile it.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help: loading rich for it would double the start-up time
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Start with: pdrm new garden",
)

for command in (
    new,
    machine_commands.check,
    machine_commands.step,
    machine_commands.draw,
    machine_commands.convert,
    machine_commands.fmt,
    machine_commands.catalogue,
    explain,
    train,
    evaluate,
    replay,
    film,
    domains,
    check_k,
    verify,
    sizes,
    bench,
    run,
    reproduce,
    report,
    claims,
    doctor,
):
    # A word may begin with `-`, the empty label: it is not an option.
    app.command(context_settings={"ignore_unknown_options": command is machine_commands.step})(command)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"pdrm {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    _version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Pushdown reward machines: write a task that needs a stack, check it, draw it, run it, compile it."""


def main() -> None:
    """Run the command; a fault of the input is printed and ends it with exit code 2."""
    # When the reader (a pager, `head`) has gone, nothing is wrong, and nothing is left to say.
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    try:
        app()
    except PdrmError as error:
        print_error(error)
        sys.exit(2)
    except KeyboardInterrupt:
        typer.echo("stopped", err=True)
        sys.exit(130)


if __name__ == "__main__":
    main()
