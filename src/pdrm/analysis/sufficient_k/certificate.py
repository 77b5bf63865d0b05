"""Certificates: all that a small checker needs to see for itself that a yes is true.

A `Certificate` lists the product states it is about, bounds of their values that prove themselves step by step, exact values
and blocks of equally valued states where there are ties, and the action chosen for each class. A `StackCertificate` is about every stack: it
lists what each symbol on top is worth as a function of what is below, between which numbers that is, and the action chosen for each view.
This file knows nothing of the solver: `k_report` and `every_stack` make certificates, `checker` and `stack_checker` check them.
"""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from math import isfinite
from pathlib import Path
from typing import ClassVar

from pdrm.errors import BadCertificate
from pdrm.files import MALFORMED, parse_record, read_bytes, write_atomically
from pdrm.limits import LARGEST_CERTIFICATE, LARGEST_STEP, MOST_NODES

SAFE_DIGITS = 15
"""Digits that a float keeps of every decimal."""
FORMAT = "pdrm certificate 2"
STACK_FORMAT = "pdrm certificate for every stack 1"
ALL_STATES, DEPTH, EVERY_STACK = "all states", "depth", "every stack"
"""What a yes is about: all states that matter, of which there are finitely many; those within some steps; or all, with every stack."""
SHOWN = 5
"""Guesses that are shown."""
READABLE = 10_000
"""Bits of an integer that is written in decimal; Python refuses to read and write much longer ones that way."""


def count_digits(text: str) -> int:
    """The significant digits of a decimal."""
    return len(text.lower().partition("e")[0].replace(".", "").lstrip("+-0").rstrip("0"))


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


def read_guess(number: str, guess: str) -> Fraction:
    """The fraction that a computed float is taken for: it must be one that rounds to that very float."""
    fraction = read_fraction(guess)
    demand(
        repr(float(number)) == number and float(fraction) == float(number),
        f"{number} does not stand for {guess}",
    )
    demand(count_digits(number) > SAFE_DIGITS, f"{number} was not computed")
    return fraction


def read_exactly(number: float, guesses: dict[str, Fraction]) -> Fraction:
    """The exact number that a float stands for: what was written, what it is taken for, or its decimal.

    >>> read_exactly(0.3333333333333333, {"0.3333333333333333": Fraction(1, 3)}), read_exactly(0.99, {})
    (Fraction(1, 3), Fraction(99, 100))
    """
    text = repr(float(number))
    return guesses[text] if text in guesses else Fraction(text)


def demand(holds: bool, what: str) -> None:
    """Raise a fault of the certificate, unless this holds."""
    if not holds:
        raise BadCertificate(
            what,
            fix="the task or the file may have been changed since: make the certificate again with pdrm check-k",
        )


@dataclass(frozen=True, slots=True, repr=False)
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
    files: dict[str, str] = field(default_factory=dict)
    """Where the files of "domain" and "machine" may be found, from the certificate's folder: a hint, and no part of the proof."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__} for {self.domain}: {self.describe()}>"

    def describe(self) -> str:
        """The statement it proves, in words."""
        far = (
            ""
            if self.depth is None
            else f", within {self.depth} step{'s' * (self.depth != 1)} of the start"
        )
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
        return _describe_guesses(self.guesses)

    @property
    def scope(self) -> str:
        """What the yes is about."""
        return ALL_STATES if self.depth is None else DEPTH

    @property
    def size(self) -> int:
        """How many states are to be checked."""
        return len(self.states)

    @property
    def size_text(self) -> str:
        """The same in words."""
        return f"{self.size:,} state{'s' * (self.size != 1)}"

    def save(self, path: str | Path) -> None:
        """Write it as JSON."""
        write_atomically(Path(path), json.dumps({"format": FORMAT, **asdict(self)}).encode())


@dataclass(frozen=True, slots=True, repr=False)
class StackCertificate:
    """The proof of a yes for every stack that can be reached, without a depth.

    Numbers are fractions. Stack symbols are counted from 1, and 0 is the end of the stack; a *head* is an environment state, a machine
    state and the symbol on top. *Worth* is what a configuration adds to the value of the one a step earlier: γ times its value, or what its silent move
    pays and the worth after that.

    >>> from pdrm.analysis.sufficient_k.check_k import check_k
    >>> proof = check_k("echo", k=[1]).certificate(1, "everywhere")
    >>> proof.describe(), proof.operators[1]
    ('some 1-policy is optimal from every state, with every stack', (1, 1, 2, '0', [(1, 1, 1, '0')]))
    """

    question: str
    """same_values, everywhere or start."""
    k: int
    discount: float
    domain: str
    machine: str
    heads: list[tuple[int, int, int]]
    """All heads that may be reached, and more perhaps."""
    below: list[tuple[int, list[int]]]
    """Each symbol, and those that may lie directly below it."""
    operators: list[tuple[int, int, int, str | None, list[tuple[int, int, int, str]]]]
    """A head; its constant; its lines: environment and machine state where the symbol is gone, t and c. Where nothing depends on chance."""
    ranges: list[tuple[int, int, int, str, str]]
    """A head, and between which numbers its worth is, whatever is below its symbol."""
    views: list[tuple[int, int, list[int], int]]
    """Environment state, machine state, the top k symbols (one if k is 0; fewer are the whole stack), and the action chosen; -1: none."""
    guesses: dict[str, str] = field(default_factory=dict)
    """Floats of the task that were computed, and the fractions they are taken for; every other number is its decimal."""
    files: dict[str, str] = field(default_factory=dict)
    """Where the files of "domain" and "machine" may be found, from the certificate's folder: a hint, and no part of the proof."""

    depth: ClassVar[None] = None
    height: ClassVar[None] = None
    rule: ClassVar[str] = "open"
    scope: ClassVar[str] = EVERY_STACK

    def __repr__(self) -> str:
        return f"<{type(self).__name__} for {self.domain}: {self.describe()}>"

    def describe(self) -> str:
        """The statement it proves, in words."""
        if self.question == "same_values":
            return f"states alike up to the top {self.k} symbols have one value and the same optimal actions, with every stack"
        where = "from the start" if self.question == "start" else "from every state"
        return f"some {self.k}-policy is optimal {where}, with every stack"

    def describe_guesses(self) -> str:
        """What it takes for granted about numbers that were computed, in words; nothing where there are none."""
        return _describe_guesses(self.guesses)

    @property
    def size(self) -> int:
        """How many heads and views are to be checked."""
        return len(self.heads) + len(self.views)

    @property
    def size_text(self) -> str:
        """The same in words."""
        return f"{len(self.heads):,} heads and {len(self.views):,} views of the stack"

    def save(self, path: str | Path) -> None:
        """Write it as JSON."""
        write_atomically(Path(path), json.dumps({"format": STACK_FORMAT, **asdict(self)}).encode())


