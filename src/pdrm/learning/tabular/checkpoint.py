"""Checkpoints: everything a run is made of, as arrays in one file, so that it goes on as if it had never stopped."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from pdrm.errors import BadRunFolder
from pdrm.learning.tabular.agents import AnyTraining
from pdrm.learning.tabular.training import Test
from pdrm.machines.text.whole_file import write

Arrays = dict[str, npt.NDArray[Any]]
PARTS = ("explored", "values", "observed", "policies", "progress", "chances")
"""The attributes of a run that change, as far as it has them."""

T = TypeVar("T")


def save_checkpoint(path: Path, training: AnyTraining, tests: list[Test]) -> None:
    """Write where a run stands, whole or not at all."""
    arrays: Arrays = {}
    for part in _parts(training):
        arrays |= flattened(getattr(training, part), part)
    arrays["tests.episode"] = np.array([test.episode for test in tests], np.int64)
    for name in ("returns", "steps", "ends"):
        arrays[f"tests.{name}"] = np.array([getattr(test, name) for test in tests])
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)  # type: ignore[arg-type]
    write(path, buffer.getvalue())


def load_checkpoint(path: Path, training: AnyTraining) -> list[Test]:
    """Put a run where its checkpoint left it; returns the tests made by then."""
    try:
        with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as file:
            arrays = {name: np.array(file[name]) for name in file.files}
        parts = {part: restored(getattr(training, part), part, arrays) for part in _parts(training)}
        columns = zip(*(arrays[f"tests.{name}"] for name in ("episode", "returns", "steps", "ends")), strict=True)
        tests = [Test(int(episode), returns, steps, ends) for episode, returns, steps, ends in columns]
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise BadRunFolder(
            f"{path} is no checkpoint, or is damaged: {error}", fix=f"remove {path} to start that run afresh"
        ) from error
    for part, value in parts.items():
        setattr(training, part, value)
    return tests


def _parts(training: AnyTraining) -> list[str]:
    return [part for part in PARTS if hasattr(training, part)]


def flattened(value: Any, name: str) -> Arrays:  # noqa: ANN401 - a NamedTuple of any kind
    """The arrays inside a NamedTuple of arrays, numbers and such tuples, by dotted names."""
    if isinstance(value, tuple):
        found: Arrays = {}
        for field in value._fields:  # type: ignore[attr-defined]
            found |= flattened(getattr(value, field), f"{name}.{field}")
        return found
    return {name: np.asarray(value)}


def restored(like: T, name: str, arrays: Arrays) -> T:
    """A NamedTuple of the same kind as `like`, filled from the arrays."""
    if isinstance(like, tuple):
        fields = like._fields  # type: ignore[attr-defined]
        return type(like)(*(restored(getattr(like, field), f"{name}.{field}", arrays) for field in fields))
    value = arrays[name]
    return value if isinstance(like, np.ndarray) else type(like)(value)  # type: ignore[call-arg,return-value]
