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


def test_the_names_are_those_that_type_checkers_read():
    tree = ast.parse(Path(pdrm.__file__).read_text())
    (block,) = (node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")
    assert sorted(alias.name for line in block.body for alias in line.names) == sorted(pdrm.__all__)


def test_without_jax_a_deep_agent_says_what_to_install():
    for missing in ("jax", "optax"):
        code = f"""if True:
            import sys
            sys.modules[{missing!r}] = None
            import pdrm
            try:
                pdrm.train(pdrm.Task("echo"), pdrm.PPO())
            except pdrm.PdrmError as error:
                print(type(error).__name__, error.fix)
        """
        found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert found.stdout == "MissingPackage pip install 'pdrm[jax]'\n"


def test_gymnasium_knows_the_domains():
    """Since Gymnasium 1.0 a package that is not imported cannot make its environments known."""
    for code in (
        "import gymnasium, pdrm; gymnasium.make('pdrm/LetterEnv-v0')",
        "import gymnasium; gymnasium.make('pdrm:pdrm/LetterEnv-v0')",
        "import pdrm, gymnasium; gymnasium.make('pdrm.domains:pdrm/LetterEnv-v0')",
    ):
        subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)
