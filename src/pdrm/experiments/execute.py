"""Running what is planned: through joblib, whatever the workers are, and to the end, whatever happens to some of the runs.

A run that fails is reported and the others go on. Where a worker dies, joblib cannot say which run it had: each run that was
under way is tried again by itself, and given up as failed when its worker has died `MOST_DEATHS` times. What is done is done:
the store says.
"""

from __future__ import annotations

import time
import traceback
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import joblib

from pdrm.errors import CannotWrite, PdrmError, WorkersLost
from pdrm.experiments.backends import Workers
from pdrm.experiments.plan import Planned, chains
from pdrm.experiments.store import FAILURE, Store, perform
from pdrm.files.whole_file import write
from pdrm.learning.tabular.run import RunSpec

MOST_DEATHS = 3


class Failure(NamedTuple):
    """A run that could not be done, and why."""

    run: Planned
    why: str

    @property
    def sentence(self) -> str:
        """The error's own sentence: the first line of ours, the last line of a traceback."""
        lines = self.why.strip().splitlines()
        return lines[-1] if lines[0].startswith("Traceback") else lines[0]


def run_all(runs: list[Planned], store: Store, workers: Workers) -> list[Failure]:
    """Do every run that is not done; the failures are returned. Ctrl-C is passed on, and leaves everything to go on from."""
    failed: dict[str, Failure] = {}
    deaths: Counter[str] = Counter()
    in_vain = 0
    while pending := [run for run in runs if run.spec.id not in failed and not store.done(run.spec)]:
        began = time.time()
        suspects = [run for run in pending if deaths[run.spec.id]][:1]
        try:
            failed |= _round(suspects or pending, store, workers)
        except PdrmError:
            raise
        except Exception as error:
            under_way = [run for run in pending if store.begun_since(run.spec, began)]
            deaths.update(run.spec.id for run in under_way)
            in_vain = 0 if under_way else in_vain + 1
            if in_vain == MOST_DEATHS:
                fix = "try --workers 1, or look at the cluster's own log"
                raise WorkersLost(f"the workers die before they begin: {_sentence(error)}", fix=fix) from error
            why = f"its worker died {MOST_DEATHS} times (killed, or out of memory?): {_sentence(error)}"
            failed |= {run.spec.id: Failure(run, why) for run in suspects if deaths[run.spec.id] >= MOST_DEATHS}
    return [failed[run.spec.id] for run in runs if run.spec.id in failed]


def _round(pending: list[Planned], store: Store, workers: Workers) -> dict[str, Failure]:
    """Do what is pending, once; an exception means that a worker died."""
    found = chains(pending, workers.count, workers.memory)
    tasks = ([(run.spec, store.folder(run.spec)) for run in chain] for chain in found)
    with workers.at_most(len(found)).ready():
        outcomes = joblib.Parallel(batch_size=1)(joblib.delayed(performed)(task) for task in tasks)
    whys = zip([run for chain in found for run in chain], [why for outcome in outcomes for why in outcome], strict=True)
    return {run.spec.id: Failure(run, why) for run, why in whys if why}


def performed(task: list[tuple[RunSpec, Path]]) -> list[str]:
    """What a worker does: the runs of a chain, one after the other; for each, why it failed, or nothing."""
    return [_why(spec, folder) for spec, folder in task]


def _why(spec: RunSpec, folder: Path) -> str:
    try:
        perform(spec, folder)
    except Exception as error:
        why = str(error) if isinstance(error, PdrmError) else traceback.format_exc()
        with suppress(CannotWrite):
            write(folder / FAILURE, f"{why}\n".encode())
        return why
    return ""


def _sentence(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}"
