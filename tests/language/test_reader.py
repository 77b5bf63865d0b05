"""The .pdrm language: its meaning, and the round trip of writing and reading."""

import pytest

from pdrm.errors import CannotOpen, CannotRead, PdrmError, TooLarge
from pdrm.language import reader
from pdrm.language.loading import load, parse, save
from pdrm.machines.counting import CountingRewardAutomaton
from pdrm.machines.guards import ALWAYS, SILENT, And, Event, Exactly, Not, Or, parse_word
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.transitions import Transition

HEAD = "events a b t\nstack # A\nstart u\nfinal f\notherwise stay 0\n"


def rules(text: str) -> tuple[Transition, ...]:
    machine = parse(HEAD + text)
    assert isinstance(machine, PushdownRewardMachine)
    return machine.transitions


def test_a_dangling_operator_is_blamed():
    head = "name t\nevents a\nstack # z1\nstart s\nfinal f\notherwise stay 0\n"
    with pytest.raises(CannotRead) as caught:
        parse(head + "s->f:a|,z/z,1\n")
    assert (caught.value.where.line, caught.value.where.column) == (7, 7)


def test_guards_mean_what_they_say():
    for text, guard in [
        ("{}", Exactly(frozenset())),
        ("{a,t}", Exactly(frozenset("at"))),
        ("eps", SILENT),
        ("true", ALWAYS),
        ("a", Event("a")),
        ("!a", Not(Event("a"))),
        ("a & !t", And((Event("a"), Not(Event("t"))))),
        ("a&b|t", Or((And((Event("a"), Event("b"))), Event("t")))),
        ("a & (b | t)", And((Event("a"), Or((Event("b"), Event("t")))))),
        ("!(a | b)", Not(Or((Event("a"), Event("b"))))),
        ("((a))", Event("a")),
    ]:
        (rule,) = rules(f"u -> f : {text}, # / eps, 1")
        assert rule.guard == guard


def test_a_rule_has_its_parts():
    (rule,) = rules("u->f:{a},z/A A z,-1.5e-3 // all of it")
    assert rule == Transition("u", "f", Exactly(frozenset("a")), "z", ("A", "A", "z"), -0.0015)
    assert str(rule.where) == "<text>:6:1"


def test_loops_and_maps_are_unrolled():
    unrolled = rules(
        "map other a:b b:a\n"
        "for x in a b:\n"
        "    u -> v : {x}, # / A #, 0\n"
        "    for y in a b where y != x and y != t:\n"
        "        v -> u : {y, other(y)}, x / eps, 1\n".replace(", x /", ", A /").replace(
            "{y, other(y)}", "{other(x), t}"
        )
    )
    assert [str(rule.guard) for rule in unrolled] == ["{a}", "{b, t}", "{b}", "{a, t}"]


def test_the_header_decides_the_kind():
    head = "events a\nstart u\notherwise error\n"
    assert parse(head + "u -> u : a, 1").is_reward_machine
    assert isinstance(parse("stack #\n" + head + "u -> u : a, # / #, 1"), PushdownRewardMachine)
    assert isinstance(
        parse("counters 2\n" + head + "u -> u : a, [0, -] / [+1, -2], 1"), CountingRewardAutomaton
    )


def test_a_file_without_a_name_is_called_after_itself(tmp_path):
    file = tmp_path / "sorting.pdrm"
    file.write_text(HEAD + "u -> f : a, # / #, 1")
    assert load(file).name == "sorting"


def test_windows_line_ends_and_a_byte_order_mark_are_read(tmp_path):
    file = tmp_path / "m.pdrm"
    text = (HEAD + "u -> f : a, # / #, 1").replace("\n", "\r\n")
    file.write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert load(file) == parse(HEAD + "u -> f : a, # / #, 1", "m.pdrm")


def test_save_and_load_keep_the_machine(tmp_path):
    machine = parse(HEAD + "u -> f : a, # / #, 1")
    for name in ("m.pdrm", "m.json"):
        save(machine, tmp_path / name)
        assert load(tmp_path / name).transitions == machine.transitions


def test_saving_fails_without_harm(tmp_path):
    machine = parse(HEAD + "u -> f : a, # / #, 1")
    with pytest.raises(PdrmError, match="E0503"):
        save(machine, tmp_path / "m.exe")
    (tmp_path / "folder.pdrm").mkdir()
    with pytest.raises(PdrmError, match="E0502"):
        save(machine, tmp_path / "folder.pdrm")
    with pytest.raises(PdrmError, match="E0502"):
        save(machine, tmp_path / "nowhere" / "m.pdrm")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder.pdrm"]


