"""Echo: nature says a word of a's and b's and then `now`; the agent names the letters, the last one first.

One symbol of the stack is enough to act well everywhere, yet no number of symbols tells the value of a state.
"""

from __future__ import annotations

from pdrm.domains.labelled_mdp import FiniteDomain
from pdrm.domains.outcomes import Outcome, Start, from_outcomes
from pdrm.errors import BadDomainSetting


def echo(more: float = 0.75, step_limit: int = 50) -> FiniteDomain:
    """The domain; after each letter nature goes on with probability `more`, so words have more/(1 − more) letters on average.

    A word can be any length; an episode that the limit cuts off pays nothing. What the agent does while listening has
    no effect.

    >>> echo().arrays.probability[0, 0].tolist()
    [0.375, 0.375, 0.25]
    """
    if not 0 <= more < 1:
        raise BadDomainSetting(f"`more` is {more}", fix="a probability of at least 0 and below 1: the word must end")
    says = ("say_a", "say_b")

    def outcomes(state: str, action: int) -> list[Outcome]:
        if state == "speak":
            return [Outcome("speak", label=frozenset({says[action]}))]
        letters = [Outcome("listen", more / 2, frozenset(letter)) for letter in "ab"]
        return [*letters, Outcome("speak", 1 - more, frozenset({"now"}))]

    return from_outcomes(
        "echo",
        {"listen": "listen", "speak": "speak"},
        says,
        outcomes,
        [Start("listen")],
        events=("a", "b", "now", *says),
        step_limit=step_limit,
        machine="echo",
        lowest=0.0,
        highest=1.0,
    )
