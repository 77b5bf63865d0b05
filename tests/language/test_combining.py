"""Machines that are combined: when they are final, what they pay, and stacks that move together or do not."""

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
from pdrm.language import parse_word, product_machine, to_text


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
    assert without.leaves_stack


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


def test_stacks_that_move_apart_are_refused_with_a_word():
    pushes = pdrm.parse(
        "events a b\nexclusive a b\nstack # X\nstart u\nfinal f\notherwise stay 0\nu -> v : a, z / X z, 0\nv -> f : b, z / z, 1"
    )
    with pytest.raises(CannotCombine) as caught:
        pdrm.combine({"one": brackets(), "two": pushes})
    assert "after the word `a`" in caught.value.message
    assert "at label {b}, `one` pops and `two` keeps its stack" in caught.value.message


def refusal(machines, **more):
    with pytest.raises(CannotCombine) as caught:
        pdrm.combine(machines, **more)
    assert caught.value.fix
    return caught.value.message


def test_the_word_of_a_refusal_is_one_that_all_parts_read():
    """Parts without a stack read it too, some of them strictly, and one is finished by then."""
    push = "u -> v : a, # / A #, 0\n"
    pops = stacked(push + "v -> f : b, A / eps, 0", otherwise="error")
    higher = stacked(push + "v -> f : b, A / A A, 0", otherwise="error")
    said = refusal({"pops": pops, "higher": higher})
    assert "after the word `a`" in said
    assert "at label {b}, `pops` pops and `higher` pushes" in said
    done = stacked("u -> f : a, # / A #, 0")
    assert "after the word `a`, where `done` is in `f`, `pops`" in refusal(
        {"done": done, "pops": pops, "higher": higher}
    )
    strict = pdrm.parse(
        "events a b c\nexclusive a b c\nstart u\nfinal f\notherwise error\nu -> v : c, 0\nv -> w : a, 0\nw -> f : b, 0"
    )
    late = [
        stacked(f"u -> p : c, # / #, 0\np -> q : a, # / A #, 0\nq -> f : b, A / {end}, 0")
        for end in ("eps", "A A")
    ]
    told = refusal({"strict": strict, "one": late[0], "two": late[1]})
    assert "after the word `c a`, where `strict` is in `w`, `one` is in `q`" in told
    free = pdrm.from_ltlf("F c & F a", events=["a", "b", "c"], exclusive=[["a", "b", "c"]])
    assert "after the word `c a`, where `free` is in `done`" in refusal(
        {"free": free, "one": late[0], "two": late[1]}
    )


def test_a_word_that_is_not_found_soon_is_left_out(monkeypatch):
    """A machine that counts to ten with its stack, and one that does not after nine."""
    monkeypatch.setattr(product_machine, "MOST_TRIED", 5)
    counts = "".join(f"u{i} -> u{i + 1} : a, # / #, 0\n" for i in range(9))
    one, two = (
        stacked(f"u -> u0 : a, # / #, 0\n{counts}u9 -> f : b, # / {end}, 0", otherwise="error")
        for end in ("#", "A #")
    )
    assert "do not move together, where `one` is in `u9`" in refusal({"one": one, "two": two})


def test_a_combination_that_is_too_large_is_refused(monkeypatch):
    circles = [
        pdrm.parse(
            f"events {event}\nstart u0\nfinal f\notherwise stay 0\n"
            + "".join(f"u{n} -> u{(n + 1) % 6} : {event}, 0\n" for n in range(6))
        )
        for event in "ab"
    ]
    monkeypatch.setattr(product_machine, "MOST_WORKED_OUT", 36)
    assert len(pdrm.combine(circles).states) == 36
    monkeypatch.setattr(product_machine, "MOST_WORKED_OUT", 35)
    with pytest.raises(TooLarge, match="more than 35 states and tops") as caught:
        pdrm.combine(circles)
    assert caught.value.fix


def test_a_finished_part_no_longer_minds_the_stack():
    once = pdrm.parse(
        "events a\nstack # X\nstart u\nfinal f\notherwise stay 0\nu -> f : a, z / X z, 1"
    )
    machine = pdrm.combine({"one": brackets(), "once": once})
    assert machine.run(parse_word("a a b b c")).accepted


def test_an_empty_stack_is_told_from_its_bottom():
    empties = pdrm.parse(
        "events a b\nexclusive a b\nstack #\nstart u\nfinal f\notherwise stay 0.5\nu -> u : a, # / eps, 1\nu -> f : b, # / #, 1"
    )
    machine = pdrm.combine({"e": empties, "b": pdrm.from_ltlf("F b", events=["a", "b"])}, "b")
    run = machine.run(parse_word("a a b"))
    assert (run.accepted, [step.reward for step in run.steps[1:]]) == (True, [1, 0.5, 1.5])

    assert (machine.start, run.reward) == (
        "begin",
        3,
    )  # no label is read, and nothing paid, for the symbol below


def test_silent_moves_are_made_before_it_ends():
    quiet = pdrm.parse(
        "events a\nstack # A\nstart u\nfinal f\notherwise stay 0\nu -> v : a, z / A z, 0\nv -> v : eps, A / eps, 1\nv -> f : eps, # / #, 2"
    )
    machine = pdrm.combine({"q": quiet, "a": pdrm.from_ltlf("F a", reward=10)}, "or")
    run = machine.run(parse_word("a"))
    assert (run.accepted, run.reward) == (True, 13)


