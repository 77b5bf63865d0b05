"""One table on a terminal, a row a proof; plain lines elsewhere."""

import io

import pytest
from rich.console import Console

from proofs.checked import Checked
from proofs.display import Display
from proofs.record import Record
from proofs.shares import Shares
from tests.proofs.checks import proof


@pytest.fixture
def shares():
    proofs = {name: proof(name, target=1_000) for name in ("holds", "slow", "wrong")}
    shares = Shares(proofs, {name: Record("") for name in proofs})
    for name, message in (("holds", ""), ("wrong", "it differs")):
        shares.records[name].add(Checked(name, 0, 500, 2.0, message, {}), "today")
        shares.spent[name] = 2.0
    return shares


def shown(shares, width):
    console = Console(file=io.StringIO(), force_terminal=True, width=width, color_system=None)
    console.print(Display(console, shares, 300.0, 1).table())
    return console.file.getvalue()


def test_a_row_a_proof(shares):
    lines = shown(shares, 140).splitlines()
    assert "0s of 5m00s, 1 at a time, 1,000 cases, 1 wrong" in lines[0]
    assert lines[1].split() == ["proof", "promise", "done", "time", "wrong", "speed", "left"]
    row = next(line for line in lines if line.startswith("holds")).split()
    assert row == ["holds", "It", "holds.", "500", "of", "1,000", "50%", "0", "250", "/s", "6s"]
    assert next(line for line in lines if line.startswith("slow")).split()[-3:] == ["0", "-", "5m00s"]


def test_a_narrow_terminal_has_no_promises(shares):
    lines = shown(shares, 80).splitlines()
    assert max(map(len, lines)) <= 80
    assert not any("It holds." in line for line in lines)


def test_lines_where_there_is_no_terminal(shares):
    console = Console(file=io.StringIO(), width=200)
    with Display(console, shares, 300.0, 1) as display:
        for _ in range(3):
            display.came(Checked("holds", 1, 500, 2.0, "", {}))
        display.came(Checked("wrong", 7, 0, 2.0, "it differs", {}))
    said = console.file.getvalue()
    assert said.count("holds ") == 1, "a line now and then, not one a check"
    assert "500 of 1,000, 50% of the time, 0 wrong, 250 /s" in said
    assert "wrong   wrong, seed 7:\nit differs\nto see it again: .venv/bin/python -m proofs wrong --seed 7\n" in said
