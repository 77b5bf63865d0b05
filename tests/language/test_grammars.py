"""Machines from context-free grammars: words and rewards, from Python and from files."""

import pytest

import pdrm
from pdrm.errors import (
    BadGrammar,
    BadName,
    BadReward,
    BadSetting,
    CannotRead,
    DuplicateName,
    EarlyAcceptance,
    TaskWarning,
    TooLarge,
    Undecidable,
)
from pdrm.language import parse_word, to_text

PAIRS = 'start: pair*\npair: "open" pair* "close"'


def states(machine, *words):
    return [machine.run(parse_word(word)).after.state for word in words]


def rewards(machine, word):
    return [step.reward for step in machine.run(parse_word(word)).steps[1:]]


@pytest.mark.filterwarnings("ignore::pdrm.errors.EarlyAcceptance")
def test_a_word_is_complete_at_its_end_or_as_soon_as_it_can_be():
    ends = pdrm.from_grammar(PAIRS, accept="end")
    words = (
        "end",
        "open close end",
        "open open close close open close end",
        "open end",
        "open close",
        "close end",
    )
    assert [ends.run(parse_word(word)).accepted for word in words] == [
        True,
        True,
        True,
        False,
        False,
        False,
    ]
    first = pdrm.from_grammar(PAIRS)
    words = "", "open", "open close", "open open close close", "open close open close", "close"
    assert [first.run(parse_word(word)).accepted for word in words] == [
        False,
        False,
        True,
        True,
        False,
        False,
    ]
    assert first.run(parse_word("open close open close")).unread == 2


def test_rewards():
    paid = {"reward": 10, "fail": -5, "step": -0.1, "complete": {"pair": 1, '"open"': 0.25}}
    machine = pdrm.from_grammar(PAIRS, accept="end", **paid)
    rewards = [
        step.reward for step in machine.run(parse_word("open - open close close end")).steps[1:]
    ]
    assert rewards == [0.15, -0.1, 0.15, 0.9, 0.9, 9.9]
    lost = machine.run(parse_word("open end"))
    assert (lost.steps[-1].reward, lost.after.state, lost.finished) == (-5.1, "lost", True)


@pytest.mark.filterwarnings("ignore::pdrm.errors.EarlyAcceptance")
def test_what_the_first_wrong_event_does():
    assert states(pdrm.from_grammar(PAIRS), "close", "close open close") == ["lost", "lost"]
    assert states(pdrm.from_grammar(PAIRS, fail="ignore"), "close", "close open close") == [
        "begin",
        "done",
    ]


def test_labels_with_several_events():
    maze = pdrm.from_grammar('start: "a & !t" start "b" | "a & t" "b"', exclusive=[("a", "b")])
    assert states(maze, "a a+t b", "a a+t b b", "a+t b+t", "t a+t - b") == [
        "read",
        "done",
        "done",
        "done",
    ]


@pytest.mark.filterwarnings("ignore::pdrm.errors.EarlyAcceptance")
def test_a_file_is_a_machine_wherever_one_is_read(tmp_path):
    file = tmp_path / "brackets.grammar"
    file.write_text(
        f"// brackets\naccept end\nreward 5\nstep -1\ncomplete pair 2\nevents tick\n{PAIRS}\n"
    )
    machine = pdrm.load(file)
    assert (machine.name, machine.run(parse_word("open tick close end")).reward) == (
        "brackets",
        3.0,
    )
    assert pdrm.parse(f"grammar mine\n{PAIRS}").name == "mine"
    assert pdrm.parse(to_text(machine)) == machine


@pytest.mark.parametrize(
    "wrong",
    ['"a', "/a/", "%import b", "'a'", "nothing", '("a"', '"a" ~ 0', '"a & "', '"eps"', '"a" -> b'],
)
def test_errors_have_a_place(wrong):
    with pytest.raises(pdrm.PdrmError) as caught:
        pdrm.from_grammar(f"start: rest\nrest: {wrong}")
    assert caught.value.where.line == 2
    assert caught.value.fix


