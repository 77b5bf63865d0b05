"""The commands about machines: check, step, draw, convert, combine, fmt, catalogue."""

from __future__ import annotations

import os
import sys
import warnings
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pdrm.cli.arguments import complete_catalogue, complete_domain, complete_machine
from pdrm.cli.output import (
    Json,
    coloured,
    end_with_json,
    finding_record,
    next_command,
    print_findings,
    print_json,
)
from pdrm.errors import (
    BadSetting,
    CannotTranslate,
    CannotWrite,
    EarlyAcceptance,
    Finding,
    PdrmError,
    UnknownFormat,
    UnknownMachine,
    did_you_mean,
)

if TYPE_CHECKING:
    from pdrm.language.document import AnyMachine
    from pdrm.machines.configurations import Run
    from pdrm.task import Task

# --- A run on the terminal: a row for each move with the stack before and after; and the same for programs.


def print_run(run: Run[Any]) -> None:
    """The run as a table, and how it ended."""
    from rich.console import Console
    from rich.table import Table

    from pdrm.drawing.trace import HEADINGS, describe_end, trace_run

    console = Console(highlight=False)
    rows = trace_run(run)
    stacked = any(
        row.before or row.after for row in rows
    )  # a reward machine has neither a stack nor counters
    shown = [
        number for number, name in enumerate(HEADINGS) if stacked or not name.startswith("stack")
    ]
    table = Table(*(HEADINGS[number] for number in shown), box=None, header_style="bold")
    for row in rows:
        table.add_row(*(row[number] for number in shown))
    console.print(table)
    console.print(describe_end(run), markup=False)


def run_record(run: Run[Any]) -> dict[str, Any]:
    """The run as JSON: an entry for each label, the stack top first."""
    steps = [
        {"label": sorted(step.label), **_after(step.after), "reward": step.reward}
        for step in run.steps[1:]
    ]
    start = {**_after(run.steps[0].after), "reward": run.steps[0].reward}
    return {
        "accepted": run.accepted,
        "reward": run.reward,
        "unread": run.unread,
        "start": start,
        "steps": steps,
    }


def _after(configuration: Any) -> dict[str, Any]:
    names = [name for name in ("stack", "counters") if hasattr(configuration, name)]
    return {
        "state": configuration.state,
        **{name: list(getattr(configuration, name)) for name in names},
    }


# --- The commands about one machine: check, step, draw, convert, fmt, catalogue.

File = Annotated[
    str,
    typer.Argument(
        help="A machine file, a name of the catalogue, or - for standard input.",
        autocompletion=complete_machine,
    ),
]


class Kind(StrEnum):
    """The kinds of machine that `convert --to` makes."""

    PUSHDOWN = "pushdown"
    COUNTING = "counting"


PAYS_WRONGLY = ("W0606", "W0607", "W0608")
"""Warnings after which a task is to be mended before it is trained: it pays for the wrong thing, or cannot be achieved."""


