"""Certificates: all that a small checker needs to see for itself that a yes is true.

A certificate lists the product states it is about, bounds of their values that prove themselves step by step, exact values
and blocks of equally valued states where there are ties, and the action chosen for each class. This file knows nothing of the
solver: `check_k` makes certificates, and `checker` checks them.
"""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from pathlib import Path

from pdrm.errors import BadCertificate, explain_arguments
from pdrm.files import parse_record, read_bytes, write_atomically
from pdrm.limits import LARGEST_CERTIFICATE, LARGEST_STEP, MOST_NODES

FORMAT = "pdrm certificate 2"
SHOWN = 5
"""Guesses that are shown."""
READABLE = 10_000
"""Bits of an integer that is written in decimal; Python refuses to read and write much longer ones that way."""


def format_fraction(number: Fraction) -> str:
    """A fraction as text, however long: where it is long, in hexadecimal.

    >>> format_fraction(Fraction(-5, 6)), read_fraction(format_fraction(Fraction(1, 3**9_999))) == Fraction(1, 3**9_999)
    ('-5/6', True)
    """
    short = max(number.numerator.bit_length(), number.denominator.bit_length()) < READABLE
    return str(number) if short else f"{number.numerator:#x}/{number.denominator:#x}"


def read_fraction(text: str) -> Fraction:
    """The fraction that a text of `format_fraction` stands for; ValueError where it is not one."""
    numerator, slash, denominator = text.partition("/")
    return Fraction(int(numerator, 0), int(denominator, 0) if slash else 1)


@dataclass(frozen=True, slots=True)
class Certificate:
    """The proof of one yes; `pdrm.check_k(…).certificate(k, question)` makes one.

    >>> from pdrm.analysis.sufficient_k.check_k import check_k
    >>> proof = check_k("paint", k=[5]).certificate(5, "start")
    >>> proof.question, proof.k, proof.describe()
    ('start', 5, 'some 5-policy is optimal from the start')
    """

    question: str
    """same_values, everywhere or start."""
    k: int
    depth: int | None
    """The yes is about the states within so many steps; None: about all."""
    discount: float
    domain: str
    machine: str
    height: int | None
    """The bound of the stack, and the rule at it."""
    rule: str
    stacks: list[tuple[int, int]]
    """Stacks as (the stack below, the top symbol counted from 1); number 0 is the empty one."""
    states: list[tuple[int, int, int]]
    """Product states: environment state, machine state, stack."""
    looked: list[int]
    """Whether the steps of each state are part of the proof; the others are the frontier."""
    lower: list[float]
    upper: list[float]
    glimpse_lower: list[list[list[float]]]
    """[environment state][machine state][top]: bounds of every state with that top; empty where there is no frontier."""
    glimpse_upper: list[list[list[float]]]
    exact: dict[str, str]
    """State -> its value as a fraction, where that is known."""
    block: list[int]
    """Equal numbers: equal values; -1 where nothing is said."""
    choice: list[tuple[int, int, list[int], int]]
    """The policy: environment state, machine state, the top k symbols, action."""
    guesses: dict[str, str] = field(default_factory=dict)
    """Floats of the task that were computed, and the fractions they are taken for; every other number is its decimal."""

    def describe(self) -> str:
        """The statement it proves, in words."""
        far = "" if self.depth is None else f", within {self.depth} step{'s' * (self.depth != 1)} of the start"
        if self.height is not None and self.rule != "open":
            far += f", with stacks up to {self.height} symbols ({self.rule} beyond)"
        if self.question == "same_values":
            return f"states alike up to the top {self.k} symbols have one value and the same optimal actions{far}"
        where = "from the start" if self.question == "start" else "from every state"
        return f"some {self.k}-policy is optimal {where}{far}"

    def describe_guesses(self) -> str:
        """What it takes for granted about numbers that were computed, in words; nothing where there are none.

        >>> from pdrm.analysis.sufficient_k.check_k import check_k
        >>> check_k("paint", k=[5]).certificate(5, "start").describe_guesses()
        'computed numbers are taken for fractions: -0.8333333333333334 for -5/6, -0.6666666666666666 for -2/3'
        """
        few = [f"{number} for {fraction}" for number, fraction in list(self.guesses.items())[:SHOWN]]
        more = f", and {len(self.guesses) - SHOWN} more" if len(self.guesses) > SHOWN else ""
        return f"computed numbers are taken for fractions: {', '.join(few)}{more}" if few else ""

    def save(self, path: str | Path) -> None:
        """Write it as JSON."""
        write_atomically(Path(path), json.dumps({"format": FORMAT, **asdict(self)}).encode())


@explain_arguments
def load_certificate(path: str | Path) -> Certificate:
    """Read a certificate that `Certificate.save` wrote; whether it is right is for the checker, `verify`, to judge."""
    try:
        data = read_bytes(Path(path), LARGEST_CERTIFICATE)
        if sum(map(data.count, (b"[", b"{", b",", b":"))) > MOST_NODES:
            raise BadCertificate(f"{path} holds more than {MOST_NODES:,} values", fix="make one with pdrm check-k")
        record = parse_record(data)
        if record.pop("format", None) != FORMAT:
            raise BadCertificate(f"{path} is not a certificate of this version", fix="make one with pdrm check-k")
        return _check_costs(Certificate(**record))
    except (ValueError, TypeError, AttributeError) as error:
        raise BadCertificate(f"{path} cannot be read: {error}", fix="make one with pdrm check-k") from error


FRACTION = re.compile(r"-?(\d{1,4300}|0x[0-9a-f]+)(/(\d{1,4300}|0x[0-9a-f]+))?", re.ASCII)
"""A number as it is written in a certificate; `1e1000000000` would be one, too, that fills the memory."""


def _check_costs(proof: Certificate) -> Certificate:
    """The certificate; refused are numbers that are not written out, and stacks whose symbols are more than a proof needs."""
    tops = [column for glimpse in (proof.glimpse_lower, proof.glimpse_upper) for row in glimpse for column in row]
    if not all(isinstance(value, int | float) for column in (proof.lower, proof.upper, *tops) for value in column):
        raise ValueError("a bound is not a number")
    if not all(FRACTION.fullmatch(value) for value in (*proof.exact.values(), *proof.guesses.values())):
        raise ValueError("an exact value is not a fraction")
    heights = [0]
    for below, _ in proof.stacks[1:]:
        heights.append(heights[below] + 1 if 0 <= below < len(heights) else 0)
    if sum(heights) > LARGEST_STEP:
        raise ValueError(f"its stacks have more than {LARGEST_STEP:,} symbols")
    return proof
