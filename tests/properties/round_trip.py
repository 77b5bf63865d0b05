"""What is written is what is read: random machines and counting automata as `.pdrm` text and as JSON come back equal, and are
written the same again."""

from __future__ import annotations

from random import Random

from pdrm.language.json_form import to_json
from pdrm.language.loading import parse
from pdrm.language.writer import lay_out, to_text
from pdrm.machines.counting import CountingRewardAutomaton
from pdrm.machines.pushdown import PushdownRewardMachine
from tests.properties.random_counting import counting_automaton
from tests.properties.random_machines import random_machine

MACHINES = 500


def check(seed: int, machines: int = MACHINES) -> int:
    """Write and read random machines; one in five counts."""
    random = Random(seed)
    for number in range(machines):
        compare(random_machine(random) if number % 5 else counting_automaton(random))
    return machines


def compare(machine: PushdownRewardMachine | CountingRewardAutomaton) -> None:
    """Raise where a form gives something else back."""
    for form in (to_text, to_json):
        written = form(machine)
        read = parse(written, "random")
        assert read == machine, f"{written}\nis read as {read}"
        assert form(read) == written, f"{written}\nis written as {form(read)}"
    text = to_text(machine)
    assert lay_out(text, "random") == text, f"{text}\nis laid out as {lay_out(text, 'random')}"
