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
    """The run as a table, and its verdict."""
    console = Console(highlight=False)
    table = Table("step", "label", "rule", "stack before", "stack after", "reward", box=None, header_style="bold")
    for row in trace_rows(run):
        table.add_row(row.step, row.label, row.rule, row.before, row.after, row.reward)
    console.print(table)
    left = f", {run.unread} labels left unread" if run.unread else ""
    verdict = "[green]accepted[/]" if run.accepted else f"not accepted{left}"
    console.print(f"{verdict}; ends in {run.after}; reward {number_text(run.reward)}")


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
