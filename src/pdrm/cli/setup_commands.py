"""`pdrm doctor`, `pdrm new` and `pdrm explain`: the installation, a project to start from, error codes."""

from __future__ import annotations

import inspect
import json
import os
import platform
import re
import shutil
import subprocess
import sys
from dataclasses import asdict, dataclass
from importlib import metadata
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from shlex import quote
from typing import Annotated, Any

import typer

from pdrm import __version__
from pdrm.cli.arguments import complete_code
from pdrm.cli.output import Json, coloured, next_command, print_json
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
REQUIREMENT = re.compile(r"([\w.-]+)(?:\[[^]]*\])?\s*\(?([^;)]*)\)?(?:\s*;(.*))?")
EXTRA = re.compile(r"extra\s*==\s*['\"]([\w.-]+)['\"]")
ASK_JAX = (
    "import json, jax; print(json.dumps([[d.platform, d.device_kind] for d in jax.devices()]))"
)
PIP = f"{quote(sys.executable)} -m pip install"


@dataclass(frozen=True, slots=True)
class Package:
    """A package that a group needs."""

    name: str
    wanted: str
    """The versions that will do, such as `>=1.0`."""
    version: str | None
    """The installed version."""
    ok: bool
    """It is installed, and not older than the lower bound."""


@dataclass(frozen=True, slots=True)
class Group:
    """Packages that serve one purpose."""

    name: str
    purpose: str
    packages: tuple[Package, ...]

    @property
    def ok(self) -> bool:
        """All are there."""
        return all(package.ok for package in self.packages)

    @property
    def fix(self) -> str:
        """The command that installs what is missing."""
        lacking = [quote(f"{one.name}{one.wanted}") for one in self.packages if not one.ok]
        return f"{PIP} {' '.join(lacking)}" if lacking else ""


def doctor(as_json: Json = False) -> None:
    """Say what is installed, what is missing, on which device JAX runs, and how to fix it.

    The exit code is 1 if something that everything needs is missing.

    Example: pdrm doctor
    """
    found = groups()
    devices = jax_devices() if any(group.name == "jax" and group.ok for group in found) else None
    core = found[0].ok
    python, system = platform.python_version(), platform.platform()
    if as_json:
        records = [
            {
                "name": group.name,
                "for": group.purpose,
                "ok": group.ok,
                "packages": [asdict(package) for package in group.packages],
                "fix": group.fix,
            }
            for group in found
        ]
        about = {"ok": core, "pdrm": __version__, "python": python, "platform": system}
        print_json({**about, "groups": records, "jax": devices})
    else:
        typer.echo(f"pdrm {__version__}, Python {python} ({sys.executable}), {system}")
        for group in found:
            _print_group(group)
        if devices is not None:
            _print_jax(devices)
        next_command("pdrm new garden" if core else found[0].fix)
    if not core:
        raise typer.Exit(1)


def groups() -> list[Group]:
    """The core first, then each extra, as the installed package declares them."""
    needed: dict[str, list[Package]] = {name: [] for name in FOR}
    for text in metadata.requires("pdrm") or []:
        if match := REQUIREMENT.fullmatch(text):
            extra = EXTRA.search(match[3] or "")
            group = extra[1] if extra else CORE
            needed.get(group, []).append(find_package(match[1], match[2].strip()))
    return [
        Group(name, FOR[name], tuple(packages)) for name, packages in needed.items() if packages
    ]


def find_package(name: str, wanted: str) -> Package:
    """Look up an installed package."""
    try:
        version = metadata.version(name)
    except metadata.PackageNotFoundError:
        return Package(name, wanted, None, False)
    bound = re.search(r">=\s*([\d.]+)", wanted)
    ok = bound is None or _numbers(version) >= _numbers(bound[1])
    return Package(name, wanted, version, ok)


def _numbers(version: str) -> tuple[int, ...]:
    """The leading numbers of a version."""
    return tuple(int(part) for part in re.findall(r"\d+", version.partition("+")[0])[:3])


def jax_devices() -> dict[str, Any]:
    """The devices of JAX, asked in a separate process, because a broken driver can hang or crash it."""
    command = [sys.executable, "-c", ASK_JAX]
    try:
        ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
        devices = json.loads(ended.stdout)
    except subprocess.CalledProcessError as error:
        fault = error.stderr.strip().splitlines()[-1]
        return {"devices": [], "fault": fault, "fix": f"{PIP} --upgrade jax"}
    except (subprocess.TimeoutExpired, OSError, ValueError) as error:
        return {"devices": [], "fault": str(error), "fix": f"{PIP} --upgrade jax"}
    unused = all(kind == "cpu" for kind, _ in devices) and shutil.which("nvidia-smi") is not None
    if not unused:
        return {"devices": devices, "fault": "", "fix": ""}
    extras = metadata.metadata("jax").get_all("Provides-Extra") or []
    newest = max((extra for extra in extras if re.fullmatch(r"cuda\d+", extra)), default="cuda12")
    fault = "there is an NVIDIA GPU that JAX does not use"
    return {"devices": devices, "fault": fault, "fix": f"{PIP} --upgrade {quote(f'jax[{newest}]')}"}


