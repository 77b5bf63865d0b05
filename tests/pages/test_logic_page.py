"""The page about formulas: its tables are what the library says now."""

import re
from pathlib import Path
from random import Random

import pdrm
from pdrm.language import PATTERNS

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "logic.md").read_text()


def size(machine):
    return f"{len(machine.states)} states, {len(machine.transitions)} rules"


def test_every_pattern_is_listed_with_its_formula_and_size():
    listed = re.findall(
        r"^\| `(\w+)\((.*?)\)` \| `(.*?)` \| (.*?) \| (\d+) \| (\d+) \|$", PAGE, re.MULTILINE
    )
    rows = []
    for name, pattern in PATTERNS.items():
        names = pattern.arguments.split()
        machine = pdrm.from_ltlf(pattern.formula, names, accept="end")
        sizes = str(len(machine.states)), str(len(machine.transitions))
        rows.append(
            (name, ", ".join(names), pattern.formula.replace("|", "\\|"), pattern.meaning, *sizes)
        )
    assert listed == rows


def test_machines_of_formulas_are_as_large_as_those_written_by_hand():
    (text,) = re.findall(
        r'title="coffee-and-mail.txt"\n(.*?)```',
        (DOCS / "from-reward-machines.md").read_text(),
        re.DOTALL,
    )
    key = "events key door\nstart u0\nfinal done\notherwise stay 0\nu0 -> u1 : key, 0\nu1 -> done : door, 1"
    hands = pdrm.parse(text, "coffee-and-mail.txt"), pdrm.parse(key)
    rows = re.findall(
        r"^\| .*`(.+)` \| (\d+ states, \d+ rules) \| (\d+ states, \d+ rules) \|$",
        PAGE,
        re.MULTILINE,
    )
    random = Random(0)
    for hand, (formula, by_hand, of_formula) in zip(hands, rows, strict=True):
        made = pdrm.from_ltlf(formula, hand.events, fail=0)
        assert (size(hand), size(made)) == (by_hand, of_formula)
        labels = list(hand.alphabet.labels())
        for _ in range(300):
            word = random.choices(labels, k=8)
            runs = hand.run(word), made.run(word)
            assert [step.reward for step in runs[0].steps] == [
                step.reward for step in runs[1].steps
            ], word
