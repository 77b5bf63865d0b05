"""`pdrm check-k`: which top-k view of the stack is enough; and `pdrm verify`, which checks a saved certificate anew."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import inf
from pathlib import Path
from shlex import quote
from threading import Timer
from time import monotonic
from typing import TYPE_CHECKING, Annotated

import typer

from pdrm.cli.output import INTERRUPTED, Json, coloured, end_with_json, next_command, print_json
from pdrm.errors import BadCertificate, BadSetting, ConflictingOptions, DoesNotApply, PdrmError, UnknownDomain

if TYPE_CHECKING:
    from pdrm.analysis.sufficient_k.certificate import Certificate, StackCertificate
    from pdrm.analysis.sufficient_k.check_k import KSearch
    from pdrm.analysis.sufficient_k.k_report import KReport
    from pdrm.analysis.sufficient_k.questions import Situation
    from pdrm.task import Task

# --- `pdrm check-k`: which top-k view of the stack is enough, with a witness for every no and a certificate for every yes.

COLOURS = {"yes": "green", "no": "red", "undecided": "yellow"}
GIB = 2**30
LONGEST = 20
"""Digits of a k that are read: more are too many in any case."""
FURTHER = {
    "time": "more --seconds may help",
    "states": "a larger --most may help",
    "explored": "another --depth may help",
    "stopped": "letting it run longer may help",
    "stuck": "more --seconds are not likely to help: hardly any of these states was decided by exploring",
    "whole": "the whole stack (--k full)",
    "summary": "--agent summary, which acts on the whole stack",
}
"""What may decide what is undecided, by what ended the search; and how to train with the whole stack."""
QUICK = 3.0
"""Seconds before it is said that something is compiled."""
SHORTEST_TIME, LONGEST_TIME = 0.1, 1e7
"""Seconds a search may be given."""


def check_k(
    domain: Annotated[str | None, typer.Argument(help="A domain of the catalogue, or a domain's file.")] = None,
    domain_file: Annotated[Path | None, typer.Option("--domain", help="A domain's file: a map, or arrays.")] = None,
    machine: Annotated[str | None, typer.Option(help="A machine file or catalogue name. [the domain's own]")] = None,
    k: Annotated[
        str | None, typer.Option("--k", help="The views to try: 0..4, or 0,1,5. [upwards, to the smallest]")
    ] = None,
    seconds: Annotated[float, typer.Option(help="How long to look; then the best answers so far.")] = 60.0,
    depth: Annotated[
        int | None, typer.Option(help="Ask about states within so many steps. [all, or some thousands]")
    ] = None,
    discount: Annotated[float | None, typer.Option(help="γ, below 1. [the paper's for the domain]")] = None,
    only: Annotated[str | None, typer.Option("--from", help="`start`: only from the start.")] = None,
    height: Annotated[int | None, typer.Option(help="The highest stack the product is built for.")] = None,
    rule: Annotated[
        str, typer.Option(help="Beyond --height: open, block or fail (the last two change the task).")
    ] = "open",
    most: Annotated[int, typer.Option(help="States to explore at most.")] = 1_500_000,
    memory: Annotated[float, typer.Option(help="GiB the product may take.")] = 4.0,
    draw: Annotated[Path | None, typer.Option(help="Draw a witness: .svg, .png or .pdf.")] = None,
    certificate: Annotated[Path | None, typer.Option(help="Write the certificate of the strongest yes (JSON).")] = None,
    as_json: Json = False,
) -> None:
    """Find the smallest k for which a k-policy is optimal: same values, everywhere, or from the start.

    It answers when --seconds are over at the latest, and at Ctrl-C: near states are looked at first.

    Example: pdrm check-k maze-5x5 --draw witness.svg
    """
    from pdrm.analysis.sufficient_k.check_k import KSearch
    from pdrm.analysis.sufficient_k.questions import QUESTIONS
    from pdrm.domains.paper_domains import names
    from pdrm.product.finite_product import Bound
    from pdrm.task import Task

    _check(only, memory, most, seconds, draw)
    if (domain is None) == (domain_file is None):
        raise ConflictingOptions(
            "name one domain", fix="pdrm check-k maze-5x5, or --domain map.txt --machine task.pdrm"
        )
    place = str(domain_file) if domain is None else domain
    task = Task(place, machine)
    ks, questions = None if k is None else _ks(k), ["start"] if only else list(QUESTIONS)
    bound, room = Bound(height, rule), int(memory * GIB)
    search = partial(KSearch, task, ks, discount=discount, bound=bound, most=most, memory=room, questions=questions)
    begun = monotonic()
    report, stopped = _look(search, [0, depth] if only and depth != 0 else [depth], seconds, quiet=as_json)
    if as_json:
        print_json({**report.record(), "seconds": round(monotonic() - begun, 3), "stopped": stopped})
    else:
        _print(report, questions)
    if stopped:
        typer.echo("stopped; this is what was known by then", err=True)
        raise typer.Exit(INTERRUPTED)
    if certificate is not None:
        _certify(report, certificate, questions)
        if not as_json:
            own = "" if domain in names() else f" --domain {quote(place)}"
            again = f"pdrm verify {quote(str(certificate))}{own}{_with(machine)}"
            typer.echo(f"wrote {certificate}; to check it anew: {again}")
    if draw is not None:
        _draw(report, draw, questions, quiet=as_json)
    if not as_json:
        rest = "" if discount is None else f" --discount {discount:g}"
        _next(report, f"{quote(place)}{_with(machine)}", rest, questions, drawn=draw is not None)


def _check(only: str | None, memory: float, most: int, seconds: float, draw: Path | None) -> None:
    """Refuse options that cannot be, before all the work."""
    if only not in (None, "start"):
        raise BadSetting(f"--from {only}", fix="--from start, or leave it out")
    if not memory > 0:
        raise BadSetting(f"--memory {memory:g} is not above 0", fix="--memory 4")
    if most < 1:
        raise BadSetting(f"--most {most} is not above 0", fix="--most 1500000")
    if not 0 < seconds <= LONGEST_TIME:
        raise BadSetting(f"--seconds {seconds:g} is not a time above 0", fix="--seconds 60")
    if draw is not None:
        from pdrm.drawing.plots import check_plot_format

        check_plot_format(draw)


def _look(
    search: Callable[..., KSearch], depths: list[int | None], seconds: float, *, quiet: bool
) -> tuple[KReport, bool]:
    """Search at one depth after the other until a yes holds for all states; what is known then, or when it is stopped, and
    whether it was. How it goes is said on standard error: by a bar on a terminal, a line now and then in a pipe."""
    from pdrm.analysis.sufficient_k.check_k import compile_kernels, show_search

    spent = 0.0
    for depth in depths:
        waiting = Timer(
            QUICK, typer.echo, ("compiling, as after every installation; it does not count as time",), {"err": True}
        )
        if not quiet:
            waiting.start()
        try:
            compile_kernels()
            current = search(depth=depth, seconds=max(SHORTEST_TIME, seconds - spent))
        finally:
            waiting.cancel()
        with show_search(seconds, quiet=quiet) as attach:
            attach(current, spent)
            report = current.find()
        spent += current.spent
        if current.stopped or all(found["start"].reach in (-1, inf) for found in report.answers.values()):
            break
    return report, current.stopped


def _ks(text: str) -> list[int]:
    """0..4, or 0,1,5, or 3."""
    from pdrm.analysis.sufficient_k.questions import MOST_K

    first, dots, last = text.partition("..")
    parts = [first, last] if dots else text.split(",")
    if not all(part.isascii() and part.strip().isdecimal() for part in parts):
        raise BadSetting(f"--k {text!r} is not a list of integers", fix="--k 0..4, or --k 0,1,5")
    found = [int(part.strip()[:LONGEST]) for part in parts]
    if max(found) > MOST_K:
        raise BadSetting(f"--k {text[:40]} goes beyond {MOST_K}", fix=f"use integers from 0 to {MOST_K}: --k 0..4")
    if dots and found[0] > found[1]:
        raise BadSetting(f"--k {text} is empty", fix=f"--k {found[1]}..{found[0]}")
    return list(range(found[0], found[1] + 1)) if dots else found


def _print(report: KReport, questions: list[str]) -> None:
    from pdrm.analysis.sufficient_k.k_report import NAMES, format_report

    for line in format_report(report, questions, lambda text, verdict: coloured(text, fg=COLOURS[verdict]), FURTHER):
        typer.echo(line)
    shown = report.find_no(questions)
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


def _words(one: Situation) -> str:
    best = " or ".join(one.actions) + ("" if one.certain else " (among them)")
    seen = " ".join(one.stack) or "(empty)"
    did = f" (actions {' '.join(one.way)})" if one.way else ""
    return f"after `{one.word or '(nothing)'}`{did}: {one.where}, {one.state}, stack {seen}; best: {best}"


def _draw(report: KReport, path: Path, questions: list[str], *, quiet: bool) -> None:
    chosen = report.find_no(questions)
    if chosen is None:
        raise DoesNotApply("there is no witness to draw: no question was answered no", fix="leave --draw out")
    report.draw(*chosen).save(path)
    if not quiet:
        typer.echo(f"wrote {path}")


def _certify(report: KReport, path: Path, questions: list[str]) -> None:
    for question in questions:
        smallest = report.furthest(question)
        if smallest is not None:
            report.certificate(smallest, question).save(path)
            return
    unknown = any(found[q].verdict == "undecided" for found in report.answers.values() for q in questions)
    fix = f"{FURTHER.get(report.ended, FURTHER['time'])} (some k are undecided), or try a larger --k"
    fix = fix if unknown else "try a larger --k"
    raise DoesNotApply("there is no yes to certify", fix=fix)


def _next(report: KReport, name: str, discount: str, questions: list[str], *, drawn: bool) -> None:
    from pdrm.analysis.sufficient_k.k_report import recommend

    if report.find_no(questions) is not None and not drawn:
        start = " --from start" if questions == ["start"] else ""
        next_command(f"pdrm check-k {name}{discount}{start} --draw witness.svg")
        return
    k = recommend(report, questions, FURTHER).k
    next_command(f"pdrm train {name} --k {'full' if k is None else k}{discount}")


def _with(machine: str | None) -> str:
    return "" if machine is None else f" --machine {quote(machine)}"


# --- `pdrm verify`: check a saved certificate anew, with nothing of the solver that made it.

MANY = 20_000
"""States that take longer than a moment."""


def verify(
    certificate: Annotated[Path, typer.Argument(help="What `pdrm check-k … --certificate FILE` wrote.")],
    domain: Annotated[str | None, typer.Option(help="The domain, or its file. [the one it names]")] = None,
    machine: Annotated[str | None, typer.Option(help="A machine file or catalogue name. [the domain's own]")] = None,
    as_json: Json = False,
) -> None:
    """Check a certificate of `pdrm check-k` anew, and say what it certifies.

    Every step is taken with the readable machine and counted in fractions. Exit code 2: it proves nothing.

    Example: pdrm verify proof.json
    """
    from pdrm.analysis.sufficient_k.certificate import load_certificate
    from pdrm.analysis.sufficient_k.checker import verify as check

    try:
        proof = load_certificate(certificate)
        task = _certified_task(proof, domain, machine)
        if proof.size > MANY and not as_json:
            typer.echo(f"checking {proof.size_text} one by one, in fractions: this takes a while", err=True)
        try:
            check(task.finite, task.pushdown, proof)
        except BadCertificate as error:
            raise BadCertificate(f"{certificate} proves nothing: {error.message}", fix=error.fix) from error
    except PdrmError as error:
        if not as_json:
            raise
        end_with_json(error)
    if as_json:
        told = ("question", "k", "scope", "depth", "discount", "height", "rule", "guesses")
        kept = {name: getattr(proof, name) for name in told}
        named = {"domain": proof.domain, "machine": proof.machine, "states": proof.size}
        print_json({"ok": True, "errors": [], "says": proof.describe(), **named, **kept})
        return
    typer.echo(coloured(f"{certificate}: it holds", fg="green", bold=True))
    typer.echo(
        f"  {task.name} with machine {task.pushdown.name}, discount {proof.discount:g}, no step limit: {proof.describe()}"
    )
    typer.echo(f"  {proof.size_text}, checked one by one")
    if proof.guesses:
        typer.echo(f"  {proof.describe_guesses()}")
    next_command(f"pdrm train {quote(domain or task.name)}{_with(machine)} --k {proof.k}")


def _certified_task(proof: Certificate | StackCertificate, domain: str | None, machine: str | None) -> Task:
    """The domain and the machine that a certificate is about."""
    from pdrm.task import Task

    try:
        return Task(domain or proof.domain, machine)
    except UnknownDomain as error:
        if domain is not None:
            raise
        raise UnknownDomain(f"it is about `{proof.domain}`, a domain of your own", fix="--domain FILE") from error
