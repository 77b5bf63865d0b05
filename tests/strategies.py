"""Hypothesis strategies: guards, machines and words that shrink to small ones."""

from __future__ import annotations

from hypothesis import assume
from hypothesis import strategies as st

from pdrm.errors import EndlessSilentMoves
from pdrm.machines.guards import ALWAYS, SILENT, And, Event, Exactly, Not, Or
from pdrm.machines.labels import Alphabet
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.machines.transitions import ANY, NONE, Otherwise, Transition
from tests.properties.random_machines import EVENTS, FINAL, REWARDS, STATES, SYMBOLS, fitting


def prefixes(names, least=1):
    """The first few of some names."""
    return st.integers(least, len(names)).map(lambda size: names[:size])


def formulas(events):
    """Formulas over events, `true` and `false` among them."""

    def larger(parts):
        several = st.lists(parts, min_size=2, max_size=3).map(tuple)
        return st.builds(Not, parts) | st.builds(And, several) | st.builds(Or, several)

    return st.recursive(
        st.builds(Event, st.sampled_from(events)) | st.sampled_from([ALWAYS, Or()]),
        larger,
        max_leaves=4,
    )


def guards(alphabet):
    """Guards that read labels: exact sets of the alphabet, and formulas."""
    return st.builds(Exactly, st.sampled_from(list(alphabet.labels()))) | formulas(alphabet.events)


rewards = st.sampled_from(REWARDS) | st.floats(-1e6, 1e6)


@st.composite
def alphabets(draw):
    """One to four events, with up to two exclusive groups."""
    events = draw(prefixes(EVENTS))
    groups = st.lists(
        st.lists(st.sampled_from(events), min_size=2, max_size=4, unique=True).map(tuple),
        max_size=2,
    )
    return Alphabet(events, tuple(draw(groups)) if len(events) > 1 else ())


@st.composite
def transitions(draw, alphabet, stack, states, final):
    """Any rule over these names: reading or silent, looking at a symbol, at `z` or at none."""
    top = draw(st.sampled_from((*stack, ANY, NONE)))
    pushed = st.lists(st.sampled_from((*stack, ANY) if top == ANY else stack), max_size=3).map(
        tuple
    )
    guard = st.one_of(guards(alphabet), guards(alphabet), guards(alphabet), st.just(SILENT))
    source, target = st.sampled_from(states), st.sampled_from((*states, *final))
    return draw(st.builds(Transition, source, target, guard, st.just(top), pushed, rewards))


@st.composite
def machines(draw):
    """Valid machines: rules that clash with an earlier one are left out, endless silent moves refused."""
    alphabet, stack = draw(alphabets()), draw(prefixes(SYMBOLS))
    states, final = draw(prefixes(STATES[:3])), draw(prefixes(FINAL, least=0))
    rules = draw(st.lists(transitions(alphabet, stack, states, final), max_size=10))
    go = st.builds(Otherwise.go, st.sampled_from((*states, *final)), rewards)
    otherwise = draw(st.just(Otherwise.error()) | st.builds(Otherwise.stay, rewards) | go)
    kept = tuple(fitting(rules, alphabet, stack))
    try:
        return PushdownRewardMachine(
            "random",
            alphabet.events,
            stack,
            states[0],
            final,
            otherwise,
            kept,
            alphabet.exclusive,
            states,
        )
    except EndlessSilentMoves:
        assume(condition=False)
        raise


def words(alphabet, longest=8):
    """Words as lists of labels."""
    return st.lists(st.sampled_from(list(alphabet.labels())), max_size=longest)


@st.composite
def machines_and_words(draw, count=4):
    """A machine and a few words for it."""
    machine = draw(machines())
    return machine, draw(st.lists(words(machine.alphabet), min_size=1, max_size=count))
