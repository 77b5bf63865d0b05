"""Add the readings that were run in some folders to the record in the package.

    pdrm reproduce letter --reading first-tie -o runs
    python -m docs.scripts.record_readings runs      writes src/pdrm/paper/recorded/readings.json

This includes the default reading. Other recorded readings are kept.
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
        figure: [DEFAULT, *(reading.name for reading in READINGS if reading.figure == figure)]
        for figure in record
    }
    for folder in map(Path, folders):
        readings = [(figure, DEFAULT) for figure in order if figure != ABOUT]
        for line in run_here(folder):
            figure, _, name = line.partition(" ")
            readings.append((figure, name))
        for figure, name in readings:
            claims = judge_reading(figure, name, folder)
            if name == DEFAULT and any(claim.verdict == NOT_RUN for claim in claims):
                continue
            judged = record[figure]
            judged[name] = [claim.record() for claim in claims]
            verdicts = ", ".join(f"{claim['id']} {claim['verdict']}" for claim in judged[name])
            print(f"{figure} {name}: {verdicts}")
            record[figure] = {key: judged[key] for key in order[figure] if key in judged}
    text = json.dumps(record, indent=1, ensure_ascii=False)
    short = re.sub(r"\[[^][{}\"]*\]", _on_one_line, text)
    write_atomically(RECORDED, (short + "\n").encode())


def _on_one_line(array: re.Match[str]) -> str:
    """An array of numbers without line breaks."""
    return re.sub(r"\s+", " ", array[0]).replace("[ ", "[").replace(" ]", "]")


if __name__ == "__main__":
    main(sys.argv[1:])
