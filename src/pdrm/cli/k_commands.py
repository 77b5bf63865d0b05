"""`pdrm check-k`: which top-k view of the stack is enough; and `pdrm verify`, which checks a saved certificate anew."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from math import inf
from pathlib import Path
from shlex import quote
from threading import Timer
from time import monotonic
from typing import TYPE_CHECKING, Annotated

import typer

from pdrm.cli.arguments import MachineName, complete_domain
from pdrm.cli.output import (
    INTERRUPTED,
    Json,
    coloured,
    end_with_json,
    next_command,
    print_json,
    warn_of_task,
)
from pdrm.errors import BadSetting, ConflictingOptions, DoesNotApply, PdrmError, raise_all
from pdrm.files import check_writable

if TYPE_CHECKING:
    from pdrm.analysis.sufficient_k.certificate import Certificate, StackCertificate
    from pdrm.analysis.sufficient_k.k_report import KReport
    from pdrm.task import Task

# --- `pdrm check-k`: which top-k view of the stack is enough, with a witness for every no and a certificate for every yes.

COLOURS = {"yes": "green", "no": "red", "undecided": "yellow"}
FIRST = 4
"""Without --k, all up to this are tried."""
LONGEST = 20
"""Digits of a k that are read: more are too many in any case."""
FURTHER = {
    "time": "more --seconds may help",
    "states": "a larger --most may help",
    "explored": "another --depth may help",
    "stopped": "letting it run longer may help",
    "stuck": "more --seconds are not likely to help: hardly any of these states was decided by exploring",
    "discount": "a smaller --discount, such as 0.9, is more likely to help than more --seconds",
    "uncapped": "ask without --height",
    "whole": "the whole stack (--k full)",
    "summary": "--agent summary, which acts on the whole stack",
    "setting": "--{dashed} {value}",
}
"""What may decide what is undecided, by what ended the search; how to train with the whole stack; and how a setting is written."""
QUICK = 3.0
"""Seconds before it is said that something is compiled."""
WRITING = 5.0
"""Seconds that making a certificate smaller may take when the search was stopped."""
WRONG_PAY = ("W0606", "W0607", "W0612")
"""Warnings that the task pays for the wrong thing, or for nothing: it is to be mended before anything is trained."""
LONGEST_TIME = 1e7
"""Seconds a search may be given at most."""


def check_k(
    domain: Annotated[
        str | None,
        typer.Argument(
            help="A domain of the catalogue, or a domain's file.", autocompletion=complete_domain
        ),
    ] = None,
    domain_file: Annotated[
        Path | None, typer.Option("--domain", help="The same, for a file.")
    ] = None,
    machine: MachineName = None,
    k: Annotated[
        str | None,
        typer.Option("--k", help="The views to try: 0..4, or 0,1,5. [upwards, to the smallest]"),
    ] = None,
    seconds: Annotated[
        float, typer.Option(help="How long to look; then the best answers so far.")
    ] = 60.0,
    depth: Annotated[
        int | None,
        typer.Option(help="Ask about states within so many steps. [all, or some thousands]"),
    ] = None,
    discount: Annotated[
        float | None, typer.Option(help="γ, below 1. [the paper's for its domains, else 0.99]")
    ] = None,
    from_: Annotated[
        str | None,
        typer.Option("--from", help="`start`: ask only whether a policy is optimal from there."),
    ] = None,
    height: Annotated[
        int | None, typer.Option(help="The highest stack the product is built for.")
    ] = None,
    rule: Annotated[
        str,
        typer.Option(help="Beyond --height: open, block or fail (the last two change the task)."),
    ] = "open",
    most: Annotated[int, typer.Option(help="States to explore at most.")] = 1_500_000,
    memory: Annotated[float, typer.Option(help="GiB the product may take.")] = 4.0,
    draw: Annotated[Path | None, typer.Option(help="Draw a witness: .svg, .png or .pdf.")] = None,
    certificate: Annotated[
        Path | None, typer.Option(help="Write the proof that `so:` relies on (JSON).")
    ] = None,
    as_json: Json = False,
) -> None:
    """Find the smallest k for which a k-policy is optimal: same values, everywhere, or from the start.

    It answers soon after --seconds are over, and at Ctrl-C: near states are looked at first. Starting Python and compiling do not count.

    Example: pdrm check-k maze-5x5 --draw witness.svg
    """
    begun = monotonic()
    if (domain is None) == (domain_file is None):
        raise ConflictingOptions(
            "name one domain", fix="pdrm check-k maze-5x5, or --domain map.txt --machine task.pdrm"
        )
    place = str(domain_file) if domain is None else str(domain)
    given = _options(
        discount=(discount, None),
        depth=(depth, None),
        height=(height, None),
        rule=(rule, "open"),
        **{"from": (from_, None)},
    )
    try:
        _check(most, seconds, draw, certificate)
        ks = None if k is None else _ks(k)
        from pdrm.analysis.sufficient_k.check_k import (
            KSearch,
            choose_questions,
            look,
            measure_memory,
        )
        from pdrm.product.finite_product import Bound
        from pdrm.task import Task

        questions = list(choose_questions(from_))
        task = Task(place, machine)
        bound, room = Bound(height, rule), measure_memory(memory)
        search = partial(
            KSearch,
            task,
            k=ks,
            discount=discount,
            bound=bound,
            most=most,
            memory=room,
            questions=questions,
        )
        warned = warn_of_task(task, quiet=as_json)
        _compile(quiet=as_json)
        begun = monotonic()
        report, stopped = look(search, depth, seconds, from_, quiet=as_json)
    except KeyboardInterrupt:
        _say_nothing(
            place,
            machine,
            _ks(k) if k is not None else list(range(FIRST + 1)),
            (certificate, draw),
            as_json=as_json,
        )
        raise typer.Exit(INTERRUPTED) from None
    spent = round(monotonic() - begun, 3)
    if as_json:
        print_json({**report.record(), "warnings": warned, "seconds": spent, "stopped": stopped})
    else:
        _print(report, questions)
    if stopped:
        typer.echo("stopped; this is what was known by then", err=True)
    write = {
        certificate: lambda path: _certify(
            report, path, questions, (place, machine), quiet=as_json
        ),
        draw: lambda path: _draw(report, path, questions, quiet=as_json),
    }
    missing = _write(
        {path: how for path, how in write.items() if path is not None}, stopped=stopped
    )
    if not as_json:
        asked = (
            f"pdrm check-k {quote(place)}{_with(machine)}{'' if k is None else f' --k {quote(k)}'}"
        )
        if draw is None and report.find_no(questions) is not None:
            typer.echo(f"a picture of these: {asked}{given} --draw witness.svg")
        gamma, wrong = (
            _options(discount=(discount, None)),
            [one["code"] for one in warned if one["code"] in WRONG_PAY],
        )
        if wrong:
            next_command(
                f"pdrm explain {wrong[0]}, and mend the task: what is proved about it now is of little use"
            )
        elif report.capped:
            next_command(f"{asked}{gamma}")
        else:
            _next(report, f"{quote(place)}{_with(machine)}", gamma, questions)
    if stopped:
        raise typer.Exit(INTERRUPTED)
    raise_all(missing)


def _write(
    files: Mapping[Path, Callable[[Path], list[PdrmError]]], *, stopped: bool
) -> list[PdrmError]:
    """Write the files that were asked for; the errors of those that cannot be. If the search was stopped they are said here, and writing is to be
    over soon; Ctrl-C stops that, too."""
    from pdrm.analysis.time_limit import limit_time

    missing, left = list[PdrmError](), list(files)
    try:
        with limit_time(WRITING if stopped else None):
            for path, write in files.items():
                missing += write(path)
                left.remove(path)
    except KeyboardInterrupt:
        typer.echo(f"stopped; not written: {', '.join(map(str, left))}", err=True)
        raise typer.Exit(INTERRUPTED) from None
    for error in missing if stopped else ():
        typer.echo(f"{error.message}; let it run longer", err=True)
    return missing


def _options(**values: tuple[object, object]) -> str:
    """Options as they are given, without those that have their default."""
    return "".join(
        f" --{name.replace('_', '-')} {f'{value:g}' if isinstance(value, float) else quote(str(value))}"
        for name, (value, default) in values.items()
        if value != default
    )


def write_settings(settings: Mapping[str, float]) -> str:
    """An agent's settings as options of `pdrm train`."""
    return _options(**{name: (value, None) for name, value in settings.items()})


