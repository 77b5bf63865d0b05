"""Write the record of a study's runs into the package.

python -m docs.scripts.record_runs STUDY FOLDER NAME DEVICE
"""

from __future__ import annotations

import csv
import io
import json
import sys
from pathlib import Path

from pdrm import __version__
from pdrm.errors import NotRecorded
from pdrm.experiments.curves import Store, curves_of
from pdrm.experiments.study import Study
from pdrm.files import write_atomically
from pdrm.paper import figures, recorded


def keep_record(study: Study, store: Store, name: str, command: str, device: str) -> None:
    """Write the record of a study's runs, all finished, to files with this name."""
    lines = []
    for panel, line in study.lines():
        curves = curves_of(panel, line, study.seed_numbers, store)
        if curves is None or len(curves.seeds) < len(study.seed_numbers):
            raise NotRecorded(
                f"{panel.name}, {line.name}: not every seed is finished",
                fix=f"pdrm reproduce {study.name}",
            )
        lines.append(curves)
    runs = [store.run(spec) for _, _, spec in study.runs()]
    rows = io.StringIO()
    table = csv.writer(rows, lineterminator="\n")
    table.writerow(("domain", "line", "seed", lines[0].unit, *recorded.VALUES))
    for curves in lines:
        means = [values.mean(axis=2) for values in (curves.returns, curves.steps, curves.success)]
        for s, seed in enumerate(curves.seeds):
            for t, position in enumerate(curves.at.tolist()):
                cells = (f"{values[s, t]:.9g}" for values in means)
                table.writerow((curves.panel.task.name, curves.line.name, seed, position, *cells))
    about = {
        "study": study.name,
        "command": command,
        "device": device,
        "version": __version__,
        "seconds": round(sum(float(run.timing["seconds"]) for run in runs), 1),
        "runs": len(runs),
        "timesteps": sum(int(run.result["steps"]) for run in runs),
    }
    write_atomically(recorded.FOLDER / f"{study.name}-{name}.csv", rows.getvalue().encode())
    write_atomically(
        recorded.FOLDER / f"{study.name}-{name}.json", (json.dumps(about, indent=1) + "\n").encode()
    )


if __name__ == "__main__":
    figure, folder, name, device = sys.argv[1:]
    command = f"pdrm reproduce {figure} -o {folder}"
    keep_record(figures.study(figure), Store.below(Path(folder)), name, command, device)
