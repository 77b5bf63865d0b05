"""Progress reporting: a bar on a terminal, one line in a notebook, a line now and then elsewhere."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

SECONDS_BETWEEN_LINES = 15.0
BAR = 20
"""The width of the bar in characters, which leaves room for the status text in 80 columns."""
SECONDS_IN_NOTEBOOK = 0.2
"""Between lines there: each is a message to the browser."""

COMPILING = "compiling, up to a minute the first time"
"""The work under way, printed if nothing has happened for a few seconds."""

Update = Callable[[float, str], None]
"""Called with the work done, and a note about it."""


def is_shown() -> bool:
    """Return True if a bar would be seen: on a terminal, or in a notebook."""
    return _find_notebook() is not None or Console(stderr=True).is_terminal


@contextmanager
def show_progress(total: float, title: str, *, quiet: bool = False) -> Iterator[Update]:
    """Show the progress of work until the end of the block.

    >>> with show_progress(10, "episodes", quiet=True) as update:
    ...     update(5, "return 1")
    """
    console = Console(stderr=True)
    display = _find_notebook()
    if quiet:
        yield lambda _done, _note: None
    elif display is None and console.is_terminal:
        columns = (
            TextColumn("{task.fields[name]}"),
            BarColumn(bar_width=BAR),
            TaskProgressColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.description}"),
        )
        with Progress(*columns, console=console) as bars:
            task = bars.add_task("", total=total, name=title)
            yield lambda done, note: bars.update(task, completed=done, description=note)
    else:
        write, pause = say, SECONDS_BETWEEN_LINES
        if display is not None:  # one output that is written again, without widgets
            shown = display({"text/plain": title}, raw=True, display_id=True)
            write = partial(_write_again, shown)
            pause = SECONDS_IN_NOTEBOOK
        began = last = time.monotonic()
        line = told = ""

        def tell(done: float, note: str) -> None:
            nonlocal last, line, told
            now = time.monotonic()
            line = f"{title}: {done / total:4.0%}  {duration(now - began)}  {note}".rstrip()
            if now - last > pause:
                write(line)
                last, told = now, line

        try:
            yield tell
        finally:
            if line != told:
                write(line)


def _write_again(shown: Any, line: str) -> None:
    """Replace a notebook's output."""
    shown.update({"text/plain": line}, raw=True)


@contextmanager
def say_if_slow(text: str, seconds: float = 3.0) -> Iterator[None]:
    """Say this if the block takes longer."""
    timer = threading.Timer(seconds, say, [text])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def say(text: str) -> None:
    """Print a line about the work to standard error; in a notebook, to standard output (standard error is red there)."""
    stream = sys.stdout if _find_notebook() is not None else sys.stderr
    stream.write(f"{text}\n")


def _find_notebook() -> Callable[..., Any] | None:
    """The function that displays a value in a notebook, if this runs in one."""
    ipython: Any = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return None if getattr(shell, "kernel", None) is None else ipython.display.display


def duration(seconds: float) -> str:
    """A time in words.

    >>> duration(12), duration(200), duration(20_000)
    ('12 s', '3 min', '5.6 h')
    """
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6_000 else f"{seconds / 3_600:.1f} h"
