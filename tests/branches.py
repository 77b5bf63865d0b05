"""The share of branches that the tests take, folder by folder, from coverage's JSON. Run by `make coverage`."""

import json
import sys
from collections import Counter
from pathlib import Path

FOLDERS = ("machines", "language", "product", "analysis")
KEPT = Path(__file__).parents[1] / "docs" / "branches.json"
"""What docs/mutants.md says of them."""
LEAST = 95.0
"""Per cent of the branches of each folder."""


def shares(report):
    """Folder -> branches, and how many of them were taken.

    >>> one = {"summary": {"num_branches": 8, "covered_branches": 7}}
    >>> shares({"files": {"src/pdrm/machines/guards.py": one, "src/pdrm/machines/tables.py": one}})
    {'machines': (16, 14), 'language': (0, 0), 'product': (0, 0), 'analysis': (0, 0)}
    """
    all_of, taken = Counter(), Counter()
    for name, file in report["files"].items():
        folder = Path(name).parts[2]
        all_of[folder] += file["summary"]["num_branches"]
        taken[folder] += file["summary"]["covered_branches"]
    return {folder: (all_of[folder], taken[folder]) for folder in FOLDERS}


def main(file):
    low, found = [], shares(json.loads(Path(file).read_text()))
    KEPT.write_text(
        json.dumps(
            {
                folder: {"branches": all_of, "taken": taken}
                for folder, (all_of, taken) in found.items()
            }
        )
        + "\n"
    )
    for folder, (branches, taken) in found.items():
        share = 100 * taken / branches
        sys.stdout.write(f"{folder:<10} {taken} of {branches} branches: {share:.1f} %\n")
        low += [folder] if share < LEAST else []
    return f"less than {LEAST:g} %: {', '.join(low)}" if low else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
