"""Machines from temporal formulas: notation, accepted words, rewards, and errors."""

import pytest

import pdrm
from pdrm.errors import (
    BadSetting,
    CannotRead,
    EarlyAcceptance,
    TooDeep,
    TooLarge,
    TooManyCases,
    UnknownEvent,
    WrongKind,
)
from pdrm.language import PATTERNS, parse_word
from pdrm.language.logic import acceptors
from pdrm.language.logic.temporal_formulas import parse_formula, subformulas
from tests.properties.logic import PATTERN_TREES, text_of


def accepts(machine, *words):
    return [machine.run(parse_word(word)).accepted for word in words]


def test_a_formula_is_about_the_first_label_and_one_of_the_past_about_the_last():
    future = pdrm.from_ltlf("a & X b", events=["a", "b"])
    assert accepts(future, "a b", "a+b b", "b a", "a - b", "") == [True, True, False, False, False]
    past = pdrm.from_ltlf("b & Y a", accept="end")
    assert accepts(past, "a b end", "- a b end", "a b a end", "b end", "end") == [
        True,
        True,
        False,
        False,
        False,
    ]
    mixed = pdrm.from_ltlf("F(b & Y a)")
    assert accepts(mixed, "- a b", "b") == [True, False]


def test_operators_bind_as_they_should():
    for one, other in (
        ("a U b & c", "(a U b) & c"),
        ("!a U b", "(!a) U b"),
        ("a | b & c", "a | (b & c)"),
        ("a -> b -> c", "a -> (b -> c)"),
        ("a U b U c", "a U (b U c)"),
        ("a <-> b -> c", "a <-> (b -> c)"),
        ("F a & b", "(F a) & b"),
        ("a && ~b || c => d", "(a & !b) | c -> d"),
        ("a->b", "!a | b"),
        ("F(a-b->c)", "F(!a-b | c)"),
        ("N a", "WX a"),
        ("last", "!X true"),
        ("first", "!Y true"),
        ("a & (b & a) & c & true", "a & b & c"),
        ("a & a", "a"),
        ("a & b & !true", "false"),
        ("a & ~b", "a & !b"),
    ):
        assert parse_formula(one) is parse_formula(other), one
    named = pdrm.from_ltlf('F "F" & F "last"', events=["F", "last"])
    assert accepts(named, "F last", "last") == [True, False]
    assert accepts(pdrm.from_ltlf("F last", events=["last"]), "- last", "-") == [True, False]


def test_rewards_and_failure():
    options = {"reward": 10, "step": -0.1, "events": ["a", "b"]}
    paid = pdrm.from_ltlf("!b U a", **options).run(parse_word("- - a"))
    assert [step.reward for step in paid.steps[1:]] == [-0.1, -0.1, 9.9]
    lost = pdrm.from_ltlf("!b U a", fail=-5, **options).run(parse_word("- b a"))
    assert (lost.after.state, lost.steps[-1].reward, lost.unread) == ("lost", -5.1, 1)
    stuck = pdrm.from_ltlf("!b U a", **options).run(parse_word("b a"))
    assert (stuck.after.state, stuck.finished) == ("lost", False)
    assert pdrm.from_ltlf("!b U a", fail="ignore", **options).run(parse_word("b a")).accepted


def test_machines_are_minimal():
    sizes = {
        "F a": 1,
        "F(a & X F b)": 2,
        "F a & F b": 3,
        "F F a": 1,
        "a U (b | a U b)": 2,
        "X X a": 4,
    }
    assert {text: len(pdrm.from_ltlf(text, events=["a", "b"]).states) for text in sizes} == sizes
    for one, other in (
        ("!F !a", "G a"),
        ("a W b", "(a U b) | G a"),
        ("b R a", "a W (a & b)"),
        ("F(b & O a)", "F(a & F b)"),
    ):
        machines = [pdrm.from_ltlf(text, events=["a", "b"], accept="end") for text in (one, other)]
        assert machines[0] == machines[1], one


def test_what_nothing_satisfies_is_refused():
    for text in ("false", "F(a & !a)", "G !a & F a", "first & Y a"):
        for fail in (None, -5, "ignore"):
            with pytest.raises(BadSetting, match="no word satisfies") as caught:
                pdrm.from_ltlf(text, events=["a"], fail=fail)
            assert str(caught.value.where) == "<formula>:1:1"
    with pytest.raises(BadSetting):
        pdrm.from_ltlf("G a & G !a")
    assert accepts(pdrm.from_ltlf("G a & G !a", accept="end"), "end", "a end") == [True, False]


def test_what_is_done_before_it_should_be_is_warned_of():
    for text in ("G a", "response(a, b)", "G !a & F b", "F(a & last)"):
        with pytest.warns(EarlyAcceptance, match="W0605") as caught:
            pdrm.from_ltlf(text)
        assert [str(one.message.finding.where) for one in caught] == ["<formula>:1:1"]
    for text in ("F a", "!a U b", "F(a & X F b)", "a", "X a", "b & O a", "H a"):
        pdrm.from_ltlf(text)  # a warning would be an error here
    for text in ("G a", "response(a, b)"):
        pdrm.from_ltlf(text, accept="end")


def test_patterns_are_the_formulas_that_are_written_a_second_time():
    assert PATTERNS.keys() == PATTERN_TREES.keys()
    for name, pattern in PATTERNS.items():
        names = pattern.arguments.split()
        tree = PATTERN_TREES[name](*(("event", event) for event in names))
        texts = f"{name}({', '.join(names)})", pattern.formula, text_of(tree)
        machines = [pdrm.from_ltlf(text, events=names, accept="end") for text in texts]
        assert machines[0] == machines[1] == machines[2], name


