"""Build the wheel, install it into an empty environment and use it (`make wheel-test`).

The tests do the same offline.
"""

import json
import os
import subprocess
import sys
import tempfile
import venv
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parent.parent
LARGEST = 5 * 10**6
"""Bytes of the wheel, at most."""
WRAPS_ROUND = "ignore:overflow encountered in scalar:RuntimeWarning"
"""Hashes wrap around; NumPy warns of it where Numba does not compile them."""
SMOKE = (
    "check letter",
    'step treasure-maze "d+t u+x"',
    "draw letter -o letter.svg",
    "convert letter-counting -o letter.json --to pushdown",
    "new garden",
    "train garden/map.txt --machine garden/task.pdrm --episodes 20 --set test_every=10 --set test_episodes=1",
    "check-k paint --k 0",
    "catalogue letter",
    "explain E0301",
)
"""Commands that need nothing but the core."""


def build(folder: Path) -> Path:
    """The wheel, built in a folder with the build tools of this environment."""
    command = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "--no-build-isolation",
        "--no-index",
    ]
    subprocess.run([*command, "--wheel-dir", str(folder), str(ROOT)], check=True)
    (wheel,) = folder.glob("pdrm-*.whl")
    return wheel


EACH = """
import shlex, sys
from pdrm.cli.main import main
for words in sys.argv[1:]:
    sys.argv = ["pdrm", *shlex.split(words)]
    try:
        main()
    except SystemExit as ended:
        if ended.code:
            sys.exit(f"pdrm {words}: exit code {ended.code}")
"""
"""One process for all commands: starting one for each would take most of the time."""


def smoke(python: Path, folder: Path, environment: Mapping[str, str] | None = None) -> None:
    """Run the commands in a folder, isolated from this environment; raise if one fails."""
    clean = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTHON", "VIRTUAL_ENV"))
    }
    clean.update(environment or {})
    command = [str(python), "-W", "error", "-W", WRAPS_ROUND, "-c", EACH, *SMOKE]
    ended = subprocess.run(
        command, cwd=folder, env=clean, check=False, capture_output=True, text=True
    )
    if ended.returncode:
        raise RuntimeError(ended.stderr)
    told = subprocess.run(
        [python, "-m", "pdrm", "doctor", "--json"], env=clean, check=True, capture_output=True
    )
    report = json.loads(told.stdout)
    if not report["ok"] or report["jax"] is not None:
        raise RuntimeError(f"not a clean environment with the core alone: {report}")


def main() -> None:
    """Build, install from the package index, use."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        wheel = build(folder)
        if wheel.stat().st_size >= LARGEST:
            raise RuntimeError(f"{wheel.name} has {wheel.stat().st_size:,} bytes")
        venv.create(folder / "venv", with_pip=True)
        python = folder / "venv" / "bin" / "python"
        subprocess.run([python, "-m", "pip", "install", "--quiet", str(wheel)], check=True)
        smoke(python, folder)
        sys.stdout.write(
            f"{wheel.name}: {wheel.stat().st_size:,} bytes, installs and works with the core alone\n"
        )


if __name__ == "__main__":
    main()
