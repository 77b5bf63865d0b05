"""`python -m proofs [NAME …] [--budget 5m] [--workers N] [--fresh]`: run the proofs, resume them, say what holds.

Without names all are run, and `docs/promises.md` is written. `--seed N` repeats one check of one proof.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from pdrm.errors import PdrmError
from pdrm.files import write_atomically
from proofs.budget import seconds_of
from proofs.checked import checked
from proofs.page import page
from proofs.promises import PROOFS
from proofs.proof import Proof
from proofs.record import FOLDER
from proofs.session import Session
from proofs.source import ROOT, Sources

PAGE = ROOT / "docs" / "promises.md"


def main(
    words: Sequence[str] | None = None, known: Sequence[Proof] = PROOFS, folder: Path = FOLDER, page_at: Path = PAGE
) -> int:
    """Do what is asked; 1 if anything is wrong, 2 if it cannot be done, 130 if interrupted."""
    asked = _arguments(words, [proof.name for proof in known])
    console = Console(highlight=False, soft_wrap=True)
    proofs = [proof for proof in known if not asked.names or proof.name in asked.names]
    if asked.seed is not None:
        return _again(console, proofs[0], asked.seed)
    if asked.list:
        source = Sources()
        for proof in proofs:
            console.print(f"{proof.name:<15} {source.digest(proof)}  {proof.promise}", markup=False)
        return 0
    try:
        code = 0 if asked.page else Session(console, proofs, folder, fresh=asked.fresh).run(asked.budget, asked.workers)
        if not asked.names:
            write_atomically(page_at, page(known, folder).encode())
            console.print(f"wrote {os.path.relpath(page_at)}", markup=False)
    except PdrmError as error:
        console.print(str(error), markup=False)
        return 2
    return code


def _again(console: Console, proof: Proof, seed: int) -> int:
    """Repeat one check here."""
    outcome = checked(proof.name, proof.check, seed)
    said = f"wrong\n{outcome.message}" if outcome.message else f"{outcome.cases:,} {proof.unit}, 0 wrong"
    console.print(f"{proof.name}, seed {seed}: {said}", markup=False)
    return int(bool(outcome.message))


def _arguments(words: Sequence[str] | None, known: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m proofs", description="Check the promises on random cases; stop and resume at will."
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"which (default: all): {', '.join(known)}")
    parser.add_argument("--budget", type=_time, default=float("inf"), help="stop after this time: 30s, 5m, 8h")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes (default: one a core)")
    parser.add_argument("--fresh", action="store_true", help="forget earlier results")
    parser.add_argument("--seed", type=int, help="run this one check of one proof, and say what is wrong")
    parser.add_argument("--list", action="store_true", help="list them, with the digest of their source as it is now")
    parser.add_argument(
        "--page", action="store_true", help="write docs/promises.md from what was recorded, run nothing"
    )
    asked = parser.parse_args(words)
    asked.names = [name.replace("_", "-") for name in asked.names]
    unknown = [name for name in asked.names if name not in known]
    if unknown:
        parser.error(f"no proof is called {unknown[0]}; there are {', '.join(known)}")
    if asked.workers < 1:
        parser.error("--workers takes 1 or more")
    if asked.seed is not None and len(set(asked.names)) != 1:
        parser.error("--seed takes one proof: python -m proofs NAME --seed N")
    return asked


def _time(text: str) -> float:
    try:
        return seconds_of(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    sys.exit(main())
