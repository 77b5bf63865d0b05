"""`python -m proofs [NAME …] [--budget 5m] [--workers N]`: run the proofs, resume them, say what holds.

Without names all are run, and `docs/promises.md` is written. `--seed N` repeats one check of one proof.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from pdrm.errors import PdrmError
from pdrm.files import write_atomically
from proofs.page import make_page
from proofs.promises import PROOFS
from proofs.proof import Proof, run_check
from proofs.record import FOLDER
from proofs.session import Session
from proofs.source import ROOT, Sources

PAGE = ROOT / "docs" / "promises.md"
UNITS = {"s": 1, "m": 60, "h": 3600}


def main(
    words: Sequence[str] | None = None,
    known: Sequence[Proof] = PROOFS,
    folder: Path = FOLDER,
    page: Path = PAGE,
) -> int:
    """Do what is asked; 1 if anything is wrong, 2 if it cannot be done, 130 if interrupted."""
    asked = _arguments(words, [proof.name for proof in known])
    console = Console(highlight=False, soft_wrap=True)
    proofs = [proof for proof in known if not asked.names or proof.name in asked.names]
    if asked.seed is not None:
        result = run_check(proofs[0], asked.seed)
        said = (
            f"wrong\n{result.message}"
            if result.message
            else f"{result.cases:,} {proofs[0].unit}, 0 wrong"
        )
        console.print(f"{result.name}, seed {asked.seed}: {said}", markup=False)
        return int(bool(result.message))
    if asked.list:
        source = Sources()
        for proof in proofs:
            console.print(
                f"{proof.name:<15} {source.digest(proof.parts)}  {proof.promise}", markup=False
            )
        return 0
    try:
        code = (
            0 if asked.page else Session(console, proofs, folder).run(asked.budget, asked.workers)
        )
        if not asked.names:
            write_atomically(page, make_page(known, folder).encode())
            console.print(f"wrote {os.path.relpath(page)}", markup=False)
    except PdrmError as error:
        console.print(str(error), markup=False)
        return 2
    return code


def _arguments(words: Sequence[str] | None, known: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m proofs",
        description="Check the promises on random cases; stop and resume at will.",
    )
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"which (default: all): {', '.join(known)}"
    )
    parser.add_argument(
        "--budget", type=parse_time, default=float("inf"), help="stop after this time: 30s, 5m, 8h"
    )
    parser.add_argument(
        "--workers", type=int, default=os.cpu_count() or 1, help="processes (default: one per core)"
    )
    parser.add_argument(
        "--seed", type=int, help="run this one check of one proof, and say what is wrong"
    )
    parser.add_argument(
        "--list",
        action="store_true",
        help="list them, with the digest of their source as it is now",
    )
    parser.add_argument(
        "--page", action="store_true", help="write docs/promises.md from the records, run nothing"
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


def parse_time(text: str) -> float:
    """A time in seconds.

    >>> parse_time("5m"), parse_time("1.5h")
    (300.0, 5400.0)
    """
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([smh])", text)
    if found is None or not float(found[1]):
        fault = f"`{text}` is not a time: write a number with s, m or h, such as 30s, 5m or 8h"
        raise argparse.ArgumentTypeError(fault)
    return float(found[1]) * UNITS[found[2]]


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    sys.exit(main())
