"""Write the pages that are made, and the pictures: `python -m pages`, or some of them: `python -m pages benchmarks.md concepts`."""

import sys
from pathlib import Path

from pages import concept_pictures
from pages.bench_pictures import pictures
from pages.made import PAGES

DOCS = Path(__file__).parent.parent / "docs"

if __name__ == "__main__":
    wanted = sys.argv[1:] or [*PAGES, "concepts"]
    for name in (page for page in wanted if page != "concepts"):
        (DOCS / name).write_text(PAGES[name](), encoding="utf-8")
        sys.stdout.write(f"wrote docs/{name}\n")
    drawn = {} if "benchmarks.md" not in wanted else pictures()
    drawn |= {} if "concepts" not in wanted else concept_pictures.pictures()
    for name, picture in drawn.items():
        (DOCS / "images" / name).write_bytes(picture.svg())
        sys.stdout.write(f"wrote docs/images/{name}\n")
