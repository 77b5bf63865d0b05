"""The command's entry: the list of commands, and what happens to an error (exit code 2, never a traceback)."""

from __future__ import annotations

import ast
import os
import re
import signal
import sys
import threading
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from pdrm import __version__
from pdrm.cli.output import INTERRUPTED, print_error, show_warnings, write_any_text
from pdrm.errors import CannotOpen, PdrmError

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
    "replay": "watch_commands",
    "film": "watch_commands",
    "domains": "train_commands",
    "check-k": "k_commands",
    "verify": "k_commands",
    "solve": "solve_command",
    "sizes": "size_command",
    "run": "study_commands",
    "reproduce": "study_commands",
    "report": "study_commands",
    "claims": "study_commands",
    "doctor": "setup_commands",
}
"""The commands in the order of the help, and the module of `pdrm.cli` that holds each."""


class PlainCommand(TyperCommand):
    """A command whose options are listed by what they are about, in plain text."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        sections: dict[str, list[tuple[str, str]]] = {"Arguments": []}
        for param in self.get_params(ctx):
            if (record := param.get_help_record(ctx)) is not None:
                about = getattr(param, "rich_help_panel", None) or "Options"
                section = "Arguments" if param.param_type_name == "argument" else about
                called = re.sub(r"list\[(\w+)\]", lambda found: found[1].lower(), record[0])
                sections.setdefault(section, []).append((called, record[1]))
        sections["Options"] = sections.pop("Options", [])  # last: `--help` is among them
        for section, records in sections.items():
            if records:
                with formatter.section(section):
                    formatter.write_dl(records)


class Commands(TyperGroup):
    """The commands, each imported when it is called: one does not wait for what another needs."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        for name in (
            [cmd_name] if cmd_name in COMMANDS else COMMANDS
        ):  # all of them, to suggest one for a misspelt name
            if name not in self.commands:
                self.commands[name] = load_command(name)
        return self.commands.get(cmd_name)

    def invoke(self, ctx: Any) -> Any:
        """Run a command; where an option or an argument is wrong, missing or one too many, say how it is given."""
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            error.message = f"{_say_plainly(error)}\n  fix: {_show_use(error)}"
            raise
        except USAGE_ERROR as error:
            if (
                extra := re.search(r"unexpected extra argument\S* \((\S+)", error.message)
            ) is not None:
                error.message += f"\n  fix: {_place_extra(error, extra[1].rstrip(')'))}"
            elif "requires an argument" in error.message and ctx.invoked_subcommand:
                error.message += (
                    f"\n  fix: {_show_example(self.get_command(ctx, ctx.invoked_subcommand))}"
                )
            raise
        except KeyboardInterrupt:  # Typer would end without a word
            typer.echo("stopped", err=True)
            raise typer.Exit(INTERRUPTED) from None

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """List the commands in the help, without importing what they need."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, summarise_command(name)) for name in COMMANDS])


USAGE_ERROR: Any = typer.BadParameter.__base__
"""What Typer raises for options and arguments; it has no public name for it."""
EXAMPLES = {"integer": "10", "number": "0.5"}


def _say_plainly(error: typer.BadParameter) -> str:
    """What is wrong with a value, without the words of the library that reads it."""
    found = re.match(r"Input should be a valid (integer|number)", error.message)
    if found is None:
        return error.message.removeprefix("Value error, ")
    return f"`{_read_given(error) or 'this'}` is not {'an' if found[1] == 'integer' else 'a'} {found[1]}"


def _read_given(error: typer.BadParameter) -> str:
    """The value that was given; nothing: it is not known."""
    faults: list[dict[str, Any]] = getattr(error.__cause__, "errors", list)()
    return str(faults[0].get("input", "")) if faults else ""


def _show_use(error: typer.BadParameter) -> str:
    """How an option is given, by its choices, its default or its type; or an argument, by the command's example."""
    option, default = error.param and error.param.opts[-1], getattr(error.param, "default", None)
    if option and option.startswith("-") and error.message:  # without one it is missing
        choice = re.search(r"is not one of '([^']+)'", error.message)
        typed = next(
            (value for kind, value in EXAMPLES.items() if f"valid {kind}" in str(error.__cause__)),
            "VALUE",
        )
        if re.fullmatch(
            r"\d+(\.\d+)?e\+?\d|\d+\.0+", given := _read_given(error), re.IGNORECASE
        ):  # an integer, written as a number
            return f"{option} {float(given):.0f}"
        return f"{option} {choice[1] if choice else typed if default is None or callable(default) else default}"
    return _show_example(error.ctx and error.ctx.command)


