"""A run on the terminal: one row a move with the stack before and after; and the same for programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

from pdrm.drawing import trace_rows
from pdrm.machines.configuration import Configuration
from pdrm.machines.counting import CountingConfiguration
from pdrm.machines.transition import number_text

if TYPE_CHECKING:
    from pdrm.machines.configuration import Run


def print_run(run: Run[Any]) -> None:
    """The run as a table, and how it ended: a final state ends the episode, be it well or badly."""
    console = Console(highlight=False)
    table = Table("step", "label", "rule", "stack before", "stack after", "reward", box=None, header_style="bold")
    for row in trace_rows(run):
        table.add_row(row.step, row.label, row.rule, row.before, row.after, row.reward)
    console.print(table)
    left = f", {run.unread} label{'s' * (run.unread > 1)} left unread" if run.unread else ""
    ended = f"ended in {run.after} (final){left}" if run.accepted or run.unread else f"not ended: in {run.after}"
    console.print(f"{ended}; reward {number_text(run.reward)}", markup=False)


def run_record(run: Run[Any]) -> dict[str, Any]:
    """The run as JSON: one entry a label, the stack top first."""
    steps = [{"label": sorted(step.label), **_after(step.after), "reward": step.reward} for step in run.steps[1:]]
    start = {**_after(run.steps[0].after), "reward": run.steps[0].reward}
    return {"accepted": run.accepted, "reward": run.reward, "unread": run.unread, "start": start, "steps": steps}


def _after(configuration: Any) -> dict[str, Any]:  # noqa: ANN401 - a configuration of any kind
    if isinstance(configuration, Configuration):
        return {"state": configuration.state, "stack": list(configuration.stack)}
    if isinstance(configuration, CountingConfiguration):
        return {"state": configuration.state, "counters": list(configuration.counters)}
    return {"state": configuration.state}
