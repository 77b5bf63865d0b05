"""Checkpoints: what a run is made of, between two episodes, as arrays in one file, so that it goes on as if it had never
stopped. Only what cannot be found again is kept: stacks and rows by their numbers, not where each label leads."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pdrm.errors import BadRunFolder
from pdrm.files import read_arrays, write_atomically
from pdrm.learning.tabular.agents import AnyTraining
from pdrm.learning.tabular.rows_kernel import Index, Observed, Values
from pdrm.learning.tabular.training import Test
from pdrm.machines.stacks import Stacks
from pdrm.product.exploration import Configurations, Explored

Arrays = dict[str, npt.NDArray[Any]]
TABLES = ("values", "policies")
LISTS = ("first", "last", "length", "turn")
STEPS = ("state", "node", "seen", "after", "paid", "moves")
"""What is known of configurations; kept for counting automata only, whose steps may take long."""
TESTS = ("returns", "steps", "ends")


def save_checkpoint(path: Path, training: AnyTraining, tests: list[Test]) -> None:
    """Write where a run stands, whole or not at all."""
    arrays: Arrays = {"whole": training.progress.ints, "real": training.progress.floats, "chances": training.rng_state}
    arrays |= _explored(training.explored)
    for name in TABLES:
        if hasattr(training, name):
            arrays |= _values(name, getattr(training, name))
    if hasattr(training, "observed"):
        arrays |= _observed(training.observed)
    arrays["tests.episode"] = np.array([test.episode for test in tests], np.int64)
    arrays |= {f"tests.{name}": np.array([getattr(test, name) for test in tests]) for name in TESTS}
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)  # type: ignore[arg-type]
    write_atomically(path, buffer.getvalue())


def load_checkpoint(path: Path, training: AnyTraining) -> list[Test]:
    """Put a run where its checkpoint left it; returns the tests made by then."""
    try:
        arrays = read_arrays(path.read_bytes())
        parts: dict[str, Any] = {"explored": _explored_again(arrays, training.explored)}
        parts |= {name: _values_again(arrays, name) for name in TABLES if hasattr(training, name)}
        if hasattr(training, "observed"):
            parts["observed"] = _observed_again(arrays)
        columns = zip(*(arrays[f"tests.{name}"] for name in ("episode", *TESTS)), strict=True)
        tests = [Test(int(episode), returns, steps, ends) for episode, returns, steps, ends in columns]
        training.progress.ints[:], training.progress.floats[:] = arrays["whole"], arrays["real"]
        training.rng_state[:] = arrays["chances"]
    except (OSError, ValueError, KeyError, IndexError) as error:
        raise BadRunFolder(
            f"{path} is no checkpoint, or is damaged: {error}", fix=f"remove {path} to start that run afresh"
        ) from error
    for part, value in parts.items():
        setattr(training, part, value)
    return tests


def _explored(explored: Explored) -> Arrays:
    stacks, found, made = explored.stacks, explored.configurations, int(explored.stacks.made[0])
    kept: Arrays = {name: getattr(stacks, name)[:made] for name in ("symbol", "parent", "height")}
    if len(found.moves):
        kept |= {name: getattr(found, name)[: int(found.made[0])] for name in STEPS}
        kept["counters"] = found.counters[:made]
    return kept


def _explored_again(arrays: Arrays, new: Explored) -> Explored:
    """The stacks as they were, with room for as many more; configurations are numbered anew as they are met."""
    made, labels, states = len(arrays["symbol"]), new.table.move.shape[1], len(new.table.silent)
    stacks = Stacks.empty(new.stacks.child.shape[1] - 1, max(2 * made, new.stacks.capacity))
    for name in ("symbol", "parent", "height"):
        getattr(stacks, name)[:made] = arrays[name]
    stacks.child[arrays["parent"][1:], arrays["symbol"][1:]] = np.arange(1, made, dtype=np.int32)
    stacks.made[0] = made
    counters = new.configurations.counters.shape[1]
    count = len(arrays["state"]) if counters else 0
    found = Configurations.room(
        labels, states, stacks.capacity, max(2 * count, len(new.configurations.state)), counters
    )
    if counters:
        found.counters[:made] = arrays["counters"]
        for name in STEPS:
            getattr(found, name)[:count] = arrays[name]
        found.number[arrays["node"], arrays["state"]] = np.arange(count, dtype=np.int32)
        found.made[0] = count
    return new._replace(stacks=stacks, configurations=found)


def _index_again(keys: npt.NDArray[np.int64]) -> Index:
    from pdrm.learning.tabular.rows_kernel import place_rows  # noqa: PLC0415 - Numba is loaded when something is learnt

    index = Index.room(max(2 * len(keys), 1024))
    index.key[: len(keys)], index.used[0] = keys, len(keys)
    place_rows(index)
    return index


def _values(name: str, values: Values) -> Arrays:
    used = int(values.index.used[0])
    return {f"{name}.key": values.index.key[:used], f"{name}.value": values.value[:used]}


def _values_again(arrays: Arrays, name: str) -> Values:
    index, rows = _index_again(arrays[f"{name}.key"]), arrays[f"{name}.value"]
    values = np.zeros((len(index.key), rows.shape[1]))
    values[: len(rows)] = rows
    return Values(index, values)


def _observed(observed: Observed) -> Arrays:
    used = int(observed.index.used[0])
    kept = {f"observed.{name}": getattr(observed, name)[:used] for name in ("node", "following")}
    kept |= {f"observed.{name}": getattr(observed, name) for name in LISTS}
    return {"observed.key": observed.index.key[:used], **kept}


def _observed_again(arrays: Arrays) -> Observed:
    index = _index_again(arrays["observed.key"])
    used, room = len(arrays["observed.key"]), Observed.room(1, len(index.key))
    for name in ("node", "following"):
        getattr(room, name)[:used] = arrays[f"observed.{name}"]
    return Observed(index, room.node, room.following, *(arrays[f"observed.{name}"] for name in LISTS))
