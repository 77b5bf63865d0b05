"""The commands about machines and domains: check, step, draw, convert, combine, fmt, catalogue, domains."""

from __future__ import annotations

import warnings
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

import pdrm.language
import pdrm.machines
from pdrm.cli.arguments import (
    File,
    Json,
    complete,
    complete_domain,
    complete_machine,
    domain_names,
    machine_names,
)
from pdrm.cli.output import (
    STANDARD,
    coloured,
    fault_record,
    next_command,
    print_findings,
    print_json,
)
from pdrm.errors import BadSetting, CannotWrite, TaskWarning
from pdrm.wording import plural

if TYPE_CHECKING:
    from pdrm.domains.finite_domain import FiniteDomain
    from pdrm.language.document import AnyMachine
    from pdrm.machines.transitions import MachineRun


MachineOutput = Annotated[
    Path,
    Option("-o", "--output", help="The file to write, .pdrm or .json; - prints."),
]


class Kind(StrEnum):
    """The kinds of machine that `convert --to` makes."""

    PUSHDOWN = "pushdown"
    COUNTING = "counting"


def check(
    file: File,
    domain: Annotated[
        str | None,
        Option(
            help="Also check it as a task in this domain: a name, or a map or .npz file.",
            autocompletion=complete_domain,
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Check a machine and list what no rule covers.

    Syntax, names, determinism, endless silent moves, loops that pay. With --domain also whether the
    task there pays for the wrong thing: never ending, going round, final states out of reach.

    Example: pdrm check letter --domain letter
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", TaskWarning)
        machine = _machine(file)
    told = [one.message.finding for one in caught if isinstance(one.message, TaskWarning)]
    findings = [*told, *machine.findings()]
    if domain is not None:
        from pdrm.product.task_findings import inspect_task

        added = inspect_task(pdrm.Task(domain, machine))
        said = ["W0612", *(one.code for one in added)]  # which the task knows better
        findings = [*(one for one in findings if one.code not in said), *added]
    if as_json:
        print_json({"ok": True, "errors": [], "warnings": list(map(fault_record, findings))})
        return
    typer.echo(coloured(f"{machine.name}: ok", fg="green", bold=True))
    typer.echo(f"  {_size(machine)}")
    print_findings([one for one in findings if one.code != "W0602"], err=False)
    for one in findings:
        if one.code == "W0602":  # not a fault
            typer.echo(f"note[W0602]: {one.message}")
    if domain is not None:
        next_command("pdrm train {} --machine {}", domain, file)
    elif file != "-":
        next_command("pdrm draw {} -o {}", file, f"{machine.name}.svg")


def step(
    file: File,
    word: Annotated[
        str,
        Argument(help="Labels separated by spaces; events joined by +; - is the empty label."),
    ],
    as_json: Json = False,
) -> None:
    """Run a machine on a word, move by move, with its stack.

    Example: pdrm step letter "A A B C C C"
    """
    from pdrm.drawing.trace import write_trace

    run = _machine(file).run(pdrm.language.parse_word(word))
    if as_json:
        print_json(run_record(run))
        return
    typer.echo(write_trace(run))
    if file != "-":
        next_command("pdrm draw {} {} -o trace.svg", file, word)


def run_record(run: MachineRun[Any]) -> dict[str, Any]:
    """The run as JSON: an entry for each label, the stack top first."""
    steps = [
        {
            "label": None if one.label is None else sorted(one.label),
            **asdict(one.after),
            "reward": one.reward,
        }
        for one in run.steps
    ]
    return {
        "accepted": run.accepted,
        "reward": run.reward,
        "unread": run.unread,
        "start": steps[0],
        "steps": steps[1:],
    }


def draw(
    file: File,
    word: Annotated[str, Argument(help="Draw the run on this word as a table instead.")] = "",
    output: Annotated[
        Path,
        Option("-o", "--output", help="A .svg, .png, .pdf, .dot or .tex file; - prints SVG."),
    ] = STANDARD,
) -> None:
    """Draw a machine as SVG, PNG, PDF, DOT or TikZ, or its run on a word as SVG or PNG.

    Example: pdrm draw letter -o letter.svg
    """
    machine = _machine(file)
    picture = pdrm.draw(machine.run(pdrm.language.parse_word(word)) if word else machine)
    if output == STANDARD:
        typer.echo(picture.render("svg").decode())
    else:
        picture.save(output)
        typer.echo(f"wrote {output}")


def convert(
    file: File,
    output: MachineOutput = STANDARD,
    to: Annotated[Kind | None, Option(help="Also translate it to this kind.")] = None,
) -> None:
    """Convert a machine to another format or kind.

    Reads .pdrm, grammars, regular expressions, temporal formulas, JSON, Toro Icarte's reward machines
    and automata-lib's DPDAs (as JSON).

    Example: pdrm convert letter-counting -o letter.pdrm --to pushdown
    """
    from pdrm.task import pushdown_machine

    _refuse_to_overwrite(file, output)
    machine = _machine(file)
    if to == Kind.PUSHDOWN:
        machine = pushdown_machine(machine)
    elif to == Kind.COUNTING and isinstance(machine, pdrm.PushdownRewardMachine):
        machine = pdrm.machines.pushdown_to_counting(machine)
    _write_machine(machine, output)


def combine(
    files: Annotated[
        list[str],
        Argument(
            help="Machines: files, or names of the catalogue.", autocompletion=complete_machine
        ),
    ],
    output: MachineOutput = STANDARD,
    when: Annotated[
        str, Option(help="Final when this holds of the parts: and, or, or a formula.")
    ] = "and",
    weight: Annotated[
        list[str] | None,
        Option(metavar="<str>", help="NAME=NUMBER: the factor of a part's rewards."),
    ] = None,
    accept: Annotated[
        str, Option(help="first: as soon as it holds; end: when the event `end` is read.")
    ] = "first",
) -> None:
    """Combine machines into one that runs them together and pays the sum.

    A part has the name of its file.

    Example: pdrm combine treasure-maze figure-1 --when or --weight figure-1=0.5 -o both.pdrm
    """
    parts: dict[str, AnyMachine] = {}
    for file in files:
        _refuse_to_overwrite(file, output)
        name = Path(file).stem
        if name in parts:
            raise BadSetting(f"two parts are called `{name}`", fix="rename one of the files")
        parts[name] = _machine(file)
    weights = dict(map(_read_weight, weight or ()))
    name = "combined" if output == STANDARD else output.stem
    _write_machine(pdrm.combine(parts, when, weights=weights, accept=accept, name=name), output)


def _read_weight(text: str) -> tuple[str, float]:
    """The part and the number of a `--weight`."""
    name, _, number = text.rpartition("=")
    try:
        return name, float(number)
    except ValueError:
        fault = f"`--weight {text[:40]}` cannot be read"
        raise BadSetting(fault, fix="write --weight NAME=NUMBER") from None


def fmt(
    file: Annotated[Path, Argument(help="A .pdrm file; - prints standard input laid out.")],
    check_only: Annotated[
        bool, Option("--check", help="Only say whether it would change (exit code 1).")
    ] = False,
) -> None:
    """Lay out a .pdrm file; words, order and comments are kept.

    Example: pdrm fmt task.pdrm
    """
    from pdrm.files import read_bytes, write_atomically
    from pdrm.language.source import decode

    before = decode(read_bytes(file), str(file))
    after = pdrm.language.lay_out(before, str(file))
    if check_only:
        would_change = after != before
        typer.echo(f"{file} {'would change' if would_change else 'is laid out already'}")
        raise typer.Exit(would_change)
    write_atomically(file, after.encode())
    if file != STANDARD:
        typer.echo(f"laid out {file}")


def catalogue(
    name: Annotated[
        str,
        Argument(
            help="A machine's name; without one, all are listed.",
            autocompletion=complete(machine_names),
        ),
    ] = "",
) -> None:
    """List the machines that come with pdrm, or print one's text.

    Example: pdrm catalogue letter
    """
    if name:
        typer.echo(pdrm.language.catalogue_text(name), nl=False)
        return
    for known in pdrm.catalogue():
        typer.echo(f"{known:<24}{pdrm.language.catalogue_summary(known)}")
    next_command("pdrm catalogue letter > task.pdrm")


def _machine(file: str) -> AnyMachine:
    """The machine in a file, on standard input (`-`), or in the catalogue."""
    from pdrm.files import means_name

    return pdrm.catalogue(file) if means_name(file, pdrm.catalogue()) else pdrm.load(file)


def _write_machine(machine: AnyMachine, output: Path) -> None:
    """Write a machine as text or as JSON, by the ending of the output."""
    if output == STANDARD:
        typer.echo(pdrm.language.to_text(machine), nl=False)
    else:
        pdrm.save(machine, output)
        typer.echo(f"wrote {output}\n  {_size(machine)}")
        next_command("pdrm check {}", output)


def _refuse_to_overwrite(file: str, output: Path) -> None:
    """Refuse to write over the file that is read, because its comments and loops would be lost."""
    source = Path(file)
    if source.is_file() and output.exists() and output.samefile(source):
        fault = f"{output} is the file that is read: its comments and loops would be lost"
        raise CannotWrite(fault, fix="name another file after -o (`pdrm fmt` lays a file out)")


def _size(machine: AnyMachine) -> str:
    """The machine's kind and numbers in a line."""
    if isinstance(machine, pdrm.machines.CountingRewardAutomaton):
        kind = f"counting reward automaton with {plural(machine.counters, 'counter')}"
    elif machine.is_reward_machine:
        kind = "reward machine"
    else:
        kind = f"pushdown reward machine with {plural(len(machine.stack), 'stack symbol')}"
    return f"{kind}, {machine.size_text}; otherwise {machine.otherwise}"


# --- `pdrm domains`: the domains there are, or the map, the starts and the states of one.

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
    as_json: Json = False,
) -> None:
    """List the domains, or show one: its map, its starts, and its states by number, with what a step into each emits.

    Example: pdrm domains maze-5x5
    """
    from pdrm.domains.domain_files import find_domain
    from pdrm.domains.finite_domain import FiniteDomain
    from pdrm.domains.water import SIDES, water_world
    from pdrm.drawing.render import describe_domain
    from pdrm.drawing.rows import Cells

    found = [
        water_world(word) if word in SIDES else find_domain(word)
        for word in (domain_names() if name is None else [name])
    ]
    one, rows = found[0], list(map(describe_domain, found))
    shown = one if name is not None and isinstance(one, FiniteDomain) else None
    if shown is not None:
        rows[0] |= _list_states(shown)
    if as_json:
        print_json(rows if name is None else rows[0])
        return
    if shown is None:
        named = ("name", "states", "step_limit", "machine")
        cells = Cells.from_records([{key: row[key] for key in named} for row in rows])
        typer.echo(cells.text())
    else:
        _print_states(shown, rows[0])
    if name is None or one.machine:
        next_command("pdrm train {}", name or "letter")


def _print_states(domain: FiniteDomain, about: dict[str, Any]) -> None:
    """The map, and the states with their numbers."""
    from pdrm.drawing.rows import Cells

    typer.echo(pdrm.draw(domain))
    typer.echo(f"actions: {' '.join(domain.actions)}; events: {' '.join(domain.events)}")
    typer.echo(f"starts:\n{Cells.from_records(about['starts']).text()}")
    typer.echo("states, and the events that a step into each can emit:")
    states = [
        {**state, "emits": " ".join(state["emits"]), "terminal": "yes" * state["terminal"]}
        for state in about["state_list"]
    ]
    typer.echo(Cells.from_records(states[:SHOWN_STATES]).text())
    if len(states) > SHOWN_STATES:
        typer.echo(f"…  ({len(states):,} states; --json lists them all)")


def _list_states(domain: FiniteDomain) -> dict[str, Any]:
    """The starts and the states for programs."""
    arrays = domain.arrays
    possible = arrays.probability > 0
    emits = [set[str]() for _ in range(domain.states)]
    for state, label in zip(arrays.next[possible], arrays.label[possible], strict=True):
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
            "state": state,
            "name": name,
            "emits": sorted(emits[state]),
            "terminal": bool(arrays.terminal[state]),
        }
        for state, name in enumerate(domain.state_names)
    ]
    return {"starts": starts, "state_list": states}
