"""Certificates: what a small checker needs to see for itself that a k-policy loses at most so much.

An *upper function* bounds what a configuration is worth: γ times its value. An entry is about an environment state, a machine state and
the symbols known from the top. If these are the whole stack, it is a number; if they are the top symbol alone, it is the greatest of a
constant and of lines c + γᵗ w(e), with w(e) what the stack below is worth at the exit e. `ranges` says between which numbers w(e) is.
About the start, `lower` bounds what the policy's own play is worth, for every configuration that it reaches.
This file knows nothing of the solver: `certify` makes certificates, `checker` checks them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from math import isfinite
from pathlib import Path
from types import UnionType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from pdrm.errors import BadCertificate, UndefinedMove
from pdrm.files import (
    MALFORMED,
    MAX_CERTIFICATE_BYTES,
    parse_record,
    read_bytes,
    write_atomically,
)

FORMAT = "pdrm certificate 4"
QUESTIONS = ("start", "everywhere")
AGAIN = (
    "the task or the file may have been changed since: make the certificate again with pdrm check-k"
)

T = TypeVar("T")
Stack = tuple[str, ...]
CertificateLine = tuple[int, float, int, str]
"""t, c, and the environment and machine state of the exit."""
Entry = tuple[int, str, Stack, bool, float, tuple[CertificateLine, ...]]
"""Environment state, machine state, known symbols, whether these are the whole stack, constant, lines."""


def demand(holds: bool, what: str) -> None:
    """Raise a fault of the certificate unless this holds."""
    if not holds:
        raise BadCertificate(what, fix=AGAIN)


@contextmanager
def refuse_faults() -> Iterator[None]:
    """Refuse entries that refer to each other without end, or from which a step is not defined."""
    try:
        yield
    except UndefinedMove as error:
        raise BadCertificate(error.message, fix=AGAIN) from error
    except RecursionError as error:
        raise BadCertificate("its entries refer to each other without end", fix=AGAIN) from error


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
    """From the start: what the configurations that the policy reaches are worth at least if it is followed."""
    policy: tuple[tuple[int, str, Stack, str], ...]
    """Environment state, machine state, the top k symbols, action."""
    files: dict[str, str] = field(default_factory=dict)
    """The paths of the domain and the machine, as they were given: a hint, and not part of the proof."""

    def __repr__(self) -> str:
        return f"<Certificate: {self.claim}>"

    @property
    def claim(self) -> str:
        """The statement it proves, in words."""
        where = (
            "from the start" if self.question == "start" else "from every state that can be reached"
        )
        machine = "its machine" if self.machine is None else f"machine {self.machine}"
        task = f"{self.domain} with {machine}"
        lost = f"a {self.k}-policy loses at most {self.bound:.3g}"
        return f"{lost} {where} in {task}, discount {self.discount:g}"

    def save(self, path: str | Path) -> None:
        """Write it as JSON."""
        text = json.dumps({"format": FORMAT, **asdict(self)}, ensure_ascii=False)
        write_atomically(Path(path), text.encode())


def load_certificate(path: str | Path) -> Certificate:
    """Read a certificate; its size, shape and numbers are checked, not yet what it proves."""
    data = read_bytes(Path(path), MAX_CERTIFICATE_BYTES)
    try:
        record = parse_record(data)
        demand(record.pop("format", None) == FORMAT, f"{path} is not a certificate of this version")
        kinds = get_type_hints(Certificate)
        certificate = Certificate(**{name: _read(one, kinds[name]) for name, one in record.items()})
        demand(certificate.question in QUESTIONS, f"unknown question `{certificate.question}`")
    except MALFORMED:
        fault = f"{path} is not a certificate: a field is missing, unknown or of another type"
        raise BadCertificate(fault, fix=AGAIN) from None
    return certificate


def _read(value: Any, kind: Any) -> Any:
    """A value of this type, from what JSON makes of it."""
    if isinstance(kind, UnionType):  # with None
        return None if value is None else _read(value, kind.__args__[0])
    inside = get_args(kind)
    if get_origin(kind) is tuple and isinstance(value, list):
        kinds = inside[:1] * len(value) if inside[-1] is Ellipsis else inside
        return tuple(_read(one, its) for one, its in zip(value, kinds, strict=True))
    if get_origin(kind) is dict and isinstance(value, dict):
        return {_read(name, inside[0]): _read(one, inside[1]) for name, one in value.items()}
    if kind is float and type(value) is int:
        value = float(value)
    fits = type(value) is kind and (kind is not int or value in range(2**31))
    if not fits or (kind is float and not isfinite(value)):
        raise ValueError
    return value
