"""Certificates: data from which a small checker can verify a bound on the loss of a k-policy.

Certificates bound continuation values, that is γ times the value of a configuration.

- `entries` define an *upper function*, an upper bound for every stack. An entry is for an
  environment state, a machine state and the known symbols from the top. If these are the whole
  stack, the bound is a constant. If only the top symbol is known, the bound is the maximum of a
  constant and lines c + γᵗ w(e), where w(e) is the value of the stack below at the exit e.
- `ranges` bound w(e).
- `lower`, for the question `start`: lower bounds of the values of the certified policy, for every
  configuration that it reaches.

`certify` makes certificates and `checker` verifies them. This module does not depend on the solver.
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
"""The affine line c + γᵗ w(s, u) as (t, c, s, u)."""
Entry = tuple[int, str, Stack, bool, float, tuple[CertificateLine, ...]]
"""Environment state, machine state, known symbols, True for a whole stack, constant, lines."""


def demand(holds: bool, fault: str) -> None:
    """Raise `BadCertificate` unless a condition holds."""
    if not holds:
        raise BadCertificate(fault, fix=AGAIN)


@contextmanager
def refuse_faults() -> Iterator[None]:
    """Raise `BadCertificate` for circular entries and entries with an undefined step."""
    try:
        yield
    except UndefinedMove as error:
        raise BadCertificate(error.message, fix=AGAIN) from error
    except RecursionError as error:
        raise BadCertificate("its entries refer to each other in a circle", fix=AGAIN) from error


def require(value: T | None, fault: str) -> T:
    """Return the value, or raise `BadCertificate` if it is None."""
    if value is None:
        raise BadCertificate(fault, fix=AGAIN)
    return value


@dataclass(frozen=True, slots=True, repr=False)
class Certificate:
    """A proof that a k-policy loses at most `bound`, made by `pdrm.check_k(…).certificate(k)`.

    >>> from pdrm.analysis.k_search import check_k
    >>> proof = check_k("paint", k=[5]).certificate(5)
    >>> proof.question, proof.k, proof.bound < 1e-9
    ('everywhere', 5, True)
    """

    question: str
    """`start` or `everywhere`: the states for which the loss is bounded."""
    k: int
    discount: float
    domain: str
    machine: str | None
    bound: float
    """An upper bound on the policy's loss."""
    entries: tuple[Entry, ...]
    ranges: tuple[tuple[int, str, float, float], ...]
    """Environment state, machine state, and bounds of the value of a stack below popped symbols."""
    lower: tuple[tuple[int, str, Stack, float], ...]
    """Environment state, machine state, stack, and a lower bound of its value under the policy."""
    policy: tuple[tuple[int, str, Stack, str], ...]
    """Environment state, machine state, the top k symbols, action."""
    files: dict[str, str] = field(default_factory=dict)
    """The paths of the domain and the machine: a hint for `verify`, not part of the proof."""

    def __repr__(self) -> str:
        return f"<Certificate: {self.claim}>"

    @property
    def claim(self) -> str:
        """The statement that it proves."""
        where = "from every reachable state" if self.question == "everywhere" else "from the start"
        machine = "its machine" if self.machine is None else f"machine {self.machine}"
        task = f"{self.domain} with {machine}"
        loss = f"a {self.k}-policy loses at most {self.bound:.3g}"
        return f"{loss} {where} in {task}, discount {self.discount:g}"

    def save(self, path: str | Path) -> None:
        """Write the certificate as JSON."""
        text = json.dumps({"format": FORMAT, **asdict(self)}, ensure_ascii=False)
        write_atomically(Path(path), text.encode())


def load_certificate(path: str | Path) -> Certificate:
    """Read a certificate and check its size, types and numbers. `verify` checks the proof."""
    data = read_bytes(Path(path), MAX_CERTIFICATE_BYTES)
    try:
        record = parse_record(data)
        demand(record.pop("format", None) == FORMAT, f"{path} is not a certificate of this version")
        types = get_type_hints(Certificate)
        fields = {name: _read(value, types[name]) for name, value in record.items()}
        certificate = Certificate(**fields)
        demand(certificate.question in QUESTIONS, f"unknown question `{certificate.question}`")
    except MALFORMED:
        fault = f"{path} is not a certificate: not JSON, or a field is missing, unknown or of another type"
        raise BadCertificate(fault, fix=AGAIN) from None
    return certificate


def _read(value: Any, kind: Any) -> Any:
    """Convert a JSON value to this type; raise a ValueError if it does not fit."""
    if isinstance(kind, UnionType):  # with None
        return None if value is None else _read(value, kind.__args__[0])
    parts = get_args(kind)
    if get_origin(kind) is tuple and isinstance(value, list):
        kinds = parts[:1] * len(value) if parts[-1] is Ellipsis else parts
        return tuple(_read(item, kind) for item, kind in zip(value, kinds, strict=True))
    if get_origin(kind) is dict and isinstance(value, dict):
        return {_read(key, parts[0]): _read(item, parts[1]) for key, item in value.items()}
    if kind is float and type(value) is int:
        value = float(value)
    if type(value) is not kind:
        raise ValueError
    if kind is int and value not in range(2**31):
        raise ValueError
    if kind is float and not isfinite(value):
        raise ValueError
    return value
