"""The front door: few names, each with an example that the tests of the package run; the chapters lend theirs."""

import ast
import copy
import doctest
import inspect
import re
import subprocess
import sys
import textwrap
from dataclasses import fields, is_dataclass
from importlib import import_module
from itertools import pairwise
from pathlib import Path

import pytest

import pdrm
from pdrm import habits
from pdrm.errors import BadSetting, NotHere, PdrmError, UnknownSetting, WrongArguments

CHAPTERS = ("machines", "language", "domains", "product", "learning", "analysis", "experiments", "drawing", "report")


def test_every_public_name_has_a_docstring_with_an_example():
    assert len(pdrm.__all__) <= 36
    for name in pdrm.__all__:
        thing = getattr(pdrm, name)
        assert thing.__module__.startswith("pdrm."), name
        assert doctest.DocTestParser().get_examples(thing.__doc__), f"{thing.__module__}.{name} has no example"


TOLD_BY_NAME = {"self", "cls", "args", "kwargs"}
SHOWN_TOO = (pdrm.learning.Runs, pdrm.experiments.Results, pdrm.product.MachineEnv)
"""What the names of the front door give back."""


def says(text, name):
    """Whether a docstring says what a parameter is: `name: …`, `one, name: …`, or names it in code."""
    return (
        re.search(rf"(?<![\w.]){re.escape(name)}(, [\w, ]+)?:|`[^`]*(?<![\w.]){re.escape(name)}\b[^`]*`", text)
        is not None
    )


def untold(function, text):
    """The parameters of a function that a text does not explain."""
    parameters = inspect.signature(function).parameters
    return [name for name in parameters if name not in TOLD_BY_NAME and not says(text, name)]


def field_docs(kind):
    """The fields of a dataclass, or attributes, that have a docstring under them, here or in a parent."""
    told = set()
    for parent in kind.__mro__:
        if parent.__module__.startswith("pdrm."):
            body = ast.parse(textwrap.dedent(inspect.getsource(parent))).body[0].body
            for line, text in pairwise(body):
                if (
                    isinstance(line, ast.AnnAssign)
                    and isinstance(text, ast.Expr)
                    and isinstance(text.value, ast.Constant)
                ):
                    told.add(line.target.id)
    return told


def test_every_function_explains_its_parameters_and_every_class_its_members():
    lacking = []
    for thing in (*(getattr(pdrm, name) for name in pdrm.__all__), *SHOWN_TOO):
        if not inspect.isclass(thing):
            lacking += [f"{thing.__name__}({name})" for name in untold(thing, thing.__doc__)]
            continue
        if issubclass(thing, Exception):
            continue
        told = field_docs(thing)
        given = (
            [field.name for field in fields(thing)]
            if is_dataclass(thing)
            else list(inspect.signature(thing).parameters)
        )
        shown = [name for name in given if name not in TOLD_BY_NAME and not name.startswith("_")]
        lacking += [f"{thing.__name__}.{name}" for name in shown if name not in told and not says(thing.__doc__, name)]
        for name, member in vars(thing).items():
            called = member.__func__ if isinstance(member, classmethod | staticmethod) else member
            if name.startswith("_") or not (inspect.isfunction(called) or isinstance(called, property)):
                continue
            if not called.__doc__:
                lacking.append(f"{thing.__name__}.{name}")
            elif inspect.isfunction(called):
                lacking += [f"{thing.__name__}.{name}({one})" for one in untold(called, called.__doc__)]
    assert not lacking, "\n".join(lacking)


def test_what_a_package_lists_is_what_type_checkers_see():
    for package in (pdrm, *(import_module(f"pdrm.{name}") for name in CHAPTERS)):
        tree = ast.parse(Path(package.__file__).read_text())
        blocks = [
            node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")
        ]
        named = [alias.name for block in blocks for line in block.body for alias in line.names]
        assert set(named) <= set(package.__all__), package
        assert all(getattr(package, name) is not None for name in package.__all__)
        assert getattr(pdrm, package.__name__.rpartition(".")[2], package) is package


