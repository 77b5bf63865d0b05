"""Machines from context-free grammars: what they accept and pay, as calls and as files."""

import pytest

import pdrm
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
