"""Our counting automata against PyCRM's (pyrewardmachines): its documented LetterWorld machine, written in both, word by word."""

from __future__ import annotations

from enum import Enum
from random import Random

from pycrm.automaton import CountingRewardMachine  # type: ignore[import-untyped]

from pdrm.machines.counting import CountingRewardAutomaton, CountingTransition
from pdrm.machines.guards import Event, Exactly, Guard, Label
from pdrm.machines.transitions import Otherwise

WORDS = 50_000
"""Words in one check."""

LONGEST = 12


class Letter(Enum):
    """The events of LetterWorld."""

    A = "A"
    B = "B"
    C = "C"


class PeerLetterWorld(CountingRewardMachine):  # type: ignore[misc]  # the package has no types
    """PyCRM's own LetterWorld machine: -1 marks the terminal state, the first rule that fits applies."""

    def __init__(self) -> None:
        super().__init__(env_prop_enum=Letter)

    @property
    def u_0(self) -> int:
        """The initial state."""
        return 0

    @property
    def c_0(self) -> tuple[int, ...]:
        """The counter at the start."""
        return (0,)

    def _get_state_transition_function(self) -> dict[int, dict[str, int]]:
        return {
            0: {"A / (-)": 0, "B / (-)": 1, "C / (-)": 0, "/ (-)": 0},
            1: {"A / (-)": 1, "B / (-)": 1, "C / (NZ)": 1, "C / (Z)": -1, "/ (-)": 1},
        }

    def _get_counter_transition_function(self) -> dict[int, dict[str, tuple[int]]]:
        return {
            0: {"A / (-)": (1,), "B / (-)": (0,), "C / (-)": (0,), "/ (-)": (0,)},
            1: {
                "A / (-)": (0,),
                "B / (-)": (0,),
                "C / (NZ)": (-1,),
                "C / (Z)": (0,),
                "/ (-)": (0,),
            },
        }

    def _get_reward_transition_function(self) -> dict[int, dict[str, float]]:
        return {
            0: {"A / (-)": -0.1, "B / (-)": -0.1, "C / (-)": -0.1, "/ (-)": -0.1},
            1: {"A / (-)": -0.1, "B / (-)": -0.1, "C / (NZ)": -0.1, "C / (Z)": 1.0, "/ (-)": -0.1},
        }

    def sample_counter_configurations(self) -> list[tuple[int, ...]]:
        """Not used here."""
        return []


def letter_world() -> CountingRewardAutomaton:
    """The same machine in our words; its states are named by PyCRM's numbers, the terminal one being 2."""
    a, b, c, nothing = Event("A"), Event("B"), Event("C"), Exactly(frozenset())
    table: list[tuple[str, str, Guard, str, int, float]] = [
        ("0", "0", a, "-", 1, -0.1),
        ("0", "1", b, "-", 0, -0.1),
        ("0", "0", c, "-", 0, -0.1),
        ("0", "0", nothing, "-", 0, -0.1),
        ("1", "1", a, "-", 0, -0.1),
        ("1", "1", b, "-", 0, -0.1),
        ("1", "1", c, "1", -1, -0.1),
        ("1", "2", c, "0", 0, 1.0),
        ("1", "1", nothing, "-", 0, -0.1),
    ]
    rules = tuple(
        CountingTransition(source, target, guard, (test,), (change,), reward)
        for source, target, guard, test, change, reward in table
    )
    events = ("A", "B", "C")
    return CountingRewardAutomaton(
        "letter", events, 1, "0", ("2",), Otherwise.error(), rules, (events,)
    )


def check(seed: int, words: int = WORDS) -> int:
    """Random words, read label by label by both."""
    rng = Random(seed)
    peer, ours = PeerLetterWorld(), letter_world()
    labels: dict[Label, set[Letter]] = {
        frozenset(): set(),
        **{frozenset(one.value): {one} for one in Letter},
    }
    for _ in range(words):
        word = rng.choices(list(labels), k=rng.randint(0, LONGEST))
        run = ours.run(word)
        state, counters = peer.u_0, peer.c_0
        for label, step in zip(word, run.steps[1:], strict=False):
            state, counters, reward = peer.transition(state, counters, labels[label])
            assert reward(None, None, None) == step.reward, (word, step)
            assert (str(state), tuple(counters)) == (step.after.state, step.after.counters), (
                word,
                step,
            )
        assert (state in peer.F) == run.finished, word
        assert len(run.steps) == len(word) + 1 - run.unread, word
    return words