FAULTS = {
    "F(a & ": (CannotRead, 6),
    "a b": (CannotRead, 3),
    "respons(a, b)": (CannotRead, 1),
    "f(a)": (CannotRead, 1),
    "response(a)": (CannotRead, 1),
    "F a)": (CannotRead, 4),
    "(a": (CannotRead, 3),
    "response(a, b c)": (CannotRead, 15),
    'a "b"': (CannotRead, 3),
    "a~b": (CannotRead, 2),
    "U a": (CannotRead, 1),
    "[a]": (CannotRead, 1),
    'F "a b"': (CannotRead, 3),
    "": (CannotRead, 1),
    "F eps": (CannotRead, 3),
    "F a | F c": (UnknownEvent, 9),
    "!" * 200 + "a": (TooDeep, 101),
    "(" * 200 + "a" + ")" * 200: (TooDeep, 101),
    "a & (" * 60 + "a" + ")" * 60: (TooDeep, 50 * 5 + 3),
    "a&" * 2600 + "a": (TooLarge, 5_001),
    "a & " * 2600 + "a": (TooLarge, 10_001),
}


def test_faulty_formulas_are_refused_with_a_place():
    for text, (kind, column) in FAULTS.items():
        with pytest.raises(kind) as caught:
            pdrm.from_ltlf(text, events=["a", "b"])
        (error,) = caught.value.errors
        assert (error.where.line, error.where.column) == (1, column), text
        assert error.fix
    assert pdrm.from_ltlf("a & " * 2400 + "a", events=["a", "b"]).states == ("u0", "lost")


def test_many_events_are_no_trouble_and_many_operators_are(monkeypatch):
    names = [f"a{n}" for n in range(100)]
    assert pdrm.from_ltlf(f"F({' | '.join(names)})", exclusive=[names]).events == tuple(names)
    lines = "&\n".join(f"(F a | {'X ' * 60}b{n})" for n in range(4))
    with pytest.raises(TooLarge, match="more than 200 different temporal operators") as caught:
        pdrm.from_ltlf(lines)
    assert (str(caught.value.where), bool(caught.value.fix)) == ("<formula>:1:1", True)
    monkeypatch.setattr(acceptors, "MAX_RULES", 2)
    with pytest.raises(TooLarge, match="more than 2 rules") as caught:
        pdrm.from_ltlf("F(a & X F(b & X F(c & X F(d & X F e))))")
    assert (str(caught.value.where), bool(caught.value.fix)) == ("<formula>:1:1", True)


def test_options_that_cannot_be():
    wrong = {
        "accept": "last",
        "fail": "never",
        "reward": "much",
        "events": "ab",
        "exclusive": ("a", "b"),
        "name": "a b",
    }
    for option, value in wrong.items():
        with pytest.raises(pdrm.PdrmError):
            pdrm.from_ltlf("F a", **{option: value})
        with pytest.raises(pdrm.PdrmError):
            pdrm.from_regex('"a"', **{option: value})
    for make in (pdrm.from_ltlf, pdrm.from_regex):
        with pytest.raises(WrongKind):
            make(7)
    with pytest.raises(BadSetting, match="which ends the word") as caught:
        pdrm.from_ltlf("F end", accept="end")
    assert caught.value.where.file == "<formula>"


def test_files(tmp_path, pdrm):
    (tmp_path / "task.ltlf").write_text(
        "// reach b, never a\nevents a b c\nfail -1\nstep -0.01\n!a\n  U b\n"
    )
    (tmp_path / "always.ltlf").write_text("ltlf safe\nG a\n")
    (tmp_path / "odd.ltlf").write_text("ltlf\naccept end\nF(a &\n  )\n")
    run = pdrm("step", tmp_path / "task.ltlf", "c b", "--json")
    assert (run.code, '"accepted": true' in run.out) == (0, True)
    early = pdrm("check", tmp_path / "always.ltlf")
    assert early.code == 0
    assert "warning[W0605]" in early.out
    assert '"W0605"' in pdrm("check", tmp_path / "always.ltlf", "--json").out
    assert (
        "warning[W0605]"
        in pdrm("convert", tmp_path / "always.ltlf", "-o", tmp_path / "always.pdrm").err
    )
    odd = pdrm("check", tmp_path / "odd.ltlf")
    assert odd.code == 2
    assert "odd.ltlf:4:3" in odd.err


def test_formulas_that_would_take_for_ever_are_refused_soon():
    hostile = {
        "F(a & " + "X " * 40 + "last)": TooLarge,
        " & ".join(f"F a{n}" for n in range(40)): TooLarge,
        " <-> ".join(f"a{n}" for n in range(40)): TooManyCases,
        "\n".join(["a &"] * 3000) + " a": TooLarge,
        "F(" + " | ".join(f"a{n}" for n in range(400)) + ")": TooLarge,
        " & ".join("X " * n + "a" for n in range(60))
        + "&\n"
        + " & ".join("Y " * n + "b" for n in range(60)): TooLarge,
        " &\n".join(f"F(a{n} & X F(b{n} & X F(c{n} & X F d{n})))" for n in range(60)): TooLarge,
    }
    for text, kind in hostile.items():
        if kind is None:
            assert pdrm.from_ltlf(text).states
            continue
        with pytest.raises(kind) as caught:
            pdrm.from_ltlf(text)
        assert caught.value.where.line >= 1, text[:40]
    nested = "alternate_succession(" * 20 + "a" + ", b)" * 20  # its text would be 4^20 long
    assert len(subformulas(parse_formula(nested))) < 1_000
