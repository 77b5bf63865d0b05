"""The core works without the extras, and a missing one is reported with its fix."""

import subprocess
import sys

import pytest


def python(script):
    return subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )


def test_importing_pdrm_brings_in_no_extra():
    done = python(
        "import sys, pdrm; sys.exit(bool({'jax', 'torch', 'stable_baselines3'} & set(sys.modules)))"
    )
    assert done.returncode == 0


@pytest.mark.parametrize(
    ("package", "module", "fix"),
    [
        ("jax", "pdrm.product.jax_env.jax_product", "pip install 'pdrm[jax]'"),
        ("optax", "pdrm.product.jax_env.jax_product", "pip install 'pdrm[jax]'"),
        ("stable_baselines3", "pdrm.learning.deep.sb3", "pip install 'pdrm[sb3]'"),
    ],
)
def test_a_missing_extra_is_named_with_its_fix(package, module, fix):
    done = python(f"import sys; sys.modules['{package}'] = None; import {module}")
    assert "MissingPackage" in done.stderr
    assert fix in done.stderr