def _describe_guesses(guesses: dict[str, str]) -> str:
    few = [f"{number} for {fraction}" for number, fraction in list(guesses.items())[:SHOWN]]
    more = f", and {len(guesses) - SHOWN} more" if len(guesses) > SHOWN else ""
    return f"computed numbers are taken for fractions: {', '.join(few)}{more}" if few else ""


def load_certificate(path: str | Path) -> Certificate | StackCertificate:
    """Read a certificate that its `save` wrote; whether it is right is for the checker, `verify`, to judge."""
    try:
        data = read_bytes(Path(path), LARGEST_CERTIFICATE)
        if sum(map(data.count, (b"[", b"{", b",", b":"))) > MOST_NODES:
            raise BadCertificate(f"{path} holds more than {MOST_NODES:,} values", fix=AGAIN)
        record = parse_record(data)
        form = record.pop("format", None)
        if form == STACK_FORMAT:
            return _check_fractions(StackCertificate(**record), path)
        if form != FORMAT:
            raise BadCertificate(f"{path} is not a certificate of this version", fix=AGAIN)
        return _check_costs(Certificate(**record), path)
    except MALFORMED as error:
        foreign = isinstance(error, json.JSONDecodeError | UnicodeDecodeError)
        why = "is not a certificate: it is not JSON, or damaged" if foreign else DAMAGED
        why = f"cannot be read: {error.strerror}" if isinstance(error, OSError) else why
        fix = f"make one: pdrm check-k DOMAIN --machine MACHINE --certificate {Path(path).with_suffix('.json').name}"
        raise BadCertificate(f"{path} {why}", fix=fix) from error


AGAIN = "make one with pdrm check-k"
DAMAGED = "is damaged: something is missing in it, or not of the kind that it should be"
FRACTION = re.compile(r"-?(\d{1,4300}|0x[0-9a-f]+)(/(\d{1,4300}|0x[0-9a-f]+))?", re.ASCII)
"""A number as it is written in a certificate; `1e1000000000` would be one, too, that fills the memory."""


def _check_fractions(proof: StackCertificate, path: str | Path) -> StackCertificate:
    """The certificate; refused are numbers that are not written out."""
    constants = [constant for *_, constant, _ in proof.operators if constant is not None]
    gains = [c for *_, lines in proof.operators for *_, c in lines]
    ends = [end for *_, low, high in proof.ranges for end in (low, high)]
    if not all(
        FRACTION.fullmatch(value) for value in (*constants, *gains, *ends, *proof.guesses.values())
    ):
        raise BadCertificate(f"{path} is damaged: a number is not a fraction", fix=AGAIN)
    return proof


def _check_costs(proof: Certificate, path: str | Path) -> Certificate:
    """The certificate; refused are numbers that are not written out, and stacks whose symbols are more than a proof needs."""
    tops = [
        column
        for glimpse in (proof.glimpse_lower, proof.glimpse_upper)
        for row in glimpse
        for column in row
    ]
    bounds = (value for column in (proof.lower, proof.upper, *tops) for value in column)
    if not all(isinstance(value, int | float) and isfinite(value) for value in bounds):
        raise BadCertificate(f"{path} is damaged: a bound is not a finite number", fix=AGAIN)
    if not all(
        FRACTION.fullmatch(value) for value in (*proof.exact.values(), *proof.guesses.values())
    ):
        raise BadCertificate(f"{path} is damaged: an exact value is not a fraction", fix=AGAIN)
    heights = [0]
    for below, _ in proof.stacks[1:]:
        heights.append(heights[below] + 1 if 0 <= below < len(heights) else 0)
    if sum(heights) > LARGEST_STEP:
        raise BadCertificate(
            f"{path} is damaged: its stacks have more than {LARGEST_STEP:,} symbols", fix=AGAIN
        )
    return proof
