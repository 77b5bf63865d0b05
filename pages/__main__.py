"""Write the pages that are made, and the pictures: `python -m pages`, or some of them: `python -m pages benchmarks.md concepts`.
The notebooks are executed only where they are named: `python -m pages notebooks`."""

import sys
from pathlib import Path

from pages import concept_pictures, notebooks
from pages.bench_pictures import pictures
from pages.house import house_picture
from pages.made import PAGES

DOCS = Path(__file__).parent.parent / "docs"

if __name__ == "__main__":
    wanted = sys.argv[1:] or [*PAGES, "concepts", "house"]
    for name in (page for page in wanted if page in PAGES):
        (DOCS / name).write_text(PAGES[name](), encoding="utf-8")
        sys.stdout.write(f"wrote docs/{name}\n")
    for path in notebooks.NOTEBOOKS if "notebooks" in wanted else ():
        path.write_text(notebooks.execute(path), encoding="utf-8")
        sys.stdout.write(f"wrote {path.name}\n")
    drawn = {} if "benchmarks.md" not in wanted else pictures()
    drawn |= {} if "concepts" not in wanted else concept_pictures.pictures()
    drawn |= {} if "house" not in wanted else {"house.svg": house_picture()}
    for name, picture in drawn.items():
        (DOCS / "images" / name).write_bytes(picture.svg())
        sys.stdout.write(f"wrote docs/images/{name}\n")