def test_without_jax_deep_names_say_what_to_install():
    for missing in ("jax", "optax"):
        code = f"""if True:
            import sys
            sys.modules[{missing!r}] = None
            import pdrm
            for deep in (lambda: pdrm.learning.DeepPolicy, lambda: pdrm.train("echo", pdrm.PPO())):
                try:
                    deep()
                except pdrm.PdrmError as error:
                    print(type(error).__name__, error.fix)
        """
        found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert found.stdout == "MissingPackage pip install 'pdrm[jax]'\n" * 2


def test_gymnasium_knows_the_domains():
    """Since Gymnasium 1.0 a package that is not imported cannot make its environments known."""
    for code in (
        "import gymnasium, pdrm; gymnasium.make('pdrm/LetterEnv-v0')",
        "import gymnasium; gymnasium.make('pdrm:pdrm/LetterEnv-v0')",
        "import pdrm, gymnasium; gymnasium.make('pdrm.domains:pdrm/LetterEnv-v0')",
    ):
        subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)


HOT = {"begin_table", "step_table", "pick"}
"""Called once a step: they check nothing."""


def test_a_wrong_argument_of_any_public_function_is_answered_with_its_arguments():
    """By the one decorator, which every public function has; agents have a check of their own, because settings are looked up elsewhere."""
    checked = 0
    for chapter in ("", *CHAPTERS):
        module = import_module(f"pdrm.{chapter}".rstrip("."))
        for name in module.__all__:
            thing = getattr(module, name)
            settings = inspect.isclass(thing) and issubclass(thing, pdrm.learning.Agent) and thing.name
            if (
                (inspect.isfunction(thing) and name not in {*HOT, "train"})
                or thing in (pdrm.Task, pdrm.Study)
                or settings
            ):
                with pytest.raises(BadSetting, match=r"has no (argument|setting) `nonsense`|needs `\w+`"):
                    thing(nonsense=1)
                checked += 1
    assert checked > 60
    for call, fix in (
        (lambda: pdrm.check_k("paint", gamma=0.9), "`discount`"),
        (lambda: pdrm.check_k("paint", ks=[1]), "`k`"),
        (lambda: pdrm.Study("letter", "q", seed=3), "`seeds`"),
        (lambda: pdrm.Study("letter", "q", episodes=3), "settings={'episodes'"),
        (lambda: pdrm.Task("letter", succes="u2"), "`success`"),
        (lambda: pdrm.wrap(None, "letter"), "labels"),
        (lambda: pdrm.draw(1, 2, 3, 4), "title"),
        (lambda: pdrm.learning.Run.load("x", "y"), "folder"),
        (lambda: pdrm.train("letter", "q", gama=0.9), "`discount`"),
    ):
        with pytest.raises(BadSetting) as raised:
            call()
        assert fix in raised.value.fix, raised.value


def test_a_type_error_from_within_is_left_alone():
    @pdrm.errors.explain_arguments
    def label(state: object) -> str:
        return "at " + state  # type: ignore[operator] # the fault

    assert label("home") == "at home"
    with pytest.raises(TypeError) as raised:
        label(3)
    assert not isinstance(raised.value, pdrm.PdrmError)


def test_a_word_may_be_a_text():
    for name in ("letter", "letter-cra", "treasure-maze"):
        machine = pdrm.catalogue(name)
        word = "A A B C" if name != "treasure-maze" else "d d+t -"
        assert machine.run(word) == machine.run(pdrm.language.parse_word(word))


def test_a_file_is_no_text_and_a_text_no_file():
    for call, fix in (
        (lambda: pdrm.parse("task.pdrm"), 'pdrm.load("task.pdrm")'),
        (lambda: pdrm.load("events a\nstart u"), "pdrm.parse"),
        (lambda: pdrm.load("letter"), 'pdrm.catalogue("letter")'),
    ):
        with pytest.raises(pdrm.PdrmError) as raised:
            call()
        assert fix in raised.value.fix


