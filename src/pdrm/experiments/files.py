"""A study from a file: TOML, which is data, or a Python file of one's own that sets `STUDY`, which is run."""

from __future__ import annotations

import os
import runpy
import traceback
from pathlib import Path

from pdrm.errors import BadStudy, CannotOpen, PdrmError
from pdrm.experiments.study import Study
from pdrm.experiments.toml_study import read_toml_study

NAME = "STUDY"


def load_study(path: str | os.PathLike[str]) -> Study:
    r"""The study in a `.toml` file, or the one a `.py` file calls STUDY.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "views.toml"
    ...     _ = file.write_text("seeds = 3\n[[panels]]\ndomain = 'maze-5x5'\n[[panels.agents]]\nagent = 'q'")
    ...     load_study(file).seeds
    (0, 1, 2)
    """
    file = Path(path)
    if file.suffix == ".toml":
        return read_toml_study(file)
    if file.suffix != ".py":
        raise BadStudy(f"{file} is no study", fix="name a .toml file, or a .py file that sets STUDY")
    if not file.is_file():
        raise CannotOpen(f"{file} cannot be opened: no such file", fix="check the path")
    try:
        study = runpy.run_path(str(file)).get(NAME)
    except PdrmError:
        raise
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        fault = f"{file} raised {type(error).__name__}: {error} ({Path(last.filename).name}, line {last.lineno})"
        raise BadStudy(fault, fix=f"try it by itself: python {file}") from error
    if not isinstance(study, Study):
        raise BadStudy(f"{file} sets no {NAME}", fix=f"{NAME} = pdrm.Study(name=…, panels=…)")
    study.check()
    return study
