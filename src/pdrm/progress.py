"""Progress reporting: a bar on a terminal, one line in a notebook, a line now and then
elsewhere."""

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
BAR_WIDTH = 20
"""In characters. It leaves room for the status text in 80 columns."""
SECONDS_IN_NOTEBOOK = 0.2
"""Time between lines in a notebook, where each is a message to the browser."""

COMPILING = "compiling (takes up to a minute the first time)"
"""A message for `say_if_slow`."""

Update = Callable[[float, str], None]
"""Called with the work done and a note."""


def is_shown() -> bool:
    """Return True if progress is visible: on a terminal or in a notebook."""
    return _find_notebook() is not None or Console(stderr=True).is_terminal


@contextmanager
def show_progress(total: float, title: str, *, quiet: bool = False) -> Iterator[Update]:
    """Show progress until the end of the block.

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
            BarColumn(bar_width=BAR_WIDTH),
            TaskProgressColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.description}"),
        )
        with Progress(*columns, console=console) as bars:
            task = bars.add_task("", total=total, name=title)
            yield lambda done, note: bars.update(task, completed=done, description=note)
    else:
        write = say
        pause = SECONDS_BETWEEN_LINES
        if display is not None:  # one output that is replaced, without widgets
            output = display({"text/plain": title}, raw=True, display_id=True)
            write = partial(_replace_output, output)
            pause = SECONDS_IN_NOTEBOOK
        start = time.monotonic()
        last_time = start
        last_line = line = ""

        def update(done: float, note: str) -> None:
            nonlocal last_time, last_line, line
            now = time.monotonic()
            line = f"{title}: {done / total:4.0%}  {duration(now - start)}  {note}".rstrip()
            if now - last_time > pause:
                write(line)
                last_time = now
                last_line = line

        try:
            yield update
        finally:
            if line != last_line:
                write(line)


def _replace_output(output: Any, line: str) -> None:
    """Replace the output of a notebook cell."""
    output.update({"text/plain": line}, raw=True)


@contextmanager
def say_if_slow(text: str, seconds: float = 3.0) -> Iterator[None]:
    """Print a message if the block takes longer."""
    timer = threading.Timer(seconds, say, [text])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def say(text: str) -> None:
    """Print a line to standard error, or in a notebook to standard output (stderr is red there)."""
    stream = sys.stdout if _find_notebook() is not None else sys.stderr
    stream.write(f"{text}\n")


def _find_notebook() -> Callable[..., Any] | None:
    """IPython's `display` function, or None outside notebooks."""
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
