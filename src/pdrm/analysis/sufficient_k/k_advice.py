"""What to train with: the agent and the settings with which a k that is enough can also be learnt.

That a k is enough does not say that it is learnt: a table with many symbols in view learns slowly, a 0-policy has one row for all stacks, and an
episode may be cut off before optimal play is over. `k_report` chooses the k; a `Recommendation` is what comes of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf

from pdrm.analysis.sufficient_k.high_witness import Followed
from pdrm.analysis.sufficient_k.k_words import plural
from pdrm.analysis.sufficient_k.questions import is_certain
from pdrm.domains import names
from pdrm.domains.finite_domain import FiniteDomain

DECIDED, TIME, STATES, EXPLORED, STOPPED = "decided", "time", "states", "explored", "stopped"
"""What ended a search: all is decided, time or the cap of states was up, all is explored that could help, or it was stopped before its end."""
STUCK, DISCOUNT, UNCAPPED, WHOLE, SUMMARY, SETTING = (
    "stuck",
    "discount",
    "uncapped",
    "whole",
    "summary",
    "setting",
)
ROOM = 2
"""In training, how many times as many steps are allowed as optimal play takes: while it learns, an agent takes more."""
WITH_CHANCE = {"learning_rate": 0.1, "epsilon_least": 0.1, "episodes": 50_000}
"""Settings of a table in a domain of one's own whose moves are random: a large rate forgets what is rare, and what is rare must be met."""
MOST_TO_LEARN, MOST_WITH_CHANCE, FEW_ROWS = 2, 8, 2_000
"""A table with more symbols in view learns slowly, if another agent needs none; the second where none does, because moves are random; unless the
table is known to have no more rows than the third."""
TABLE, DEFAULT_DISCOUNT = "cprm", 0.99
"""The agent that learns a table, where moves are deterministic; where they are random, the default one learns better. And the discount that an agent
has unless it is told."""
FURTHER = {
    TIME: "more `seconds` may help",
    STATES: "a larger `most` may help",
    EXPLORED: "another `depth` may help",
    STOPPED: "letting it run longer may help",
    STUCK: "more time is not likely to help: hardly any of these states was decided by exploring",
    DISCOUNT: "a smaller `discount`, such as 0.9, is more likely to help than more `seconds`",
    UNCAPPED: "ask without `height`",
    WHOLE: 'the whole stack (k="full")',
    SUMMARY: "the agent pdrm.Summary(), which acts on the whole stack",
    SETTING: "{name}={value}",
}
"""What may decide what is undecided, by what ended the search; how to train with the whole stack; and how a setting is written."""


@dataclass(frozen=True, slots=True, repr=False)
class Recommendation:
    """What to train with.

    >>> Recommendation(1, "start", 0.0, "train with k = 1: …", agent="cprm")
    <Recommendation: k = 1, agent cprm; proved: start>
    """

    k: int | None
    """How many symbols; None: the whole stack."""
    proved: str
    """What is proved about this k: "every stack", "all states", "start" (a policy is optimal from the start), "depth" (enough near the start), "loss" (it
    loses little) or "nothing"."""
    loss: float | None
    """What it loses from the start at most; None where that is not known."""
    text: str
    """All of it in words."""
    agent: str | None = None
    """The agent for it: "cprm" learns a table, "summary" acts on the whole stack (both where moves are deterministic); None: the default."""
    relies_on: tuple[int, str] | None = None
    """The k and the question whose yes it relies on; `KReport.certificate` of these is its proof. None: on no yes."""
    settings: dict[str, float] = field(default_factory=dict)
    """Settings of the agent without which it would not learn this: a longer step limit, or a smaller learning rate."""
    train: bool = True
    """Whether there is something to train with: not where only a capped task was asked about."""

    def __repr__(self) -> str:
        seen = "the whole stack" if self.k is None else f"k = {self.k}"
        return f"<Recommendation: {seen}{f', agent {self.agent}' if self.agent else ''}; proved: {self.proved}>"

    def write_call(self, discount: float) -> str:
        """The call that trains so.

        >>> Recommendation(1, "start", 0.0, "…", agent="cprm").write_call(0.9)
        'pdrm.train(task, pdrm.CpRM(k=1, discount=0.9))'
        """
        agent = {TABLE: "CpRM", SUMMARY: "Summary"}.get(self.agent or "", "QLearning")
        seen = {} if self.agent == SUMMARY else {"k": "full" if self.k is None else self.k}
        own = {} if discount == DEFAULT_DISCOUNT else {"discount": discount}
        given = ", ".join(
            f"{name}={value!r}" for name, value in (seen | own | self.settings).items()
        )
        return f"pdrm.train(task, pdrm.{agent}({given}))"


def choose_k(
    k: int, domain: FiniteDomain, *, everywhere: bool = True, rows: float = inf
) -> int | None:
    """The symbols to train with, where k are enough: at least one, unless they are everywhere; None: the whole stack. `rows`: of the table, at
    most.

    >>> from pdrm.task import Task
    >>> paint = Task("paint").finite
    >>> choose_k(0, paint, everywhere=False), choose_k(5, paint), choose_k(5, paint, rows=5)
    (1, None, 5)
    """
    k = k if everywhere else max(1, k)
    most = MOST_TO_LEARN if is_certain(domain) else MOST_WITH_CHANCE
    return None if k > most and rows > FEW_ROWS else k


def choose_agent(k: int | None, domain: FiniteDomain) -> str | None:
    """The agent to train with so many symbols in view, or with the whole stack; None: the default one."""
    if not is_certain(domain):
        return None
    return SUMMARY if k is None else TABLE


def choose_settings(domain: FiniteDomain, followed: Followed | None) -> dict[str, float]:
    """What an agent must be given to learn in a domain where optimal play takes so long: nothing where its defaults will do.

    >>> from pdrm.task import Task
    >>> paint = Task("paint").finite
    >>> choose_settings(paint, Followed(1003, ends=True)), choose_settings(paint, Followed(3, ends=True))
    ({'step_limit': 2006}, {})
    """
    random = not is_certain(domain) and domain.name not in names()
    long = followed is not None and followed.ends and followed.exceeds(domain.step_limit)
    return (WITH_CHANCE if random else {}) | (
        {"step_limit": ROOM * followed.steps} if followed and long else {}
    )


def explain_settings(
    domain: FiniteDomain,
    followed: Followed | None,
    settings: Mapping[str, float],
    setting: str = FURTHER[SETTING],
) -> str:
    """Why these settings are needed, in sentences; `setting`: how one is written."""
    said = {
        name: setting.format(name=name, dashed=name.replace("_", "-"), value=value)
        for name, value in settings.items()
    }
    limit = said.pop("step_limit", None)
    why = [f"Moves are random, so learn slowly: {' '.join(said.values())}"] if said else []
    if limit is not None and followed is not None:
        why.append(
            f"Optimal play takes {plural(followed.steps, 'step')}, and in training an episode is cut off after {domain.step_limit:,}: "
            f"raise `step_limit` ({limit}), or change what the task pays if it is meant to take fewer steps"
        )
    return ". ".join(why)
