"""Write requirements/*.lock: what a fresh environment gets today, pinned. Run by `make lock`."""

import re
import subprocess
import tempfile
import tomllib
import venv
from pathlib import Path

HERE = Path(__file__).parent
NOT_LOCKED = {"torch", "stable_baselines3", "pyrewardmachines"}
"""Asked for by pyrewardmachines, which works here without them."""


def frozen(python: Path, *packages: str) -> set[str]:
    """Install the packages and list everything that is there."""
    if packages:
        subprocess.run([python, "-m", "pip", "install", "--quiet", "--upgrade", *packages], check=True)
    listed = subprocess.run([python, "-m", "pip", "freeze"], check=True, capture_output=True, text=True).stdout
    return set(listed.split())


def main() -> None:
    """Resolve the core first, then what testing adds."""
    project = tomllib.loads((HERE.parent / "pyproject.toml").read_text())["project"]
    build = ["hatchling", "editables"]
    dev = [name for name in project["optional-dependencies"]["dev"] if re.split(r"[=<>]", name)[0] not in NOT_LOCKED]
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        python = Path(folder) / "bin" / "python"
        core = frozen(python, *project["dependencies"], *build)
        both = frozen(python, *dev, "tqdm", "gymnasium")
        subprocess.run([python, "-m", "pip", "install", "--quiet", "--no-deps", "pyrewardmachines"], check=True)
        both |= {line for line in frozen(python) if line.startswith("pyrewardmachines")}
    (HERE / "core.lock").write_text("\n".join(sorted(core, key=str.lower)) + "\n")
    (HERE / "dev.lock").write_text("\n".join(sorted(both - core, key=str.lower)) + "\n")


if __name__ == "__main__":
    main()
