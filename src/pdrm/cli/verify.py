"""`pdrm verify`: check a saved certificate anew, with nothing of the solver that made it."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated

import typer

from pdrm.cli.machine_commands import Json, machine_text
from pdrm.cli.output import coloured, error_record, next_command, print_json
from pdrm.errors import BadCertificate, BadSetting, PdrmError, UnknownDomain

if TYPE_CHECKING:
    from pdrm.analysis.certificate import Certificate
    from pdrm.domains.labelled_mdp import FiniteDomain
    from pdrm.machines.pushdown import PushdownRewardMachine


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
    from pdrm.analysis.certificate import load_certificate

    try:
        proof = load_certificate(certificate)
        where, task = _task(proof, domain, machine)
        if len(proof.states) > MANY and not as_json:
            typer.echo(f"checking {len(proof.states):,} states one by one, in fractions: this takes a while", err=True)
        _check(where, task, proof, certificate)
    except PdrmError as error:
        if not as_json:
            raise
        print_json({"ok": False, "errors": [error_record(one) for one in error.errors]})
        raise typer.Exit(2) from error
    if as_json:
        kept = {name: getattr(proof, name) for name in ("question", "k", "depth", "discount", "height", "rule")}
        named = {"domain": proof.domain, "machine": proof.machine, "states": len(proof.states)}
        print_json({"ok": True, "errors": [], "says": proof.says(), **named, **kept})
        return
    typer.echo(coloured(f"{certificate}: it holds", fg="green", bold=True))
    typer.echo(f"  {where.name} with machine {task.name}, discount {proof.discount:g}, no step limit: {proof.says()}")
    typer.echo(f"  {len(proof.states):,} states, checked one by one")
    given = "" if machine is None else f" --machine {quote(machine)}"
    next_command(f"pdrm train {quote(domain or where.name)}{given} --k {proof.k}")


def _check(where: FiniteDomain, task: PushdownRewardMachine, proof: Certificate, file: Path) -> None:
    """Raise unless it holds, and name the file."""
    from pdrm.analysis.checker import verify as check

    try:
        check(where, task, proof)
    except BadCertificate as error:
        raise BadCertificate(f"{file} proves nothing: {error.message}", fix=error.fix) from error


def _task(proof: Certificate, domain: str | None, machine: str | None) -> tuple[FiniteDomain, PushdownRewardMachine]:
    """The domain and the machine that a certificate speaks of."""
    from pdrm.domains.files import find_domain
    from pdrm.machines.text.files import parse
    from pdrm.product.any_machine import pushdown_machine

    try:
        where = find_domain(domain or proof.domain)
    except UnknownDomain as error:
        if domain is not None:
            raise
        raise UnknownDomain(f"it speaks of `{proof.domain}`, a domain of one's own", fix="--domain FILE") from error
    own = machine or where.machine
    if own is None:
        raise BadSetting(f"domain `{where.name}` goes with no machine of its own", fix="--machine task.pdrm")
    return where, pushdown_machine(parse(machine_text(own), own))
