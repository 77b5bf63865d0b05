"""Limits: hostile small inputs end quickly with an error, and large machines are built quickly."""

import time
from itertools import pairwise

import pytest

import pdrm
from pdrm.errors import MAX_FAULTS, PdrmError
from pdrm.machines.guards import Event
from pdrm.machines.transitions import Otherwise, Transition
from tests import TRACED

HEAD = "events a b\nexclusive a b\nstack # A\nstart u0\nfinal d\notherwise stay 0\n"


def nest(last, inside):
    loops = [
        f"{' ' * depth}for x{depth} in a b c d e f g h i j{last if depth == 9 else ''}:"
        for depth in range(10)
    ]
    return HEAD + "\n".join([*loops, f"{' ' * 10}{inside}"])


def double(times):
    """Symbols that silent moves replace by two of the next: 2^n moves."""
    symbols = [f"S{number}" for number in range(times + 1)]
    doubles = [f"p -> p : eps, {one} / {two} {two}, 0" for one, two in pairwise(symbols)]
    head = f"events a\nstack # {' '.join(symbols)}\nstart u\nfinal d\notherwise stay 0\nu -> p : a, # / S0 #, 0"
    return "\n".join(
        [head, *doubles, f"p -> p : eps, {symbols[-1]} / eps, 0", "p -> d : eps, # / #, 1"]
    )


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (nest(" where x0 == k", "u0 -> d : a, z / z, 1"), "E0106"),
        (nest("", "u0 -> d : nomap(x0), z / z, 1"), "E0106"),
        ("0\n[" + " " * 9_000 + "x\n", "E0101"),
        (HEAD + "x y\n" * 5_000, "E0102"),
        (HEAD + "\n" * 100_000, "E0106"),
        (HEAD + "".join(f"u{i} -> w{i} : a, z / z, 0\n" for i in range(1_000)), "E0201"),
        (double(40), "E0302"),
        (
            f"{HEAD}u0 -> u0 : eps, # / {'A ' * 4_000}#, 0\nu0 -> u0 : eps, A / {'A ' * 4_000}, 0",
            "E0302",
        ),
        ('{"pdrm": 1, "rules": [' + ",".join(["1"] * 40_000) + "]}", "E0110"),
    ],
    ids=[
        "for",
        "faults in for",
        "spaces",
        "bad lines",
        "lines",
        "undeclared",
        "doubling",
        "long push",
        "values",
    ],
)
def test_small_inputs_that_never_ended(text, code):
    began = time.thread_time()
    with pytest.raises(PdrmError) as caught:
        pdrm.parse(text)
    assert code in {error.code for error in caught.value.errors}
    assert len(caught.value.errors) <= MAX_FAULTS
    assert all(error.where for error in caught.value.errors)
    assert time.thread_time() - began < 4 * TRACED


def test_a_silent_step_that_is_too_long_ends():
    chain = "".join(
        f"u{i} -> {'d' if i == 4_999 else f'u{i + 1}'} : eps, z / A z, 0\n" for i in range(5_000)
    )
    machine = pdrm.parse(HEAD + chain)
    with pytest.raises(PdrmError, match="silent moves, with") as caught:
        machine.begin()
    assert caught.value.where.line > 6
    assert len(pdrm.parse(double(10)).run([frozenset("a")]).steps[-1].moves) == 2**11 + 1


def test_many_rules_in_many_states_and_in_one():
    stay = Otherwise.stay(0)
    many = [
        Transition(f"u{i}", f"u{(i + 1) % 16_000}", Event("a"), "z", ("z",), 0)
        for i in range(16_000)
    ]
    symbols, letters = [f"s{i}" for i in range(126)], [f"e{i}" for i in range(126)]
    one = [Transition("u", "u", Event(e), s, (s,), 0) for e in letters for s in symbols]
    began = time.thread_time()
    assert (
        len(pdrm.PushdownRewardMachine("m", ["a"], ["#"], "u0", (), stay, many).transitions)
        == 16_000
    )
    machine = pdrm.PushdownRewardMachine("m", letters, symbols, "u", (), stay, one, [letters])
    assert time.thread_time() - began < 6 * TRACED
    assert machine.rule("u", frozenset({"e7"}), "s9") == one[7 * 126 + 9]
