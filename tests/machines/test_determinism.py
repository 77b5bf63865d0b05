"""The checks at construction against brute force on random rule sets."""

import random
from collections import deque
from itertools import combinations

import pytest

from pdrm.errors import EndlessSilentMoves, Nondeterministic, PdrmError
from pdrm.language.loading import parse
from pdrm.machines.guards import And, Event, Exactly, Not
from pdrm.machines.heads import Head, reachable_heads, waiting_heads
from pdrm.machines.labels import Alphabet, LabelSets
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.transitions import ANY, Configuration, Otherwise
from tests.machines.loose import STATES, SYMBOLS, parts, rule
from tests.machines.small import plain_rule, reward_machine

TRIALS = 1_000
LONG = 3_000  # silent moves; a machine this small ends sooner or never


def clash_by_hand(fields) -> bool:
    """Return True if two rules apply in some case, after named tops have beaten `z`."""
    labels = list(Alphabet(fields["events"], fields["exclusive"]).labels())
    for state in STATES:
        own = [rule for rule in fields["transitions"] if rule.source == state]
        for top in (*SYMBOLS, None):
            there = [rule for rule in own if rule.looks_at(top)]
            silent = [rule for rule in there if rule.silent]
            for label in labels:
                reading = [rule for rule in there if rule.guard.holds(label)]
                named_silent = [rule for rule in silent if rule.top != ANY]
                free = [rule for rule in reading if rule.top != ANY] or reading
                if len(named_silent) > 1 or len(silent) - len(named_silent) > 1 or len(free) > 1:
                    return True
                if any(rule.top == "eps" for rule in silent + free) and len(silent + reading) > 1:
                    return True
                if silent and any(rule.top != ANY or not named_silent for rule in reading):
                    return True
    return False


def test_determinism_equals_brute_force():
    chance, clashes = random.Random(1), 0
    for _ in range(TRIALS):
        fields = parts(chance, [rule(chance, 0.15) for _ in range(chance.randrange(2, 7))])
        try:
            PushdownRewardMachine(**fields)
            clash = False
        except EndlessSilentMoves:
            clash = False
        except PdrmError as error:
            clash = any(isinstance(one, Nondeterministic) for one in error.errors)
        assert clash == clash_by_hand(fields), fields
        clashes += clash
    assert TRIALS / 5 < clashes < TRIALS * 4 / 5


def silent_moves_end(machine_rules, head) -> bool:
    """Follow the silent moves from a head up to a limit."""
    state, stack = head.state, [] if head.top is None else [head.top]
    for _ in range(LONG):
        top = stack[-1] if stack else None
        found = [
            rule
            for rule in machine_rules
            if rule.source == state and rule.silent and rule.looks_at(top)
        ]
        if not found:
            return True
        chosen = next((rule for rule in found if rule.top != ANY), found[0])
        stack[-1:] = reversed(chosen.replacement(top))
        state = chosen.target
    return False


def test_endless_silent_moves_equal_brute_force():
    chance, endless, tried = random.Random(2), 0, 0
    while tried < TRIALS:
        fields = parts(chance, [rule(chance, 0.9) for _ in range(chance.randrange(2, 8))])
        try:
            PushdownRewardMachine(**fields)
            ends = True
        except EndlessSilentMoves:
            ends = False
        except PdrmError:
            continue
        tried += 1
        heads = [Head(state, top) for state in STATES for top in (*SYMBOLS, None)]
        assert ends == all(silent_moves_end(fields["transitions"], head) for head in heads), fields
        endless += not ends
    assert TRIALS / 5 < endless < TRIALS * 4 / 5


def heads_by_search(machine, tallest: int, most: int, first=None, labels=None) -> set[Head]:
    """The heads of configurations that moves reach from `first`, up to a height."""
    first = first or Configuration(machine.start, (machine.stack[0],))
    seen, todo = {first}, deque([first])
    labels = labels or list(machine.alphabet.labels())
    while todo and len(seen) < most:
        here = todo.popleft()
        if here.state in machine.final:
            continue
        silent = machine.rule(here.state, None, here.top)
        for label in [None] if silent else labels:
            found = machine.rule(here.state, label, here.top)
            if found is not None:
                after = Configuration(found.target, found.replacement(here.top) + here.stack[1:])
            elif machine.otherwise.target is not None:
                after = Configuration(machine.otherwise.target, here.stack)
            else:
                continue
            if len(after.stack) <= tallest and after not in seen:
                seen.add(after)
                todo.append(after)
    return {Head(here.state, here.top) for here in seen}


def test_reachable_heads_equal_search():
    chance, tried = random.Random(3), 0
    while tried < 600:
        try:
            machine = PushdownRewardMachine(
                **parts(chance, [rule(chance, 0.2) for _ in range(chance.randrange(3, 8))])
            )
        except PdrmError:
            continue
        tried += 1
        assert reachable_heads(machine) == heads_by_search(machine, 7, 4_000), machine


