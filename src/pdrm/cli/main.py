"""Entry point of the `pdrm` command: the list of commands, and error handling (exit code 2)."""

from __future__ import annotations

import os
import signal
import sys
from importlib import import_module
from typing import Annotated, Any

import typer
from typer import Option
from typer.core import TyperGroup

from pdrm import __version__
from pdrm.cli.output import INTERRUPTED, escape_unencodable, print_error, show_warnings
from pdrm.errors import BadSetting, CannotOpen, PdrmError

COMMANDS = {
    "new": "setup_commands",
    "check": "machine_commands",
    "step": "machine_commands",
    "draw": "machine_commands",
    "convert": "machine_commands",
    "combine": "machine_commands",
    "fmt": "machine_commands",
    "catalogue": "machine_commands",
    "explain": "setup_commands",
    "train": "train_commands",
    "agents": "train_commands",
    "evaluate": "train_commands",
    "replay": "train_commands",
    "film": "train_commands",
    "domains": "machine_commands",
    "check-k": "analysis_commands",
    "verify": "analysis_commands",
    "solve": "analysis_commands",
    "sizes": "analysis_commands",
    "run": "study_commands",
    "reproduce": "study_commands",
    "report": "study_commands",
    "claims": "study_commands",
    "doctor": "setup_commands",
}
"""The commands in the order of the help, with their modules in `pdrm.cli`."""
UsageError: Any = typer.BadParameter.__base__
"""Typer's error for options and arguments, which has no public name."""


class Commands(TyperGroup):
    """A group of commands that are imported when they are called."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        needed = [cmd_name] if cmd_name in COMMANDS else COMMANDS  # all of them, for suggestions
        for name in needed:
            if name not in self.commands:
                self.commands[name] = load_command(name)
        return self.commands.get(cmd_name)

    def invoke(self, ctx: Any) -> Any:
        """Run a command. On Ctrl-C, print what was kept. Errors name settings by their options."""
        try:
            return super().invoke(ctx)
        except BadSetting as error:
            for option in self.commands[ctx.invoked_subcommand].params:
                name, typed = f"`{option.name}`", f"`{option.opts[-1]}`"
                error.message = error.message.replace(name, typed)
                error.fix = error.fix.replace(name, typed)
            raise
        except KeyboardInterrupt as stop:
            typer.echo(str(stop) or "stopped", err=True)
            raise typer.Exit(INTERRUPTED) from None


def load_command(name: str) -> Any:
    """Import a command."""
    module = import_module(f"pdrm.cli.{COMMANDS[name]}")
    single = typer.Typer(add_completion=False, rich_markup_mode=None)
    # A word can start with `-`, the empty label, which is not an option.
    settings = {"ignore_unknown_options": name in ("step", "draw")}
    single.command(name, context_settings=settings)(vars(module)[name.replace("-", "_")])
    return typer.main.get_command(single)


app = typer.Typer(
    name="pdrm",
    cls=Commands,
    invoke_without_command=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # loading rich would double the start-up time
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Start with: pdrm new garden",
)


@app.callback()
def _options(
    context: typer.Context,
    version: Annotated[bool, Option("--version", help="Print the version.")] = False,
    quiet: Annotated[bool, Option("--quiet", "-q", help="Do not print hints.")] = False,
) -> None:
    """Pushdown reward machines for reinforcement learning tasks that need a stack."""
    if version:
        typer.echo(f"pdrm {__version__}")
        raise typer.Exit
    if quiet:
        os.environ["PDRM_QUIET"] = "1"
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def main() -> None:
    """Run the command. Errors of the user are printed, with exit code 2."""
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # a pager or `head` can close the pipe
    escape_unencodable()
    code = 2
    try:
        with show_warnings():
            code = app(standalone_mode=False)
    except UsageError as error:
        command = error.ctx.command_path if error.ctx else "pdrm"
        print_error(BadSetting(error.format_message(), fix=f"{command} --help"))
    except PdrmError as error:
        print_error(error)
    except OSError as error:  # an impossible file name, a deleted folder
        print_error(CannotOpen(str(error), fix="check the path and its permissions"))
    sys.exit(code)


if __name__ == "__main__":
    main()
