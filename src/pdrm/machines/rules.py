"""What the three kinds of machine do alike with their rules: list the states that rules leave, and sort rules by source."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from pdrm.machines.wellformed import Rule

R = TypeVar("R", bound=Rule)


def states_of(start: str, final: Iterable[str], rules: Iterable[Rule]) -> tuple[str, ...]:
    """The states U when they are not declared: every source of a rule, the start first, final ones left out.

    A start that no rule leaves is taken for a misspelt name, unless there are no rules at all.
    """
    ended = set(final)
    sources = dict.fromkeys(rule.source for rule in rules)
    first = [start] if start in sources or not sources else []
    return tuple(state for state in dict.fromkeys([*first, *sources]) if state not in ended)


def by_source(states: Iterable[str], rules: Iterable[R]) -> dict[str, tuple[R, ...]]:
    """The rules that leave each state, in the order they were written."""
    leaving: dict[str, list[R]] = {state: [] for state in states}
    for rule in rules:
        leaving.setdefault(rule.source, []).append(rule)
    return {state: tuple(found) for state, found in leaving.items()}
