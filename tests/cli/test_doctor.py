"""`pdrm doctor`: installed and missing packages, and how to fix the installation."""

import json
import sys
from importlib import metadata

import pytest

from pdrm.cli import setup_commands as doctor

REQUIRED = [
    "numpy>=2.0",
    "rich (>=13.7)",
    "jax>=0.4; extra == 'jax'",
    "no-such-package>=1.0; extra == 'sb3'",
    'ray[default]>=99999; extra == "ray"',
    "pytest>=8; extra == 'dev'",
]


@pytest.fixture
def required(monkeypatch):
    monkeypatch.setattr(metadata, "requires", lambda _: REQUIRED)


@pytest.mark.usefixtures("required")
def test_installed_and_missing_packages():
    found = {group["name"]: group for group in doctor.groups()}
    assert found["core"]["ok"]
    versions = {one["name"]: one["version"] for one in found["core"]["packages"]}
    assert versions["numpy"] == metadata.version("numpy")
    assert not found["sb3"]["ok"]
    assert found["sb3"]["fix"] == f"{sys.executable} -m pip install 'no-such-package>=1.0'"
    assert not found["ray"]["ok"]  # too old


@pytest.mark.usefixtures("required")
def test_the_command(pdrm, monkeypatch):
    monkeypatch.setattr(
        doctor, "jax_devices", lambda: {"devices": ["H200"], "fault": "", "fix": ""}
    )
    outcome = pdrm("doctor")
    assert outcome.code == 0
    assert "core: ok" in outcome.out
    assert "no-such-package not installed" in outcome.out
    assert "(needed: >=99999)" in outcome.out
    record = json.loads(pdrm("doctor", "--json").out)
    assert record["ok"]
    assert {group["name"]: group["ok"] for group in record["groups"]}["sb3"] is False


def test_a_missing_core_package_exits_with_1(monkeypatch, pdrm):
    monkeypatch.setattr(metadata, "requires", lambda _: ["no-such-package>=1"])
    outcome = pdrm("doctor")
    assert outcome.code == 1
    assert "core: missing" in outcome.out
    assert "pip install 'no-such-package>=1'" in outcome.err


def a_jax(folder, code):
    """A fake package `jax`, which the subprocess finds first."""
    (folder / "jax.py").write_text(code)
    return str(folder)


def test_the_devices_of_jax_are_listed_by_another_process(tmp_path, monkeypatch):
    device = (
        "import types\ndevices = lambda: [types.SimpleNamespace(platform='%s', device_kind='%s')]"
    )
    monkeypatch.setenv("PYTHONPATH", a_jax(tmp_path, device % ("gpu", "NVIDIA H200")))
    assert doctor.jax_devices() == {"devices": ["NVIDIA H200"], "fault": "", "fix": ""}
    a_jax(tmp_path, "raise RuntimeError('there is no driver to be found')")
    broken = doctor.jax_devices()
    assert (broken["devices"], broken["fault"]) == (
        [],
        "RuntimeError: there is no driver to be found",
    )
    assert "pip install --upgrade jax" in broken["fix"]
