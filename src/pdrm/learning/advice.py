"""What to try with an agent that does not learn its task: whether it was trained for long enough to say so, and then what its settings
leave untried. `Run.warning` and the notes of a study are made from it."""

from __future__ import annotations

from contextlib import suppress
from typing import NamedTuple

from pdrm.errors import CannotTranslate
from pdrm.learning.agents import (
    DQN,
    PPO,
    SB3_SETTINGS,
    CountingCQL,
    CpRM,
    Deep,
    Summary,
    default_settings,
)
from pdrm.learning.settings import FULL, MOST, NOTHING, Agent
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.task import Task

LAST_TESTS = 4
"""The last of so many parts of the tests say whether a task was learnt."""
FEWEST_EPISODES = 300
"""A table that was trained for less is not expected to have learnt anything."""
ENOUGH = 2
"""A network that was trained so many times as long as by default does not learn a task by training longer."""
EXPLORING = ("learning_rate", "epsilon", "epsilon_decay", "epsilon_least", "step_limit")
"""Settings of a table with which it may not find a reward, or not learn from it."""


class Advice(NamedTuple):
    """What to try, in Python and on the command line."""

    fix: str
    shell_fix: str


def count_last_tests(tests: int) -> int:
    """How many tests at the end say whether a task was learnt.

    >>> count_last_tests(30), count_last_tests(2)
    (7, 1)
    """
    return max(1, tests // LAST_TESTS)


def is_judged(task: Task, agent: Agent) -> bool:
    """Whether it is worth a word that the agent never achieves its task: there is something to achieve, and a table had some hundreds of
    episodes for it."""
    return bool(task.success) and (agent.deep or agent.total >= FEWEST_EPISODES)


def advise(task: Task, agent: Agent) -> Advice:
    """What to try with an agent that does not learn its task: nothing that is set already.

    >>> from pdrm.learning.agents import QLearning
    >>> print(advise(Task("letter"), QLearning(k=1, episodes=3_000)).fix)
    pdrm.CpRM(), which also learns from what it imagines; or train longer: episodes=10_000; or a larger k: pdrm.check_k(task) says which is enough
    """
    tried = _advise_network(task, agent) if isinstance(agent, Deep) else _advise_table(task, agent)
    return Advice(
        "; or ".join(one.fix for one in tried), "; or ".join(one.shell_fix for one in tried)
    )


def _advise_network(task: Task, agent: Deep) -> list[Advice]:
    defaults = type(agent)()
    steps = max(2 * agent.total, 0 if task.continuous else defaults.total)
    longer = [Advice(f"train longer: total_timesteps={steps:_}", f"train longer: --steps {steps}")]
    if task.continuous:
        return longer
    matter = [name for name in SB3_SETTINGS[agent.name] if name != "total_timesteps"]
    tried = _do_without(
        [name for name in matter if getattr(agent, name) != getattr(defaults, name)]
    )
    if isinstance(agent, PPO):
        tried += [Advice("pdrm.DQN()", "--agent dqn")]
    elif isinstance(agent, DQN) and agent.shaping != NOTHING and not agent.counterfactuals:
        # what it does not learn then, it may so
        imagine = 'pdrm.DQN(shaping="none"), which imagines instead of being shaped'
        tried += [Advice(imagine, "--set shaping=none, with which it imagines")]
    tried += [Advice("pdrm.CpRM(), which learns a table", "--agent cprm, which learns a table")]
    if agent.total < defaults.total:  # the likeliest reason
        return longer + tried
    return tried + (longer if agent.total < ENOUGH * defaults.total else [])


def _advise_table(task: Task, agent: Agent) -> list[Advice]:
    defaults, usual = type(agent)(), default_settings(task, type(agent))
    own = [
        name
        for name in EXPLORING
        if hasattr(defaults, name) and _differs(agent, defaults, usual, name)
    ]
    plain = isinstance(task.machine, PushdownRewardMachine) and task.machine.leaves_stack
    stacked, enough = not plain, "{} says which is enough"
    which = Advice(enough.format("pdrm.check_k(task)"), enough.format("pdrm check-k"))
    tried = list[Advice]()
    if stacked and agent.k == 0:
        tried += [
            Advice(f"k=1, or a larger k: {which.fix}", f"--k 1, or a larger k: {which.shell_fix}")
        ]
    if not isinstance(agent, CpRM | CountingCQL | Summary) and _has_stack(task):
        k = "" if agent.k in (0, 1, FULL) else f"k={agent.k}"
        why = "which also learns from what it imagines"
        tried += [Advice(f"pdrm.CpRM({k}), {why}", f"--agent cprm, {why}")]
    tried += _do_without(own)
    episodes = min(max(2 * agent.total, defaults.total), MOST)
    tried += [
        Advice(f"train longer: episodes={episodes:_}", f"train longer: --episodes {episodes}")
    ]
    if stacked and agent.k not in (0, FULL):
        tried += [Advice(f"a larger k: {which.fix}", f"a larger k: {which.shell_fix}")]
    return tried


def _do_without(settings: list[str]) -> list[Advice]:
    """Advice to leave one's own settings out, where there are any."""
    return [Advice(*(2 * [f"do without your own {', '.join(settings)}"]))] if settings else []


def _differs(agent: Agent, defaults: Agent, usual: dict[str, object], name: str) -> bool:
    """Whether a setting is the user's own: neither the agent's default, nor what is usual for the task."""
    return getattr(agent, name) not in (
        getattr(defaults, name),
        usual.get(name, getattr(defaults, name)),
    )


def _has_stack(task: Task) -> bool:
    """Whether the machine is, or can be made, one with a stack."""
    with suppress(CannotTranslate):
        return bool(task.pushdown.stack)
    return False
