"""Public names that are imported when they are first used, so that importing a package is instant.

The names of a package stand under `if TYPE_CHECKING:` as ordinary imports, which is where type checkers look; `lazy` reads the
same lines, so that a name and its home are written once. `__all__` repeats the names in reading order.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from pdrm.errors import NotHere, missing_jax, name_alike
from pdrm.habits import HABITS

CHAPTERS = (
    "machines",
    "language",
    "domains",
    "product",
    "learning",
    "analysis",
    "experiments",
    "drawing",
    "paper",
)
"""The packages of the library that have names for users."""


def lazy(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The `__getattr__` and the `__dir__` of a package.

    >>> from pdrm import machines
    >>> machines.Event("a"), "Event" in dir(machines)
    (Event(name='a'), True)
    """

    def get_attribute(name: str) -> Any:
        homes = _find_homes(package)
        if name not in homes:
            fault, fix = f"module {package!r} has no attribute {name!r}", _suggest(package, name)
            raise NotHere(fault, fix=fix) if fix else AttributeError(fault)
        try:
            home = import_module(homes[name])
        except ModuleNotFoundError as error:
            if error.name in ("jax", "optax"):
                raise missing_jax() from error
            raise
        value = getattr(home, name)
        setattr(sys.modules[package], name, value)
        return value

    return get_attribute, lambda: list(sys.modules[package].__all__)


def _suggest(package: str, name: str) -> str:
    """The right place or spelling of a name, or nothing for names that only programs ask for.

    >>> _suggest("pdrm", "TopK"), _suggest("pdrm", "Cprm"), _suggest("pdrm", "__wrapped__")
    ('there is pdrm.product.TopK', 'did you mean `CpRM`?', '')
    >>> _suggest("pdrm", "load_run")
    'pdrm.Run.load("runs/…")'
    """
    if name.startswith("_"):
        return ""
    top = package.partition(".")[0]
    if package == top and name in HABITS:
        return HABITS[name]
    for other in (top, *(f"{top}.{chapter}" for chapter in CHAPTERS)):
        if name in _find_homes(other):
            return f"there is {other}.{name}"
    alike = name_alike(name, _find_homes(package))
    return f"did you mean `{alike}`?" if alike else ""


@cache
def _find_homes(package: str) -> dict[str, str]:
    """The module that each public name comes from."""
    found = find_spec(package)
    loader: Any = None if found is None else found.loader
    imports = loader.get_source(package).partition("TYPE_CHECKING:")[2].partition("__all__")[0]
    lines = re.findall(r"from (\S+) import (\([^)]*\)|.*)", imports)
    return {name: module for module, names in lines for name in re.findall(r"\w+", names)}


# --- Values that show themselves in a notebook


class Displayed:
    """A value that shows itself in a notebook as what it is drawn as.

    >>> from pdrm.language.loading import catalogue
    >>> "image/svg" in catalogue("letter")._repr_html_()
    True
    """

    __slots__ = ()

    def _repr_html_(self) -> str | None:
        from pdrm.drawing.render import draw

        return draw(self)._repr_html_()