def test_the_front_door_and_the_chapters_complete_and_nothing_else():
    assert set(dir(pdrm)) == {*pdrm.__all__, *CHAPTERS}
    code = "import pdrm; print([name for name in vars(pdrm) if not name.startswith('_')])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(ast.literal_eval(found.stdout)) <= {"errors", "habits", "lazy"}, "modules of the package that are loaded"


def test_what_is_not_at_the_front_door_is_answered_with_a_call_that_is_right():
    for name, call in (
        ("evaluate", "run.evaluate("),
        ("replay", "run.replay()"),
        ("film", "run.film("),
        ("convert", "pdrm.save("),
        ("load_run", "pdrm.Run.load("),
        ("load_policy", "pdrm.learning.load_policy"),
        ("agents", "pdrm.learning.AGENTS"),
        ("Domain", "pdrm.load_domain("),
        ("evaluat", "run.evaluate("),
        ("Cprm", "`CpRM`"),
        ("wrap_env", "pdrm.wrap(env, machine, labels)"),
        ("A2C", "stable_baselines3.A2C"),
        ("TD3", "pdrm.SAC()"),
        ("SARSA", "pdrm.QLearning()"),
    ):
        with pytest.raises(AttributeError) as raised:
            getattr(pdrm, name)
        assert call in str(raised.value), raised.value
    with pytest.raises(AttributeError) as raised:
        pdrm.zebra  # noqa: B018 - there is none
    assert "mean" not in str(raised.value)
    for call in habits.CALLS.values():  # every name of ours in a call is there
        for path in re.findall(r"pdrm(?:\.\w+)+", call):
            thing = pdrm
            for part in path.split(".")[1:]:
                thing = getattr(thing, part)
    assert set(vars(pdrm.learning.Run)) >= {"evaluate", "replay", "film", "episode", "plot", "policy", "load", "save"}


def test_what_users_of_other_libraries_write_is_answered_with_the_right_call():
    task = pdrm.Task("letter")
    runs = pdrm.train(task, "q", k=1, episodes=100, seeds=2)
    for thing, name, call in (
        (runs[0], "predict", "run.policy.act("),
        (runs[0], "learn", "pdrm.train("),
        (runs[0], "agent", "run.spec.agent"),
        (runs, "policy", "runs[0].policy"),
        (runs, "predict", "runs[0].policy.act("),
        (runs, "replay", "runs[0].replay()"),
        (runs[0].policy, "predict", "policy.act("),
        (runs[0].policy, "q_values", "policy.values("),
        (task, "reset", "env.reset("),
        (task, "step", "env.step("),
        (task, "learn", "pdrm.train("),
        (pdrm.CpRM(), "learn", "pdrm.train("),
        (pdrm.CpRM(), "policy", "run.policy"),
        (runs[0], "model", "run.policy"),
        (runs[0], "returns", "run.curve.returns"),
        (task.machine, "draw", "pdrm.draw(machine"),
        (pdrm.catalogue("letter-cra"), "save", "pdrm.save(machine"),
        (task.domain, "render", "pdrm.draw(domain"),
        (pdrm.Task("water-17").domain, "reset", "env.reset"),
        (pdrm.Study(task, "q"), "frame", "study.run()"),
    ):
        with pytest.raises(NotHere, match=f"have no `{name}`") as raised:
            getattr(thing, name)
        assert call in raised.value.fix
        assert not hasattr(thing, name)
        with pytest.raises(AttributeError, match="has no attribute 'zebra'"):
            thing.zebra  # noqa: B018 - there is none
        assert copy.deepcopy(thing) is not None
    assert copy.deepcopy(task) == task
    kinds = (pdrm.Run, pdrm.learning.Runs, pdrm.Task, pdrm.learning.DeepPolicy, pdrm.learning.Policy)
    kinds += (pdrm.Study, type(task.domain), type(pdrm.Task("water-17").domain), pdrm.PushdownRewardMachine)
    kinds += (pdrm.machines.RewardMachine, pdrm.machines.CountingRewardAutomaton)
    for kind in kinds:
        assert not [name for name in kind._habits if hasattr(kind, name)], f"{kind.__name__} has it"


