"""Write the pages that are made: `python -m pages`."""

import sys
from pathlib import Path

from pages.made import PAGES

DOCS = Path(__file__).parent.parent / "docs"

if __name__ == "__main__":
    for name, make in PAGES.items():
        (DOCS / name).write_text(make(), encoding="utf-8")
        sys.stdout.write(f"wrote docs/{name}\n")
