"""Certificates: what a small checker needs to see for itself that a k-policy loses at most so much.

An *upper function* bounds what a configuration is worth: γ times its value. An entry is about an environment state, a machine state and
the symbols known from the top. If these are the whole stack, it is a number; if they are the top symbol alone, it is the greatest of a
constant and of lines c + γᵗ w(e), with w(e) what the stack below is worth at the exit e. `ranges` says between which numbers w(e) is.
This file knows nothing of the solver: `certify` makes certificates, `checker` checks them.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from math import isfinite
from pathlib import Path
from typing import Any, TypeVar

from pdrm.errors import BadCertificate
from pdrm.files import MALFORMED, read_bytes, write_atomically
from pdrm.limits import LARGEST_CERTIFICATE

FORMAT = "pdrm certificate 3"
QUESTIONS = ("start", "everywhere")
AGAIN = (
    "the task or the file may have been changed since: make the certificate again with pdrm check-k"
)

T = TypeVar("T")
Stack = tuple[str, ...]
Line = tuple[int, float, int, str]
"""t, c, and the environment and machine state of the exit."""
Entry = tuple[int, str, Stack, bool, float | None, tuple[Line, ...]]
"""Environment state, machine state, known symbols, whether these are the whole stack, constant, lines."""


def demand(holds: bool, what: str) -> None:
    """Raise a fault of the certificate unless this holds."""
    if not holds:
        raise BadCertificate(what, fix=AGAIN)


def need(value: T | None, what: str) -> T:
    """The value; without one the certificate is at fault."""
    if value is None:
        raise BadCertificate(what, fix=AGAIN)
    return value


@dataclass(frozen=True, slots=True, repr=False)
class Certificate:
    """The proof that a k-policy loses at most `bound`; `pdrm.check_k(…).certificate(k)` makes one.

    >>> from pdrm.analysis.k_search import check_k
    >>> proof = check_k("paint", k=[5]).certificate(5)
    >>> proof.question, proof.k, proof.bound < 1e-9
    ('everywhere', 5, True)
    """

    question: str
    """`start` or `everywhere`: where the policy begins."""
    k: int
    discount: float
    domain: str
    machine: str | None
    bound: float
    """An upper bound on the policy's loss."""
    entries: tuple[Entry, ...]
    ranges: tuple[tuple[int, str, float, float], ...]
    """Environment state, machine state, and the least and greatest worth of a stack there that was below others."""
    lower: tuple[tuple[int, str, Stack, float], ...]
    """With chance, what configurations are worth at least if the policy is followed."""
    policy: tuple[tuple[int, str, Stack, str], ...]
    """Environment state, machine state, the top k symbols, action."""
    files: dict[str, str] = field(default_factory=dict)
    """The paths of the domain and the machine, from the certificate's folder: a hint, and not part of the proof."""

    def __repr__(self) -> str:
        return f"<Certificate for {self.domain}: {self.claim}>"

    @property
    def claim(self) -> str:
        """The statement it proves, in words."""
        where = (
            "from the start" if self.question == "start" else "from every state that can be reached"
        )
        return (
            f"a {self.k}-policy loses at most {self.bound:.3g} {where}, discount {self.discount:g}"
        )

    def describe(self) -> dict[str, Any]:
        """The question and the task, as JSON values."""
        names = ("question", "k", "discount", "domain", "machine", "bound")
        return {name: getattr(self, name) for name in names} | {"entries": len(self.entries)}

    def save(self, path: str | Path) -> None:
        """Write it as JSON."""
        text = json.dumps({"format": FORMAT, **asdict(self)}, ensure_ascii=False)
        write_atomically(Path(path), text.encode())


def load_certificate(path: str | Path) -> Certificate:
    """Read a certificate; its size, shape and numbers are checked, not yet what it proves."""
    data = read_bytes(Path(path))
    demand(len(data) <= LARGEST_CERTIFICATE, f"{path} is larger than {LARGEST_CERTIFICATE:,} bytes")
    try:
        record = json.loads(data)
        demand(record.pop("format", None) == FORMAT, f"{path} is not a certificate of this version")
        certificate = _read(record)
    except (*MALFORMED, AttributeError) as error:
        raise BadCertificate(f"{path} is not a certificate: {error}", fix=AGAIN) from None
    return certificate


def _read(record: dict[str, Any]) -> Certificate:
    entries = tuple(
        (
            _int(s), _text(u), _texts(seen), _flag(whole),
            None if constant is None else _number(constant),
            tuple((_int(t), _number(c), _int(s2), _text(u2)) for t, c, s2, u2 in lines),
        )
        for s, u, seen, whole, constant, lines in record.pop("entries")
    )  # fmt: skip
    ranges = tuple(
        (_int(s), _text(u), _number(a), _number(b)) for s, u, a, b in record.pop("ranges")
    )
    lower = tuple((_int(s), _text(u), _texts(z), _number(v)) for s, u, z, v in record.pop("lower"))
    policy = tuple((_int(s), _text(u), _texts(z), _text(a)) for s, u, z, a in record.pop("policy"))
    question, machine, files = (
        _text(record.pop("question")),
        record.pop("machine"),
        record.pop("files"),
    )
    demand(question in QUESTIONS, f"there is no question `{question}`")
    demand(isinstance(files, dict), "its files are not a table")
    found = Certificate(
        question, _int(record.pop("k")), _number(record.pop("discount")), _text(record.pop("domain")),
        None if machine is None else _text(machine), _number(record.pop("bound")),
        entries, ranges, lower, policy, {_text(name): _text(where) for name, where in files.items()},
    )  # fmt: skip
    demand(not record, f"it has a field `{next(iter(record), '')}`, which certificates do not have")
    return found


def _int(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**31:
        raise ValueError(f"{value!r} is not a non-negative integer")
    return value


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
        raise ValueError(f"{value!r} is not a finite number")
    return float(value)


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{value!r} is not a text")
    return value


def _texts(value: object) -> Stack:
    if not isinstance(value, list | tuple):
        raise ValueError(f"{value!r} is not a list of symbols")
    return tuple(_text(one) for one in value)


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"{value!r} is neither true nor false")
    return value
