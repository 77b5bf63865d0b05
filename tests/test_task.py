"""A task is resolved once, from names, files, texts or objects, and checked once."""

import importlib.util
import linecache
import pickle
import sys
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import gymnasium as gym
import pytest

import pdrm
from pdrm.domains.water import WaterWorld
from pdrm.errors import (
    BadSetting,
    DoesNotApply,
    ImpossibleLabel,
    PdrmError,
    SeveralErrors,
    UnknownChoice,
    UnknownDomain,
    UnknownEvent,
    UnknownMachine,
    WrongKind,
)
from pdrm.language.writer import to_text
from pdrm.source_hash import hash_source
from pdrm.task import Task, find_machine, pushdown_machine

MAP = "place k key\nstep_limit 50\n#####\n#@.k#\n#####"
PLAIN = "name plain\nevents A B C\nstart u\notherwise stay 0\nu -> u : A, 1"
MACHINE = "name fetch\nevents key\nstack #\nstart go\nfinal done lost\notherwise stay 0\ngo -> done : key, z / z, 1"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "map.txt").write_text(MAP)
    (tmp_path / "fetch.pdrm").write_text(MACHINE)
    return tmp_path


def test_the_task_of_a_task_keeps_its_machine_and_success():
    own = Task("letter", "events A B C\nstart u\nfinal e\notherwise stay 0\nu -> e : C, 1")
    assert Task(own) == own
    lost = Task("maze-5x5", success="lost")
    assert Task(lost).success == ("lost",)
    assert Task(lost, "treasure-maze").success == ("home",)


def test_equal_tasks_from_all_forms_of_arguments(folder):
    machine = pdrm.load(folder / "fetch.pdrm")
    given = [
        Task(folder / "map.txt", folder / "fetch.pdrm"),
        Task(str(folder / "map.txt"), str(folder / "fetch.pdrm")),
        Task("map.txt", "fetch.pdrm", folder=folder),
        Task(pdrm.load_domain(folder / "map.txt"), machine),
        Task(folder / "map.txt", MACHINE),
    ]
    assert len(set(given)) == 1
    assert given[0].text == to_text(machine)
    assert not given[0].catalogued
    assert given[0].success == ("done",)
    assert Task(folder / "map.txt", MACHINE, success="done").success == ("done",)
    assert (
        Task("letter")
        == Task("letter", "letter")
        == Task(pdrm.domain("letter"))
        == Task("letter", pdrm.catalogue("letter"))
    )
    assert Task("letter") != Task("letter", PLAIN)


def test_tasks_can_be_pickled(folder):
    for task in (
        Task("letter"),
        Task("water-20"),
        Task(folder / "map.txt", MACHINE, success="done"),
    ):
        again = pickle.loads(pickle.dumps(task))
        assert again == task
        assert again.record() == task.record()


def test_errors_have_fixes(folder):
    wrong = [
        (lambda: Task("lettr"), UnknownDomain),
        (lambda: Task("letter", "lettr"), UnknownMachine),
        (lambda: Task(folder / "map.txt"), BadSetting),
        (lambda: Task(gym.make("FrozenLake-v1")), BadSetting),
        (lambda: Task("letter", 3), BadSetting),
        (lambda: Task("letter", success="home"), UnknownChoice),
        (lambda: Task("water-17").finite, BadSetting),
        (
            lambda: Task("letter", "letter", folder=Path("nowhere")).domain and Task("x.txt"),
            PdrmError,
        ),
    ]
    for make, kind in wrong:
        with pytest.raises(kind) as caught:
            make()
        assert caught.value.fix


def test_an_environment_has_the_settings_of_wrap():
    def make():
        return gym.make("FrozenLake-v1", is_slippery=False)

    def events(observation, action, next_observation, info):
        return {"key"} if info["before"] == 0 and next_observation == 4 else set()

    def place(env):
        return int(env.unwrapped.s)

    def task(**settings):
        return Task(make, MACHINE, labels=events, name="lake", **settings)

    lake = task(remember=place, reward_weight=0, ignore_end=True)
    env = lake.env()
    env.reset(seed=0)
    assert env.step(1)[1:3] == (1.0, True)
    assert env.ignore_end
    assert env.reward_weight == 0
    assert len({task(), task(remember=place), lake, task(remember=place, ignore_end=True)}) == 4
    for setting in ({"labels": events}, {"name": "a"}, {"ignore_end": True}, {"reward_weight": 0}):
        with pytest.raises(BadSetting, match=next(iter(setting))):
            Task("letter", **setting)
    assert "<svg" in lake._repr_html_() or "image/svg" in lake._repr_html_()
    assert "lake: an environment" in str(pdrm.draw(lake))
    wrapped = Task(lambda: pdrm.wrap(make(), MACHINE, events), MACHINE, labels=events, name="twice")
    with pytest.raises(PdrmError, match="already") as caught:
        wrapped.env()
    assert "environment alone" in caught.value.fix
    with pytest.raises(UnknownDomain) as caught:
        Task("FrozenLake-v1", MACHINE)
    assert "pdrm.Task(lambda: gymnasium.make" in caught.value.fix