def _check(most: int, seconds: float, draw: Path | None, certificate: Path | None) -> None:
    """Refuse options that cannot be, before all the work."""
    if most < 1:
        raise BadSetting(f"--most {most} is not above 0", fix="--most 1500000")
    if not 0 < seconds <= LONGEST_TIME:
        raise BadSetting(f"--seconds {seconds:g} is not a time above 0", fix="--seconds 60")
    if draw is not None:
        from pdrm.drawing.plots import check_plot_format

        check_plot_format(draw)
    for path in (draw, certificate):
        if path is not None:
            check_writable(path)


def _compile(*, quiet: bool) -> None:
    """Have everything compiled; if that takes longer, say so."""
    from pdrm.analysis.solving import compile_solver
    from pdrm.analysis.sufficient_k.check_k import compile_kernels

    said = "compiling, once after every installation: about a minute, which does not count as time"
    waiting = Timer(QUICK, typer.echo, (said,), {"err": True})
    if not quiet:
        waiting.start()
    try:
        compile_kernels()
        compile_solver()
    finally:
        waiting.cancel()


def _say_nothing(
    place: str, machine: str | None, ks: list[int], files: tuple[Path | None, ...], *, as_json: bool
) -> None:
    """It was stopped while it was imported or compiled."""
    if as_json:
        unknown = {
            str(k): dict.fromkeys(("same_values", "everywhere", "start"), "undecided") for k in ks
        }
        record = {
            "domain": place,
            "machine": machine,
            "ended": "stopped",
            "complete": False,
            "k": unknown,
        }
        print_json({**record, "seconds": 0.0, "stopped": True})
    typer.echo("stopped before anything was known", err=True)
    for path in filter(None, files):
        typer.echo(f"{path} was not written", err=True)


