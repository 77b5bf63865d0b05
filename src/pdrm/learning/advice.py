"""Advice if an agent does not learn its task: if it was trained for long enough to say so, and what to try next."""

from __future__ import annotations

from pdrm.domains.finite_domain import FiniteDomain
from pdrm.learning.agents import CountingCQL, CpRM, Summary, Tabular
from pdrm.learning.guest import AnyAgent
from pdrm.learning.settings import FULL, MOST
from pdrm.product.task_findings import inspect_task
from pdrm.task import Task

LAST_TESTS = 4
"""The last quarter of the evaluations says if a task was learnt."""
FEWEST_EPISODES = 300
"""A table that was trained for less is not expected to have learnt anything."""
UNREACHABLE = "W0608"


def count_last_tests(tests: int) -> int:
    """The number of evaluations at the end that say if a task was learnt.

    >>> count_last_tests(30), count_last_tests(2)
    (7, 1)
    """
    return max(1, tests // LAST_TESTS)


def is_judged(task: Task, agent: AnyAgent) -> bool:
    """Return True if it is worth a word that the agent never solves its task: it can be solved, and a table had some hundreds of
    episodes for it."""
    if not task.success or (agent.unit == "episodes" and agent.total < FEWEST_EPISODES):
        return False
    if task.catalogued and task.text is None:
        return True
    missing = sum(finding.code == UNREACHABLE for finding in inspect_task(task))
    return missing < len(task.success)


def advise(task: Task, agent: AnyAgent) -> str:
    """Suggest what to try with an agent that does not learn its task.

    >>> from pdrm.learning.agents import QLearning
    >>> advise(Task("letter"), QLearning(k=1, episodes=3_000))
    'train longer (episodes=6_000); pdrm.CpRM, which also learns from counterfactuals; or a larger k (pdrm.check_k says which is enough)'
    """
    longer = min(2 * agent.total, MOST)
    setting = "episodes" if agent.unit == "episodes" else "total_timesteps"
    tried = [f"train longer ({setting}={longer:_})"]
    is_finite = isinstance(task.domain, FiniteDomain)
    if is_finite and not isinstance(agent, CpRM | CountingCQL | Summary):
        tried += ["pdrm.CpRM, which also learns from counterfactuals"]
    if isinstance(agent, Tabular) and agent.k != FULL:
        tried += ["or a larger k (pdrm.check_k says which is enough)"]
    return "; ".join(tried)
