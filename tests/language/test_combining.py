"""Combinations: final states, rewards, and stacks that move together."""

import pytest

import pdrm
from pdrm.errors import (
    BadSetting,
    CannotCombine,
    CannotRead,
    TooLarge,
    UndefinedMove,
    UnknownMachine,
)
from pdrm.language import draft, parse_word


@pytest.fixture(scope="module")
def parts():
    return {
        "letter": pdrm.catalogue("letter"),
        "b": pdrm.from_ltlf("F B", events=["A", "B", "C"], reward=5),
        "c": pdrm.from_regex('"C" "C"', events=["A", "B"], fail=-7, exclusive=()),
    }


def final(machine, *words):
    return [machine.run(parse_word(word)).finished for word in words]


def test_and_or_and_formulas(parts):
    two = {name: parts[name] for name in ("letter", "b")}
    assert final(pdrm.combine(two), "B", "A B C C", "B C", "A B C") == [False, True, True, False]
    assert final(pdrm.combine(two, "or"), "B", "A", "C C") == [True, False, False]
    assert final(pdrm.combine(parts, "c & !b"), "C C", "B C C", "C A C") == [True, False, True]
    assert final(pdrm.combine(parts, "b.done & letter.u1"), "B", "A B", "A B C C") == [
        True,
        True,
        True,
    ]
    judged = pdrm.combine(two, "!b", accept="end")
    assert final(judged, "A end", "end", "B end", "A") == [True, True, False, False]


def test_rewards_add_up_as_they_are_written(parts):
    run = pdrm.combine(parts, weights={"b": 0.1, "letter": 3}).run(parse_word("A B C C C"))
    apart = [parts["letter"].run(parse_word("A B C C")), parts["b"].run(parse_word("A B"))]
    assert [step.reward for step in run.steps[1:]] == [-0.03, 0.47, -0.03, 4.0]
    assert apart[0].reward * 3 + apart[1].reward * 0.1 + 1 == pytest.approx(run.reward)


def test_a_machine_that_was_combined_is_one_like_any_other(parts, tmp_path):
    machine = pdrm.combine({"letter": parts["letter"], "b": parts["b"]})
    assert isinstance(machine, pdrm.PushdownRewardMachine)
    assert machine.stack == parts["letter"].stack
    assert pdrm.parse(pdrm.language.to_text(machine)) == machine
    assert pdrm.Task("letter", machine).pushdown == machine
    pdrm.save(machine, tmp_path / "both.json")
    assert pdrm.load(tmp_path / "both.json") == machine
    without = pdrm.combine([parts["b"], parts["c"]], "or")
    assert without.is_reward_machine


def brackets(**paid):
    text = "\n".join(
        (
            "events a b c\nexclusive a b c\nstack # A\nstart u\nfinal f\notherwise stay 0",
            "u -> u : a, z / A z, 0",
            f"u -> u : b, A / eps, {paid.get('pop', 0)}",
            "u -> f : c, # / #, 1",
        )
    )
    return pdrm.parse(f"name {paid.get('name', 'm')}\n{text}")


def test_stacks_that_move_together_become_one():
    machine = pdrm.combine({"one": brackets(pop=1), "two": brackets(pop=0.25)})
    assert machine.stack == ("#.#", "A.A")
    run = machine.run(parse_word("a a b b c"))
    assert (run.accepted, run.reward) == (True, 4.5)


def test_stacks_that_move_apart_are_refused_with_the_label():
    pushes = pdrm.parse(
        "events a b\nexclusive a b\nstack # X\nstart u\nfinal f\notherwise stay 0\nu -> v : a, z / X z, 0\nv -> f : b, z / z, 1"
    )
    with pytest.raises(CannotCombine) as caught:
        pdrm.combine({"one": brackets(), "two": pushes})
    assert "in state `u.v`" in caught.value.message
    assert "at label {b}" in caught.value.message


def test_a_combination_that_is_too_large_is_refused(monkeypatch):
    circles = [
        pdrm.parse(
            f"events {event}\nstart u0\nfinal f\notherwise stay 0\n"
            + "".join(f"u{n} -> u{(n + 1) % 6} : {event}, 0\n" for n in range(6))
        )
        for event in "ab"
    ]
    assert len(pdrm.combine(circles).states) == 36
    monkeypatch.setattr(draft, "MAX_DRAFT_SIZE", 35)
    with pytest.raises(TooLarge, match="more than 35 moves and symbols") as caught:
        pdrm.combine(circles)
    assert caught.value.fix


