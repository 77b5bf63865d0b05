"""*Coming from*: the code of both sides runs, pays the same on the same trajectories, and is as long as the page says."""

import re
from pathlib import Path

import numpy as np
import pytest

import pdrm

DOCS = Path(__file__).parent.parent / "docs"


def blocks(page, language):
    return re.findall(rf"```{language}\n(.*?)```", (DOCS / page).read_text(), re.DOTALL)


def lines(code):
    return sum(1 for line in code.splitlines() if line.strip())


@pytest.fixture(scope="module")
def letter():
    """The page's environment, PyCRM's product and ours."""
    space = {}
    for number, code in enumerate(blocks("from-pycrm.md", "py")):
        exec(compile(code, f"from-pycrm.md, block {number}", "exec"), space)  # noqa: S102 - our own page
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


def test_the_lines_are_as_many_as_the_page_says():
    _, theirs, ours = blocks("from-pycrm.md", "py")
    there, here = re.search(
        r"^(\d+) lines there, (\d+) here", (DOCS / "from-pycrm.md").read_text(), re.MULTILINE
    ).groups()
    assert (int(there), int(here)) == (lines(theirs), lines(ours))
    assert int(here) < int(there) / 3


OFFICE = dict(
    re.findall(r"```text title=\"(.+?)\"\n(.*?)```", (DOCS / "from-reward-machines.md").read_text(), re.DOTALL)
)


def holds(formula, label):
    """A formula in disjunctive normal form, as their program evaluates it."""
    parts = (part.split("&") for part in formula.split("|"))
    return any(all((one.strip("! ") in label) != one.strip().startswith("!") for one in part) for part in parts)


def their_rules():
    """(state, next state, formula, reward) of the file, read independently of the package."""
    rule = re.compile(r"\((\d+),(\d+),'(.+)',ConstantRewardFunction\((\d+)\)\)")
    return [(int(u), int(v), formula, float(r)) for u, v, formula, r in rule.findall(OFFICE["coffee-and-mail.txt"])]


@pytest.fixture
def office(tmp_path, monkeypatch):
    """A folder with the page's files."""
    monkeypatch.chdir(tmp_path)
    for name, text in OFFICE.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def walks(world, episodes):
    """Labels of random walks."""
    rng = np.random.default_rng(1)
    for _ in range(episodes):
        state, word = int(world.arrays.start_state[0]), []
        for action in rng.integers(len(world.actions), size=world.step_limit).tolist():
            word.append(world.labels[world.arrays.label[state, action, 0]])
            state = int(world.arrays.next[state, action, 0])
        yield word


def paid_by_their_format(word):
    """The rewards of the steps up to the end, and whether the terminal state was reached."""
    state, paid = 0, []
    for label in word:
        found = next(((v, r) for u, v, formula, r in their_rules() if u == state and holds(formula, label)), (-1, 0.0))
        state = found[0]
        paid.append(found[1])
        if state in (-1, 4):
            break
    return paid, state == 4


def test_the_office_pays_as_their_format_says(office):
    as_it_is = pdrm.load("coffee-and-mail.txt")
    (text,) = blocks("from-reward-machines.md", "pdrm")
    by_hand, served = pdrm.parse(text), 0
    for word in walks(pdrm.load_domain(office / "office.txt"), 500):
        paid, reached = paid_by_their_format(word)
        for machine, end in ((as_it_is, "u4"), (by_hand, "served")):
            run = machine.run(word)
            assert [step.reward for step in run.steps if step.label is not None] == paid
            assert (run.after.state == end) == reached
        served += reached
    assert 0 < served < 500


def test_the_commands_of_the_office_run_and_it_is_learnt(office, pdrm):
    for command in blocks("from-reward-machines.md", "sh")[0].splitlines():
        assert pdrm(*command.split()[1:]).code == 0, command
    assert (office / "coffee-and-mail.pdrm").exists()
    for folder in (office / "runs").iterdir():
        assert "ended in u4: 100" in pdrm("evaluate", folder).out


def test_the_office_is_shorter():
    (ours,) = blocks("from-reward-machines.md", "pdrm")
    told = re.search(r"^(\d+) lines there, (\d+) here", (DOCS / "from-reward-machines.md").read_text(), re.MULTILINE)
    assert tuple(map(int, told.groups())) == (lines(OFFICE["coffee-and-mail.txt"]), lines(ours))
    assert lines(ours) < lines(OFFICE["coffee-and-mail.txt"])
