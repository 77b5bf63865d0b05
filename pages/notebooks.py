"""The example notebooks, executed, so that whoever looks at them on a page of files sees what they show: `python -m pages notebooks`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

NOTEBOOKS = sorted((Path(__file__).parent.parent / "examples" / "notebooks").glob("*.ipynb"))


def execute(path: Path) -> str:
    """The notebook's file with the outputs of its cells; nothing in it says when, or how long, it ran."""
    import nbclient
    import nbformat

    book: Any = nbformat.reads(path.read_text(encoding="utf-8"), as_version=4)
    nbclient.NotebookClient(book, timeout=300, record_timing=False).execute()
    book.metadata.language_info = {"name": "python"}
    for cell in book.cells:
        for output in cell.get("outputs", ()):
            data = output.get("data", {})
            if "image/svg+xml" in data or "text/html" in data:
                data.pop("image/png", None)  # the same picture twice
    return json.dumps(book, indent=1, ensure_ascii=False, sort_keys=True) + "\n"