def test_reading_bottom_up_pays_with_the_last_event_and_notices_a_wrong_one_at_once():
    nested = 'start: q | "a"\nq: "b" | "b" q "a"'  # which events may follow `q` depends on how deep it is
    paid = pdrm.from_grammar(nested, accept="end", reward=5, fail=-1, step=-0.5)
    assert rewards(paid, "b b a end") == [-0.5, -0.5, -0.5, 4.5]
    assert [rewards(paid, word) for word in ("b a", "b b end")] == [
        [-0.5, -1.5],
        [-0.5, -0.5, -1.5],
    ]
    assert states(paid, "b a", "b b end", "b end", "a end") == ["lost", "lost", "done", "done"]
    assert states(pdrm.from_grammar(nested, accept="end"), "b a", "b b end", "b end") == [
        "lost",
        "lost",
        "done",
    ]
    passes = pdrm.from_grammar(nested, accept="end", fail="ignore")
    assert states(passes, "b a end", "b b end a end", "b b end") == ["done", "done", "read"]
    parts = pdrm.from_grammar(nested, accept="end", complete={"q": 1}, fail=-1)
    assert [rewards(parts, word) for word in ("b b a end", "b a")] == [[0, 0, 2, 1], [0, -1]]
    assert rewards(
        pdrm.from_grammar('start: "c"+ "d"* "d"', accept="end", reward=3), "c d d end"
    ) == [0, 0, 0, 3]


def test_a_part_ends_the_word_in_one_place_and_not_in_another():
    text = 'start: "a" p | "b" p "c" | l "q"\nl: l "z" | "z"\np: "x" "y"'
    machine = pdrm.from_grammar(text)
    assert states(machine, "a x y", "b x y", "b x y c", "z z q") == ["done", "read", "done", "done"]


def test_names_that_machines_use_themselves():
    for name in ("read", "done", "lost", "where", "z", "end"):
        machine = pdrm.from_grammar(
            f'start: {name} | "a"\n{name}: "b" | "b" {name} "a"', accept="end"
        )
        assert states(machine, "b b a end", "b a end") == ["done", "lost"]
        assert machine.start == "read"
        others = [state for state in machine.states if state not in ("read", "lost")]
        assert [state.startswith(name) for state in others] == [True] * len(others)
        assert pdrm.parse(to_text(machine)) == machine
    machine = pdrm.from_grammar('start: "z" "." "#" "z"* "eps."')
    assert states(machine, "z . # z eps.", "z . # eps.", "z # . eps.") == ["done", "done", "lost"]
    assert pdrm.parse(to_text(machine)) == machine


def test_guards_that_share_labels():
    groups = (("a", "x", "y"), ("t", "x", "y"))
    either = pdrm.from_grammar('start: "a" "x" | "a & t" "y"', exclusive=groups)
    assert states(either, "a x", "a+t x", "a+t y", "a y", "t a - x") == [
        "done",
        "done",
        "done",
        "lost",
        "done",
    ]
    with pytest.raises(BadGrammar, match=r"`a\+t`"):
        pdrm.from_grammar('start: "a" "x" | "a & t" "y"', exclusive=groups, complete={'"a"': 1})
    with pytest.raises(Undecidable) as caught:
        pdrm.from_grammar('start: "a" "x" | "a & t" "x"', exclusive=groups)
    assert caught.value.words == ("a+t x", "a+t x")


def test_labels_that_no_guard_holds_for_are_passed_over():
    for text, words in (
        ('start: "a & !b" "c"', {"a c": "done", "a+b c": "lost", "a+b b a - a+b c": "done"}),
        ('start: "!a" "!a"', {"a - a -": "done", "a a": "read"}),
        ('start: "a" "!a" "a"', {"a - a": "done", "a a": "lost"}),  # there are no other labels
        (
            'start: ("{a}" | "{b}") "c"',
            {"a c": "done", "b c": "done", "a+b - b c": "done", "c": "lost"},
        ),
    ):
        machine = pdrm.from_grammar(text, exclusive=())
        assert {word: machine.run(parse_word(word)).after.state for word in words} == words


