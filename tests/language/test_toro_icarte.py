"""Reward machines in the format of Toro Icarte et al."""

import itertools

from pdrm.language.loading import parse
from pdrm.language.peer_formats import looks_like_toro_icarte

OFFICE = """0 # initial state
[3] # terminal state
(0,0,'!f&!g',ConstantRewardFunction(0))
(0,1,'f&!g',ConstantRewardFunction(0.5))
(1,1,'!g',ConstantRewardFunction(-1))
(1,3,'g',ConstantRewardFunction(1))
"""


def evaluate(formula: str, label: frozenset[str]) -> bool:
    """Evaluate a formula in disjunctive normal form like the original program."""
    for part in formula.split("|"):
        literals = [literal.strip() for literal in part.split("&")]
        if all((literal.lstrip("!") in label) != literal.startswith("!") for literal in literals):
            return True
    return False


def test_it_pays_as_their_program_does():
    machine = parse(OFFICE, "office.txt")
    assert machine.is_reward_machine
    rules = [(0, 0, "!f&!g", 0), (0, 1, "f&!g", 0.5), (1, 1, "!g", -1), (1, 3, "g", 1)]
    labels = [frozenset(), frozenset("f"), frozenset("g"), frozenset("fg")]
    for word in itertools.product(labels, repeat=4):
        state, paid = 0, 0.0
        for label in word:
            found = [
                (v, r) for u, v, formula, r in rules if u == state and evaluate(formula, label)
            ]
            state, reward = found[0] if found else (-1, 0)
            paid += reward
            if state in (-1, 3):
                break
        run = machine.run(word)
        assert run.reward == paid
        assert run.after.state == {-1: "undefined", 0: "u0", 1: "u1", 3: "u3"}[state]


def test_which_texts_are_taken_for_such_files():
    rule = "(0,1,'a',ConstantRewardFunction(1))"
    long = "0\n[1]\n" + "(0,0,'a',ConstantRewardFunction(1))\n" * 20
    for text in (
        long,
        "0\n[1]",
        " 0 # first\r\n [ 1 , 2 ,] # last\r\n",
        "\n\n\n\n\n\n0\n[]",
        f"0\n\n[1]\n{rule}",
    ):
        assert looks_like_toro_icarte(text), text
    assert looks_like_toro_icarte(
        "0\n[1]\n" + "(0,1,\n" * 12
    )  # by its head alone, however its rules end
    for text in (
        "0",
        "0\n",
        "",
        "0\n[a]",
        "0\n1",
        "\n\n\n\n\n\n\n0\n[1]",
    ):
        assert not looks_like_toro_icarte(text), text
