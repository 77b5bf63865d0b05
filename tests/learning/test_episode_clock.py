"""The wall-clock limit: with a clock that counts updates, kernel and readable learner stop at
the same update. With a real clock, episodes take about the given time. The last real step is
always learnt."""

import time
from dataclasses import dataclass, replace

import pytest

from pdrm.domains.paper_domains import domain
from pdrm.errors import BadSetting
from pdrm.language.loading import catalogue
from pdrm.learning.agents import Hierarchical
from pdrm.learning.protocol import Until
from pdrm.learning.randomness import Rng, seed_streams
from pdrm.learning.tabular import learner
from pdrm.learning.tabular.hierarchical import ReadableHierarchical
from pdrm.learning.tabular.learner import HierarchicalLearner, QLearner, make_learner
from pdrm.learning.tabular.q_learning import ReadableQLearning
from pdrm.machines.conversions import pushdown_to_counting
from pdrm.paper.paper_agents import PAPER_AGENTS, PaperQLearning
from pdrm.product.observation import FullStack, TopK
from pdrm.task import Task
from tests.properties.learners import q_settings

CHOICES = [("none", None), ("exhaustive", None), ("deduplicated", None), ("exhaustive", 3)]
COUNTING = pushdown_to_counting(catalogue("treasure-maze"))


@pytest.fixture(autouse=True)
def _look_often(monkeypatch):
    monkeypatch.setattr(learner, "UPDATES_PER_CLOCK_CHECK", 1)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class TimedHierarchical(Hierarchical):
    """The hierarchical agent with a time limit."""

    seconds_per_episode: float | None = None


def timed_by_updates(training):
    """Replace the clock: every update takes a second."""
    training._now = lambda: float(training.progress["updates"][0])
    return training


def learnt(training):
    """The learnt table as in the readable learner, with counters as symbols."""
    table = training.policy().q_table
    rows = (table.seen(row) for row in range(len(table)))
    return {
        (s, state, tuple(map(str, memory))): values
        for (s, state, memory), values in zip(rows, table.value.tolist(), strict=True)
    }


class Counting(ReadableQLearning):
    """A learner whose clock counts updates."""

    def episode(self):
        self.updates, self.now = 0, lambda: float(self.updates)
        return super().episode()

    def update(self, *step):
        self.updates += 1
        super().update(*step)


@pytest.mark.parametrize("seconds", [0.5, 2.5, 40.5])
@pytest.mark.parametrize(("choice", "budget"), CHOICES)
@pytest.mark.parametrize(
    ("machine", "view"), [(catalogue("treasure-maze"), TopK(1)), (catalogue("treasure-maze"), FullStack()), (COUNTING, FullStack())]
)  # fmt: skip
def test_kernel_and_readable_learner_are_cut_alike(machine, view, choice, budget, seconds):
    settings = q_settings(
        learning_rate=0.3,
        counterfactuals=choice,
        updates_per_step=budget,
        operations_per_episode=3_000,
        seconds_per_episode=seconds,
    )
    training = timed_by_updates(QLearner(domain("maze-5x5"), machine, view, settings, seed=5))
    training.advance(Until(episodes=12))
    readable = Counting(domain("maze-5x5"), machine, view, settings, Rng(seed_streams(5, 2)[:1]))
    paid = [readable.episode() for _ in range(12)]
    assert learnt(training) == readable.q
    assert training.progress["last_return"][0] == paid[-1]


class CountingHierarchical(ReadableHierarchical):
    """A learner whose clock counts the updates of options and of the meta-policy."""

    def episode(self):
        self.updates, self.now = 0, lambda: float(self.updates)
        return super().episode()

    def learn(self, s, here, a, o):
        self.updates += sum(len(self.options[head.state]) for head in self.heads)
        super().learn(s, here, a, o)

    def learn_meta(self, *given):
        self.updates += 1
        super().learn_meta(*given)


