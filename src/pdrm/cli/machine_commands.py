"""The commands about machines and domains: check, step, draw, convert, combine, fmt, catalogue,
domains."""

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
    """The values of `convert --to`."""

    PUSHDOWN = "pushdown"
    COUNTING = "counting"


def check(
    file: File,
    domain: Annotated[
        str | None,
        Option(
            help="Also check the task in this domain: a name, or a map or .npz file.",
            autocompletion=complete_domain,
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Check a machine and list the labels that no rule covers.

    Checks syntax, names, determinism, endless silent moves and rewarded loops. With --domain also
    checks the task: if an agent gains by never finishing, and unreachable final states.

    Example: pdrm check letter --domain letter
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", TaskWarning)
        machine = _load_machine(file)
    findings = [
        warning.message.finding for warning in caught if isinstance(warning.message, TaskWarning)
    ]
    findings += machine.findings()
    if domain is not None:
        from pdrm.product.task_findings import inspect_task

        task_findings = inspect_task(pdrm.Task(domain, machine))
        # The findings about the task are more precise, and W0612 can be wrong without a domain.
        replaced = {"W0612", *(finding.code for finding in task_findings)}
        findings = [finding for finding in findings if finding.code not in replaced]
        findings += task_findings
    if as_json:
        print_json({"ok": True, "errors": [], "warnings": list(map(fault_record, findings))})
        return
    typer.echo(coloured(f"{machine.name}: ok", fg="green", bold=True))
    typer.echo(f"  {_describe(machine)}")
    print_findings([finding for finding in findings if finding.code != "W0602"], err=False)
    for finding in findings:
        if finding.code == "W0602":  # not a fault
            typer.echo(f"note[W0602]: {finding.message}")
    if domain is not None:
        next_command("pdrm train {} --machine {}", domain, file)
    elif file != "-":
        next_command("pdrm draw {} -o {}", file, f"{machine.name}.svg")


def step(
    file: File,
    word: Annotated[
        str,
        Argument(help="Labels separated by spaces. Events are joined by +; - is the empty label."),
    ],
    as_json: Json = False,
) -> None:
    """Run a machine on a word and print every move with the stack.

    Example: pdrm step letter "A A B C C C"
    """
    from pdrm.drawing.trace import write_trace

    run = _load_machine(file).run(pdrm.language.parse_word(word))
    if as_json:
        print_json(run_record(run))
        return
    typer.echo(write_trace(run))
    if file != "-":
        next_command("pdrm draw {} {} -o trace.svg", file, word)


def run_record(run: MachineRun[Any]) -> dict[str, Any]:
    """The run as JSON values, with an entry for each label. Stacks are top first."""
    steps = [
        {
            "label": None if step.label is None else sorted(step.label),
            **asdict(step.after),
            "reward": step.reward,
        }
        for step in run.steps
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
    """Draw a machine, or its run on a word.

    Machines as SVG, PNG, PDF, DOT or TikZ, runs as SVG, PNG, PDF or DOT.

    Example: pdrm draw letter -o letter.svg
    """
    machine = _load_machine(file)
    picture = pdrm.draw(machine.run(pdrm.language.parse_word(word)) if word else machine)
    if output == STANDARD:
        typer.echo(picture.render("svg").decode())
    else:
        picture.save(output)
        typer.echo(f"wrote {output}")


def convert(
    file: File,
    output: MachineOutput = STANDARD,
    to: Annotated[Kind | None, Option(help="Also translate to this kind.")] = None,
) -> None:
    """Convert a machine to another format or kind.

    Reads .pdrm files, grammars, regular expressions, temporal formulas, JSON, Toro Icarte's reward
    machines and automata-lib's DPDAs (as JSON).

    Example: pdrm convert letter-counting -o letter.pdrm --to pushdown
    """
    from pdrm.task import pushdown_machine

    _refuse_to_overwrite(file, output)
    machine = _load_machine(file)
    if to == Kind.PUSHDOWN:
        machine = pushdown_machine(machine)
    elif to == Kind.COUNTING and isinstance(machine, pdrm.PushdownRewardMachine):
        machine = pdrm.machines.pushdown_to_counting(machine)
    _write_machine(machine, output)


def combine(
    files: Annotated[
        list[str],
        Argument(help="Machines: files or catalogue names.", autocompletion=complete_machine),
    ],
    output: MachineOutput = STANDARD,
    when: Annotated[str, Option(help="Which parts must be final: and, or, or a formula.")] = "and",
    weight: Annotated[
        list[str] | None,
        Option(metavar="<str>", help="NAME=NUMBER: the weight of a part's rewards."),
    ] = None,
    accept: Annotated[
        str, Option(help="first: as soon as --when holds; end: at the event `end`.")
    ] = "first",
) -> None:
    """Combine machines, which run together and add their rewards.

    Parts are named after their files.

    Example: pdrm combine treasure-maze figure-1 --when or --weight figure-1=0.5 -o both.pdrm
    """
    parts: dict[str, AnyMachine] = {}
    for file in files:
        _refuse_to_overwrite(file, output)
        name = Path(file).stem
        if name in parts:
            raise BadSetting(f"two parts have the name `{name}`", fix="rename one of the files")
        parts[name] = _load_machine(file)
    weights = dict(map(_read_weight, weight or ()))
    name = "combined" if output == STANDARD else output.stem
    _write_machine(pdrm.combine(parts, when, weights=weights, accept=accept, name=name), output)


def _read_weight(text: str) -> tuple[str, float]:
    """Parse `--weight NAME=NUMBER`."""
    name, _, number = text.rpartition("=")
    try:
        return name, float(number)
    except ValueError:
        fault = f"invalid weight: `--weight {text[:40]}`"
        raise BadSetting(fault, fix="--weight NAME=NUMBER") from None


def fmt(
    file: Annotated[Path, Argument(help="A .pdrm file, or - for standard input to output.")],
    check_only: Annotated[
        bool, Option("--check", help="Do not write; exit code 1 if the file would change.")
    ] = False,
) -> None:
    """Format a .pdrm file. Only whitespace changes.

    Example: pdrm fmt task.pdrm
    """
    from pdrm.files import read_bytes, write_atomically
    from pdrm.language.source import decode

    before = decode(read_bytes(file), str(file))
    after = pdrm.language.lay_out(before, str(file))
    changed = after != before
    if not check_only and (changed or file == STANDARD):
        write_atomically(file, after.encode())
    if check_only or file != STANDARD:
        status = "needs formatting" if check_only else "formatted"
        typer.echo(f"{file}: {status if changed else 'unchanged'}")
    raise typer.Exit(check_only and changed)


def catalogue(
    name: Annotated[
        str,
        Argument(
            help="A machine's name. [list all machines]",
            autocompletion=complete(machine_names),
        ),
    ] = "",
) -> None:
    """List the built-in machines, or print the text of a machine.

    Example: pdrm catalogue letter
    """
    if name:
        typer.echo(pdrm.language.catalogue_text(name), nl=False)
        return
    for known in pdrm.catalogue():
        typer.echo(f"{known:<24}{pdrm.language.catalogue_summary(known)}")
    next_command("pdrm catalogue letter > task.pdrm")


def _load_machine(file: str) -> AnyMachine:
    """Load a machine from a file, standard input (`-`) or the catalogue."""
    from pdrm.files import means_name

    return pdrm.catalogue(file) if means_name(file, pdrm.catalogue()) else pdrm.load(file)


def _write_machine(machine: AnyMachine, output: Path) -> None:
    """Write a machine as text or JSON, depending on the suffix of the output."""
    if output == STANDARD:
        typer.echo(pdrm.language.to_text(machine), nl=False)
    else:
        pdrm.save(machine, output)
        typer.echo(f"wrote {output}\n  {_describe(machine)}")
        next_command("pdrm check {}", output)


def _refuse_to_overwrite(file: str, output: Path) -> None:
    """Raise if the output is the input, because its comments and loops would be lost."""
    source = Path(file)
    if source.is_file() and output.exists() and output.samefile(source):
        fault = f"{output} is also the input: its comments and loops would be lost"
        raise CannotWrite(fault, fix="give another file after -o (`pdrm fmt` formats a file)")


def _describe(machine: AnyMachine) -> str:
    """The kind and the size of a machine."""
    if isinstance(machine, pdrm.machines.CountingRewardAutomaton):
        kind = f"counting reward automaton with {plural(machine.counters, 'counter')}"
    elif machine.is_reward_machine:
        kind = "reward machine"
    else:
        kind = f"pushdown reward machine with {plural(len(machine.stack), 'stack symbol')}"
    return f"{kind}, {machine.size_text}; otherwise {machine.otherwise}"


# --- `pdrm domains`: the list of domains, or the map, starts and states of a domain

SHOWN_STATES = 200
"""Maximum number of states to print without --json."""


def domains(
    name: Annotated[
        str | None,
        Argument(
            help="A domain's name or file. [list all domains]",
            autocompletion=complete_domain,
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """List the domains, or show the map and states of a domain.

    Example: pdrm domains maze-5x5
    """
    from pdrm.domains.domain_files import find_domain
    from pdrm.domains.finite_domain import FiniteDomain
    from pdrm.domains.water import SIDES, water_world
    from pdrm.drawing.render import describe_domain
    from pdrm.drawing.rows import Cells

    listed = [
        water_world(word) if word in SIDES else find_domain(word)
        for word in (domain_names() if name is None else [name])
    ]
    rows = list(map(describe_domain, listed))
    single = listed[0] if name is not None else None
    if isinstance(single, FiniteDomain):
        rows[0] |= _list_states(single)
    if as_json:
        print_json(rows if name is None else rows[0])
        return
    if isinstance(single, FiniteDomain):
        _print_states(single, rows[0])
    else:
        columns = ("name", "states", "step_limit", "machine")
        cells = Cells.from_records([{column: row[column] for column in columns} for row in rows])
        typer.echo(cells.text())
    if single is None or single.machine:
        next_command("pdrm train {}", name or "letter")


def _print_states(domain: FiniteDomain, record: dict[str, Any]) -> None:
    """Print the map, and the states with their numbers."""
    from pdrm.drawing.rows import Cells

    typer.echo(pdrm.draw(domain))
    typer.echo(f"actions: {' '.join(domain.actions)}; events: {' '.join(domain.events)}")
    typer.echo(f"starts:\n{Cells.from_records(record['starts']).text()}")
    typer.echo("states, and the events that a step into each can emit:")
    states = [
        {
            **state,
            "emits": " ".join(state["emits"]),
            "terminal": "yes" if state["terminal"] else "",
        }
        for state in record["state_list"]
    ]
    typer.echo(Cells.from_records(states[:SHOWN_STATES]).text())
    if len(states) > SHOWN_STATES:
        typer.echo(f"…  ({len(states):,} states; --json lists them all)")


def _list_states(domain: FiniteDomain) -> dict[str, Any]:
    """The starts and the states as JSON values."""
    arrays = domain.arrays
    possible = arrays.probability > 0
    emits = [set[str]() for _ in range(domain.states)]
    for state, label in zip(arrays.next[possible], arrays.label[possible], strict=True):
        emits[state] |= domain.labels[label]
    starts = [
        {
            "state": int(state),
            "chance": float(probability),
            "label": None if label < 0 else sorted(domain.labels[label]),
        }
        for state, probability, label in zip(
            arrays.start_state, arrays.start_probability, arrays.start_label, strict=True
        )
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
