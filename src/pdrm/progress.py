"""How long work goes, while it goes: a bar on a terminal or in a notebook, a line now and then elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

SECONDS_BETWEEN_LINES = 15.0

Update = Callable[[float, str], None]
"""Called with how much is done, and what to say of it."""


def is_shown() -> bool:
    """Whether a bar would be seen: on a terminal, or in a notebook."""
    console = Console(stderr=True)
    return console.is_terminal or console.is_jupyter


@contextmanager
def show_progress(
    total: float, title: str, *, quiet: bool = False, every: float = SECONDS_BETWEEN_LINES
) -> Iterator[Update]:
    """Show how work goes until the end of the block; what it gives is called as often as one likes. `every`: seconds
    between two lines where there is no bar.

    >>> with show_progress(10, "episodes", quiet=True) as update:
    ...     update(5, "return 1")
    """
    console = Console(stderr=True, highlight=False, soft_wrap=True)
    if quiet:
        yield lambda _done, _note: None
    elif console.is_terminal or console.is_jupyter:
        columns = (TextColumn("{task.fields[name]}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
        with Progress(*columns, TextColumn("{task.description}"), console=console) as bars:
            task = bars.add_task("", total=total, name=title)
            yield lambda done, note: bars.update(task, completed=done, description=note)
    else:
        last, shown = [time.monotonic()], [""]

        def tell(done: float, note: str) -> None:
            shown[0] = f"{title}: {done / total:4.0%}  {note}"
            if time.monotonic() - last[0] > every:
                last[0] = time.monotonic()
                console.print(shown[0], markup=False)

        try:
            yield tell
        finally:
            if shown[0]:
                console.print(shown[0], markup=False)


def duration(seconds: float) -> str:
    """A time in words.

    >>> duration(12), duration(200), duration(20_000)
    ('12 s', '3 min', '5.6 h')
    """
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6_000 else f"{seconds / 3_600:.1f} h"
