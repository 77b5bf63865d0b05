"""Damaged files: whatever is done to a machine file, reading it gives a machine or errors that name the place.

Never another exception, never more than a second or 256 MB; and a machine that was read can be written and read again.
"""

from __future__ import annotations

import random
import resource
import signal
import time
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING

from pdrm.errors import PdrmError
from pdrm.language.json_form import to_json
from pdrm.language.loading import catalogue, catalogue_names, catalogue_text, parse
from pdrm.language.source import decode
from pdrm.language.writer import to_text
from tests import TRACED

if TYPE_CHECKING:
    from collections.abc import Iterator

CASES = 2_000
SECONDS = 1.0 * TRACED
MEMORY = 256 * 2**20
REWARD_MACHINES = (
    "0 # initial state\n[4] # terminal state\n(0,0,'!a&!n',ConstantRewardFunction(0))\n(0,1,'a&!n',ConstantRewardFunction(0))\n"
    "(1,1,'!b&!n',ConstantRewardFunction(0))\n(1,4,'b&!n',ConstantRewardFunction(1))",
    "0\n[]\n(0,0,'!c',ConstantRewardFunction(-0.5))\n(0,1,'c|d',ConstantRewardFunction(0))\n"
    "(1,1,'!d',ConstantRewardFunction(0))\n(1,0,'d',ConstantRewardFunction(1000))\n",
    "0\n[2]\n(0,1,'f&!g',ConstantRewardFunction(0))\n(0,0,'!f',ConstantRewardFunction(0))\n(1,2,\"True\",ConstantRewardFunction(1))\n",
)
SPICE = ("z", "eps", "#", "->", "//", "{", "}", "(((((", "!!!!", "&", "|", ",", ":", "/", "nan", "inf", "1e999", "-", "\t", "    ",
         "for a in a b:", "map f a:b", "f(a)", "true", "false", "otherwise error", "stack #", "counters 2", "[0]", "null", '"', "\\", "\\u00",
         "é", "□", "\x00", "\u2028", "\r", "9" * 30, "[" * 60, "(" * 60, "x" * 300)  # fmt: skip
BYTES = (b"\xff", b"\xc3", b"\xed\xa0\x80", b"\x00", b"\xef\xbb\xbf")


@lru_cache(maxsize=1)
def originals() -> tuple[str, ...]:
    """The files to damage: every catalogue machine as text, as JSON and written out in full, and reward machines."""
    machines = [catalogue(name) for name in catalogue_names()]
    texts = [catalogue_text(name) for name in catalogue_names()]
    return (*texts, *map(to_json, machines), *map(to_text, machines), *REWARD_MACHINES)


def damaged(text: str, chance: random.Random) -> bytes:
    """The text after one to four random accidents."""
    for _ in range(chance.choice((1, 1, 1, 2, 2, 3, 4))):
        text = chance.choice(ACCIDENTS)(text, chance)
    data = text.encode("utf-8", "surrogatepass")
    if chance.random() < 0.03:
        at = chance.randrange(len(data) + 1)
        data = data[:at] + chance.choice(BYTES) + data[at:]
    return data


def _cut(text: str, chance: random.Random) -> str:
    start = chance.randrange(len(text) + 1)
    return text[:start] + text[start + chance.choice((1, 1, 2, 5, 40)) :]


def _insert(text: str, chance: random.Random) -> str:
    at = chance.randrange(len(text) + 1)
    piece = (
        chance.choice(SPICE)
        if chance.random() < 0.6
        else chr(chance.choice((chance.randrange(32, 127), chance.randrange(0x3000))))
    )
    return text[:at] + piece + text[at:]


def _swap_words(text: str, chance: random.Random) -> str:
    words = text.split(" ")
    one, other = chance.randrange(len(words)), chance.randrange(len(words))
    words[one], words[other] = words[other], words[one]
    return " ".join(words)


def _replace_word(text: str, chance: random.Random) -> str:
    words = text.split()
    return (
        text.replace(chance.choice(words), chance.choice((*words, *SPICE)), chance.choice((1, -1)))
        if words
        else "x"
    )


def _lines(text: str, chance: random.Random) -> str:
    lines = text.split("\n")
    at, other = chance.randrange(len(lines)), chance.randrange(len(lines))
    match chance.randrange(4):
        case 0:
            del lines[at]
        case 1:
            lines.insert(other, lines[at])
        case 2:
            lines[at], lines[other] = lines[other], lines[at]
        case _:
            lines[at] = " " * chance.randrange(9) + lines[at].lstrip()
    return "\n".join(lines)


def _truncate(text: str, chance: random.Random) -> str:
    return text[: chance.randrange(len(text) + 1)]


ACCIDENTS = (
    _cut,
    _cut,
    _insert,
    _insert,
    _swap_words,
    _replace_word,
    _replace_word,
    _lines,
    _lines,
    _truncate,
)


def check(seed: int, cases: int = CASES) -> int:
    """Damage and read `cases` files."""
    chance = random.Random(seed)
    files = originals()
    with limits():
        for _ in range(cases):
            data = damaged(chance.choice(files), chance)
            if (
                one_case(data) >= SECONDS
            ):  # it may have been the garbage of what ran before: then the next time it is not
                assert (spent := one_case(data)) < SECONDS, f"{spent:.1f} s for {data!r}"
    return cases


def one_case(data: bytes) -> float:
    """Read one damaged file as `pdrm check` would; the processor's seconds that it took."""
    began = time.process_time()
    try:
        machine = parse(decode(data, "damaged"), "damaged")
        machine.findings()
        again = (parse(to_text(machine), "again"), parse(to_json(machine), "again"))
        assert again == (machine, machine), f"not the same after writing and reading: {data!r}"
    except PdrmError as error:
        for one in error.errors:
            assert one.where is not None, f"no place: {one} in {data!r}"
            at_line = one.where.line >= 1 and one.where.column >= 1
            assert at_line or data.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] == b"{", (
                f"no place: {one} in {data!r}"
            )
            assert len(str(one)) < 5_000, f"a message of {len(str(one))} characters for {data!r}"
    except Exception as error:
        raise AssertionError(f"{type(error).__name__}: {error} for {data!r}") from error
    return time.process_time() - began


@contextmanager
def limits() -> Iterator[None]:
    """At most 256 MB more than now, and no case that hangs for ever."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    with open("/proc/self/statm", encoding="ascii") as file:
        now = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (now + MEMORY, hard))
    signal.setitimer(signal.ITIMER_PROF, 300)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