def test_an_event_that_fits_most_tops_is_wrong_at_the_others():
    text = 'start: pair*\npair: "o" pair* "c" | "p" pair* "d" | "q" pair* "e" | "lit" "x"'
    words = "o lit x c end", "lit o", "lit o x end", "lit p x q e end"
    assert states(pdrm.from_grammar(text, accept="end"), *words) == ["done", "lost", "lost", "lost"]
    assert states(pdrm.from_grammar(text, accept="end", fail="ignore"), *words) == [
        "done",
        "read",
        "done",
        "done",
    ]
    paid = pdrm.from_grammar(text, accept="end", fail=-3, step=-1)
    assert [rewards(paid, word) for word in ("lit o", "lit q")] == [[-1, -4]] * 2
    assert len(paid.transitions) == 11  # one rule for what all tops but `x` do, and one for `x`


def test_grammars_with_many_events():
    events = [f"e{number}" for number in range(65)]
    item = " | ".join(f'"{event}"' for event in events)
    bottom_up = pdrm.from_grammar(f'start: item "x" | item "y"\nitem: {item}')
    assert states(bottom_up, "e3 x", "e64 y", "x", "e3 e4") == ["done", "done", "lost", "lost"]
    pairs = " | ".join(f'"a{number}" "b" "c" | "a{number}" "b" "d"' for number in range(110))
    shared = pdrm.from_grammar(f"start: {pairs}")
    assert states(shared, "a3 b d", "a109 b c", "a3 c", "b") == ["done", "done", "lost", "lost"]
    assert len(shared.transitions) == 4  # the first event, `b`, the last one, and none of these


def test_ambiguous_grammars_are_shown_with_a_short_word():
    both = 'one: "a"\ntwo: "a"'
    chains = [f"{name}{number}: {name}{number + 1}" for name in "pq" for number in range(60)]
    for text, line, word in (
        (f"start: one | two\n{both}", 1, "a"),
        (
            f'start: "b" | one "b"+ ("d" "e" | "f") | two "b"+ ("d" "e" | "g")\n{both}',
            1,
            "a b d e",
        ),
        ('start: "s" rest\nrest: ("b"+) ~ 2 "c"', 2, "s b b b c"),
        ('start: "s" rest\nrest: "b"* "b"* "c"', 2, "s b b c"),
        ("\n".join(("start: p0 | q0", *chains, 'p60: "a"', 'q60: "a"')), 1, "a"),
    ):
        with pytest.raises(Undecidable) as caught:
            pdrm.from_grammar(text)
        assert (caught.value.where.line, caught.value.words) == (line, (word, word)), text
        assert f"`{word}`" in caught.value.message
        assert caught.value.fix


def test_conflicts_that_a_longer_look_ahead_would_solve_name_a_rule():
    both = 'one: "a"\ntwo: "a"'
    for text, line in (
        (f'start: one t | two u\n{both}\nt: "b" t "c" | "c"\nu: "b" u "d" | "d"', 3),
        (f'start: one "b"+ "c" | two "b"+ "d"\n{both}', 3),
        (f'start: "q" "q" "q" x | "p" x\nx: one "b" "c" | two "b" "d"\n{both}', 4),
        ('start: "b"+ "b" "b" "a"', 1),
        (f'start: ("x" ~ 201) (one "b" "c" | two "b" "d")\n{both}', 3),
        (f'start: one "b" "c" | two "b" "d" ("x" ~ 201)\n{both}', 3),
    ):
        with pytest.raises(Undecidable) as caught:
            pdrm.from_grammar(text)
        assert caught.value.where.line == line, text
        assert caught.value.words is None
        assert caught.value.fix


