"""`pdrm check-k`: which top-k view of the stack is enough, with a witness for every no and a certificate for every yes."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated

import typer

from pdrm.cli.machine_commands import Json, machine_text
from pdrm.cli.output import coloured, next_command, print_json
from pdrm.errors import BadSetting

if TYPE_CHECKING:
    from pdrm.analysis.check_k import KReport
    from pdrm.analysis.optimal import Watch
    from pdrm.analysis.sufficient_k import Answer
    from pdrm.analysis.witness import Situation
    from pdrm.domains.labelled_mdp import FiniteDomain
    from pdrm.machines.pushdown import PushdownRewardMachine

NAMES = {"same_values": "same values", "everywhere": "everywhere", "start": "from the start"}
COLOURS = {"yes": "green", "no": "red", "undecided": "yellow"}
GIB = 2**30


def check_k(
    domain: Annotated[str | None, typer.Argument(help="A domain of the catalogue, or a domain's file.")] = None,
    domain_file: Annotated[Path | None, typer.Option("--domain", help="A domain's file: a map, or arrays.")] = None,
    machine: Annotated[str | None, typer.Option(help="A machine file or catalogue name. [the domain's own]")] = None,
    k: Annotated[str, typer.Option("--k", help="The views to try: 0..4, or 0,1,5.")] = "0..4",
    depth: Annotated[
        int | None, typer.Option(help="Ask about states within so many steps. [all, or some thousands]")
    ] = None,
    discount: Annotated[float | None, typer.Option(help="γ, below 1. [the paper's for the domain]")] = None,
    only: Annotated[str | None, typer.Option("--from", help="`start`: only from the start.")] = None,
    height: Annotated[int | None, typer.Option(help="The highest stack the product is built for.")] = None,
    rule: Annotated[
        str, typer.Option(help="Beyond --height: open, block or fail (the last two change the task).")
    ] = "open",
    most: Annotated[int, typer.Option(help="States to look at, at most.")] = 1_000_000,
    memory: Annotated[float, typer.Option(help="GiB the product may take.")] = 4.0,
    draw: Annotated[Path | None, typer.Option(help="Draw a witness: .svg, .png or .pdf.")] = None,
    certificate: Annotated[Path | None, typer.Option(help="Write the certificate of the strongest yes (JSON).")] = None,
    as_json: Json = False,
) -> None:
    """Find the smallest k for which a k-policy is optimal: same values, everywhere, or from the start.

    Example: pdrm check-k maze-5x5 --draw witness.svg
    """
    from pdrm.analysis.check_k import check_k as checked
    from pdrm.domains.catalogue import names
    from pdrm.product.finite.arrays import Bound

    if only not in (None, "start"):
        raise BadSetting(f"--from {only}", fix="--from start, or leave it out")
    if not memory > 0 or most < 1:
        raise BadSetting("--memory and --most must be above 0", fix="--memory 4")
    where, task, gamma = _task(domain, domain_file, machine, discount)
    ks, questions = _ks(k), ["start"] if only else list(NAMES)

    def answered(far: int | None, watch: Watch | None) -> KReport:
        bound, room = Bound(height, rule), int(memory * GIB)
        return checked(where, task, ks, discount=gamma, depth=far, bound=bound, most=most, memory=room, watch=watch)

    with _progress(quiet=as_json) as watch:
        report = answered(0 if only else depth, watch)
        if only and any(_limited(found["start"]) for found in report.answers.values()):
            report = answered(depth, watch)  # what a policy meets from the start was not all near it
    if as_json:
        print_json(report.record())
    else:
        _print(report, questions)
    if certificate is not None:
        _certify(report, certificate, questions)
        if not as_json:
            own = "" if domain in names() else f" --domain {quote(domain or str(domain_file))}"
            typer.echo(
                f"wrote {certificate}; to check it anew: pdrm verify {quote(str(certificate))}{own}{_with(machine)}"
            )
    if draw is not None:
        _draw(report, draw, questions)
    if not as_json:
        again = f"{quote(domain or str(domain_file))}{_with(machine)}"
        given = "" if discount is None else f" --discount {discount:g}"
        _next(report, again, given, questions, drawn=draw is not None)


def _limited(answer: Answer) -> bool:
    """Whether a yes is one for states to some depth only."""
    return answer.verdict == "yes" and answer.depth is not None


@contextmanager
def _progress(*, quiet: bool) -> Iterator[Watch | None]:
    """A line that counts the states looked at, on a terminal."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console

    with Console(stderr=True).status("looking") as status:
        yield lambda looked, most: status.update(
            f"looking further where it matters: {looked:,} states of at most {most:,}"
        )


def _task(
    name: str | None, file: Path | None, machine: str | None, discount: float | None
) -> tuple[FiniteDomain, PushdownRewardMachine, float]:
    """The domain, the machine and the discount that are meant."""
    from pdrm.domains.files import find_domain
    from pdrm.learning.tabular.paper_settings import PAPER_SETTINGS
    from pdrm.machines.text.files import parse
    from pdrm.product.any_machine import pushdown_machine

    if (name is None) == (file is None):
        raise BadSetting("name one domain", fix="pdrm check-k maze-5x5, or --domain map.txt --machine task.pdrm")
    where = find_domain(name if name is not None else str(file))
    own = machine or where.machine
    if own is None:
        raise BadSetting(f"domain `{where.name}` goes with no machine of its own", fix="--machine task.pdrm")
    paper = PAPER_SETTINGS.get(where.name, {}).get("discount", 0.99)
    return where, pushdown_machine(parse(machine_text(own), own)), paper if discount is None else discount


