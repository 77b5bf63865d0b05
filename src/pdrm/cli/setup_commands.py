"""`pdrm doctor`, `pdrm new` and `pdrm explain`: the installation, a project to start from, error
codes."""

from __future__ import annotations

import inspect
import platform
import re
import shutil
import subprocess
import sys
from importlib import metadata
from importlib.resources import files
from pathlib import Path
from shlex import quote
from typing import Annotated, Any

import typer
from packaging.requirements import Requirement
from typer import Argument, Option

from pdrm import __version__
from pdrm.cli.arguments import Json, complete
from pdrm.cli.output import coloured, next_command, print_json
from pdrm.errors import BadSetting, CannotWrite, UnknownCode, did_you_mean, explanations

# --- `pdrm doctor`: what is installed, what is missing, and where JAX runs.

CORE = "core"
FOR = {
    CORE: "everything but the rest of this list",
    "jax": "deep agents, on CPU or GPU",
    "sb3": "Stable-Baselines3's agents",
    "dask": "studies on a Dask cluster",
    "ray": "studies on a Ray cluster",
    "tensorboard": "logging to TensorBoard",
    "wandb": "logging to Weights & Biases",
}
"""The purpose of each group of packages; groups that are not listed are for developers."""
ASK_JAX = "import jax\nfor one in jax.devices(): print(one.device_kind)"
PIP = f"{quote(sys.executable)} -m pip install"


def doctor(as_json: Json = False) -> None:
    """Say what is installed, what is missing, on which device JAX runs, and how to fix it.

    The exit code is 1 if something that everything needs is missing.

    Example: pdrm doctor
    """
    found = groups()
    devices = jax_devices() if any(one["name"] == "jax" and one["ok"] for one in found) else None
    about = {
        "ok": found[0]["ok"],
        "pdrm": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
    }
    if as_json:
        print_json({**about, "groups": found, "jax": devices})
    else:
        python = f"Python {about['python']} ({sys.executable})"
        typer.echo(f"pdrm {__version__}, {python}, {about['platform']}")
        for group in found:
            _print_group(group)
        if devices is not None:
            typer.echo(f"JAX runs on: {', '.join(devices['devices']) or 'nothing'}")
            if devices["fault"]:
                typer.echo(f"  {devices['fault']}\n  fix: {devices['fix']}")
        next_command("pdrm new garden" if about["ok"] else found[0]["fix"])
    if not about["ok"]:
        raise typer.Exit(1)


def groups() -> list[dict[str, Any]]:
    """Packages that serve one purpose: the core first, then each extra, as the installed package
    declares them."""
    needed = [Requirement(text) for text in metadata.requires("pdrm") or []]
    found = []
    for name, purpose in FOR.items():
        packages = [
            find_package(one)
            for one in needed
            if (name == CORE if one.marker is None else one.marker.evaluate({"extra": name}))
        ]
        lacking = [quote(one["name"] + one["wanted"]) for one in packages if not one["ok"]]
        fix = f"{PIP} {' '.join(lacking)}" if lacking else ""
        about = {"name": name, "for": purpose, "ok": not lacking, "packages": packages, "fix": fix}
        found.append(about)
    return found


def find_package(needed: Requirement) -> dict[str, Any]:
    """An installed package: its version, if it is there, and whether that will do."""
    try:
        version = metadata.version(needed.name)
    except metadata.PackageNotFoundError:
        version = None
    ok = version is not None and needed.specifier.contains(version, prereleases=True)
    return {"name": needed.name, "wanted": str(needed.specifier), "version": version, "ok": ok}


def jax_devices() -> dict[str, Any]:
    """The devices of JAX, asked in a separate process, because a broken driver can hang or crash
    it."""
    command = [sys.executable, "-c", ASK_JAX]
    devices: list[str] = []
    fault, wanted = "", "jax"
    try:
        ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
        devices = ended.stdout.splitlines()
    except subprocess.CalledProcessError as error:
        fault = error.stderr.strip().splitlines()[-1]
    except subprocess.TimeoutExpired as error:
        fault = str(error)
    if set(devices) == {"cpu"} and shutil.which("nvidia-smi"):
        fault, wanted = "there is an NVIDIA GPU that JAX does not use", "'jax[cuda12]'"
    fix = f"{PIP} --upgrade {wanted}" if fault else ""
    return {"devices": devices, "fault": fault, "fix": fix}


def _print_group(group: dict[str, Any]) -> None:
    mark = coloured("ok", fg="green") if group["ok"] else coloured("missing", fg="yellow")
    typer.echo(f"{group['name']}: {mark} ({group['for']})")
    for package in group["packages"]:
        needed = "" if package["ok"] else f" (needed: {package['wanted']})"
        typer.echo(f"  {package['name']} {package['version'] or 'not installed'}{needed}")
    if not group["ok"]:
        typer.echo(f"  fix: {group['fix']}")


# --- `pdrm new`: a small project that trains at once, to change step by step into your own.

NAME = re.compile(r"[A-Za-z][\w-]*", re.ASCII)
FIRST = {"grid": "pdrm train map.txt --machine task.pdrm", "gym": "python train.py"}
"""The first command to run, by the kind of project."""


def new(
    name: Annotated[str, Argument(help="The project's name: of a folder that is not there yet.")],
    gym: Annotated[
        bool, Option("--gym", help="With a Gymnasium environment of your own, not a map.")
    ] = False,
) -> None:
    """Make a small project that trains at once: a task, where it acts, a study, a test.

    Example: pdrm new garden
    """
    folder, kind = Path(name), "gym" if gym else "grid"
    if not NAME.fullmatch(folder.name):
        fix = "use letters, digits, - and _, beginning with a letter: pdrm new garden"
        raise BadSetting(f"`{folder.name or name}` cannot be a project's name", fix=fix)
    typer.echo(f"made {folder}/ with {', '.join(make_project(folder, kind))}")
    next_command(f"cd {{}} && {FIRST[kind]}", folder)


def make_project(folder: Path, kind: str) -> list[str]:
    """Make the folder; returns the names of its files.

    Python files end in `.py.txt` in the package: they are data there, not part of it.
    """
    templates = files("pdrm.cli").joinpath("templates", kind)
    texts = {
        template.name.replace(".py.txt", ".py"): template.read_text(encoding="utf-8")
        for template in templates.iterdir()
    }
    try:
        folder.mkdir(parents=True)
        for name, text in texts.items():
            (folder / name).write_text(text.replace("@NAME@", folder.name), encoding="utf-8")
    except OSError as error:
        fault = f"{folder} cannot be made: {(error.strerror or 'error').lower()}"
        fix = "choose another name, in a folder that you may write to; nothing is ever overwritten"
        raise CannotWrite(fault, fix=fix) from error
    return sorted(texts)


# --- `pdrm explain CODE`: what an error or warning means.


def explain(
    code: Annotated[
        str,
        Argument(
            help="A code such as E0301; without one, all codes are listed.",
            autocompletion=complete(explanations),
        ),
    ] = "",
) -> None:
    """Explain an error or warning code.

    Example: pdrm explain E0301
    """
    table, wanted = explanations(), code.strip().upper()
    if not code:
        for known, (title, _) in table.items():
            typer.echo(f"{known}  {title}")
        return
    if wanted not in table:
        fault = f"no error or warning has the code `{code}`"
        raise UnknownCode(fault, fix=did_you_mean(wanted, table))
    title, text = table[wanted]
    typer.echo(coloured(f"{wanted}: {title}", bold=True))
    typer.echo(inspect.cleandoc(text))
