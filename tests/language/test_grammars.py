"""Machines from context-free grammars: what they accept and pay, as calls and as files."""

import pytest

import pdrm
from pdrm.errors import Undecidable
from pdrm.language import parse_word, to_text

PAIRS = 'start: pair*\npair: "open" pair* "close"'


def states(machine, *words):
    return [machine.run(parse_word(word)).after.state for word in words]


def test_a_word_is_complete_at_its_end_or_as_soon_as_it_can_be():
    ends = pdrm.from_grammar(PAIRS, accept="end")
    words = "end", "open close end", "open open close close open close end", "open end", "open close", "close end"
    assert [ends.run(parse_word(word)).accepted for word in words] == [True, True, True, False, False, False]
    first = pdrm.from_grammar(PAIRS)
    words = "", "open", "open close", "open open close close", "open close open close", "close"
    assert [first.run(parse_word(word)).accepted for word in words] == [False, False, True, True, False, False]
    assert first.run(parse_word("open close open close")).unread == 2


def test_rewards():
    paid = {"reward": 10, "fail": -5, "step": -0.1, "complete": {"pair": 1, '"open"': 0.25}}
    machine = pdrm.from_grammar(PAIRS, accept="end", **paid)
    rewards = [step.reward for step in machine.run(parse_word("open - open close close end")).steps[1:]]
    assert rewards == [0.15, -0.1, 0.15, 0.9, 0.9, 9.9]
    lost = machine.run(parse_word("open end"))
    assert (lost.steps[-1].reward, lost.after.state, lost.finished) == (-5.1, "lost", True)


def test_what_the_first_wrong_event_does():
    assert states(pdrm.from_grammar(PAIRS), "close", "close open close") == ["lost", "lost"]
    assert states(pdrm.from_grammar(PAIRS, fail="ignore"), "close", "close open close") == ["begin", "done"]


def test_labels_with_several_events():
    maze = pdrm.from_grammar('start: "a & !t" start "b" | "a & t" "b"', exclusive=[("a", "b")])
    assert states(maze, "a a+t b", "a a+t b b", "a+t b+t", "t a+t - b") == ["read", "done", "done", "done"]


def test_a_file_is_a_machine_wherever_one_is_read(tmp_path):
    file = tmp_path / "brackets.grammar"
    file.write_text(f"// brackets\naccept end\nreward 5\nstep -1\ncomplete pair 2\nevents tick\n{PAIRS}\n")
    machine = pdrm.load(file)
    assert (machine.name, machine.run(parse_word("open tick close end")).reward) == ("brackets", 3.0)
    assert pdrm.parse(f"grammar mine\n{PAIRS}").name == "mine"
    assert pdrm.parse(to_text(machine)) == machine


@pytest.mark.parametrize(
    "wrong", ['"a', "/a/", "%import b", "'a'", "nothing", '("a"', '"a" ~ 0', '"a & "', '"eps"', '"a" -> b']
)
def test_errors_have_a_place(wrong):
    with pytest.raises(pdrm.PdrmError) as caught:
        pdrm.from_grammar(f"start: rest\nrest: {wrong}")
    assert caught.value.where.line == 2
    assert caught.value.fix


@pytest.mark.parametrize("accept", ["first", "end"])
def test_left_recursion_and_shared_beginnings_are_read_bottom_up(accept):
    grammars = {
        'start: list\nlist: | list "x"': ["x", "x x"],
        'start: "a" start "b" | "a" "b"': ["a b", "a a b b", "a b b", "a a b"],
        'start: sum "stop"\nsum: sum "plus" part | part\npart: "n" | "open" sum "close"': [
            "n stop",
            "n plus open n plus n close stop",
            "n plus stop",
            "open n stop",
        ],
        'start: one "c" | two "d"\none: "a" "b"\ntwo: "a" "b"': ["a b c", "a b d", "a b", "a c"],
    }
    found = []
    for text, words in grammars.items():
        machine = pdrm.from_grammar(text, accept=accept)
        found += [machine.run(parse_word(f"{word} end" if accept == "end" else word)).accepted for word in words]
    second = accept == "end"  # x alone is a word already
    assert found == [True, second, True, True, False, False, True, True, False, False, True, True, False, False]


def test_reductions_pay_with_the_event_that_completes_them():
    text = 'start: sum "stop"\nsum: sum "plus" part | part\npart: "n" | "open" sum "close"'
    machine = pdrm.from_grammar(text, complete={"part": 1, "sum": 10})
    steps = machine.run(parse_word("n plus open n close stop")).steps[1:]
    assert [step.reward for step in steps] == [11, 0, 0, 11, 11, 1]


def test_a_wrong_event_is_known_at_once():
    text = 'start: item ("comma" item)* "stop"\nitem: item "x" | "x"'
    for fail, after in ((-1, "lost"), (None, "lost"), ("ignore", "read")):
        run = pdrm.from_grammar(text, fail=fail).run(parse_word("x comma comma"))
        assert (run.after.state, run.steps[-1].reward) == (after, fail if fail == -1 else 0)
    ignoring = pdrm.from_grammar('start: "lp" start "rp" | list\nlist: list "x" | "x"', accept="end", fail="ignore")
    words = "lp x rp end", "lp x lp x rp end", "x rp x end", "lp end rp x rp end"
    assert [ignoring.run(parse_word(word)).accepted for word in words] == [True] * 4


def test_what_cannot_be_decided_is_shown_with_words():
    refusals = {
        'start: "if" start ["else" start] | "x"': "if if x else x end",
        'start: "a" start "a" | "b" start "b" |': "",
        'start: one "b" "c" | two "b" "d"\none: "a"\ntwo: "a"': "",
        'start: part*\npart: "a"?': "end",
    }
    for text, ambiguous in refusals.items():
        with pytest.raises(Undecidable) as caught:
            pdrm.from_grammar(text, accept="end")
        one, other = caught.value.words
        assert (one == other == ambiguous) if ambiguous else (one != other and one.startswith(caught.value.shared))
        assert other.startswith(caught.value.shared)
        assert caught.value.where.line