def _ks(text: str) -> list[int]:
    """0..4, or 0,1,5, or 3."""
    first, dots, last = text.partition("..")
    parts = [first, last] if dots else text.split(",")
    if not all(part.strip().isdecimal() for part in parts):
        raise BadSetting(f"--k {text!r} names no whole numbers", fix="--k 0..4, or --k 0,1,5")
    found = [int(part) for part in parts]
    if dots and found[0] > found[1]:
        raise BadSetting(f"--k {text} is empty", fix=f"--k {found[1]}..{found[0]}")
    return list(range(found[0], found[1] + 1)) if dots else found


def _print(report: KReport, questions: list[str]) -> None:
    found, product = report.optimal, report.optimal.product
    low, high = found.values.at_start(product)
    count = f"{len(found.asked):,} states"
    far = f"all {count}" if found.depth is None else f"{count} within {found.depth} steps"
    typer.echo(
        f"{product.domain.name} with machine {product.machine.name}, discount {found.values.discount:g}, no step limit{_rule(report)}"
    )
    typer.echo(f"{far}, {len(product):,} looked at; the optimal value from the start is {_value(low, high)}\n")
    typer.echo("k    " + "".join(f"{NAMES[q]:<18}" for q in questions) + "loss of the best k-policy found")
    for k, answers in report.answers.items():
        cells = [_cell(answers[q].verdict, answers[q].depth) for q in questions]
        typer.echo(f"{k:<5}" + "".join(cells) + _loss(*report.gaps[k].gap, scale=max(abs(low), abs(high), 1e-9)))
    typer.echo()
    for question in questions:
        typer.echo(f"{NAMES[question]}: {_summary(report, question)}")
    shown = _chosen(report, questions)
    if shown is not None:
        k, question = shown
        witness = report.witness(k, question)
        common = set(witness[0].actions).intersection(*(one.actions for one in witness))
        why = (
            "these look alike, and whatever is chosen for both fails later"
            if common
            else "these look alike and have no best action in common"
        )
        typer.echo(f"\nwhy not {NAMES[question]} at k = {k}: {why}")
        for one in witness:
            typer.echo(f"  {_words(one)}")


def _summary(report: KReport, question: str) -> str:
    smallest = report.smallest(question)
    if smallest is None:
        return "no k tried is enough"
    depth = report.answers[smallest][question].depth
    return f"k = {smallest} is enough" + ("" if depth is None else f", as far as {depth} steps from the start")


def _rule(report: KReport) -> str:
    bound = report.optimal.product.bound
    return "" if bound.height is None else f", stacks up to {bound.height} symbols ({bound.rule} beyond)"


def _cell(verdict: str, depth: int | None) -> str:
    text = verdict + (f" (depth {depth})" if verdict == "yes" and depth is not None else "")
    return coloured(f"{text:<18}", fg=COLOURS[verdict])


def _value(low: float, high: float) -> str:
    middle = f"{(low + high) / 2:.6g}"
    wide = high - low > 1e-6 * max(1.0, abs(high))
    return f"between {low:.6g} and {high:.6g}" if wide else middle


def _loss(low: float, high: float, scale: float) -> str:
    if high <= 1e-9 * scale:
        return "0"
    return f"{high:.6g}" if high - low <= 1e-6 * scale else f"between {low:.6g} and {high:.6g}"


def _words(one: Situation) -> str:
    best = " or ".join(one.actions) + ("" if one.certain else " (among them)")
    seen = " ".join(one.stack) or "(empty)"
    return f"after `{one.word or '(nothing)'}`: {one.where}, {one.state}, stack {seen}; best: {best}"


def _chosen(report: KReport, questions: list[str]) -> tuple[int, str] | None:
    """The most telling no: the weakest question that fails, at the highest k."""
    for question in reversed([q for q in questions if q != "same_values"]):
        ks = [k for k, answers in report.answers.items() if answers[question].witness]
        if ks:
            return max(ks), question
    return None


def _draw(report: KReport, path: Path, questions: list[str]) -> None:
    from pdrm.drawing.witness import Drawn, draw_witness

    chosen = _chosen(report, questions)
    if chosen is None:
        raise BadSetting("there is no witness to draw: no question was answered no", fix="leave --draw out")
    k, question = chosen
    drawn = [
        Drawn(
            one.place,
            one.state,
            one.stack,
            len(one.seen),
            " ".join(one.way) or one.word or "nothing",
            " or ".join(one.actions),
            _value(*one.value),
        )
        for one in report.witness(k, question)
    ]
    title = f"{report.optimal.product.domain.name}: the top {k} symbols are not enough ({NAMES[question]})"
    draw_witness(report.optimal.product.domain, drawn, title, path)


def _certify(report: KReport, path: Path, questions: list[str]) -> None:
    for question in questions:
        smallest = report.smallest(question)
        if smallest is not None:
            report.certificate(smallest, question).save(path)
            return
    raise BadSetting("there is no yes to certify", fix="try a larger --k")


def _next(report: KReport, name: str, discount: str, questions: list[str], *, drawn: bool) -> None:
    if _chosen(report, questions) is not None and not drawn:
        start = " --from start" if questions == ["start"] else ""
        next_command(f"pdrm check-k {name}{discount}{start} --draw witness.svg")
        return
    smallest = report.smallest("start")
    enough = smallest is not None and report.gaps[smallest].gap[0] <= 0
    next_command(f"pdrm train {name} --k {smallest if enough else 'full'}{discount}")


def _with(machine: str | None) -> str:
    return "" if machine is None else f" --machine {quote(machine)}"
