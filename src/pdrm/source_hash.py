"""A hash of what a function, class or object does. It identifies your own code in a run's spec."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import is_dataclass
from functools import partial
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np


def hash_source(made: Any) -> str:
    """A hash of its source, of the variables it captured, and of what it uses of its own module.

    >>> def labels_for(goal): return lambda cell: cell == goal
    >>> first, other = labels_for(1), labels_for(2)
    >>> hash_source(first) == hash_source(labels_for(1)), hash_source(first) == hash_source(other)
    (True, False)
    """
    return hashlib.sha256(repr(_list_parts(made, set())).encode()).hexdigest()[:16]


def _list_parts(made: Any, visited: set[int]) -> list[Any]:
    """Nested lists of text that determine a function, class or value.

    Args:
        made: The function, class or value.
        visited: Ids of the functions and classes that are listed already.
    """
    text = ""
    parts: list[Any] = []
    match made:
        case FunctionType() | type() if id(made) in visited:
            text = made.__qualname__
        case FunctionType() | type():
            visited.add(id(made))
            parts = [_read_source(made), *_find_used(made)]
        case partial():
            parts = [made.func, made.args, made.keywords]
        case MethodType():
            parts = [made.__self__, made.__func__]
        case Mapping():
            parts = [part for item in made.items() for part in item]
        case list() | tuple() | set() | frozenset():
            parts = list(made) if isinstance(made, Sequence) else sorted(made, key=repr)
        case np.ndarray():
            parts = [made.dtype.str, made.shape, made.tobytes()]
        case None | str() | bytes() | int() | float():
            text = repr(made)
        case _:
            text = type(made).__qualname__
            if callable(made) or is_dataclass(made):
                parts = [type(made), made.__getstate__()]
    return [text, *(_list_parts(part, visited) for part in parts)]


def _read_source(made: FunctionType | type) -> str:
    """The source, or the name if the source is unknown."""
    try:
        return inspect.getsource(made)
    except (OSError, TypeError):
        return made.__qualname__


def _find_used(made: FunctionType | type) -> Iterator[Any]:
    """Defaults, captured variables and used module variables of a function or of methods."""
    functions = [made] if isinstance(made, FunctionType) else vars(made).values()
    for function in functions:
        if not isinstance(function, FunctionType):
            continue
        yield function.__defaults__
        yield function.__kwdefaults__
        yield inspect.getclosurevars(function).nonlocals
        variables = function.__globals__
        for name in sorted(_names_in(function.__code__) & variables.keys()):
            value = variables[name]
            module = getattr(value, "__module__", made.__module__)
            if module == made.__module__ and not isinstance(value, ModuleType):
                yield value


def _names_in(code: CodeType) -> set[str]:
    """The names that some code, or a function inside it, looks up."""
    inner = [_names_in(part) for part in code.co_consts if isinstance(part, CodeType)]
    return set(code.co_names).union(*inner)