def said(call, *arguments):
    with pytest.raises(PdrmError) as caught:
        call(*arguments)
    return str(caught.value)


def test_words_and_labels():
    assert parse_word(" - a  b+a ") == [frozenset(), frozenset("a"), frozenset("ab")]
    assert parse_word("") == []


def test_conditions_of_loops():
    head = "events a b c\nstack #\nstart u\nfinal f\notherwise stay 0\nmap f a:b b:c c:a\n"
    loop = "for x in a b c where {}:\n    u -> f : {{x}}, # / #, 0\n"
    kept = {
        "x == b": "b",
        "x != b": "ac",
        "f(x) == b": "a",
        "f(x) != f(b)": "ac",
        "x == x": "abc",
        "x != a and x != b": "c",
        "a == b": "",
        "f(f(x)) == a": "b",
    }
    for condition, events in kept.items():
        rules = parse(head + loop.format(condition)).transitions
        assert [rule.guard for rule in rules] == [Exactly(frozenset(event)) for event in events], (
            condition
        )
    nested = "for x in a b:\n    for y in x c:\n        u -> f : {y}, # / #, 0\n"
    with pytest.raises(PdrmError, match=r"two rules apply in state `u` for label \{c\}"):
        parse(head + nested)
    once = parse(
        head
        + nested.replace("for x in a b", "for x in a").replace("u -> f : {y}", "u -> f : {x, y}")
    ).transitions
    assert [rule.guard for rule in once] == [Exactly(frozenset("a")), Exactly(frozenset("ac"))]


def test_sixteen_counters_and_twenty_thousand_rules_are_the_most():
    tests = ", ".join(["-"] * 16)
    text = f"events a\ncounters 16\nstart u\notherwise error\nu -> u : a, [{tests}] / [{tests.replace('-', '0')}], 0\n"
    assert parse(text).counters == 16
    few, some, many = (
        " ".join(f"{name}{i}" for i in range(size))
        for name, size in (("a", 3), ("s", 59), ("t", 113))
    )
    loops = f"for x in {some}:\n    for y in {many}:\n        for e in {few}:\n            x -> y : e, 0\n"
    assert said(parse, f"events {few}\nstart s0\notherwise stay 0\n{loops}") == (
        "error[E0106]: more than 20,000 rules\n  --> <text>:7:13\n  |\n7 |             x -> y : e, 0\n  |             ^^^^^^^^^^^^^\n"
        "  fix: use a smaller text, combine machines of smaller tasks, or build it in Python"
    )


def test_what_is_given_in_the_place_of_something_else(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = HEAD + "u -> f : a, # / #, 1"
    for call, given, kind, fix in (
        (load, "letter", CannotOpen, 'pdrm.catalogue("letter")'),
        (parse, "letter.pdrm", CannotRead, 'pdrm.load("letter.pdrm")'),
        (parse, "pairs.grammar", CannotRead, 'pdrm.load("pairs.grammar")'),
    ):
        with pytest.raises(kind) as caught:
            call(given)
        assert fix in caught.value.fix
    (tmp_path / "letter").write_text(text)
    assert load("letter").transitions == parse(text).transitions


def test_loops_that_unroll_to_too_much_are_refused_where_they_are(monkeypatch):
    head = "events a\nstart u\nfinal f\notherwise stay 0\n"
    words = " ".join(f"w{i}" for i in range(20))
    empty = f"for x in {words}:\n    for y in {words} where x == y:\n        u -> f : a, 1\n"
    full = (
        f"for x in {words}:\n    for y in {words}:\n        x -> y : {' & '.join(['a'] * 60)}, 1\n"
    )
    monkeypatch.setattr(reader, "MAX_WORDS", 500)
    for text in (empty, full):
        with pytest.raises(TooLarge) as caught:
            parse(head + text, "m.pdrm")
        assert caught.value.where.line in (6, 7)


def test_an_operator_with_nothing_after_it_is_blamed():
    for label, column in (("a|", 7), ("a &  ", 8), ("(a | b |)", 13), ("!", 6)):
        with pytest.raises(CannotRead) as caught:
            parse(f"events a b\nstack # z\nstart s\nfinal f\ns->f:{label},z/z,1", "m.pdrm")
        assert str(caught.value.where) == f"m.pdrm:5:{column}"
