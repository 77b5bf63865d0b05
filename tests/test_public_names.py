"""Every public name has a docstring with an example, which the tests of the package run."""

import ast
import doctest
import subprocess
import sys
from pathlib import Path

import pdrm


def test_every_name_has_a_docstring_with_an_example():
    for name in pdrm.__all__:
        thing = getattr(pdrm, name)
        assert thing.__doc__, name
        assert thing.__module__.startswith("pdrm."), name
        assert doctest.DocTestParser().get_examples(thing.__doc__), f"{thing.__module__}.{name} has no example"


def test_a_name_stands_in_all_three_places():
    """The table of homes, `__all__`, and what type checkers read; and once in each."""
    assert list(pdrm._HOMES) == pdrm.__all__
    tree = ast.parse(Path(pdrm.__file__).read_text())
    (block,) = (node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")
    homes = [(alias.name, line.module) for line in block.body for alias in line.names]
    assert sorted(homes) == sorted(pdrm._HOMES.items())


def test_without_jax_deep_names_say_what_to_install():
    for missing in ("jax", "optax"):
        code = f"""if True:
            import sys
            sys.modules[{missing!r}] = None
            import pdrm
            for name in ("DeepPolicy", "load_deep_policy"):
                try:
                    getattr(pdrm, name)
                except pdrm.PdrmError as error:
                    print(type(error).__name__, error.fix)
        """
        found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert found.stdout == 2 * "MissingPackage pip install 'pdrm[jax]'\n"


def test_gymnasium_knows_the_domains():
    """Since Gymnasium 1.0 a package that is not imported cannot make its environments known."""
    for code in (
        "import gymnasium, pdrm; gymnasium.make('pdrm/LetterEnv-v0')",
        "import gymnasium; gymnasium.make('pdrm:pdrm/LetterEnv-v0')",
        "import pdrm, gymnasium; gymnasium.make('pdrm.domains:pdrm/LetterEnv-v0')",
    ):
        subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)