def _find_files(certificate: Path, place: str, machine: str | None) -> dict[str, str]:
    """Where the files of a task are, from the certificate's folder; or their names in the catalogue."""
    given = {"domain": place, "machine": machine}
    folder = certificate.absolute().parent
    return {
        name: os.path.relpath(Path(one).absolute(), folder) if Path(one).is_file() else one
        for name, one in given.items()
        if one is not None
    }


def _ks(text: str) -> list[int]:
    """0..4, or 0,1,5, or 3."""
    from pdrm.analysis.sufficient_k.questions import MOST_K

    first, dots, last = text.partition("..")
    parts = [first, last] if dots else text.split(",")
    if not all(part.isascii() and part.strip().isdecimal() for part in parts):
        fix = f"use integers from 0 to {MOST_K}: --k 0..4, or --k 0,1,5"
        raise BadSetting(f"--k {text!r} is not a list of numbers of symbols", fix=fix)
    found = [int(part.strip()[:LONGEST]) for part in parts]
    if max(found) > MOST_K:
        raise BadSetting(
            f"--k {text[:40]} goes beyond {MOST_K}",
            fix=f"use integers from 0 to {MOST_K}: --k 0..4",
        )
    if dots and found[0] > found[1]:
        raise BadSetting(f"--k {text} is empty", fix=f"--k {found[1]}..{found[0]}")
    return list(range(found[0], found[1] + 1)) if dots else found


def _print(report: KReport, questions: list[str]) -> None:
    from pdrm.analysis.sufficient_k.k_report import explain_no, format_report

    for line in format_report(
        report, questions, lambda text, verdict: coloured(text, fg=COLOURS[verdict]), FURTHER
    ):
        typer.echo(line)
    for line in explain_no(report, questions):
        typer.echo(line)


def _draw(report: KReport, path: Path, questions: list[str], *, quiet: bool) -> list[PdrmError]:
    """Draw the most telling witness; the error, where there is none."""
    chosen = report.find_no(questions)
    if chosen is None:
        fault = (
            f"{path} was not written: no question was answered no, so there is no witness to draw"
        )
        return [DoesNotApply(fault, fix="leave --draw out")]
    report.draw(*chosen).save(path)
    if not quiet:
        typer.echo(f"wrote {path}")
    return []