@pytest.mark.parametrize("seconds", [0.5, 30.5, 100.5])
@pytest.mark.parametrize("name", ["letter", "maze-5x5", "deliver-8"])
def test_the_hierarchical_agents_are_cut_alike(name, seconds):
    where = domain(name)
    machine = catalogue(where.machine)
    settings = TimedHierarchical(learning_rate=0.3, seconds_per_episode=seconds)
    training = timed_by_updates(HierarchicalLearner(where, machine, TopK(1), settings, seed=5))
    training.advance(Until(episodes=12))
    readable = CountingHierarchical(where, machine, TopK(1), settings, Rng(seed_streams(5, 2)[:1]))
    paid = [readable.episode() for _ in range(12)]
    meta = training.policy().q_table
    for row in range(len(meta)):
        s, state, stack = meta.seen(row)
        count = len(readable.options[state])
        assert meta.value[row].tolist()[:count] == readable.meta[s, state, stack]
    assert len(meta) == len(readable.meta)
    assert training.progress["last_return"][0] == paid[-1]
    in_a_step = sum(len(readable.options[head.state]) for head in readable.heads) + 1
    assert training.updates == pytest.approx(12 * seconds, abs=12 * 2 * in_a_step)


NEVER = "events A B C\nstart u\nfinal v\notherwise stay 0\n"
TASKS = {
    "stack": f"{NEVER}stack #\nu -> v : A & !A, # / #, 1\n",
    "counters": f"{NEVER}counters 1\nu -> v : A & !A, [-] / [0], 1\n",
}
"""Tasks that cannot be solved."""


@pytest.mark.parametrize("agent", ["q", "cprm", "hrm", "cra-q", "cra-cql"])
def test_a_real_clock_cuts_every_agent(agent):
    given = {"seconds_per_episode": 0.02, "step_limit": 10**9, "epsilon": 1.0, "epsilon_decay": 1.0}
    machine = TASKS["counters" if agent.startswith("cra-") else "stack"]
    task = Task("letter", machine)
    training = make_learner(
        task,
        replace({**PAPER_AGENTS, "hrm": TimedHierarchical()}[agent], k="full", **given),
        seed=0,
    )
    training.advance(Until(episodes=1))
    began = time.perf_counter()
    training.advance(Until(episodes=6))
    assert training.episodes == 6
    assert (
        5 * 0.02 < time.perf_counter() - began < 5
    )  # a busy computer may take a while to come back to us
    assert 1_000 < training.steps < 6 * 10**9


def test_what_does_not_reach_the_limit_is_not_changed_by_it():
    def digest(seconds):
        settings = q_settings(counterfactuals="deduplicated", seconds_per_episode=seconds)
        training = QLearner(
            domain("maze-5x5"), catalogue("treasure-maze"), TopK(1), settings, seed=1
        )
        training.advance(Until(episodes=200))
        return learnt(training)

    assert digest(None) == digest(1_000.0)


@pytest.mark.parametrize("wrong", [0, -1.0, float("nan"), float("inf"), "long", True])
def test_no_time_is_no_limit(wrong):
    for kind in (PaperQLearning, TimedHierarchical):
        with pytest.raises(BadSetting, match="seconds_per_episode"):
            kind(seconds_per_episode=wrong)


class Noting(ReadableQLearning):
    """A learner that records its real transitions."""

    made = frozenset()

    def learn(self, s, here, a, o):
        self.made |= {(s, here.state, here.stack, a)}
        return super().learn(s, here, a, o)


@pytest.mark.parametrize("operations", range(4, 200, 7))
def test_the_real_transition_is_learnt_where_operations_run_out(operations):
    """Every step of LetterEnv has a reward, so learnt values are not 0."""
    settings = q_settings(
        counterfactuals="exhaustive", operations_per_episode=operations, step_limit=10, discount=0.5
    )
    where, machine = domain("letter"), catalogue("letter-cra")
    training = QLearner(where, machine, FullStack(), settings, seed=operations)
    training.advance(Until(episodes=20))
    readable = Noting(where, machine, FullStack(), settings, Rng(seed_streams(operations, 2)[:1]))
    for _ in range(20):
        readable.episode()
    table = learnt(training)
    assert table == readable.q
    assert readable.made
    assert all(table[s, state, stack][a] != 0.0 for s, state, stack, a in readable.made)