def test_faults_have_a_line_a_column_and_a_fix():
    nine = " ".join(f'"e{number}"' for number in range(9))
    for text, options, kind, place in (
        ('start: rest\nrest: "b"\nrest: "c"', {}, DuplicateName, (3, 1, 4)),
        ('start: "a"\n"b"', {}, BadGrammar, (2, 1, 3)),
        ('"b"\nstart: "a"', {}, BadGrammar, (1, 1, 3)),
        ('other: "a"', {}, BadGrammar, (1, 1, 5)),
        ('start: "a"\n  | "b" ~', {}, BadGrammar, (2, 9, 1)),
        ('start: "b" ~ 3..2', {}, BadGrammar, (1, 12, 1)),
        ('start: "b" ~ 1001', {}, BadGrammar, (1, 12, 1)),
        ('start: ["a" | "b" "c"', {}, BadGrammar, (1, 8, 1)),
        ('start: ("a" | "b" ] "c"', {}, BadGrammar, (1, 8, 1)),
        ('start: ("a" "b"\nrest: "c"', {}, BadGrammar, (1, 8, 1)),
        ('start: "a x', {}, CannotRead, (1, 8, 1)),
        ('start: "a" x y\nx: "b" x\ny: x', {}, BadGrammar, (2, 1, 1)),
        ('start: "a"\n  | "b" nothing', {}, BadGrammar, (2, 9, 7)),
        ('start: "a" | (loop | loop "b") "c"\nloop: "x" loop', {}, BadGrammar, (2, 1, 4)),
        ("start:", {}, BadGrammar, (1, 1, 5)),
        ('start: "c"\n  | "a & b"', {}, BadGrammar, (2, 5, 7)),
        ('start: "c" "false"', {}, BadGrammar, (1, 12, 7)),
        ('start: "c"\n  | "b" "end"', {"accept": "end"}, BadGrammar, (2, 9, 5)),
        (f"start: {nine}", {"exclusive": ()}, TooLarge, (1, 1, 5)),
        ('start: "a"\n' + f"  {'|' * 9_000}\n" * 3, {}, TooLarge, (4, 2_000, 1)),
        ("start: " + ('"a" ' * 1_000 + "\n ") * 6, {}, TooLarge, (1, 1, 5)),
    ):
        with pytest.raises(kind) as caught:
            pdrm.from_grammar(text, **options)
        where = caught.value.where
        assert (where.line, where.column, where.width) == place, text
        assert where.text == text.split("\n")[where.line - 1]
        assert caught.value.message
        assert caught.value.fix
    with pytest.raises(BadGrammar) as caught:
        pdrm.parse('start: "c"\n  | "a & "', "mine.grammar")
    where = caught.value.where
    assert (str(where), where.text) == ("mine.grammar:2:8", '  | "a & "')
    for text in ("", "reward 1\nstep 2"):
        with pytest.raises(BadGrammar) as caught:
            pdrm.parse(text, "empty.grammar")
        assert str(caught.value.where) == "empty.grammar"


def test_header_lines():
    text = 'grammar\nevents k\nexclusive a b\ncomplete start "b" 2\nexclusive\nevents l\ncomplete "a" 0.5\nexclusive c k\n'
    machine = pdrm.parse(f'{text}start: "a" "b" "c"')
    assert (machine.events, machine.exclusive) == (
        ("a", "b", "c", "k", "l"),
        (("a", "b"), ("c", "k")),
    )
    assert rewards(machine, "a+l k b c") == [0.5, 0, 2, 3]
    assert pdrm.parse('exclusive\nstart: "a" "b"', "m.grammar").exclusive == ()
    ignoring = pdrm.parse('accept end\nfail ignore\nreward 2\nstart: "a"', "m.grammar")
    assert rewards(ignoring, "end a end") == [0, 0, 2]


