"""How benches go, while they go: a bar on a terminal, a line for each part elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from pdrm.experiments.bench_record import Told


@contextmanager
def measuring(benches: Sequence[str]) -> Iterator[Callable[[str], Told]]:
    """Show how the benches go until the end of the block; what it gives makes a bench's own `told`."""
    console = Console(stderr=True, highlight=False)
    if not console.is_terminal:
        yield lambda name: lambda what, done: console.print(f"{name}: {done:4.0%} {what}")
        return
    columns = (TextColumn("{task.fields[name]:>8}"), BarColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=console, transient=True) as bars:
        task = bars.add_task("", total=len(benches), name="")

        def of(name: str) -> Told:
            number = benches.index(name)
            return lambda what, done: bars.update(task, completed=number + done, name=name, description=what)

        yield of
