"""`pdrm new`: a small project that trains at once, to change step by step into one's own."""

from __future__ import annotations

import os
import re
import shutil
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from shlex import quote
from typing import Annotated

import typer

from pdrm.cli.output import next_command
from pdrm.errors import BadSetting, CannotWrite

NAME = re.compile(r"[A-Za-z][\w-]*", re.ASCII)
PLACE = "@NAME@"
FIRST = {"grid": "pdrm train map.txt --machine task.pdrm", "gym": "python train.py"}
"""What one would do first, by the kind of project."""


def new(
    name: Annotated[str, typer.Argument(help="The project's name: of a folder that is not there yet.")],
    gym: Annotated[bool, typer.Option("--gym", help="With a Gymnasium environment of your own, not a map.")] = False,
) -> None:
    """Make a small project that trains at once: a task, where it acts, a study, a test.

    Example: pdrm new garden
    """
    folder, kind = Path(name), "gym" if gym else "grid"
    if not NAME.fullmatch(folder.name):
        fix = "use letters, digits, - and _, beginning with a letter: pdrm new garden"
        raise BadSetting(f"`{folder.name or name}` cannot be a project's name", fix=fix)
    if folder.exists() or folder.is_symlink():
        raise CannotWrite(f"{folder} is there already", fix="choose another name; nothing is ever overwritten")
    made = make_project(folder, kind)
    typer.echo(f"made {folder}/ with {', '.join(made)}")
    next_command(f"cd {quote(str(folder))} && {FIRST[kind]}")


def make_project(folder: Path, kind: str) -> list[str]:
    """Make the folder, whole or not at all; returns the names of its files."""
    half = folder.parent / f".{folder.name}.{os.getpid()}"
    templates = sorted(_templates(kind), key=lambda template: template.name)
    names = [template.name.removesuffix(".txt") if ".py." in template.name else template.name for template in templates]
    try:
        half.mkdir(parents=True)
        for template, name in zip(templates, names, strict=True):
            text = template.read_text(encoding="utf-8").replace(PLACE, folder.name)
            (half / name).write_text(text, encoding="utf-8")
        half.rename(folder)
    except OSError as error:
        fix = "choose a folder you may write to"
        raise CannotWrite(f"{folder} cannot be made: {(error.strerror or 'error').lower()}", fix=fix) from error
    finally:
        shutil.rmtree(half, ignore_errors=True)
    return names


def _templates(kind: str) -> list[Traversable]:
    """The files of a kind of project. Python files end in `.py.txt` there: they are data here, not part of the package."""
    folder = files("pdrm.cli").joinpath("templates", kind)
    return [entry for entry in folder.iterdir() if entry.is_file() and not entry.name.startswith(".")]
