"""docs/commands.md: every command, its arguments and options, from what `--help` shows."""

from __future__ import annotations

import inspect
from typing import Any

import typer

from pdrm.cli.main import COMMANDS, app, load_command

HEAD = """# The command

*Made by `python -m pages` from what `pdrm COMMAND --help` shows.*

Commands that answer programs have `--json`; bad input ends with exit code 2, the reason and a fix, never a traceback; `NO_COLOR` is respected; the next
useful command is printed last, on standard error.
"""


def commands() -> dict[str, Any]:
    """The commands by name, as the command line knows them."""
    return {name: load_command(name) for name in COMMANDS}


def commands_page() -> str:
    """The page."""
    listed = [
        f"| [`{name}`](#pdrm-{name}) | {_first(command)} |" for name, command in commands().items()
    ]
    options = [row(parameter) for parameter in typer.main.get_command(app).params]
    parts = [
        HEAD,
        "| option | |\n|---|---|",
        *options,
        "| `-h`, `--help` | Show the help, also of every command. |",
        "",
    ]
    parts += ["| command | what it does |\n|---|---|", *listed, ""]
    for name, command in commands().items():
        parts += [f"## pdrm {name}", "", _cell(inspect.cleandoc(command.help)), ""]
        rows = [row(parameter) for parameter in command.params if parameter.name != "help"]
        if rows:
            parts += ["| argument or option | |", "|---|---|", *rows, ""]
    return "\n".join(parts)


def row(parameter: Any) -> str:
    """One argument or option: its names, its help, and what it is when not given."""
    option = parameter.param_type_name == "option"
    names = ", ".join(f"`{name}`" for name in (*parameter.opts, *parameter.secondary_opts))
    shown = names if option else f"`{parameter.name.upper()}`"
    default = f" [{parameter.default}]" if option and _told(parameter) else ""
    return f"| {shown} | {_cell(parameter.help)}{default} |"


def _told(parameter: Any) -> bool:
    """Whether the default is to be said: not where the help says it, and not the number of this computer's cores."""
    plain = not callable(parameter.default) and not isinstance(parameter.default, bool)
    return (
        plain
        and parameter.default not in (None, "")
        and "[" not in parameter.help
        and parameter.name != "workers"
    )


def _first(command: Any) -> str:
    return _cell(inspect.cleandoc(command.help).partition("\n\n")[0].replace("\n", " "))


def _cell(text: str) -> str:
    """Text as it stands in a table: a bar would end the cell."""
    return text.replace("|", "\\|")
