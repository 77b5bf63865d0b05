"""Checks in parallel: one process a core, each with one thread; the proof that is furthest behind is served next."""

from __future__ import annotations

import importlib
import multiprocessing
import os
import signal
import threading
import time
import traceback
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from itertools import count
from typing import NamedTuple

from proofs.proof import Proof
from proofs.record import Record

PROOFS = {
    "engines": "proofs.engines:PROOF",
    "acceptance": "proofs.acceptance:PROOF",
    "translation": "proofs.translation:PROOF",
    "simulation": "proofs.translation:SIMULATION",
    "peers-counting": "proofs.peers_counting:PROOF",
    "mutations": "proofs.mutations:PROOF",
    "resume": "proofs.resume:PROOF",
    "clusters": "proofs.clusters:PROOF",
    "sizes": "proofs.sizes:PROOF",
    "values": "proofs.values:PROOF",
    "exact-values": "proofs.values:EXACT",
    "sufficient-k": "proofs.sufficient_k:PROOF",
}
"""Name -> where the proof is."""

MOST_WRONG = 3
"""Failed checks after which a proof is not tried further: by then it is the program that is wrong."""


class Checked(NamedTuple):
    """The outcome of one check: the cases it tried, its seconds, and a message where it failed."""

    name: str
    seed: int
    cases: int
    seconds: float
    message: str
    counts: dict[str, int]
    """What it counted beside its cases."""


def proof_of(name: str) -> Proof:
    """The proof of this name, imported when it is asked for."""
    module, _, attribute = PROOFS[name].partition(":")
    proof: Proof = getattr(importlib.import_module(module), attribute)
    return proof


def checked(name: str, seed: int) -> Checked:
    """Run one check in this process. Whatever goes wrong in it is a failed case, to be shown with its seed."""
    begin = time.perf_counter()
    cases, message, counts = 0, "", dict[str, int]()
    try:
        found = proof_of(name).check(seed)
        counts = {} if isinstance(found, int) else dict(found)
        cases = found if isinstance(found, int) else counts.pop("cases", 0)
        assert cases > 0, "the check tried no case"
    except Exception as error:
        message = (str(error) if isinstance(error, AssertionError) else "") or traceback.format_exc()
    return Checked(name, seed, cases, time.perf_counter() - begin, message, counts)


def outcomes(proofs: dict[str, Proof], records: dict[str, Record], workers: int, deadline: float) -> Iterator[Checked]:
    """The outcomes of checks as they come, until every proof has its cases or has failed, or the time is up."""
    seeds = {name: (seed for seed in count() if seed not in set(records[name].done)) for name in proofs}
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(workers, mp_context=context, initializer=_prepare)
    running: dict[Future[Checked], str] = {}
    try:
        while True:
            while len(running) < workers and time.monotonic() < deadline:
                name = _furthest_behind(proofs, records, list(running.values()))
                if name is None:
                    break
                running[pool.submit(checked, name, next(seeds[name]))] = name
            if not running:
                return
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                del running[future]
                yield future.result()
    finally:
        pool.shutdown(cancel_futures=True)


def _furthest_behind(proofs: dict[str, Proof], records: dict[str, Record], running: list[str]) -> str | None:
    """The unfinished proof with the smallest share of its cases done, those under way counted as the ones before."""
    shares = {}
    for name, proof in proofs.items():
        record = records[name]
        each = record.cases / len(record.done) if record.done else 0.0
        share = (record.cases + running.count(name) * each) / proof.target
        if share < 1 and len(record.wrong) < MOST_WRONG:
            shares[name] = (running.count(name) if not record.done else 0, share)
    return min(shares, key=lambda name: shares[name]) if shares else None


def _prepare() -> None:
    """Stop at Ctrl-C without a word, and leave with the parent however it ends: a waiting worker would else stay."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    parent = multiprocessing.parent_process()
    assert parent is not None

    def leave() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=leave, daemon=True).start()
