"""The paper's tasks as grammars, compared with its machines; limits; training from a grammar."""

import time
from pathlib import Path
from random import Random

import pytest

import pdrm
from pdrm.errors import TooDeep, TooLarge
from pdrm.language import parse_word
from tests import TRACED

ROOT = Path(__file__).parents[2]
GRAMMARS = ROOT / "examples" / "grammars"
HAND = {
    "maze": pdrm.catalogue("treasure-maze"),
    "deliver": pdrm.catalogue("deliver"),
    "brackets": pdrm.parse(
        "name brackets\nevents open_1 close_1 open_2 close_2 open_3 close_3 end\n"
        "exclusive open_1 close_1 open_2 close_2 open_3 close_3 end\n"
        "stack # 1 2 3\nstart read\nfinal yes no\notherwise go no 0\nmap open 1:open_1 2:open_2 3:open_3\nmap close 1:close_1 2:close_2 3:close_3\n"
        "read -> read : !open_1 & !close_1 & !open_2 & !close_2 & !open_3 & !close_3 & !end, z / z, 0\nread -> yes : end, # / #, 1\n"
        "for n in 1 2 3:\n    read -> read : open(n), z / n z, 0\n    read -> read : close(n), n / eps, 0\n"
    ),
}


def made(name):
    return deliver() if name == "deliver" else pdrm.load(GRAMMARS / f"{name}.grammar")


def deliver():
    """The grammar of the file, with all orders of the catalogue's machine."""
    orders = [
        (str(rule.guard)[1:-1], rule.push[:-1])
        for rule in HAND["deliver"].transitions
        if rule.source == "wait"
    ]
    lines = [" ".join(f'"{event}"' for event in (name, *places)) for name, places in orders]
    head = (GRAMMARS / "deliver.grammar").read_text().partition("order:")[0]
    return pdrm.parse(f"{head}order: " + "\n  | ".join(lines), "deliver.grammar")


def walks(name, random):
    """Random words that are typical for the domain."""
    if name == "deliver":
        places = random.choices(("mall", "store", "cafe", "post", "-"), k=60)
        return [f"seq_{random.randint(1, 64)}", *places]
    if name == "brackets":
        word, owed = [], []
        for _ in range(random.randint(1, 12)):
            if owed and random.random() < 0.5:
                word.append(f"close_{owed.pop()}")
            else:
                owed.append(random.randint(1, 3))
                word.append(f"open_{owed[-1]}")
        word += [f"close_{kind}" for kind in reversed(owed)] + ["end"]
        if random.random() < 0.4:
            del word[random.randrange(len(word))]
        return word
    x, y, word, back = 0, 0, [], []
    treasure, moves = (
        (random.randint(-2, 2), random.choice((-1, 1))),
        {"u": (0, 1), "d": (0, -1), "l": (-1, 0), "r": (1, 0)},
    )
    while len(word) < 40:
        step = back.pop() if back and random.random() < 0.97 else random.choice("udlr")
        x, y = x + moves[step][0], y + moves[step][1]
        found = (x, y) == treasure and not any("t" in label for label in word)
        word.append(
            step
            + "+t" * found
            + "+x" * ((x, y) == (0, 0))
            + ("" if random.random() < 0.9 else " -")
        )
        if found:
            opposite = dict(zip("udlr", "durl", strict=True))
            back = [opposite[label[0]] for label in word[: len(word)]]
    return " ".join(word).split()


@pytest.mark.parametrize("name", HAND)
def test_the_papers_tasks_pay_what_the_machines_written_by_hand_pay(name):
    hand, grammar, random = HAND[name], made(name), Random(0)
    assert pdrm.load(GRAMMARS / f"{name}.grammar").final == grammar.final
    lines = [
        line for line in (GRAMMARS / f"{name}.grammar").read_text().splitlines() if line.strip()
    ]
    assert len(lines) <= 15
    ends = []
    for _ in range(150):
        word = parse_word(" ".join(walks(name, random)))
        one, other = hand.run(word), grammar.run(word)
        assert [step.reward for step in one.steps] == [step.reward for step in other.steps]
        assert (one.finished, one.unread) == (other.finished, other.unread)
        ends.append(one.finished)
    assert sum(ends) > 0, "some words end"


def test_files_that_want_too_much_are_refused_soon():
    hostile = {
        'start: "a"\n' + '  | "b" "c"\n' * 90_000: TooLarge,
        "start: " + "(" * 100_000 + '"a"' + ")" * 100_000: TooLarge,
        "start: " + "(\n " * 40_000 + '"a"' + ")\n " * 40_000: TooLarge,
        "start: r0\n"
        + "\n".join(f"r{n}: r{n + 1} r{n + 1}" for n in range(1_500))
        + '\nr1500: "a"': TooLarge,
        "start: " + "(" * 1_000 + '"a"' + ")" * 1_000: TooDeep,
        'start: (("a" ~ 1000) ~ 1000) ~ 1000': TooLarge,
        'start: ("a" | "b" "c") ~ 1..1000 "a"': TooLarge,
    }
    for text, kind in hostile.items():
        before = time.process_time()
        with pytest.raises(kind) as caught:
            pdrm.from_grammar(text, accept="end")
        assert caught.value.where.line
        assert time.process_time() - before < 8 * TRACED


def test_training_from_a_grammar(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    returns = []
    for machine in (HAND["maze"], made("maze")):
        run = pdrm.train(pdrm.Task("maze-5x5", machine), pdrm.CpRM(k=1, episodes=300), seed=0)
        returns.append(run.evaluate(episodes=5)["returns"])
    assert returns[0] == returns[1] == [100005.0] * 5