def _certify(
    report: KReport, path: Path, questions: list[str], task: tuple[str, str | None], *, quiet: bool
) -> list[PdrmError]:
    """Write the proof of the yes that is recommended to rely on, else of the strongest; the error, where there is none."""
    from pdrm.analysis.sufficient_k.k_report import recommend

    found = [
        (k, question) for question in questions if (k := report.furthest(question)) is not None
    ]
    chosen = recommend(report, questions, FURTHER).relies_on or (found[0] if found else None)
    if chosen is None:
        unknown = any(
            found[q].verdict == "undecided" for found in report.answers.values() for q in questions
        )
        fix = f"{FURTHER.get(report.ended, FURTHER['time'])} (some k are undecided), or try a larger --k"
        fix = fix if unknown else "try a larger --k"
        return [DoesNotApply(f"{path} was not written: there is no yes to certify", fix=fix)]
    replace(report.certificate(*chosen), files=_find_files(path, *task)).save(path)
    if not quiet:
        typer.echo(f"wrote {path}; to check it anew: pdrm verify {quote(str(path))}")
    return []


def _next(report: KReport, name: str, discount: str, questions: list[str]) -> None:
    """The training that is recommended."""
    from pdrm.analysis.sufficient_k.k_report import recommend

    found = recommend(report, questions, FURTHER)
    how = _name_agent(found.k, found.agent)
    next_command(f"pdrm train {name} {how}{discount}{write_settings(found.settings)}")


def _name_agent(k: int | None, agent: str | None) -> str:
    """An agent and what it sees, as options of `pdrm train`."""
    seen = "" if agent == "summary" else f"--k {'full' if k is None else k}"
    return " ".join(filter(None, (f"--agent {agent}" if agent else "", seen)))


def _with(machine: str | None) -> str:
    return "" if machine is None else f" --machine {quote(machine)}"


# --- `pdrm verify`: check a saved certificate anew, with nothing of the solver that made it.

MANY = 20_000
"""States that take longer than a moment."""
FOLLOWING = 5.0
"""Seconds to see how long optimal play takes, for the training that is recommended."""


def verify(
    certificate: Annotated[
        Path, typer.Argument(help="What `pdrm check-k … --certificate FILE` wrote.")
    ],
    domain: Annotated[
        str | None, typer.Option(help="The domain, or its file. [the one it names]")
    ] = None,
    machine: MachineName = None,
    as_json: Json = False,
) -> None:
    """Check a certificate of `pdrm check-k` anew, and say what it certifies.

    Every step is taken with the readable machine and counted in fractions. Exit code 2: it proves nothing.

    Example: pdrm verify proof.json
    """
    from pdrm.analysis.sufficient_k.certificate import load_certificate
    from pdrm.analysis.sufficient_k.checker import find_files
    from pdrm.analysis.sufficient_k.checker import verify as check
    from pdrm.task import Task

    try:
        proof = load_certificate(certificate)
        domain, own = find_files(proof, certificate, domain, machine)
        machine = None if own is None else str(own)
        task = Task(domain, machine)
        if proof.size > MANY and not as_json:
            typer.echo(
                f"checking {proof.size_text} one by one, in fractions: this takes a while", err=True
            )
        check(certificate, task)
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
    how = _choose_agent(proof, task)
    own = _options(discount=(proof.discount, task.discount))
    next_command(f"pdrm train {quote(domain)}{_with(machine)} {how}{own}")


def _choose_agent(proof: Certificate | StackCertificate, task: Task) -> str:
    """How to train with what is proved, as `pdrm check-k` recommends it."""
    from pdrm.analysis.sufficient_k.high_witness import HighWitnesses
    from pdrm.analysis.sufficient_k.k_advice import choose_agent, choose_k, choose_settings
    from pdrm.analysis.time_limit import limit_time

    with limit_time(FOLLOWING):
        high = HighWitnesses.of(task, proof.discount)
        followed = None if high is None else high.follow_optimal()
    all_states = proof.depth is None and proof.scope == "all states" and proof.question != "start"
    rows = proof.size if all_states else inf
    k = choose_k(
        proof.k,
        task.finite,
        everywhere=proof.question != "start" and proof.depth is None,
        rows=rows,
    )
    return _name_agent(k, choose_agent(k, task.finite)) + write_settings(
        choose_settings(task.finite, followed)
    )
