"""Ctrl-C that waits: an interrupt in the middle of an update would leave a run where no undisturbed run ever is."""

from __future__ import annotations

import os
import signal
import threading
from contextlib import suppress
from multiprocessing import parent_process
from types import FrameType, TracebackType
from typing import Any, Self

STANDARD_ERROR = 2
SAID = b"\nstopping after the next test, saving what was learnt ...\n"


class DeferredInterrupt:
    """While it lasts, the first Ctrl-C is only noted (and said to be), and raised when `raise_if_asked` is called; a second one acts at once.

    >>> with DeferredInterrupt() as interrupt:
    ...     interrupt.raise_if_asked()
    """

    def __init__(self) -> None:
        self._asked = False
        self._before: Any = None

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGINT, self._note)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    def _note(self, _number: int, _frame: FrameType | None) -> None:
        if self._asked:
            raise KeyboardInterrupt
        self._asked = True
        if parent_process() is None:  # a worker's parent has heard it too, and says what it does
            with suppress(OSError):
                os.write(STANDARD_ERROR, SAID)  # not print: the signal may have come in the middle of one

    def raise_if_asked(self) -> None:
        """Raise the interrupt that was noted, if there was one."""
        if self._asked:
            raise KeyboardInterrupt