def test_heads_at_which_a_label_is_waited_for_equal_search():
    """From any configuration, by words over some labels."""
    chance, tried, fewer = random.Random(5), 0, 0
    while tried < 150:
        try:
            machine = PushdownRewardMachine(
                **parts(chance, [rule(chance, 0.2) for _ in range(chance.randrange(3, 8))])
            )
        except PdrmError:
            continue
        tried += 1
        every = list(machine.alphabet.labels())
        labels = chance.sample(every, chance.choice((1, 2)))
        first = Configuration(
            chance.choice(STATES), tuple(chance.choices(SYMBOLS, k=chance.randrange(3)))
        )
        found = heads_by_search(machine, 7, 4_000, first, labels)
        waiting = {
            head
            for head in found
            if head.state in STATES and machine.rule(head.state, None, head.top) is None
        }
        play = waiting_heads(machine, [first], labels)
        assert waiting <= play, (machine, first, labels)
        if machine.otherwise.target is None or all(head.state in STATES for head in found):
            assert play == waiting, (machine, first, labels)
        fewer += waiting != found
    assert 15 < fewer < 135


def test_an_exact_label_that_beats_other_rules_leaves_them_the_labels_with_more_events():
    head = "name m\nevents a b\nstack # A\nstart u\notherwise stay 0\n"
    rules = "u -> u : {b}, # / #, 0\nu -> u : {b}, A / A, 0\nu -> u : b, z / A z, 0\nu -> u : b, z / z, 0\n"
    with pytest.raises(Nondeterministic):
        parse(head + rules)
    parse(f"{head}exclusive a b\n{rules}")


def test_uncovered_labels_equal_brute_force():
    chance = random.Random(4)
    for _ in range(TRIALS):
        fields = parts(chance, [rule(chance, 0) for _ in range(chance.randrange(4))])
        alphabet = Alphabet(fields["events"], fields["exclusive"])
        guards = [rule.guard for rule in fields["transitions"]]
        sets = LabelSets(alphabet)
        left = sets.complement_of(guards)
        for label in alphabet.labels():
            covered = any(guard.holds(label) for guard in guards)
            assert bool(left & sets.labels_of(Exactly(label))) != covered
            assert not left or left.formula().holds(label) != covered
        assert not left or left.example() in set(alphabet.labels())


def test_silent_moves_that_double_are_judged_without_following_them():
    """Forty symbols, each replaced by two of the next: 2^40 silent moves."""
    doubling = "".join(f"v -> v : eps, A{i} / A{i + 1} A{i + 1}, 0\n" for i in range(40))
    head = f"name m\nevents a\nstack # {' '.join(f'A{i}' for i in range(41))}\nstart u\notherwise stay 0\n"
    ends = f"{head}u -> v : a, # / A0 #, 0\n{doubling}v -> v : eps, A40 / eps, 0\n"
    with pytest.raises(
        EndlessSilentMoves, match="silent moves follow each other in state `v`"
    ) as caught:
        parse(ends)
    assert caught.value.fix
    assert caught.value.where.text.startswith("v -> v : eps, A2")
    with pytest.raises(EndlessSilentMoves):
        parse(f"{ends}v -> v : eps, # / A0 #, 0\n")


def many_readings(chance):
    """Rules for the leaves of a random decision tree over twelve events, some with an event missing."""
    leaves = [((), tuple(EVERY))]
    while len(leaves) < 60:
        signs, left = leaves.pop(chance.randrange(len(leaves)))
        event = chance.choice(left)
        rest = tuple(one for one in left if one != event)
        leaves += [((*signs, literal), rest) for literal in (Event(event), Not(Event(event)))]
    guards = []
    for signs, _ in leaves:
        spare = chance.randrange(len(signs)) if chance.random() < 0.03 else None
        guards.append([sign for number, sign in enumerate(signs) if number != spare])
    chance.shuffle(guards)
    return [
        plain_rule("u", "d", And(tuple(signs)) if len(signs) > 1 else signs[0], 0)
        for signs in guards
    ]


EVERY = tuple(f"e{i}" for i in range(12))


def test_clashes_among_many_rules_are_those_that_all_pairs_show():
    """Clashes are listed in the order of the rules, at most five."""
    chance, clashes = random.Random(6), 0
    for exclusive in ((), (EVERY[:3], EVERY[5:8])) * 4:
        rules, alphabet = many_readings(chance), Alphabet(EVERY, exclusive)
        read = [{label for label in alphabet.labels() if rule.guard.holds(label)} for rule in rules]
        numbered = combinations(range(len(rules)), 2)
        pairs = [(one, other) for one, other in numbered if read[one] & read[other]]
        try:
            reward_machine("m", EVERY, "u", ("d",), Otherwise.stay(0), tuple(rules), exclusive)
            found = []
        except PdrmError as error:
            found = [one.message for one in error.errors]
        assert len(found) == min(5, len(pairs))
        for message, (one, other) in zip(found, pairs, strict=False):
            assert message.endswith(f"\n    {rules[one].plain_text}\n    {rules[other].plain_text}")
        clashes += bool(found)
    assert 0 < clashes < 8
