"""The front door: few names, each with an example that the tests of the package run; the chapters lend theirs."""

import ast
import doctest
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pdrm

CHAPTERS = (
    "machines",
    "language",
    "domains",
    "product",
    "learning",
    "analysis",
    "experiments",
    "drawing",
    "paper",
)


def test_every_public_name_has_a_docstring_with_an_example():
    assert len(pdrm.__all__) <= 36
    for name in pdrm.__all__:
        thing = getattr(pdrm, name)
        assert thing.__module__.startswith("pdrm."), name
        assert doctest.DocTestParser().get_examples(thing.__doc__), (
            f"{thing.__module__}.{name} has no example"
        )


def test_what_a_package_lists_is_what_type_checkers_see():
    for package in (pdrm, *(import_module(f"pdrm.{name}") for name in CHAPTERS)):
        tree = ast.parse(Path(package.__file__).read_text())
        blocks = [
            node
            for node in tree.body
            if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")
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
        found = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        )
        assert found.stdout == "MissingPackage pip install 'pdrm[jax]'\n" * 2


def test_gymnasium_knows_the_domains():
    """Since Gymnasium 1.0 a package that is not imported cannot make its environments known."""
    for code in (
        "import gymnasium, pdrm; gymnasium.make('pdrm/LetterEnv-v0')",
        "import gymnasium; gymnasium.make('pdrm:pdrm/LetterEnv-v0')",
        "import pdrm, gymnasium; gymnasium.make('pdrm.domains:pdrm/LetterEnv-v0')",
    ):
        subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)


def test_a_word_may_be_a_text():
    for name in ("letter", "letter-cra", "treasure-maze"):
        machine = pdrm.catalogue(name)
        word = "A A B C" if name != "treasure-maze" else "d d+t -"
        assert machine.run(word) == machine.run(pdrm.language.parse_word(word))


def test_the_front_door_and_the_chapters_complete_and_nothing_else():
    assert set(dir(pdrm)) == {*pdrm.__all__, *CHAPTERS}
    code = "import pdrm; print([name for name in vars(pdrm) if not name.startswith('_')])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(ast.literal_eval(found.stdout)) <= {"errors", "lazy", "task_warnings", "wording"}, (
        "modules of the package that are loaded"
    )