def check(
    file: File,
    domain: Annotated[
        str | None,
        typer.Option(
            help="Also check it as a task in this domain: a name, or a map or .npz file. (Other commands take the domain first, and the machine with --machine.)",
            autocompletion=complete_domain,
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Check a machine and list what no rule covers.

    Syntax, names, determinism, endless silent moves; loops that pay. With --domain also whether it pays for the wrong thing there:
    never ending, going round, final states out of reach.

    Example: pdrm check letter --domain letter
    """
    try:
        with warnings.catch_warnings(record=True) as noticed:
            warnings.simplefilter("always", EarlyAcceptance)
            machine = _machine(file)
        task = None if domain is None else _task(domain, machine)
    except PdrmError as error:
        if not as_json:
            raise
        end_with_json(error, warnings=[])
    early = [one.message.finding for one in noticed if isinstance(one.message, EarlyAcceptance)]
    findings = [*early, *machine.findings()]
    if task is not None:
        from pdrm.product.task_findings import inspect_task

        findings = [
            _in_task(one, task) for one in findings if one.code not in ("W0606", "W0612")
        ] + inspect_task(task)
    if as_json:
        print_json(
            {
                "ok": True,
                "errors": [],
                "warnings": [finding_record(finding) for finding in findings],
            }
        )
        return
    typer.echo(coloured(f"{machine.name}: ok", fg="green", bold=True))
    typer.echo(f"  {_size(machine)}")
    _print_findings(findings, machine)
    wrong = next(
        (finding.code for finding in findings if task is not None and finding.code in PAYS_WRONGLY),
        None,
    )
    if wrong is not None:
        next_command("pdrm explain {}", wrong)
    elif domain is not None:
        next_command("pdrm train {} --machine {}", domain, file)
    else:
        _next("pdrm draw {} -o {}", file, file, f"{machine.name}.svg")


def _task(domain: str, machine: AnyMachine) -> Task:
    from pdrm.task import Task

    return Task(domain, machine)


def _in_task(finding: Finding, task: Task) -> Finding:
    """What is said of a machine alone, in a task: an event that the domain emits is declared although no rule reads it."""
    emitted = frozenset[str]().union(*task.labels)
    if finding.code == "W0604" and any(
        finding.message.startswith(f"event `{event}` ") for event in emitted
    ):
        said = f"no rule mentions {finding.message.partition(' is declared')[0]}; it has to be declared, because `{task.name}` emits it"
        return Finding("W0604", said, finding.where)
    return finding


def step(
    file: File,
    word: Annotated[
        str,
        typer.Argument(
            help="Labels separated by spaces; events joined by +; - is the empty label."
        ),
    ],
    as_json: Json = False,
) -> None:
    """Run a machine on a word, move by move, with its stack.

    Example: pdrm step letter "A A B C C C"
    """
    from pdrm.language.loading import parse_word

    run = _machine(file).run(parse_word(word))
    if as_json:
        print_json(run_record(run))
    else:
        print_run(run)
        _next("pdrm draw {} --word {} -o trace.svg", file, file, word)


def draw(
    file: File,
    output: Annotated[
        Path, typer.Option("-o", "--output", help="Where to draw: .svg, .png, .pdf, .dot or .tex.")
    ],
    word: Annotated[
        str | None, typer.Option(help="Draw the run on this word as a table instead.")
    ] = None,
) -> None:
    """Draw a machine, or its run on a word, as SVG, PNG, DOT or TikZ.

    Example: pdrm draw letter -o letter.svg
    """
    from pdrm.drawing.render import draw as draw_machine
    from pdrm.drawing.render import draw_run
    from pdrm.language.loading import parse_word

    machine = _machine(file)
    if word is None:
        draw_machine(machine, output)
    else:
        draw_run(machine.run(parse_word(word)), output)
    typer.echo(f"wrote {output}")


def convert(
    file: File,
    output: Annotated[
        Path, typer.Option("-o", "--output", help="Where to write: .pdrm or .json (or a drawing).")
    ],
    to: Annotated[
        Kind | None, typer.Option(help="Also translate the machine to this kind.")
    ] = None,
) -> None:
    """Convert a machine to another format or kind.

    Reads .pdrm, grammars, regular expressions, temporal formulas, JSON, Toro Icarte's reward machines and automata-lib's DPDAs (as JSON). Example: pdrm convert letter-counting -o letter.pdrm --to pushdown
    """
    from pdrm.drawing.render import FORMATS as DRAWINGS
    from pdrm.drawing.render import draw as draw_machine
    from pdrm.language.loading import save

    _refuse_to_overwrite(file, output)
    machine, drawing = _translate(_machine(file), to), output.suffix.lower() in DRAWINGS
    (draw_machine if drawing else save)(machine, output)
    typer.echo(f"wrote {output}")
    if not drawing:
        next_command("pdrm check {}", output)


def combine(
    files: Annotated[
        list[str],
        typer.Argument(
            help="Machines: files, or names of the catalogue.", autocompletion=complete_machine
        ),
    ],
    output: Annotated[
        Path, typer.Option("-o", "--output", help="Where to write: .pdrm or .json (or a drawing).")
    ],
    when: Annotated[
        str,
        typer.Option(
            help="Final when this holds of the parts that are finished: and, or, or a formula over their names."
        ),
    ] = "and",
    weight: Annotated[
        list[str] | None, typer.Option(help="NAME=NUMBER: what a part pays is multiplied by it.")
    ] = None,
    accept: Annotated[
        str, typer.Option(help="first: as soon as it holds; end: when the event `end` is read.")
    ] = "first",
) -> None:
    """Combine machines into one that runs them side by side and pays the sum.

    A part is called as its file. Example: pdrm combine letter echo --when "letter | echo" --weight echo=0.5 -o both.pdrm
    """
    from pdrm.drawing.render import FORMATS as DRAWINGS
    from pdrm.drawing.render import draw as draw_machine
    from pdrm.language.combining import combine as combine_machines
    from pdrm.language.loading import save

    for file in files:
        _refuse_to_overwrite(file, output)
    parts: dict[str, AnyMachine] = {}
    for file in files:
        name = Path(file).stem
        if name in parts:
            fix = "rename one of the files: a part is called as its file"
            raise BadSetting(f"two parts are called `{name}`", fix=fix)
        parts[name] = _machine(file)
    machine = combine_machines(
        parts, when, weights=dict(map(_read_weight, weight or ())), accept=accept, name=output.stem
    )
    drawing = output.suffix.lower() in DRAWINGS
    (draw_machine if drawing else save)(machine, output)
    typer.echo(f"wrote {output}\n  {_size(machine)}")
    if not drawing:
        next_command("pdrm check {}", output)


def _read_weight(text: str) -> tuple[str, float]:
    """The part and the number of a `--weight`."""
    from pdrm.language.syntax import NUMBER

    name, _, number = text.rpartition("=")
    if not name or not NUMBER.fullmatch(number):
        raise BadSetting(f"`--weight {text[:40]}` cannot be read", fix="write --weight NAME=NUMBER")
    return name, float(number)


def fmt(
    file: Annotated[Path, typer.Argument(help="A .pdrm file.")],
    check_only: Annotated[
        bool, typer.Option("--check", help="Only say whether it would change (exit code 1).")
    ] = False,
) -> None:
    """Lay out a .pdrm file; words, order and comments are kept.

    Example: pdrm fmt task.pdrm
    """
    from pdrm.files import write_atomically
    from pdrm.language.loading import kind_of, parse
    from pdrm.language.source import decode, read_bytes
    from pdrm.language.writer import lay_out

    before = decode(read_bytes(file), str(file))
    if (kind := kind_of(before, str(file))) is not None:
        fix = f"lay it out by hand, or convert it first: pdrm convert {file} -o task.pdrm"
        raise UnknownFormat(f"{file} is a {kind}, and only .pdrm files are laid out", fix=fix)
    machine = parse(before, str(file))
    after = lay_out(before, str(file))
    if parse(after, str(file)) != machine:
        raise AssertionError("the layout changed the machine; the file is left as it was")
    if after == before:
        typer.echo(f"{file} is laid out already")
    elif check_only:
        typer.echo(f"{file} would change")
        raise typer.Exit(1)
    else:
        write_atomically(file, after.encode())
        typer.echo(f"laid out {file}")


def catalogue(
    name: Annotated[
        str,
        typer.Argument(
            help="A machine's name; without one, all are listed.", autocompletion=complete_catalogue
        ),
    ] = "",
) -> None:
    """List the machines that come with pdrm, or print one's text.

    Example: pdrm catalogue letter
    """
    from pdrm.language.loading import catalogue_names, catalogue_summary, catalogue_text

    if name:
        typer.echo(catalogue_text(name), nl=False)
        return
    for known in catalogue_names():
        typer.echo(f"{known:<24}{catalogue_summary(known)}")
    next_command("pdrm catalogue letter > task.pdrm")


def _refuse_to_overwrite(file: str, output: Path) -> None:
    """Refuse to write over the file that is read: what is written has neither its comments nor its loops."""
    from pdrm.language.loading import catalogue_names

    is_file = file != "-" and file not in catalogue_names()
    if is_file and os.path.exists(file) and os.path.exists(output) and output.samefile(file):
        fault = f"{output} is the file that is read: its comments and loops would be lost"
        raise CannotWrite(
            fault, fix="name another file after -o (`pdrm fmt` lays a file out in place)"
        )


def _print_findings(findings: list[Finding], machine: AnyMachine) -> None:
    """Warnings one by one; the cases that `otherwise` decides under one heading."""
    undefined = [finding for finding in findings if finding.code == "W0602"]
    print_findings([finding for finding in findings if finding not in undefined], err=False)
    if undefined:
        typer.echo(f"note[W0602]: where no rule applies, `otherwise {machine.otherwise}` decides:")
    for finding in undefined:
        typer.echo(f"  {finding.message.partition(': `otherwise')[0]}")


def _next(command: str, file: str, *names: object) -> None:
    """What one would do next, unless the machine came from a pipe."""
    if file != "-":
        next_command(command, *names)


def machine_text(file: str) -> str:
    """The text of a machine: in the catalogue, in a file, or on standard input (`-`)."""
    from pdrm.files import means_name
    from pdrm.language.loading import catalogue_names, catalogue_text
    from pdrm.language.source import decode, read_bytes
    from pdrm.limits import LARGEST_TEXT

    if file == "-":
        return decode(sys.stdin.buffer.read(LARGEST_TEXT + 1), "<stdin>")
    if file in catalogue_names():
        return catalogue_text(file)
    if means_name(file, catalogue_names()):
        fault = f"the catalogue has no machine `{file}`, and there is no such file"
        raise UnknownMachine(fault, fix=did_you_mean(file, catalogue_names()))
    return decode(read_bytes(Path(file)), file)


def _machine(file: str) -> AnyMachine:
    """The machine in a file, on standard input, or in the catalogue."""
    from pdrm.language.loading import parse

    return parse(machine_text(file), "<stdin>" if file == "-" else file)


def _translate(machine: AnyMachine, to: Kind | None) -> AnyMachine:
    from pdrm.machines.conversions import pushdown_to_counting
    from pdrm.machines.counting import CountingRewardAutomaton
    from pdrm.machines.pushdown import PushdownRewardMachine
    from pdrm.task import pushdown_machine

    match to, machine:
        case (None, _) | (Kind.COUNTING, CountingRewardAutomaton()):
            return machine
        case Kind.PUSHDOWN, _:
            return pushdown_machine(machine)
        case Kind.COUNTING, PushdownRewardMachine():
            return pushdown_to_counting(machine)
    raise CannotTranslate(
        f"`{machine.name}` has no stack to count with", fix="translate it to pushdown first"
    )


def _size(machine: AnyMachine) -> str:
    """The machine's kind and numbers in a line."""
    from pdrm.machines.counting import CountingRewardAutomaton
    from pdrm.machines.pushdown import PushdownRewardMachine

    parts: dict[str, Any] = {
        "states": len(machine.states),
        "final": len(machine.final),
        "events": len(machine.events),
    }
    kind = "reward machine"
    if isinstance(machine, PushdownRewardMachine):
        kind, parts["stack symbols"] = "pushdown reward machine", len(machine.stack)
    elif isinstance(machine, CountingRewardAutomaton):
        kind, parts["counters"] = "counting reward automaton", machine.counters
    parts |= {"rules": len(machine.transitions), "otherwise": machine.otherwise}
    numbers = (
        f"{what} {number}"
        if what == "otherwise"
        else f"{number} {what.removesuffix('s') if number == 1 else what}"
        for what, number in parts.items()
    )
    return f"{kind}: {', '.join(numbers)}"
