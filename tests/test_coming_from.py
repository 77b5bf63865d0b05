"""*Coming from*: the code of both sides runs, pays the same on the same trajectories, and is as long as the page says."""

import re
import sys
import types
from collections import Counter
from functools import cache
from pathlib import Path
from random import Random

import gymnasium
import numpy as np
import pytest

import pdrm

DOCS = Path(__file__).parent.parent / "docs"


def blocks(page, language):
    return re.findall(rf"```{language}\n(.*?)```", (DOCS / page).read_text(), re.DOTALL)


@pytest.fixture(scope="module")
def letter():
    """The page's environment, PyCRM's product and ours."""
    space = {}
    for number, code in enumerate(blocks("from-pycrm.md", "py")):
        exec(compile(code, f"from-pycrm.md, block {number}", "exec"), space)
    return space


def test_letter_world_pays_as_pycrm_does(letter):
    theirs, ours, ended = letter["theirs"], letter["ours"], 0
    for episode in range(300):
        actions = np.random.default_rng(episode)
        theirs.ground_env.np_random = np.random.default_rng(episode + 1_000)
        ours.unwrapped.np_random = np.random.default_rng(episode + 1_000)
        before = theirs.reset()[0][:3].tolist()
        assert before == ours.reset()[0]["observation"].tolist()
        over = False
        while not over:
            action = int(actions.integers(4))
            observation, paid, terminated, truncated, _ = theirs.step(action)
            own, reward, *ends, _ = ours.step(action)
            assert own["observation"].tolist() == observation[:3].tolist()
            assert (reward, *ends) == (paid, terminated, truncated)
            over = terminated or truncated
        ended += terminated
    assert 0 < ended < 300  # both endings were tried


def test_the_machine_with_a_stack_pays_the_same(letter):
    (text,) = blocks("from-pycrm.md", "pdrm")
    stack, rng = pdrm.parse(text), np.random.default_rng(0)
    for _ in range(300):
        word = [frozenset(str(rng.choice(["A", "B", "C", ""]))) for _ in range(12)]
        assert stack.run(word).reward == letter["task"].run(word).reward


OFFICE = dict(
    re.findall(
        r"```text title=\"(.+?)\"\n(.*?)```",
        (DOCS / "from-reward-machines.md").read_text(),
        re.DOTALL,
    )
)


def holds(formula, label):
    """A formula in disjunctive normal form, as their program evaluates it."""
    parts = (part.split("&") for part in formula.split("|"))
    return any(
        all((one.strip("! ") in label) != one.strip().startswith("!") for one in part)
        for part in parts
    )


@cache
def their_rules():
    """(state, next state, formula, reward) of the file, read independently of the package."""
    rule = re.compile(r"\((\d+),(\d+),'(.+)',ConstantRewardFunction\((\d+)\)\)")
    return [
        (int(u), int(v), formula, float(r))
        for u, v, formula, r in rule.findall(OFFICE["coffee-and-mail.txt"])
    ]


@pytest.fixture
def office(tmp_path, monkeypatch):
    """A folder with the page's files."""
    monkeypatch.chdir(tmp_path)
    for name, text in OFFICE.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def their_step(state, label):
    """The next state and the reward: the first formula that holds counts; where none does, the episode ends (-1)."""
    return next(
        ((v, r) for u, v, formula, r in their_rules() if u == state and holds(formula, label)),
        (-1, 0.0),
    )


def paid_by_their_format(word):
    """The rewards of the steps up to the end, and whether the terminal state was reached."""
    state, paid = 0, []
    for label in word:
        state, reward = their_step(state, label)
        paid.append(reward)
        if state in (-1, 4):
            break
    return paid, state == 4


class RewardMachineEnv(gymnasium.Wrapper):
    """What their wrapper of that name does with one file, as far as the page needs it: written from its source, since it
    cannot be installed."""

    def __init__(self, env, files):
        assert files == ["coffee-and-mail.txt"]
        super().__init__(env)

    def reset(self):
        self.state = 0
        return self.env.reset()

    def step(self, action):
        observation, _, done, info = self.env.step(action)
        self.state, paid = their_step(self.state, frozenset(self.env.get_events()))
        return observation, paid, done or self.state in (-1, 4), info


@pytest.fixture
def their_office(monkeypatch):
    """The page's environment; gym is Gymnasium here, of which it needs the spaces and the parent class alone."""
    wrapper = types.ModuleType("reward_machines.rm_environment")
    wrapper.RewardMachineEnv = RewardMachineEnv
    parts = {
        "gym": gymnasium,
        "gym.envs": gymnasium.envs,
        "gym.envs.registration": types.SimpleNamespace(register=lambda **_: None),
        "reward_machines": types.ModuleType("reward_machines"),
        "reward_machines.rm_environment": wrapper,
    }
    for name, module in parts.items():
        monkeypatch.setitem(sys.modules, name, module)
    space = {}
    (code,) = blocks("from-reward-machines.md", "py")
    exec(compile(code, "from-reward-machines.md", "exec"), space)
    return space["OfficeRMEnv"]()


def test_the_office_pays_as_theirs_does(office, their_office):
    world, task, ends = (
        pdrm.load_domain(office / "office.txt"),
        pdrm.load("coffee-and-mail.txt"),
        Counter(),
    )
    rng = np.random.default_rng(1)
    for _ in range(300):
        their_office.reset()
        state, here = int(world.arrays.start_state[0]), task.begin().after
        for action in rng.integers(4, size=world.step_limit).tolist():
            label = world.labels[world.arrays.label[state, action, 0]]
            state, step = int(world.arrays.next[state, action, 0]), task.step(here, label)
            here = step.after
            _, paid, done, _ = their_office.step(action)
            assert (set(their_office.unwrapped.get_events()), paid, done) == (
                label,
                step.reward,
                here.state in task.final,
            )
            if done:
                break
        ends[here.state if here.state in task.final else ""] += 1
    assert len(ends) == 3  # served, broken, out of time


@pytest.mark.usefixtures("office")
def test_the_office_by_hand_pays_the_same_for_every_word():
    (text,) = blocks("from-reward-machines.md", "pdrm")
    machines, rng, served = (
        ((pdrm.load("coffee-and-mail.txt"), "u4"), (pdrm.parse(text), "served")),
        Random(2),
        0,
    )
    for _ in range(2_000):
        word = [frozenset(event for event in "efgn" if rng.random() < 0.2) for _ in range(10)]
        paid, reached = paid_by_their_format(word)
        for machine, end in machines:
            run = machine.run(word)
            assert [step.reward for step in run.steps if step.label is not None] == paid
            assert (run.after.state == end) == reached
        served += reached
    assert 0 < served < 2_000


def test_the_commands_of_the_office_run_and_it_is_learnt(office, pdrm):
    for command in blocks("from-reward-machines.md", "sh")[0].splitlines():
        assert pdrm(*command.split()[1:]).code == 0, command
    assert (office / "coffee-and-mail.pdrm").exists()
    for folder in (office / "runs").iterdir():
        assert "ended in u4: 100" in pdrm("evaluate", folder).out
