"""Put the readings that were run in some folders into the record that comes with the package.

    pdrm reproduce letter --reading first-tie -o runs
    python -m pages.record_readings runs          writes src/pdrm/experiments/paper/recorded/readings.json

What was not run in the folders stays as it is recorded.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from pdrm.experiments.paper.paper_readings import READINGS, RECORDED, judge_reading, run_here
from pdrm.files import write_atomically


def main(folders: Sequence[str]) -> None:
    """Judge every reading that was run in the folders, and record it."""
    record = json.loads(RECORDED.read_text(encoding="utf-8"))
    order = {figure: ["default", *(one.name for one in READINGS if one.figure == figure)] for figure in record}
    for folder in map(Path, folders):
        for figure, name in (line.split(" ", 1) for line in run_here(folder)):
            reading = next(one for one in READINGS if (one.figure, one.name) == (figure, name))
            record[figure][name] = [one.record() for one in judge_reading(reading, figure, folder)]
            verdicts = ", ".join(f"{one['id']} {one['verdict']}" for one in record[figure][name])
            print(f"{figure} {name}: {verdicts}")  # noqa: T201 - what was recorded
            record[figure] = {one: record[figure][one] for one in order[figure] if one in record[figure]}
    text = json.dumps(record, indent=1, ensure_ascii=False)
    short = re.sub(
        r"\[[^][{}\"]*\]", lambda found: re.sub(r"\s+", " ", found[0]).replace("[ ", "[").replace(" ]", "]"), text
    )
    write_atomically(RECORDED, (short + "\n").encode())


if __name__ == "__main__":
    main(sys.argv[1:])
