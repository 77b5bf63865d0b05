"""The page *Promises*: what is promised, how it was checked, and what came of it. Every number is from the records."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path

from proofs.promises import GROUPS, TESTED
from proofs.proof import Proof
from proofs.record import FOLDER, Record, load
from proofs.session import duration
from proofs.source import Sources

INTRODUCTION = """\
# Promises

What the package promises, and how often that was tried. A promise on this page is checked on random cases against something
independent: another engine, a plain definition, or other people's programs. The cases are made from seeds, so that every one
can be repeated.

```
make prove                 # five minutes, shared by all; writes this page
make prove PROVE=8h        # or any other time: 30s, 5m, 1h
.venv/bin/python -m proofs engines acceptance     # some of them, until each has its number of cases
.venv/bin/python -m proofs engines --seed 17      # one check again
```

Stop it at any time: what was tried counts, and the next run goes on from there. A counterexample is printed with its seed and the
command that repeats it, and the exit code is 1. Cases count for the source they ran on: *source* below is a digest of all that a
proof depends on, and `.venv/bin/python -m proofs --list` prints what it is now. Where they differ, the numbers are of an older state of
the program.
"""
BESIDE = "Counted beside: "


def make_page(proofs: Sequence[Proof], folder: Path = FOLDER) -> str:
    """The page, from what is recorded of the source as it is now."""
    source = Sources()
    records = {proof.name: load(proof, source, folder) for proof in proofs}
    parts = [INTRODUCTION, _whole(records)]
    for group, about in GROUPS.items():
        members = [proof for proof in proofs if proof.group == group]
        if members:
            parts.append("\n".join(_group(group, about, members, records)))
    return "\n".join([*parts, _versions(records), _tests()])


def _whole(records: Mapping[str, Record]) -> str:
    """All of it in a sentence."""
    tried = sum(record.cases for record in records.values())
    wrong = sum(len(record.wrong) for record in records.values())
    seconds = sum(record.seconds for record in records.values())
    return f"**{tried:,} cases in all, {wrong} wrong**, in {duration(seconds)} of one process.\n"


def _group(
    group: str, about: str, members: Sequence[Proof], records: Mapping[str, Record]
) -> Iterator[str]:
    yield from (f"## {group}\n", f"{about}\n")
    yield from ("| promise | tried | wrong | source | last tried |", "|---|---|---|---|---|")
    yield from (_row(proof, records[proof.name]) for proof in members)
    yield from ("\nWhat is compared:\n",)
    for proof in members:
        record = records[proof.name]
        yield f"- `{proof.name}`: {proof.compared}." + (
            f" {BESIDE}{proof.say(record.counts)}." if record.counts else ""
        )
    yield ""


def _row(proof: Proof, record: Record) -> str:
    promise = f"{proof.promise} (`{proof.name}`)"
    if not record.sessions:
        return f"| {promise} | not yet on this source | | `{record.source}` | |"
    of = f" of {proof.target:,}" if record.cases < proof.target else ""
    last = datetime.fromisoformat(record.sessions[-1])
    sessions = f", {len(record.sessions)} sessions" if len(record.sessions) > 1 else ""
    when = f"{last.day} {last:%B %Y}{sessions}"
    return f"| {promise} | {record.cases:,}{of} {proof.unit} | {_wrong(proof, record)} | `{record.source}` | {when} |"


def _wrong(proof: Proof, record: Record) -> str:
    if not record.wrong:
        return "0"
    return f"**{len(record.wrong)}**: " + ", ".join(
        f"`{proof.again(seed)}`" for seed in record.wrong
    )


def _versions(records: Mapping[str, Record]) -> str:
    """What it ran with; several versions only where a proof was not run since."""
    found: dict[str, dict[str, None]] = {}
    for record in records.values():
        for package, version in record.versions.items() if record.sessions else ():
            found.setdefault(package, {})[version] = None
    shown = [f"{package} {' and '.join(versions)}" for package, versions in found.items()]
    return f"## Ran with\n\n{', '.join(shown) or 'nothing yet'}.\n"


def _tests() -> str:
    """The promises that tests hold."""
    rows = "\n".join(f"- {promise}: `{path}`" for promise, path in TESTED.items())
    return f"## Held by tests\n\nNot a matter of random cases; `make test` runs them.\n\n{rows}\n"
