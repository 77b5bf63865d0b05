"""Agents are settings: invalid values are refused, defaults are the paper's, and fields parse
text."""

from dataclasses import fields

import pytest

from pdrm.domains import Outcome, Start, from_outcomes
from pdrm.errors import BadSetting, UnknownAgent
from pdrm.language.loading import catalogue_text
from pdrm.learning.agents import (
    AGENTS,
    DQN,
    PPO,
    CountingCQL,
    CountingQ,
    CpRM,
    Hierarchical,
    QLearning,
    RecurrentPPO,
    kind_of,
)
from pdrm.learning.protocol import agent_for
from pdrm.learning.run_folder import RunSpec
from pdrm.learning.settings import describe_settings, parse_setting
from pdrm.product.observation import FullStack, TopK
from pdrm.task import Task

WRONG = [
    (QLearning, {"learning_rate": 1.5}),
    (QLearning, {"learning_rate": float("nan")}),
    (QLearning, {"epsilon": -0.1}),
    (QLearning, {"discount": "much"}),
    (QLearning, {"episodes": 0}),
    (QLearning, {"test_every": True}),
    (QLearning, {"step_limit": 2.5}),
    (QLearning, {"episodes": 2**31}),
    (QLearning, {"step_limit": 2**31}),
    (QLearning, {"k": -1}),
    (QLearning, {"k": True}),
    (QLearning, {"k": "some"}),
    (QLearning, {"k": "none"}),
    (QLearning, {"k": "١"}),
    (QLearning, {"k": "9" * 200}),
    (CpRM, {"counterfactuals": "some"}),
    (CpRM, {"counterfactuals": "none"}),
    (CpRM, {"updates_per_step": -1}),
    (CpRM, {"updates_per_step": 2**31}),
    (CountingQ, {"operations_per_episode": 0}),
    (CountingCQL, {"counterfactuals": "none"}),
    (Hierarchical, {"r_plus": float("inf")}),
    (Hierarchical, {"r_plus": 1.0, "r_minus": 2.0}),
    (PPO, {"n_envs": 0}),
    (PPO, {"n_envs": 1.5}),
    (PPO, {"discount": 2.0}),
    (PPO, {"learning_rate": float("nan")}),
    (DQN, {"counterfactuals": 1.5}),
    (RecurrentPPO, {"sequence_length": 7, "n_steps": 128, "batch_size": 128}),
    (PPO, {"discount": "much"}),
    (PPO, {"episodes": 10}),
]


def test_settings_out_of_range_are_refused():
    for kind, wrong in WRONG:
        with pytest.raises(BadSetting):
            kind(**wrong)


def test_k_is_a_number_or_a_word():
    assert QLearning(k="2") == QLearning(k=2)
    assert QLearning(k=2).view == TopK(2)
    assert CountingQ().view == FullStack()
    assert PPO(k="none").view is None


def test_every_agent_can_be_made_described_and_read_again():
    for name, kind in AGENTS.items():
        agent = kind()
        assert agent.name == name
        assert kind_of(name) is kind
        assert set(describe_settings(kind)) == {field.name for field in fields(kind)}
        assert all(describe_settings(kind).values())
        assert kind_of(name)(**agent.record()) == agent
        assert agent.resolved().total > 0
    with pytest.raises(UnknownAgent):
        kind_of("cprn")


def test_what_is_left_to_the_task_is_settled_when_a_run_is_made():
    """A name and an agent without settings are the same."""
    letter, water = Task("letter"), Task("water-17")
    for name, kind in AGENTS.items():
        task = water if kind.deep else letter
        assert agent_for(name) == kind()
        assert RunSpec(task, name, 0).id == RunSpec(task, kind(), 0).id
        spec = RunSpec(task, kind(), 0)
        assert RunSpec(task, spec.agent, 0) == spec
    assert QLearning().resolved(letter).learning_rate == 0.01
    assert QLearning(learning_rate=0.2).resolved(letter).learning_rate == 0.2
    other = Task(letter.domain, catalogue_text("letter").replace("u2", "u3"))
    assert CountingQ().resolved(other).operations_per_episode == 30_000
    assert CountingQ().resolved(letter).operations_per_episode is None
    assert PPO().resolved(water).n_envs == 2_048
    assert PPO().resolved(letter).n_envs == 128
    with pytest.raises(BadSetting, match="no setting `lr`"):
        agent_for("q", {"lr": 3})


def test_words_are_read_by_the_fields():
    assert parse_setting(PPO, "net_arch=128,64") == ("net_arch", (128, 64))
    assert parse_setting(PPO, "linear_decay=true") == ("linear_decay", True)
    assert parse_setting(PPO, "total_timesteps=1e5") == ("total_timesteps", 100_000)
    assert parse_setting(PPO, "k=none") == ("k", "none")
    assert parse_setting(DQN, "shaping=none") == ("shaping", "none")
    assert parse_setting(CpRM, "updates_per_step=5") == ("updates_per_step", 5)
    assert parse_setting(QLearning, "step_limit=none") == ("step_limit", None)
    for kind, word in (
        (PPO, "n_envs"),
        (PPO, "n_envs=many"),
        (PPO, "linear_decay=maybe"),
        (PPO, "envs=3"),
    ):
        with pytest.raises(BadSetting):
            kind(**dict([parse_setting(kind, word)]))


def test_an_agent_is_shown_by_what_was_set():
    assert [repr(agent) for agent in (PPO(), CpRM(k=2, episodes=5))] == [
        "PPO(k=1)",
        "CpRM(k=2, episodes=5)",
    ]
    assert eval(repr(DQN(k="full", net_arch=(8,)))) == DQN(k="full", net_arch=(8,))


def test_tables_learn_slowly_where_moves_are_random():
    place, shape = {"here": "here"}, {"events": ["six"], "step_limit": 9}
    chances = [Outcome("here", 0.5, frozenset({"six"})), Outcome("here", 0.5)]
    dice = from_outcomes("dice", place, ["roll"], lambda _s, _a: chances, [Start("here")], **shape)
    machine = "events six\nstart u\nfinal done\notherwise stay 0\nu -> done : six, 1"
    assert CpRM().resolved(Task(dice, machine)).learning_rate == 0.1
    assert CpRM(learning_rate=0.3).resolved(Task(dice, machine)).learning_rate == 0.3
    six = [Outcome("here", 1.0, frozenset({"six"}))]
    sure = from_outcomes("sure", place, ["roll"], lambda _s, _a: six, [Start("here")], **shape)
    assert CpRM().resolved(Task(sure, machine)) == CpRM().resolved()


def test_help_explains_every_setting():
    for kind in AGENTS.values():
        for name, text in describe_settings(kind).items():
            assert f"    {name} = " in kind.__doc__
            assert text in kind.__doc__
