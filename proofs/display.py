"""How far the proofs are: one table that is redrawn on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import time
from types import TracebackType
from typing import TYPE_CHECKING, NamedTuple

from rich.live import Live
from rich.table import Table
from rich.text import Text

from proofs.budget import duration
from proofs.checked import Checked
from proofs.proof import Proof
from proofs.shares import MOST_WRONG, Shares

if TYPE_CHECKING:
    from rich.console import Console

QUIET_SECONDS = 30.0
"""Between two lines about one proof where there is no terminal to redraw."""
WIDE = 120
"""Columns of a terminal from which on promises are written out."""


class Row(NamedTuple):
    """How far one proof is."""

    done: str
    time: str
    """The share of the session's time it has had."""
    wrong: str
    speed: str
    left: str


class Display:
    """Entered while the proofs run; told of every outcome."""

    def __init__(self, console: Console, shares: Shares, budget: float, workers: int) -> None:
        self.console, self.shares, self.workers = console, shares, workers
        self.begun, self.budget = time.monotonic(), budget
        self._live = Live(console=console, get_renderable=self.table, refresh_per_second=2)
        self._told: dict[str, float] = {}

    def __enter__(self) -> Display:
        if self.console.is_terminal:
            self._live.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.console.is_terminal:
            self._live.__exit__(kind, error, trace)

    def came(self, outcome: Checked) -> None:
        """Show an outcome: a wrong one at once and in full."""
        proof, now = self.shares.proofs[outcome.name], time.monotonic()
        if outcome.message:
            self.console.print(f"wrong   {proof.name}, seed {outcome.seed}:\n{outcome.message}", markup=False)
            self.console.print(f"to see it again: {again(proof, outcome.seed)}", markup=False)
        ended = not self.shares.unfinished(proof.name) and not self.shares.running[proof.name]
        quiet = now - self._told.get(proof.name, 0.0)
        if not self.console.is_terminal and (ended or quiet > QUIET_SECONDS):
            self._told[proof.name] = now
            row, passed = self.row(proof), duration(now - self.begun)
            so_far = f"{row.done}, {row.time} of the time, {row.wrong} wrong, {row.speed}, left: {row.left}"
            self.console.print(f"{passed:>6}  {proof.name:<14} {so_far}", markup=False)

    def table(self) -> Table:
        """A row a proof; those under way are bold."""
        wide = self.console.width >= WIDE
        table = Table(title=self.title(), title_justify="left", title_style="", box=None, expand=wide, pad_edge=False)
        table.add_column("proof", no_wrap=True)
        if wide:
            table.add_column("promise", no_wrap=True, overflow="ellipsis", ratio=1)
        for heading in Row._fields:
            table.add_column(heading, justify="right", no_wrap=True)
        for proof in self.shares.proofs.values():
            row = self.row(proof)
            words = [proof.name, *([proof.promise] if wide else []), row.done, row.time]
            wrong = Text(row.wrong, style="red" if row.wrong != "0" else "")
            style = "bold" if self.shares.running[proof.name] else ""
            table.add_row(*words, wrong, row.speed, row.left, style=style)
        return table

    def title(self) -> str:
        """The whole at a glance."""
        passed, records = time.monotonic() - self.begun, self.shares.records.values()
        until = "" if self.budget == float("inf") else f" of {duration(self.budget)}"
        cases, wrong = sum(record.cases for record in records), sum(len(record.wrong) for record in records)
        return (
            f"{duration(passed)}{until}, {self.workers} at a time, {cases:,} cases, {wrong} wrong (Ctrl-C keeps them)"
        )

    def row(self, proof: Proof) -> Row:
        """One proof as it is now."""
        record, spent = self.shares.records[proof.name], self.shares.spent
        share = spent[proof.name] / max(1e-9, sum(spent.values()))
        speed = record.cases / max(1e-9, record.seconds)
        shown = f"{speed:,.0f} /s" if speed >= 100 else f"{speed:.2g} /s" if speed else "-"
        done = f"{record.cases:,} of {proof.target:,}"
        return Row(done, f"{share:.0%}", str(len(record.wrong)), shown, self.left(proof.name))

    def left(self, name: str) -> str:
        """Time to its target, or to the end if that is sooner, sharing the processes with the others."""
        if len(self.shares.records[name].wrong) >= MOST_WRONG:
            return "stopped"
        missing = self.shares.to_target(name)
        if not missing:
            return "done"
        unfinished = sum(map(self.shares.unfinished, self.shares.proofs))
        at_once = min(1.0, self.workers / max(1, unfinished))
        remaining = max(0.0, self.begun + self.budget - time.monotonic())
        seconds = min(missing / at_once, remaining)
        return duration(seconds) if seconds < float("inf") else "-"


def again(proof: Proof, seed: int | str) -> str:
    """The command that repeats one check."""
    return f".venv/bin/python -m proofs {proof.name} --seed {seed}"
