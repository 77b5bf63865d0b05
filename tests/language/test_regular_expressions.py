"""Machines from regular expressions: accepted words, skipped labels, and errors."""

import pytest

import pdrm
from pdrm.errors import (
    BadGrammar,
    BadSetting,
    CannotRead,
    EarlyAcceptance,
    ImpossibleLabel,
    PdrmError,
    TooDeep,
    TooLarge,
    WrongKind,
)
from pdrm.language import from_grammar, from_regex, parse, parse_word, to_text


def accepts(machine, *words):
    return [machine.run(parse_word(word)).accepted for word in words]


def test_the_notation_is_that_of_grammars():
    for text, yes, no in (
        ('"a" ("b" | "c")* "d"', "a d", "a d d"),
        ('"a" ["b"] "c"', "a b c", "a b b c"),
        ('"a" ~ 2..3 "b"', "a a a b", "a b"),
        ('"a"+ "b"? // a comment\n | "c"', "a a b", "c c"),
        ('("a" "b")~2', "a b a b", "a b"),
    ):
        ends = pdrm.from_regex(text, accept="end")
        assert accepts(ends, f"{yes} end", f"{no} end", yes) == [True, False, False], text


def test_first_is_the_shortest_word_but_for_the_empty_one():
    with pytest.warns(EarlyAcceptance):
        machine = pdrm.from_regex('"a" "b"*')
    assert accepts(machine, "a", "a b", "") == [True, False, False]
    assert accepts(pdrm.from_regex('"a"*'), "a", "") == [True, False]


def test_labels_that_nothing_reads_are_passed_over():
    machine = pdrm.from_regex('"a" "b"', events=["x"], accept="end", step=-1)
    assert accepts(machine, "a - x b end", "a a end") == [True, False]
    assert machine.run(parse_word("a - x b end")).reward == -4
    assert machine.events == ("a", "b", "x", "end")
    with pytest.raises(ImpossibleLabel):
        machine.run(parse_word("a+b"))


def test_guards_as_letters():
    machine = pdrm.from_regex('("u & !t")* "u & t"', exclusive=(), fail=-1)
    assert accepts(machine, "u u u+t", "u t u+t") == [True, True]
    assert "u & t" in to_text(machine)
    both = pdrm.from_regex(
        '"a" "b" | "a & t" "c"', exclusive=(), accept="end"
    )  # two letters may hold for one label
    assert accepts(both, "a+t b end", "a+t c end", "a c end") == [True, True, False]
    plain = pdrm.from_regex(
        '"a" "b" | "b" "c"', exclusive=(), accept="end"
    )  # and so may two events
    assert accepts(plain, "a+b b end", "a+b c end", "a c end", "b b end") == [
        True,
        True,
        False,
        False,
    ]
    formulas = pdrm.from_regex('"a | !b" "{b}"', exclusive=(), accept="end")
    assert accepts(formulas, "a+b b end", "- b end", "b b end", "a a+b end") == [
        True,
        True,
        False,
        False,
    ]


def test_rewards_and_names():
    machine = pdrm.from_regex('"a" "b"', reward=2, fail=-3, step=-0.5, name="pair")
    assert (machine.name, machine.final) == ("pair", ("done", "lost"))
    assert [machine.run(parse_word(word)).reward for word in ("a b", "a a", "b")] == [1, -4, -3.5]
    assert accepts(pdrm.from_regex('"a" "b"', fail="ignore"), "b a a b") == [True]


FAULTS = {
    '"a" b': (BadGrammar, 5),
    '("a"': (BadGrammar, 1),
    '"a" )': (BadGrammar, 5),
    '"a" ~ x': (BadGrammar, 7),
    '"a" ~ 3..1': (BadGrammar, 5),
    '"a': (CannotRead, 1),
    '"a" "b': (CannotRead, 5),
    "": (BadGrammar, 0),
    '(("a" ~ 1000) ~ 1000) ~ 1000': (TooLarge, 1),
    '"b" ((["c"] | "a") ~ 1000 "d") ~ 3': (TooLarge, 1),
    "(" * 50 + '"a"' + ")" * 50: (TooDeep, 41),
    '("a"|"b")* "a" ' + '("a"|"b") ' * 30: (TooLarge, 1),
}


def test_faulty_expressions_are_refused_with_a_place():
    for text, (kind, column) in FAULTS.items():
        with pytest.raises(kind) as caught:
            pdrm.from_regex(text)
        assert caught.value.where.column == column, text
        assert caught.value.fix
    for other in (5, None, b"a"):
        with pytest.raises(WrongKind):
            pdrm.from_regex(other)
    with pytest.raises(BadGrammar, match="ends every word"):
        pdrm.from_regex('"a" "end"', accept="end")
    with pytest.raises(TooLarge, match="words and signs") as caught:
        pdrm.from_regex(f"{'|' * 9_000}\n" * 3)
    assert (caught.value.where.line, caught.value.where.column) == (3, 2_001)


def test_files(tmp_path):
    file = tmp_path / "pair.regex"
    file.write_text('regex\naccept end\nstep -0.5\nfail ignore\n"a"\n"b"\n')
    machine = pdrm.load(file)
    assert (machine.name, accepts(machine, "a b end", "b a b end")) == ("pair", [True, True])
    assert pdrm.parse(to_text(machine)) == machine
    assert pdrm.parse('regex two\n"a" "b"').name == "two"
    file.write_text('regex\ncomplete x 1\n"a"\n')
    with pytest.raises(BadSetting, match="complete") as caught:
        pdrm.load(file)
    assert str(caught.value.where) == f"{file}:2:1"


def test_more_events_than_python_could_recurse_over():
    events = [f"e{number}" for number in range(1_500)]
    with pytest.raises(PdrmError):
        from_regex('"e1" "e2"', events=events)
    with pytest.raises(PdrmError):
        from_grammar('start: "e1" "e2"', events=tuple(events))
    with pytest.raises(PdrmError) as caught:
        parse(f'regex\nevents {" ".join(events)}\n"e1" "e2"', "task.regex")
    assert caught.value.where is not None