def stacked(rules, symbols="# A", otherwise="stay 0", events="a b c end"):
    """A machine with a stack that starts in `u` and ends in `f`."""
    head = f"events {events}\nexclusive {events}\nstack {symbols}\nstart u\nfinal f\notherwise {otherwise}"
    return pdrm.parse(f"{head}\n{rules}\n")


def ends(machine, *words):
    """Whether each word ends the episode, and what it pays."""
    return [(run.finished, run.reward) for run in map(machine.run, words)]


def test_it_is_judged_when_the_silent_moves_after_end_are_made():
    """Two symbols are pushed at `end` and popped again, one for each move: the bottom then shows that they are gone."""
    b = pdrm.from_ltlf("F b", events=["a", "b"], reward=5)
    popping = "u -> v : end, # / A A #, 0\nv -> v : eps, A / eps, 1\n"
    machine = pdrm.combine(
        {"q": stacked(popping + "v -> f : eps, # / #, 2"), "b": b}, "q & !b", accept="end"
    )
    assert ends(machine, "a end", "b end", "b") == [(True, 4), (False, 9), (False, 5)]
    assert {"v.u0.judged", "f.done.lost"} <= {*machine.states}
    stops = pdrm.combine(
        {"q": stacked(popping + "v -> f : a, # / #, 2"), "b": b}, "q.v & !b", accept="end"
    )
    assert ends(stops, "end", "b end", "b end end a") == [(True, 2), (False, 7), (False, 7)]


def test_it_ends_where_the_formula_holds_when_no_silent_move_is_left():
    """`v` is left again at once, and come back to with a symbol at which it waits."""
    rules = "u -> v : a, # / #, 1\nv -> w : eps, # / A #, 2\nw -> v : eps, A / B, 4\nv -> f : b, B / B, 8"
    machine = pdrm.combine({"m": stacked(rules, "# A B"), "c": pdrm.from_ltlf("F c")}, "m.v")
    assert ends(machine, "a", "c a", "c") == [(True, 7), (True, 8), (False, 1)]
    assert ends(pdrm.combine({"m": stacked(rules, "# A B")}, "m.w | m.f"), "a", "a b") == [
        (False, 7),
        (True, 15),
    ]


def test_one_part_may_move_silently_while_the_other_keeps_its_top():
    """The second part swaps symbols, which the first must not notice."""
    pushes = "u -> u : a, z / A z, 0\nu -> u : b, A / eps, 1\nu -> f : c, # / #, 0"
    swaps = "u -> v : a, z / A z, 0\nv -> u : eps, A / B, 0.25\nu -> u : b, B / eps, 0.5\nu -> f : c, # / #, 0"
    machine = pdrm.combine({"one": stacked(pushes), "two": stacked(swaps, "# A B")})
    assert machine.run("a a").after.stack == ("A.B", "A.B", "#.#")
    assert ends(machine, "a a b b c", "a b b c", "a c") == [
        (True, 3.5),
        (True, 1.75),
        (False, 0.25),
    ]
    once = stacked("u -> f : a, # / A #, 0")  # it is finished when the other's silent move pops
    pops = stacked("u -> v : a, # / A #, 0\nv -> f : eps, A / eps, 1")
    assert ends(pdrm.combine({"once": once, "pops": pops}), "a") == [(True, 1)]
    both = pdrm.combine(
        {"one": pops, "two": stacked("u -> v : a, # / A #, 0\nv -> f : eps, A / eps, 2")}
    )
    assert ends(both, "a", "b") == [(True, 3), (False, 0)]  # both pop silently, at once


def test_what_all_tops_do_alike_is_one_rule_and_the_commonest_way_to_stay_none():
    two = [
        pdrm.from_ltlf("F a", step=-0.25, name="one"),
        pdrm.from_ltlf("F b", step=-0.5, name="two"),
    ]
    machine = pdrm.combine(two, "one & two")
    assert (machine.name, str(machine.otherwise)) == ("one-two", "stay -0.75")
    assert (
        sum(rule.source == rule.target for rule in machine.transitions) == 2
    )  # where one of them is finished
    assert pdrm.combine(two, name="both").name == "both"
    assert pdrm.combine(two, name="no name").name == "combination"
    lettered = pdrm.combine(
        [pdrm.catalogue("letter"), pdrm.from_ltlf("F B", events=["A", "B", "C"], name="b")]
    )
    assert "u0.u0   -> u0.u0   : A,       z / A z, -0.01" in to_text(lettered)
    assert len(lettered.transitions) == 6


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
        ({"when": "b &"}, CannotRead, "nothing stands after", "<when>:1:3"),
        ({"when": "!letter"}, BadSetting, "before anything has been read", "None"),
        ({"when": "{b}"}, BadSetting, "is a formula", "<when>:1:1"),
        ({"weights": {"bb": 2}}, BadSetting, "is not a part", "None"),
        ({"accept": "last"}, BadSetting, "`accept`", "None"),
        ({"parts": []}, BadSetting, "nothing is combined", "None"),
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