def test_silent_moves_are_made_before_it_ends():
    quiet = pdrm.parse(
        "events a\nstack # A\nstart u\nfinal f\notherwise stay 0\nu -> v : a, z / A z, 0\nv -> v : eps, A / eps, 1\nv -> f : eps, # / #, 2"
    )
    machine = pdrm.combine({"q": quiet, "a": pdrm.from_ltlf("F a", reward=10)}, "or")
    run = machine.run(parse_word("a"))
    assert (run.accepted, run.reward) == (True, 13)


def test_it_ends_although_a_part_has_popped_its_last_symbol():
    one = pdrm.parse("name one\nevents a\nstart u\nfinal done\notherwise stay 0\nu -> done : a, 1")
    rule = "u -> u : a, # / eps, 0"
    other = pdrm.parse(
        f"name other\nevents a\nstack #\nstart u\nfinal over\notherwise stay 0\n{rule}"
    )
    assert pdrm.combine([one, other], "one").run("a").accepted


def test_parts_of_a_list_have_their_own_names():
    same = [pdrm.from_ltlf("F a", name="x"), pdrm.from_ltlf("F b", name="x")]
    assert final(pdrm.combine(same, "x & !x~1"), "a", "b", "b a") == [True, False, False]


def test_an_undefined_move_of_a_part_is_one_of_the_whole(parts):
    strict = pdrm.parse("events A B C\nstart u\nfinal f\notherwise error\nu -> f : A, 1")
    machine = pdrm.combine({"strict": strict, "b": parts["b"]})
    with pytest.raises(UndefinedMove):
        machine.run(parse_word("C"))
    assert machine.run(parse_word("A C B")).accepted


def test_what_cannot_be_combined(parts):
    for change, kind, message, place in (
        ({"when": "b & lettr | lettr"}, UnknownMachine, "`lettr` is not a part", "<when>:1:5"),
        ({"when": "b &"}, CannotRead, "nothing follows", "<when>:1:3"),
        ({"when": "!letter"}, BadSetting, "before the first label", "None"),
        ({"when": "{b}"}, BadSetting, "is a formula", "<when>:1:1"),
        ({"weights": {"bb": 2}}, BadSetting, "is not a part", "None"),
        ({"accept": "last"}, BadSetting, "`accept`", "None"),
        ({"parts": []}, BadSetting, "no machine to combine", "None"),
        ({"parts": ["letter"]}, BadSetting, "is not a machine", "None"),
        ({"parts": {"a b": parts["b"]}}, BadSetting, "`a b` cannot name a part", "None"),
    ):
        with pytest.raises(kind, match=message) as caught:
            pdrm.combine(**({"parts": parts} | change))
        assert (str(caught.value.where), bool(caught.value.fix)) == (place, True), change


def test_the_command(tmp_path, pdrm):
    (tmp_path / "safe.ltlf").write_text("events A B C\naccept end\nG !B\n")
    (tmp_path / "twice.regex").write_text('events B A\naccept end\n"C" "C"\n')
    both = tmp_path / "both.pdrm"
    files = [tmp_path / "safe.ltlf", tmp_path / "twice.regex"]
    done = pdrm("combine", *files, "--when", "safe & twice", "--weight", "safe=2", "-o", both)
    assert (done.code, "reward machine" in done.out) == (0, True)
    for word, accepted in (("C A C end", "true"), ("C B C end", "false"), ("C end", "false")):
        assert f'"accepted": {accepted}' in pdrm("step", both, word, "--json").out
    for wrong in (["--when", "safer"], ["--weight", "safe"], ["--accept", "soon"]):
        assert (
            pdrm(
                "combine", tmp_path / "safe.ltlf", tmp_path / "twice.regex", "-o", both, *wrong
            ).code
            == 2
        )
    assert pdrm("combine", tmp_path / "safe.ltlf", tmp_path / "safe.ltlf", "-o", both).code == 2