def _place_extra(error: Any, extra: str) -> str:
    """Which option an argument that stands alone was meant for: a machine's file, or a domain's."""
    options = {option for param in error.ctx.command.params for option in param.opts}
    wanted = "--machine" if "--machine" in options else "--domain"
    return f"{wanted} {extra}" if wanted in options else _show_example(error.ctx.command)


def _show_example(command: Any) -> str:
    """The example in a command's help."""
    _, _, example = ((command and command.help) or "").partition("Example: ")
    return f"as in: {example.partition(chr(10))[0]}" if example else "see --help"


def summarise_command(name: str) -> str:
    """The first line of a command's docstring, read from its source."""
    source = Path(__file__).with_name(f"{COMMANDS[name]}.py").read_text(encoding="utf-8")
    functions = [node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)]
    (command,) = (node for node in functions if node.name == name.replace("-", "_"))
    return (ast.get_docstring(command) or "").partition("\n")[0]


def load_command(name: str) -> Any:
    """Import a command."""
    module = import_module(f"pdrm.cli.{COMMANDS[name]}")
    alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
    # A word may begin with `-`, the empty label: it is not an option.
    alone.command(
        name, cls=PlainCommand, context_settings={"ignore_unknown_options": name == "step"}
    )(getattr(module, name.replace("-", "_")))
    return typer.main.get_command(alone)


app = typer.Typer(
    name="pdrm",
    cls=Commands,
    help="Pushdown reward machines: write a task that needs a stack, check it, draw it, run it, compile it.",
    invoke_without_command=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help: loading rich for it would double the start-up time
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Start with: pdrm new garden",
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"pdrm {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    context: typer.Context,
    _version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Pushdown reward machines: write a task that needs a stack, check it, draw it, run it, compile it."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def interrupt_again(fault: sys.UnraisableHookArgs) -> None:
    """Ctrl-C while Numba's compiler calls back cannot be raised there, and would be printed and forgotten: it comes again a moment later."""
    if fault.exc_type is KeyboardInterrupt:
        threading.Timer(LATER, os.kill, (os.getpid(), signal.SIGINT)).start()
    else:
        sys.__unraisablehook__(fault)


LATER = 0.05
"""Seconds after which an interrupt comes again: a callback of the compiler is over by then, or the next one has it come again."""


def main() -> None:
    """Run the command; a fault of the input is printed and ends it with exit code 2."""
    # When the reader (a pager, `head`) has gone, nothing is wrong, and nothing is left to say.
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    write_any_text()
    sys.unraisablehook = interrupt_again
    try:
        with show_warnings():
            app()
    except PdrmError as error:
        print_error(error)
        sys.exit(2)
    except OSError as error:  # a name that no file can have, a folder that has gone: whatever the command was doing
        reason = (error.strerror or str(error)).lower()
        what = f"{error.filename} cannot be opened" if error.filename else "the system refuses"
        print_error(CannotOpen(f"{what}: {reason}", fix="check the path and its permissions"))
        sys.exit(2)
    except KeyboardInterrupt:
        typer.echo("stopped", err=True)
        sys.exit(130)


if __name__ == "__main__":
    main()
