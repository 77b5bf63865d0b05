"""Which studies a folder is about: kept beside the runs, so that their tables, curves and page can be made again from there.

Domains of one's own are not in it: each run's folder has its own.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pdrm.errors import BadRunFolder, PdrmError
from pdrm.experiments.store import Store
from pdrm.experiments.study import Line, Panel, Study
from pdrm.files.whole_file import write
from pdrm.learning.tabular.run import DOMAIN, spec_of

STUDIES = "studies.json"
PANEL = ("name", "title", "figure")
LINE = ("name", "agent", "k", "colour", "ours", "seconds", "gigabytes")


def keep_studies(studies: Sequence[Study], folder: Path, store: Store) -> None:
    """Write what the studies are. The paper's are known without: what is kept of earlier ones then goes."""
    if all(study.of_the_paper for study in studies):
        (folder / STUDIES).unlink(missing_ok=True)
        return
    record = [_study(study, store) for study in studies]
    write(folder / STUDIES, (json.dumps(record, indent=1, ensure_ascii=False) + "\n").encode())


def kept_studies(folder: Path, store: Store) -> list[Study]:
    """The studies kept in a folder, as far as their domains are there; none: nothing is kept."""
    path = folder / STUDIES
    if not path.exists():
        return []
    try:
        found = [_read(record, store) for record in json.loads(path.read_text(encoding="utf-8"))]
    except (OSError, ValueError, KeyError, TypeError, AttributeError, PdrmError) as error:
        raise BadRunFolder(f"{path} is damaged: {error}", fix="pdrm run STUDY writes it again") from error
    return [study for study in found if study is not None]


def _study(study: Study, store: Store) -> dict[str, Any]:
    panels = [_panel(panel, study.seeds, store) for panel in study.panels]
    own = {"name": study.name, "title": study.title, "figure": study.figure, "seeds": study.seeds}
    return {**own, "panels": panels}


def _panel(panel: Panel, seeds: Sequence[int], store: Store) -> dict[str, Any]:
    """One's own domain (None here) is that of the panel's runs, whose folders are named."""
    specs = {line.name: panel.specs(line, seeds) for line in panel.lines}
    settings = {name: asdict(found[0].settings) for name, found in specs.items()}
    first = next(iter(specs.values()))[0]
    return {
        **{name: getattr(panel, name) for name in PANEL},
        "domain": first.domain if first.own is None else None,
        "machine": panel.text,
        "success": panel.success,
        "lines": [
            {**{name: getattr(line, name) for name in LINE}, "settings": settings[line.name]} for line in panel.lines
        ],
        "runs": [store.folder(spec).name for found in specs.values() for spec in found],
    }


def _read(record: dict[str, Any], store: Store) -> Study | None:
    found = [_read_panel(panel, store) for panel in record.pop("panels")]
    panels = tuple(panel for panel in found if panel is not None)
    return Study(panels=panels, **{**record, "seeds": tuple(record["seeds"])}) if panels else None


def _read_panel(record: dict[str, Any], store: Store) -> Panel | None:
    runs, domain = record.pop("runs"), record.pop("domain")
    if domain is None:
        at = next((store.root / name for name in runs if (store.root / name / DOMAIN).exists()), None)
        domain = None if at is None else spec_of(at).own
    if domain is None:
        return None
    lines = tuple(Line(**line) for line in record.pop("lines"))
    return Panel(domain=domain, lines=lines, **{**record, "success": tuple(record["success"])})
