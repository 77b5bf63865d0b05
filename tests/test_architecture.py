"""The house rules that a program can check: layers, homes of heavy imports, sizes, names, no code run from data."""

import ast
from functools import cache
from pathlib import Path
from statistics import median

import pytest

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "pdrm"
MODULES = sorted(SOURCE.rglob("*.py"))
INNER = [path for path in MODULES if path.parent != SOURCE]

# Upper layers may import lower ones; the members of one layer never import each other.
LAYERS = (
    ("cli",),
    ("report", "studio"),
    ("experiments",),
    ("learning", "analysis"),
    ("product", "grammars", "drawing"),
    ("machines", "domains"),
    ("files",),
    ("errors",),
)
RANK = {folder: rank for rank, layer in enumerate(LAYERS) for folder in layer}

HOMES = {
    "numba": lambda path: path.name == "kernels.py",
    "jax": lambda path: "product/jax_env" in path.as_posix() or "learning/deep" in path.as_posix(),
    "optax": lambda path: "learning/deep" in path.as_posix(),
    "torch": lambda path: "learning/deep" in path.as_posix(),
    "stable_baselines3": lambda path: "learning/deep" in path.as_posix(),
    "sb3_contrib": lambda path: "learning/deep" in path.as_posix(),
    "matplotlib": lambda path: path.relative_to(SOURCE).parts[0] in ("report", "drawing"),
    "pygraphviz": lambda path: path.relative_to(SOURCE).parts[0] == "drawing",
    # Oracles: installed to test against, never imported by the package.
    **dict.fromkeys(("stormpy", "automata", "pycrm", "hypothesis", "pytest"), lambda _: False),
}


@cache
def tree(path):
    return ast.parse(path.read_text())


def imported(path):
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            yield node.module


def name_of(path):
    return path.relative_to(SOURCE).as_posix()


def test_every_folder_has_a_layer():
    folders = {path.name for path in SOURCE.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert folders <= set(RANK)


@pytest.mark.parametrize("path", INNER, ids=name_of)
def test_imports_go_down(path):
    own = path.relative_to(SOURCE).parts[0]
    for module in imported(path):
        parts = module.split(".")
        if parts[0] == "pdrm" and len(parts) > 1 and parts[1] != own:
            assert RANK[parts[1]] > RANK[own], f"{own} may not import {module}"


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_heavy_imports_stay_at_home(path):
    for module in imported(path):
        allowed = HOMES.get(module.split(".")[0])
        assert allowed is None or allowed(path), f"{module} has no place here"


def lines(path):
    return len(path.read_text().splitlines())


def test_modules_are_short():
    sizes = {name_of(path): lines(path) for path in MODULES if path.name != "__init__.py"}
    assert max(sizes.values()) <= 300, max(sizes, key=sizes.get)
    assert median(sizes.values()) <= 140


# A Numba loop that hands its arrays to small functions counts references at every step and is five to twenty times slower:
# learning kernels are flat, and long.
@pytest.mark.parametrize("path", [path for path in MODULES if path.name != "kernels.py"], ids=name_of)
def test_functions_are_short(path):
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.FunctionDef):
            length = node.end_lineno - node.body[0].lineno + 1  # a command's options are its signature, and may be many
            assert length <= 40, f"{node.name} has {length} lines"


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_module_docstrings_are_short(path):
    docstring = ast.get_docstring(tree(path))
    assert docstring
    assert len(docstring.splitlines()) <= 10


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_no_code_is_run_from_data_and_no_generator_is_global(path):
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            assert called not in ("eval", "exec", "compile", "__import__"), called
            assert not called.startswith(
                ("np.random.seed", "np.random.rand", "random.seed", "random.random", "random.choice")
            )
    assert not {"pickle", "shelve", "marshal", "dill", "cloudpickle"} & {
        module.split(".")[0] for module in imported(path)
    }


def test_no_drawer_for_everything():
    assert not {"utils", "common", "core", "base", "helpers", "misc"} & {path.stem for path in SOURCE.rglob("*")}


def test_the_readme_is_short():
    assert lines(ROOT / "README.md") <= 120
