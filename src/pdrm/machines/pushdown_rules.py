"""The choice of the rule that applies in a configuration (δ_u and δ_r of Definition 1)."""

from __future__ import annotations

from collections import defaultdict
from functools import cached_property
from itertools import product

from pdrm.machines.guards import Label
from pdrm.machines.machine import Machine
from pdrm.machines.transitions import ANY, BOTTOM, NONE, Configuration, Step, Transition


class PushdownRules(Machine[Transition, Configuration, Step]):
    """The stack symbols and rules of a pushdown machine."""

    stack: tuple[str, ...]

    @cached_property
    def is_reward_machine(self) -> bool:
        """True if the stack has no symbol but the bottom, and no rule looks at it, changes it or is
        silent (Section 2).

        Such a machine is written without a stack.
        """
        plain = all(rule.leaves_stack and not rule.silent for rule in self.transitions)
        return plain and self.stack == (BOTTOM,)

    @cached_property
    def _rules_by_top(self) -> dict[tuple[str, str, bool], list[Transition]]:
        """The rules by source, top, and whether they are silent."""
        rules = defaultdict(list)
        for rule in self.transitions:
            rules[rule.source, rule.top, rule.silent].append(rule)
        return dict(rules)

    def rule(self, state: str, label: Label | None, top: str | None) -> Transition | None:
        """Return the rule that applies, or None. A rule that names the top beats a rule with `z`.

        Args:
            state: A state of the machine.
            label: The label to read (None for the silent rule).
            top: The top symbol (None if the stack is empty).
        """
        for pattern in (NONE,) if top is None else (top, NONE, ANY):
            for rule in self._rules_by_top.get((state, pattern, label is None), ()):
                if label is None or rule.guard.holds(label):
                    return rule
        return None

    def silent_rules(self) -> dict[tuple[str, str | None], Transition]:
        """The silent rule of each head that has one, in the order of states and tops."""
        sources = {rule.source for rule in self.transitions if rule.silent}
        states = [state for state in self.states if state in sources]
        return {
            (state, top): rule
            for state, top in product(states, (*self.stack, None))
            if (rule := self.rule(state, None, top)) is not None
        }