def test_the_machine_in_both_forms():
    assert Task("letter", "letter-counting").pushdown.stack == ("#", "□")
    assert Task("letter").counting.name == pdrm.catalogue("letter-cra").name
    assert Task("maze-5x5").counting.counters == 2
    plain = pdrm.parse(PLAIN)
    assert pushdown_machine(plain) == Task("letter", plain).pushdown
    assert Task("letter", plain).counting.counters == 2
    assert find_machine("letter") == pdrm.catalogue("letter")


def test_events_never_emitted_give_a_warning():
    assert Task("letter").warnings == ()
    (warning,) = Task(
        "letter", PLAIN.replace("A B C", "A B C D E").replace(": A", ": A | D | E")
    ).warnings
    assert "`D`, `E`" in warning


def test_the_machine_must_read_the_events_of_the_domain(folder):
    """Otherwise the error has the line in the map, and suggests a spelling."""
    machine = MACHINE.replace("events key", "events key ham door")
    for before, after, place in [
        ("place k key", "place k kye", "1:9"),  # misspelt
        ("place k key", "standing no", "4:4"),  # not named: it emits itself
        ("step_limit", "bump dor\nstep_limit", "2:6"),
    ]:
        (folder / "wrong.txt").write_text(MAP.replace(before, after))
        with pytest.raises(UnknownEvent) as caught:
            Task(folder / "wrong.txt", machine)
        assert str(caught.value.where) == f"{folder}/wrong.txt:{place}"
    with pytest.raises(SeveralErrors) as several:  # no map, so no place; all of them at once
        Task("letter", "events Ax Bx Cx\nstart u\notherwise stay 0\nu -> u : Ax | Bx | Cx, 1")
    assert [error.code for error in several.value.errors] == ["E0202"] * 3
    with pytest.raises(ImpossibleLabel):
        Task(
            "maze-5x5",
            "events u d l r t x\nexclusive r t\nstart s\notherwise stay 0\ns -> s : t, 1",
        )


def test_continuous_worlds():
    own = Task(WaterWorld(side=12.0))
    assert own.continuous
    assert not own.catalogued
    assert own.record()["world"]["side"] == 12.0
    assert Task("water-17").catalogued


def test_success_is_a_rewarded_final_state_by_default():
    text = "events A B C\nexclusive A B C\nstart u\nfinal good bad\notherwise stay 0\nu -> good : A, 1\nu -> bad : B, {}"
    assert (
        Task("letter", text.format(-1)).success
        == Task("letter", text.format(0)).success
        == ("good",)
    )
    assert Task("letter", text.format(2)).success == ("good", "bad")
    assert Task("letter", text.replace("A, 1", "A, 0").format(0), success=None).success == (
        "good",
        "bad",
    )
    assert Task(
        "letter", text.replace("stay 0", "go good 1").format(3), success=["bad"]
    ).success == ("bad",)
    with pytest.raises(UnknownChoice, match="good, bad"):
        Task("letter", text.format(0), success="god")
    with pytest.raises(PdrmError):
        Task(text.format(0))
    with pytest.raises(WrongKind):
        Task(pdrm.parse(text.format(0)), "letter")
    with pytest.raises(BadSetting):
        pdrm.train("letter", "q", seed=[0, 1])
    with pytest.raises(BadSetting):
        pdrm.DQN(10_000)


def test_the_hash_of_a_function_or_class_covers_the_code_it_uses():
    source = """
from functools import partial
GOAL = {goal}
def labels(place, action, there, info): return ["end"] if there == GOAL else []
def closed(goal): return lambda place: place == goal
class Learner:
    def act(self): return {act}
class Agent:
    def learner(self, task, seed): return Learner()
"""

    def made(folder, **values):
        path = folder / "module_under_test.py"
        path.write_text(source.format(**values))
        spec = importlib.util.spec_from_file_location("module_under_test", path)
        module = importlib.util.module_from_spec(spec)
        sys.modules["module_under_test"] = module
        linecache.clearcache()
        spec.loader.exec_module(module)
        kinds = (module.labels, module.Agent, module.closed(1), partial(module.labels, 1))
        return [hash_source(kind) for kind in kinds]

    with TemporaryDirectory() as folder:
        first = made(Path(folder), goal=1, act=0)
        assert made(Path(folder), goal=1, act=0) == first
        other = [a == b for a, b in zip(first, made(Path(folder), goal=2, act=0), strict=True)]
        assert other == [False, True, True, False]
        other = [a == b for a, b in zip(first, made(Path(folder), goal=1, act=2), strict=True)]
        assert other == [True, False, True, True]
    del sys.modules["module_under_test"]


def test_an_environment_of_your_own_has_its_own_render_mode_and_actions():
    made = []

    def make():
        made.append(gym.make("FrozenLake-v1"))
        return made[-1]

    lake = Task(make, MACHINE, labels=lambda *_: set(), name="lake")
    for options in ({"render_mode": "ansi"}, {"render_mode": "nonsense"}, {"continuous": True}):
        with pytest.raises(DoesNotApply):
            lake.env(**options)
    assert not made