def _print_group(group: Group) -> None:
    missing = coloured("missing", fg="red" if group.name == CORE else "yellow")
    mark = coloured("ok", fg="green") if group.ok else missing
    typer.echo(f"{group.name}: {mark} ({group.purpose})")
    states = []
    for package in group.packages:
        old = "" if package.ok else " is too old"
        states.append(
            f"{package.name} {package.version}{old}" if package.version else f"no {package.name}"
        )
    typer.echo(f"  {', '.join(states)}")
    if not group.ok:
        typer.echo(f"  fix: {group.fix}")


def _print_jax(found: dict[str, Any]) -> None:
    devices = [f"{kind} ({name})" if name != kind else kind for kind, name in found["devices"]]
    typer.echo(f"JAX runs on: {', '.join(devices) or 'nothing'}")
    if found["fault"]:
        typer.echo(f"  {found['fault']}\n  fix: {found['fix']}")


# --- `pdrm new`: a small project that trains at once, to change step by step into your own.

NAME = re.compile(r"[A-Za-z][\w-]*", re.ASCII)
PLACE = "@NAME@"
FIRST = {"grid": "pdrm train map.txt --machine task.pdrm", "gym": "python train.py"}
"""The first command to run, by the kind of project."""


def new(
    name: Annotated[
        str, typer.Argument(help="The project's name: of a folder that is not there yet.")
    ],
    gym: Annotated[
        bool, typer.Option("--gym", help="With a Gymnasium environment of your own, not a map.")
    ] = False,
) -> None:
    """Make a small project that trains at once: a task, where it acts, a study, a test.

    Example: pdrm new garden
    """
    folder, kind = Path(name), "gym" if gym else "grid"
    if not NAME.fullmatch(folder.name):
        fix = "use letters, digits, - and _, beginning with a letter: pdrm new garden"
        raise BadSetting(f"`{folder.name or name}` cannot be a project's name", fix=fix)
    if folder.exists() or folder.is_symlink():
        raise CannotWrite(
            f"{folder} is there already", fix="choose another name; nothing is ever overwritten"
        )
    parents = "" if folder.parent.exists() else f" (and {folder.parent}/, which was not there)"
    typer.echo(f"made {folder}/ with {', '.join(make_project(folder, kind))}{parents}")
    next_command(f"cd {quote(str(folder))} && {FIRST[kind]}")


def make_project(folder: Path, kind: str) -> list[str]:
    """Make the folder, whole or not at all; returns the names of its files."""
    half = folder.parent / f".{folder.name}.{os.getpid()}"
    templates = sorted(_templates(kind), key=lambda template: template.name)
    names = [
        template.name.removesuffix(".txt") if ".py." in template.name else template.name
        for template in templates
    ]
    try:
        half.mkdir(parents=True)
        for template, name in zip(templates, names, strict=True):
            text = template.read_text(encoding="utf-8").replace(PLACE, folder.name)
            (half / name).write_text(text, encoding="utf-8")
        half.rename(folder)
    except OSError as error:
        fix = "choose a folder you may write to"
        raise CannotWrite(
            f"{folder} cannot be made: {(error.strerror or 'error').lower()}", fix=fix
        ) from error
    finally:
        shutil.rmtree(half, ignore_errors=True)
    return names


def _templates(kind: str) -> list[Traversable]:
    """The files of a kind of project. Python files end in `.py.txt` there: they are data here, not part of the package."""
    folder = files("pdrm.cli").joinpath("templates", kind)
    return [
        entry for entry in folder.iterdir() if entry.is_file() and not entry.name.startswith(".")
    ]


# --- `pdrm explain CODE`: what an error or warning means.


def explain(
    code: Annotated[
        str,
        typer.Argument(
            help="A code such as E0301; without one, all codes are listed.",
            autocompletion=complete_code,
        ),
    ] = "",
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
        raise UnknownCode(
            f"no error or warning has the code `{code}`", fix=did_you_mean(wanted, table)
        )
    title, text = table[wanted]
    typer.echo(coloured(f"{wanted}: {title}", bold=True))
    typer.echo(inspect.cleandoc(text))