def test_faults_of_header_lines_have_a_place():
    for lines, kind, place in (
        ("accept soon", CannotRead, (1, 1, 6)),
        ("  reward", CannotRead, (1, 3, 6)),
        ("reward 1\n  reward 2", DuplicateName, (2, 3, 6)),
        ("complete 2", CannotRead, (1, 1, 8)),
        ("step 1\nevents", CannotRead, (2, 1, 6)),
        ("reward 1\nstep x1", BadReward, (2, 6, 2)),
        ("complete start t", BadReward, (1, 16, 1)),
        ("complete stat 2", BadSetting, (1, 10, 4)),
    ):
        with pytest.raises(kind) as caught:
            pdrm.parse(f'{lines}\nstart: "a"', "mine.grammar")
        where = caught.value.where
        assert (where.file, where.line, where.column, where.width) == ("mine.grammar", *place), (
            lines
        )
        assert caught.value.fix
    assert "`start`" in caught.value.fix


def test_a_text_with_rules_is_a_grammar_and_has_no_state_that_nothing_leads_to():
    machine = pdrm.parse('// one\nstep 1\nstart: "a"')
    assert (machine.states, machine.otherwise.action) == (("read",), "stay")


def test_a_reserved_event_is_shown_where_it_stands():
    with pytest.raises(BadName) as raised:
        pdrm.from_grammar('start: rest\nrest: "a" "where"')
    assert str(raised.value.where) == "<grammar>:2:11"


def test_rules_that_no_word_comes_from_are_warned_of():
    with pytest.warns(TaskWarning, match="W0604") as caught:
        machine = pdrm.from_grammar('start: "a"\nlost: "b" other\nother: "c"')
    places = [str(one.message.finding.where) for one in caught]
    assert (places, machine.events) == (["<grammar>:2:1", "<grammar>:3:1"], ("a",))


def test_a_rule_that_comes_from_itself_is_ambiguous():
    for text, word in (
        ('start: start | "a"', "a"),
        ('start: p | "a"\np: q\nq: start', "a"),
        ('start: "b" p\np: p | "a"', "b a"),
    ):
        for accept in ("first", "end"):
            with pytest.raises(Undecidable) as caught:
                pdrm.from_grammar(text, accept=accept)
            whole = word + " end" * (accept == "end")
            assert caught.value.words == (whole, whole), text


def test_a_word_that_begins_with_another_is_warned_of_with_both():
    """For both parsers; not if no word is a prefix of another, or with `accept end`."""
    early = {
        'start: "a" | "a" "b"': ("a", "a b"),
        'start: "a" "b"*': ("a", "a b"),
        'start: "a" start "a" | "b" start "b" | "a" | "b"': ("a", "a a a"),
        'start: "a" tail\ntail: | "b" "c" tail': ("a", "a b c"),
        'start: list\nlist: list "x" "y" | "x" "y"': ("x y", "x y x y"),
        PAIRS: ("open close", "open close open close"),
    }
    for text, (word, longer) in early.items():
        with pytest.warns(EarlyAcceptance, match=f"`{word}`; .*`{longer}`") as caught:
            machine = pdrm.from_grammar(text)
        assert caught[0].message.finding.where.line == 1
        assert (machine.run(word).accepted, machine.run(longer).unread) == (
            True,
            len(longer.split()) - len(word.split()),
        )
    for text in (
        'start: "a" start "b" | "c"',
        'start: "a"',
        'start: | "a" start "b"',
        'start: many "z"\nmany: | many "a"',
    ):
        pdrm.from_grammar(text)  # warnings are errors
    pdrm.from_grammar(PAIRS, accept="end")


def test_settings_that_do_not_exist_or_are_not_finite():
    for options, kind in (
        ({"accept": "soon"}, BadSetting),
        ({"fail": "soon"}, BadSetting),
        ({"fail": float("nan")}, BadReward),
        ({"complete": {"start": float("inf")}}, BadReward),
        ({"complete": {'"b"': 1}}, BadSetting),
    ):
        with pytest.raises(kind) as caught:
            pdrm.from_grammar('start: "a"', **options)
        assert caught.value.fix
