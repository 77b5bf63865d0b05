"""Put the readings that were run in some folders into the record that comes with the package, the default one too.

    pdrm reproduce letter --reading first-tie -o runs
    python -m docs.scripts.record_readings runs          writes src/pdrm/paper/recorded/readings.json

What was not run in the folders stays as it is recorded.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from pdrm.files import write_atomically
from pdrm.paper.judging import NOT_RUN
from pdrm.paper.readings import (
    DEFAULT,
    READINGS,
    RECORDED,
    judge_reading,
    run_here,
)

ABOUT = "about"


def main(folders: Sequence[str]) -> None:
    """Judge every reading that was run in the folders, and record it."""
    record = json.loads(RECORDED.read_text(encoding="utf-8"))
    order = {
        figure: [DEFAULT, *(one.name for one in READINGS if one.figure == figure)]
        for figure in record
    }
    for folder in map(Path, folders):
        asked = [(figure, DEFAULT) for figure in order if figure != ABOUT]
        asked += [
            (figure, name) for figure, _, name in (line.partition(" ") for line in run_here(folder))
        ]
        for figure, name in asked:
            judged = judge_reading(figure, name, folder)
            if name == DEFAULT and any(one.verdict == NOT_RUN for one in judged):
                continue
            record[figure][name] = [one.record() for one in judged]
            verdicts = ", ".join(f"{one['id']} {one['verdict']}" for one in record[figure][name])
            print(f"{figure} {name}: {verdicts}")
            record[figure] = {
                one: record[figure][one] for one in order[figure] if one in record[figure]
            }
    text = json.dumps(record, indent=1, ensure_ascii=False)
    short = re.sub(
        r"\[[^][{}\"]*\]",
        lambda found: re.sub(r"\s+", " ", found[0]).replace("[ ", "[").replace(" ]", "]"),
        text,
    )
    write_atomically(RECORDED, (short + "\n").encode())


if __name__ == "__main__":
    main(sys.argv[1:])