def test_what_is_called_otherwise_is_answered_with_the_right_call(tmp_path):
    task = pdrm.Task("letter")
    run = pdrm.train(task, "q", k=1, episodes=100, folder=tmp_path)
    machine, several = task.machine, "in a list: pdrm.combine("
    for call, fix in (
        (lambda: pdrm.DQN.load("agent.zip"), "pdrm.Run.load("),
        (lambda: pdrm.CpRM.learn(task), "pdrm.train("),
        (lambda: pdrm.combine(machine), several),
        (lambda: pdrm.combine([machine], machine), several),
        (lambda: machine.step("amber"), "machine.run("),
        (lambda: pdrm.Study(task, "q").table(tmp_path / "none"), "study.run("),
        (lambda: pdrm.train(pdrm.CpRM(), task), "the task comes first: pdrm.train(task, pdrm.CpRM("),
        (lambda: pdrm.train(pdrm.CpRM, task), "the task comes first: pdrm.train(task, pdrm.CpRM("),
        (lambda: pdrm.train([task, task], "q"), "pdrm.Study(tasks"),
        (lambda: pdrm.train(task, ["q", "cprm"]), "pdrm.Study(tasks"),
        (lambda: pdrm.load(run.folder), f'pdrm.Run.load("{run.folder}")'),
        (lambda: pdrm.load(tmp_path), f'pdrm.Run.load("{run.folder}")'),
        (lambda: run.policy.act(0, "u0", ["q"]), "its stack symbols, the top comes first: #, A"),
    ):
        with pytest.raises(PdrmError) as raised:
            call()
        assert fix in raised.value.fix, raised.value
    assert not hasattr(pdrm.DQN, "load")
    with pytest.raises(AttributeError, match="'DQN' has no attribute 'zebra'"):
        pdrm.DQN.zebra  # noqa: B018 - there is none
    for kind in (pdrm.QLearning, pdrm.DQN):
        for name, fix in (*habits.AS_SETTINGS.items(), *((name, "pdrm.train(task, ") for name in habits.TO_TRAIN)):
            with pytest.raises(UnknownSetting, match=f"no setting `{name}`") as raised:
                kind(**{name: 1})
            assert fix in raised.value.fix
    assert callable(pdrm.experiments.TensorBoard)
    assert len(pdrm.Study(task, pdrm.QLearning(k=1, episodes=100), seeds=1, name="short").run(tmp_path).table()) == 1


def test_an_attribute_error_inside_a_property_is_not_hidden():
    class Odd(habits.Explained):
        @property
        def inner(self):
            return [].zebra

    with pytest.raises(AttributeError, match="'list' object has no attribute 'zebra'"):
        Odd().inner  # noqa: B018 - it raises


def test_wrong_calls_of_a_policy_are_answered_as_others_are():
    tables = [pdrm.train("maze-5x5", name, episodes=20).policy for name in ("q", "hrm", "summary")]
    for policy in tables:
        for call, given, named in (
            (policy.values, (0,), {}),
            (policy.values, (0, "search", ("#",)), {"zebra": 1}),
            (policy.table, (1, 2), {}),
        ):
            with pytest.raises(WrongArguments) as raised:
                call(*given, **named)
            assert raised.value.fix
    with pytest.raises(WrongArguments):
        tables[1].option(0)


def test_without_a_name_what_there_is_is_listed():
    assert "letter" in pdrm.catalogue()
    assert "maze-5x5" in pdrm.domain()
    assert all(pdrm.catalogue(name).name == name for name in pdrm.catalogue())


def test_sizes_show_themselves_in_short():
    sizes = pdrm.sizes("letter", steps=50, k=1)
    assert sizes["holds"]
    assert len(repr(sizes)) < 120
    assert "<table" in sizes._repr_html_()
    for size in sizes["sizes"]:
        assert size["what"] in str(sizes)
    assert sizes["counting"] == "letter-cra"
