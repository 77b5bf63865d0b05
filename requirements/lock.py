"""Write requirements/*.lock: what a fresh environment gets today, pinned. Run by `make lock`."""

import subprocess
import tempfile
import tomllib
import venv
from pathlib import Path

HERE = Path(__file__).parent


def frozen(python: Path, *packages: str) -> set[str]:
    """Install the packages and list all installed ones, without local versions (`2.13.0+cpu`)."""
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--upgrade", *packages], check=True)
    listed = subprocess.run(
        [python, "-m", "pip", "freeze"], check=True, capture_output=True, text=True
    ).stdout
    return {line.partition("+")[0] for line in listed.split()}


def main() -> None:
    """Resolve the core first, then what testing adds."""
    project = tomllib.loads((HERE.parent / "pyproject.toml").read_text())["project"]
    build = ["hatchling", "editables"]
    dev = project["optional-dependencies"]["dev"]
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        python = Path(folder) / "bin" / "python"
        core = frozen(python, *project["dependencies"], *build)
        both = frozen(python, *dev)
    (HERE / "core.lock").write_text("\n".join(sorted(core, key=str.lower)) + "\n")
    (HERE / "dev.lock").write_text("\n".join(sorted(both - core, key=str.lower)) + "\n")


if __name__ == "__main__":
    main()
