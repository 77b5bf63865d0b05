"""Progress reporting: a bar on a terminal or in a notebook, a line now and then elsewhere."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from html import escape
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

SECONDS_BETWEEN_LINES = 15.0
BAR = 20
"""Letters of a bar on a terminal, so that 80 columns have room for what is said of the work."""
SECONDS_BETWEEN_BARS = 0.2
"""In a notebook: each is a message to the browser."""

COMPILING = "compiling, up to a minute the first time"
"""The work under way, printed if nothing has happened for a few seconds."""

Update = Callable[[float, str], None]
"""Called with the work done, and a note about it."""


def is_shown() -> bool:
    """Return True if a bar would be seen: on a terminal, or in a notebook."""
    return _find_notebook() is not None or Console(stderr=True).is_terminal


@contextmanager
def show_progress(
    total: float, title: str, *, quiet: bool = False, every: float = SECONDS_BETWEEN_LINES
) -> Iterator[Update]:
    """Show the progress of work until the end of the block. `every`: seconds between two lines without a bar.

    >>> with show_progress(10, "episodes", quiet=True) as update:
    ...     update(5, "return 1")
    """
    console = Console(stderr=True, highlight=False, soft_wrap=True)
    if quiet:
        yield lambda _done, _note: None
    elif (display := _find_notebook()) is not None:
        with _show_in_notebook(display, _NotebookBar(title, total)) as update:
            yield update
    elif console.is_terminal:
        columns = (
            TextColumn("{task.fields[name]}"),
            BarColumn(bar_width=BAR),
            TaskProgressColumn(),
            TimeElapsedColumn(),
        )
        with Progress(*columns, TextColumn("{task.description}"), console=console) as bars:
            task = bars.add_task("", total=total, name=title)
            yield lambda done, note: bars.update(task, completed=done, description=note)
    else:
        last, shown, told = [time.monotonic()], [""], [""]

        def tell(done: float, note: str) -> None:
            shown[0] = f"{title}: {done / total:4.0%}  {note}"
            if time.monotonic() - last[0] > every:
                last[0], told[0] = time.monotonic(), shown[0]
                console.print(shown[0], markup=False)

        try:
            yield tell
        finally:
            if shown[0] != told[0]:
                console.print(shown[0], markup=False)


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


# --- In a notebook: one output that is drawn again, by IPython alone (no widgets, which many front ends and files do not show)


@dataclass(slots=True)
class _NotebookBar:
    title: str
    total: float
    done: float = 0.0
    note: str = ""
    began: float = 0.0
    seconds: float = 0.0

    @property
    def share(self) -> float:
        return min(1.0, self.done / self.total) if self.total else 1.0

    def __repr__(self) -> str:
        return f"{self.title}: {self.share:4.0%}  {duration(self.seconds)}  {self.note}".rstrip()

    def _repr_html_(self) -> str:
        bar = f'<progress value="{self.share:.4f}" max="1" style="width: 16em; vertical-align: middle"></progress>'
        said = f"{self.share:.0%} &nbsp;{duration(self.seconds)} &nbsp;{escape(self.note)}"
        return f"<div>{escape(self.title)} {bar} {said}</div>"


@contextmanager
def _show_in_notebook(display: Callable[..., Any], bar: _NotebookBar) -> Iterator[Update]:
    bar.began, last = time.monotonic(), 0.0
    shown = display(bar, display_id=True)

    def update(done: float, note: str) -> None:
        nonlocal last
        bar.done, bar.note, now = done, note, time.monotonic()
        bar.seconds = now - bar.began
        if now - last >= SECONDS_BETWEEN_BARS:
            last = now
            shown.update(bar)

    try:
        yield update
    finally:
        shown.update(bar)


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
