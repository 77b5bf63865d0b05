"""`pdrm domains`: the domains there are, or the map, the starts and the states of one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from pdrm.cli.arguments import Json, complete_domain, domain_names
from pdrm.cli.output import next_command, print_json
from pdrm.errors import UnknownChoice, did_you_mean

if TYPE_CHECKING:
    from pdrm.domains.finite_domain import FiniteDomain
    from pdrm.domains.water import WaterWorld

ORDERS = ("name", "size")
SHOWN_STATES = 200
"""States that are printed; with --json all are."""


def domains(
    name: Annotated[
        str | None,
        Argument(
            help="A domain, or the file of your own; without one, all are listed.",
            autocompletion=complete_domain,
        ),
    ] = None,
    sort: Annotated[
        str | None, Option(help="List by name, or by size (states, the fewest first).")
    ] = None,
    as_json: Json = False,
) -> None:
    """List the domains, or show one: its map, its starts, and its states by number, with what a step into each emits.

    Example: pdrm domains maze-5x5
    """
    from pdrm.domains.domain_files import find_domain
    from pdrm.domains.finite_domain import FiniteDomain
    from pdrm.domains.water import SIDES, water_world
    from pdrm.drawing.markup import align

    if sort not in (None, *ORDERS):
        fault = f"--sort takes {' or '.join(ORDERS)}, not `{sort}`"
        raise UnknownChoice(fault, fix=did_you_mean(str(sort), ORDERS))
    found = [
        water_world(word) if word in SIDES else find_domain(word)
        for word in (domain_names() if name is None else [name])
    ]
    rows = [_summarise(domain) for domain in found]
    if sort == "name":
        rows.sort(key=lambda row: row["name"])
    elif sort == "size":  # a continuous domain is larger than any other
        rows.sort(key=lambda row: row["states"] or float("inf"))
    one = found[0] if name is not None and isinstance(found[0], FiniteDomain) else None
    about = {} if one is None else _list_states(one)
    if as_json:
        print_json(rows if name is None else rows[0] | about)
        return
    cells = [
        [
            row["name"],
            "continuous" if row["states"] is None else f"states {row['states']:>5}",
            f"actions {len(row['actions'])}",
            f"limit {row['step_limit']}",
            f"machine {row['machine']}" if row["machine"] else "no machine of its own",
        ]
        for row in rows
    ]
    typer.echo("\n".join(align(cells)))
    if one is not None:
        _print_states(one, about)
    own = "" if name is None or rows[0]["machine"] else " --machine task.pdrm"
    next_command(f"pdrm train {{}}{own}", name or "letter")


def _summarise(domain: FiniteDomain | WaterWorld) -> dict[str, Any]:
    """A domain for programs; WaterWorld, for deep agents, has no number of states."""
    from pdrm.domains.water import ACTIONS, EVENTS

    return {
        "name": domain.name,
        "states": getattr(domain, "states", None),
        "actions": getattr(domain, "actions", ACTIONS),
        "events": getattr(domain, "events", EVENTS),
        "step_limit": domain.step_limit,
        "machine": domain.machine,
    }


def _print_states(domain: FiniteDomain, about: dict[str, Any]) -> None:
    """The map, and the states with their numbers."""
    from pdrm.domains.pictures import draw_text
    from pdrm.drawing.markup import align
    from pdrm.machines.guards import label_text

    starts, states = about["starts"][:SHOWN_STATES], about["state_list"][:SHOWN_STATES]
    if domain.picture is not None:
        typer.echo(f"\n{draw_text(domain, starts[0]['state'])}")
    events = " ".join(domain.events) or "(none)"
    typer.echo(f"\nactions: {' '.join(domain.actions)}; events: {events}")
    for start in starts:
        place = f"{start['state']}, {domain.describe(start['state'])}"
        label = "" if start["label"] is None else f", emits {label_text(frozenset(start['label']))}"
        typer.echo(f"starts in state {place} (chance {start['chance']:.3g}){label}")
    cells = [
        [
            f"{number:>6}",
            state["name"],
            " ".join(state["emits"]),
            "(ends the episode)" * state["terminal"],
        ]
        for number, state in enumerate(states)
    ]
    typer.echo("states, and the events that a step into each can emit:")
    typer.echo("\n".join(align(cells)))
    if domain.states > SHOWN_STATES:
        typer.echo(f"…  ({domain.states:,} states; --json lists them all)")


def _list_states(domain: FiniteDomain) -> dict[str, Any]:
    """The starts and the states for programs."""
    arrays = domain.arrays
    emits = [set[str]() for _ in range(domain.states)]
    possible = arrays.probability > 0
    pairs = zip(arrays.next[possible].tolist(), arrays.label[possible].tolist(), strict=True)
    for state, label in set(pairs):
        emits[state] |= domain.labels[label]
    begins = zip(arrays.start_state, arrays.start_probability, arrays.start_label, strict=True)
    starts = [
        {
            "state": int(state),
            "chance": float(chance),
            "label": None if label < 0 else sorted(domain.labels[label]),
        }
        for state, chance, label in begins
    ]
    states = [
        {
            "name": name,
            "emits": [event for event in domain.events if event in found],
            "terminal": bool(terminal),
        }
        for name, found, terminal in zip(domain.state_names, emits, arrays.terminal, strict=True)
    ]
    return {"starts": starts, "state_list": states}
