"""The wheel is small and whole, and works where only the core dependencies are."""

import subprocess
import sys
import sysconfig
import venv
import zipfile
from importlib import metadata
from pathlib import Path

import pytest

from requirements import wheel_test

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src"
TOOLS = {"hatchling", "editables"}
"""What building needs, and running does not."""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    return wheel_test.build(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def clean(wheel, tmp_path_factory):
    """The Python of an environment with the wheel and the core dependencies, linked from that of the tests."""
    folder = tmp_path_factory.mktemp("clean")
    venv.create(folder, with_pip=False)
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    packages, here = folder / "lib" / version / "site-packages", Path(sysconfig.get_path("purelib"))
    for line in (ROOT / "requirements/core.lock").read_text().split():
        if line.partition("==")[0] not in TOOLS:
            files = metadata.distribution(line.partition("==")[0]).files
            for name in {file.parts[0] for file in files} - {"..", "__pycache__"}:
                (packages / name).symlink_to(here / name) if not (
                    packages / name
                ).exists() else None
    zipfile.ZipFile(wheel).extractall(
        packages
    )  # what installing a pure wheel does, but for the command's script
    return folder / "bin" / "python"


def test_it_is_small_and_holds_the_package_and_nothing_else(wheel):
    assert wheel.stat().st_size < wheel_test.LARGEST
    inside = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    ours = {path.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("*") if path.is_file()}
    assert inside == {
        name for name in ours if "__pycache__" not in name and not name.endswith(".pyc")
    }
    assert {
        "pdrm/py.typed",
        "pdrm/cli/templates/grid/task.pdrm",
        "pdrm/machines/catalogue/letter.pdrm",
    } <= inside


def test_it_works_with_the_core_alone(clean, tmp_path):
    absent = ("torch", "jax", "stable_baselines3", "pytest", "ray", "wandb")
    code = f"from importlib.util import find_spec; import pdrm; print(*filter(find_spec, {absent}), pdrm.__file__)"
    where = subprocess.run([clean, "-I", "-c", code], capture_output=True, text=True, check=True)
    assert Path(where.stdout.strip()).is_relative_to(clean.parent.parent)
    wheel_test.smoke(clean, tmp_path, {"NUMBA_DISABLE_JIT": "1"})  # here nothing is compiled yet
