"""`pdrm domains`: the domains there are, or the map, the starts and the states of one."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from pdrm.cli.arguments import Json, complete_domain, domain_names
from pdrm.cli.output import next_command, print_json

if TYPE_CHECKING:
    from pdrm.domains.finite_domain import FiniteDomain

SHOWN_STATES = 200
"""States that are printed; with --json all are."""


class Order(StrEnum):
    """The orders in which domains are listed."""

    NAME = "name"
    SIZE = "size"


def domains(
    name: Annotated[
        str | None,
        Argument(
            help="A domain, or the file of your own; without one, all are listed.",
            autocompletion=complete_domain,
        ),
    ] = None,
    sort: Annotated[
        Order | None, Option(help="List by name, or by size (states, the fewest first).")
    ] = None,
    as_json: Json = False,
) -> None:
    """List the domains, or show one: its map, its starts, and its states by number, with what a step into each emits.

    Example: pdrm domains maze-5x5
    """
    from pdrm.domains.domain_files import find_domain
    from pdrm.domains.finite_domain import FiniteDomain
    from pdrm.domains.water import SIDES, water_world
    from pdrm.drawing.render import describe_domain
    from pdrm.drawing.trace import align

    found = [
        water_world(word) if word in SIDES else find_domain(word)
        for word in (domain_names() if name is None else [name])
    ]
    if sort == Order.NAME:
        found.sort(key=lambda domain: domain.name)
    elif sort == Order.SIZE:  # a continuous domain is larger than any other
        found.sort(key=lambda domain: domain.states or float("inf"))
    rows = list(map(describe_domain, found))
    one = found[0] if name is not None and isinstance(found[0], FiniteDomain) else None
    about = {} if one is None else _list_states(one)
    if as_json:
        print_json(rows if name is None else rows[0] | about)
        return
    cells = [
        [
            domain.name,
            f"states {domain.states:>5}" if domain.states else "continuous",
            f"actions {len(domain.actions)}",
            f"limit {domain.step_limit}",
            f"machine {domain.machine}" if domain.machine else "no machine of its own",
        ]
        for domain in found
    ]
    typer.echo(align(cells))
    if one is not None:
        _print_states(one, about)
    own = "" if name is None or found[0].machine else " --machine task.pdrm"
    next_command(f"pdrm train {{}}{own}", name or "letter")


def _print_states(domain: FiniteDomain, about: dict[str, Any]) -> None:
    """The map, and the states with their numbers."""
    from pdrm.domains.pictures import draw_text
    from pdrm.drawing.trace import align
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
    typer.echo(align(cells))
    if domain.states > SHOWN_STATES:
        typer.echo(f"…  ({domain.states:,} states; --json lists them all)")


def _list_states(domain: FiniteDomain) -> dict[str, Any]:
    """The starts and the states for programs."""
    arrays = domain.arrays
    possible = arrays.probability > 0
    moves = set(zip(arrays.next[possible].tolist(), arrays.label[possible].tolist(), strict=True))
    emits = [set[str]() for _ in range(domain.states)]
    for state, label in moves:
        emits[state] |= domain.labels[label]
    begins = zip(arrays.start_state, arrays.start_probability, arrays.start_label, strict=True)
    return {
        "starts": [
            {
                "state": int(state),
                "chance": float(chance),
                "label": None if label < 0 else sorted(domain.labels[label]),
            }
            for state, chance, label in begins
        ],
        "state_list": [
            {
                "name": name,
                "emits": sorted(found, key=domain.events.index),
                "terminal": bool(terminal),
            }
            for name, found, terminal in zip(
                domain.state_names, emits, arrays.terminal, strict=True
            )
        ],
    }
