"""The numbers in docs/sizes.md are those that the program counts."""

from pathlib import Path

import pytest

from pdrm.analysis.size_claims import DOMAINS, measure_blowup
from pdrm.analysis.sizes import number_text, sizes_record
from pdrm.language.loading import catalogue
from pdrm.machines.conversions import pushdown_to_counting
from pdrm.task import Task

pytestmark = pytest.mark.compiled

PAGE = (Path(__file__).parents[2] / "docs" / "sizes.md").read_text(encoding="utf-8")
SHOWN = (1, 2, 4, 6, 8, 9, 10, 12, 14)


def catalogue_line(name):
    record = sizes_record(Task(name))
    strings, rows, *views = record["sizes"][:5]
    within = "" if rows["within"] == record["steps"] else f" in {rows['within']} steps"
    cells = [
        f"`{name}`",
        f"{record['steps']:,}",
        number_text(rows["bound"]),
        f"{strings['reachable']:,}{within}",
        f"{rows['reachable']:,}{within}",
        *(f"{view['reachable']:,} of {view['bound']['exact']:,}" for view in views),
    ]
    return f"| {' | '.join(cells)} |"


def blowup_lines():
    for row in measure_blowup():
        if row.n in SHOWN:
            moves = "not run" if row.most_moves is None else f"{row.most_moves:,}"
            counts = (row.n, row.least, row.configurations, row.counters, row.counters_within)
            yield f"| {' | '.join(f'{count:,}' for count in counts)} | {moves} | {row.one_policy_rows} |"


def counting_states():
    return {
        name: len(pushdown_to_counting(catalogue(name)).states)
        for name in ("marked-palindrome", "treasure-maze")
    }


@pytest.mark.parametrize("name", DOMAINS)
def test_the_table_of_domains(name):
    assert catalogue_line(name) in PAGE


def test_the_table_of_marked_palindromes():
    for line in blowup_lines():
        assert line in PAGE


def test_the_states_of_the_automata():
    states = counting_states()
    assert f"{states['marked-palindrome']} states" in PAGE
    assert f"{states['treasure-maze']} for the maze" in PAGE
