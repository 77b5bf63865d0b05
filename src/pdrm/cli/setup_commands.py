"""`pdrm doctor`, `pdrm new` and `pdrm explain`: the installation, new projects, error codes."""

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

# --- `pdrm doctor`: the installed packages, and the devices of JAX

CORE = "core"
PURPOSES = {
    CORE: "everything except the extras below",
    "jax": "deep agents, on CPU or GPU",
    "sb3": "Stable-Baselines3's agents",
    "dask": "studies on a Dask cluster",
    "ray": "studies on a Ray cluster",
    "tensorboard": "logging to TensorBoard",
    "wandb": "logging to Weights & Biases",
}
"""The purpose of each group of packages. Other groups are for developers."""
LIST_DEVICES = "import jax\nfor device in jax.devices(): print(device.device_kind)"
PIP = f"{quote(sys.executable)} -m pip install"


def doctor(as_json: Json = False) -> None:
    """Check the installed packages and the devices of JAX.

    The exit code is 1 if a core package is missing.

    Example: pdrm doctor
    """
    found = groups()
    core = found[0]
    has_jax = any(group["name"] == "jax" and group["ok"] for group in found)
    devices = jax_devices() if has_jax else None
    about = {
        "ok": core["ok"],
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
            typer.echo(f"JAX devices: {', '.join(devices['devices']) or 'none'}")
            if devices["fault"]:
                typer.echo(f"  {devices['fault']}\n  fix: {devices['fix']}")
        next_command("pdrm new garden" if core["ok"] else core["fix"])
    if not core["ok"]:
        raise typer.Exit(1)


def groups() -> list[dict[str, Any]]:
    """The requirements of the installed package by group: the core first, then the extras."""
    requirements = [Requirement(text) for text in metadata.requires("pdrm") or []]
    found = []
    for name, purpose in PURPOSES.items():
        packages = [find_package(needed) for needed in requirements if _is_in(needed, name)]
        missing = [
            quote(package["name"] + package["wanted"]) for package in packages if not package["ok"]
        ]
        fix = f"{PIP} {' '.join(missing)}" if missing else ""
        found.append(
            {"name": name, "for": purpose, "ok": not missing, "packages": packages, "fix": fix}
        )
    return found


def _is_in(needed: Requirement, group: str) -> bool:
    """Return True if a requirement belongs to the core or to this extra."""
    if needed.marker is None:
        return group == CORE
    return needed.marker.evaluate({"extra": group})


def find_package(needed: Requirement) -> dict[str, Any]:
    """The installed version of a package, and if it satisfies the requirement."""
    try:
        version = metadata.version(needed.name)
    except metadata.PackageNotFoundError:
        version = None
    ok = version is not None and needed.specifier.contains(version, prereleases=True)
    return {"name": needed.name, "wanted": str(needed.specifier), "version": version, "ok": ok}


def jax_devices() -> dict[str, Any]:
    """The devices of JAX. A separate process lists them, because a broken driver can hang or
    crash."""
    command = [sys.executable, "-c", LIST_DEVICES]
    devices: list[str] = []
    fault = ""
    package = "jax"
    try:
        ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
        devices = ended.stdout.splitlines()
    except subprocess.CalledProcessError as error:
        reason = error.stderr.strip() or f"JAX stopped with exit code {error.returncode}"
        fault = reason.splitlines()[-1]
    except subprocess.TimeoutExpired as error:
        fault = str(error)
    if set(devices) == {"cpu"} and shutil.which("nvidia-smi"):
        fault = "JAX does not use the NVIDIA GPU"
        package = "'jax[cuda12]'"
    fix = f"{PIP} --upgrade {package}" if fault else ""
    return {"devices": devices, "fault": fault, "fix": fix}


def _print_group(group: dict[str, Any]) -> None:
    mark = coloured("ok", fg="green") if group["ok"] else coloured("missing", fg="yellow")
    typer.echo(f"{group['name']}: {mark} ({group['for']})")
    for package in group["packages"]:
        needed = "" if package["ok"] else f" (needed: {package['wanted']})"
        typer.echo(f"  {package['name']} {package['version'] or 'not installed'}{needed}")
    if not group["ok"]:
        typer.echo(f"  fix: {group['fix']}")


# --- `pdrm new`: a small working project, to change step by step into your own

NAME = re.compile(r"[A-Za-z][\w-]*", re.ASCII)
FIRST_COMMAND = {"grid": "pdrm train map.txt --machine task.pdrm", "gym": "python train.py"}
"""The first command to run, by the kind of project."""


def new(
    name: Annotated[str, Argument(help="The project's name, also the name of a new folder.")],
    gym: Annotated[
        bool, Option("--gym", help="Use your own Gymnasium environment instead of a map.")
    ] = False,
) -> None:
    """Create a small project with a task, a study and a test.

    Example: pdrm new garden
    """
    folder = Path(name)
    kind = "gym" if gym else "grid"
    if not NAME.fullmatch(folder.name):
        fix = "its last part is letters, digits, - and _, starting with a letter: pdrm new garden"
        raise BadSetting(f"invalid project name: `{folder.name or name}`", fix=fix)
    typer.echo(f"created {folder}/ with {', '.join(make_project(folder, kind))}")
    next_command(f"cd {{}} && {FIRST_COMMAND[kind]}", folder)


def make_project(folder: Path, kind: str) -> list[str]:
    """Create the folder of a project and return the names of its files.

    The templates of Python files are called `.py.txt`, because they are data of the package.
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
        fault = f"{folder} cannot be created: {(error.strerror or 'error').lower()}"
        fix = "choose another name or folder; existing files are never overwritten"
        raise CannotWrite(fault, fix=fix) from error
    return sorted(texts)


# --- `pdrm explain CODE`: the explanation of an error or warning


def explain(
    code: Annotated[
        str,
        Argument(
            help="A code such as E0301. [list all codes]",
            autocompletion=complete(explanations),
        ),
    ] = "",
) -> None:
    """Explain an error or warning code.

    Example: pdrm explain E0301
    """
    table = explanations()
    wanted = code.strip().upper()
    if not code:
        for known, (title, _) in table.items():
            typer.echo(f"{known}  {title}")
        return
    if wanted not in table:
        raise UnknownCode(f"unknown code `{code}`", fix=did_you_mean(wanted, table))
    typer.echo(coloured(wanted, bold=True))
    typer.echo(inspect.cleandoc(table[wanted][1]))
