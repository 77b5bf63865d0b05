"""The house rules that a program can check: layers, homes of heavy imports, unique names, no code run from data."""

import ast
import re
from collections import Counter
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "pdrm"
MODULES = sorted(SOURCE.rglob("*.py"))

# Upper layers may import lower ones; the members of one layer never import each other.
LAYERS = (
    ("cli",),
    ("paper",),
    ("experiments",),
    ("learning",),
    ("analysis",),
    ("product", "drawing"),
    ("task",),
    ("language", "domains"),
    ("machines",),
    ("progress", "files", "lazy", "source_hash"),
    ("errors",),
    ("task_warnings",),
    ("wording",),
)
RANK = {folder: rank for rank, layer in enumerate(LAYERS) for folder in layer}


def is_kernel(path):
    return path.stem.endswith("_kernel")


def chapter(path):
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def is_deep(path):
    return "learning/deep" in path.as_posix()


PEERS = ("stormpy", "automata", "pycrm")
HOMES = {
    "numba": is_kernel,
    "jax": lambda path: "product/jax_env" in path.as_posix() or is_deep(path),
    "optax": is_deep,
    "torch": is_deep,
    "stable_baselines3": is_deep,
    "sb3_contrib": is_deep,
    "matplotlib": lambda path: chapter(path) in ("paper", "drawing"),
    "pygraphviz": lambda path: chapter(path) == "drawing",
    # Oracles and peers: to compare with, never to build on.
    **dict.fromkeys((*PEERS, "hypothesis", "pytest"), lambda _: False),
}


@cache
def tree(path):
    return ast.parse(path.read_text())


def may_import_upwards(path, function):
    """A value shows itself with what is above it, a task makes its environment."""
    shows = re.fullmatch(r"_repr_\w+_", function) is not None
    return shows or (path.name, function) == ("task.py", "env")


def imports_of(node):
    """What a statement imports, also by a string given to `import_module`."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        assert node.level == 0, f"imports are absolute: {ast.unparse(node)}"
        return [f"{node.module}.{alias.name}" for alias in node.names]
    if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
        return [text.value for text in node.args if isinstance(text, ast.Constant)]
    return []


@cache
def imported(path, upwards=True):
    """Everything a module imports, optionally without the places where it may import upwards."""
    found, nodes = [], [tree(path)]
    while nodes:
        node = nodes.pop()
        found += imports_of(node)
        is_function = isinstance(node, ast.FunctionDef)
        if upwards or not is_function or not may_import_upwards(path, node.name):
            nodes += ast.iter_child_nodes(node)
    return found


def dotted(path):
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def in_the_house(names, name):
    """The module of ours that an imported name stands in, or None."""
    while name and name not in names:
        name = name.rpartition(".")[0]
    return name or None


def test_every_folder_has_a_layer():
    assert {chapter(path) for path in MODULES} - {"__init__", "__main__"} <= set(RANK)


def test_imports_go_down():
    for path in MODULES:
        own = chapter(path)
        for name in imported(path, upwards=False) if own in RANK else ():
            parts = name.split(".")
            if parts[0] == "pdrm" and len(parts) > 1 and parts[1] not in (own, "__version__"):
                assert RANK.get(parts[1], -1) > RANK[own], f"{dotted(path)} may not import {name}"


def test_no_module_imports_itself_by_way_of_others():
    names = {dotted(path): path for path in MODULES}
    graph = {
        name: {
            found
            for text in imported(path, upwards=False)
            if (found := in_the_house(names, text)) and found != name
        }
        for name, path in names.items()
        if path.name != "__init__.py"
    }
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        raise AssertionError(" -> ".join(error.args[1])) from None


def test_heavy_imports_stay_at_home():
    for path in MODULES:
        for name in imported(path):
            allowed = HOMES.get(name.split(".")[0])
            assert allowed is None or allowed(path), f"{dotted(path)} may not import {name}"


def test_nothing_names_the_modules_of_peers():
    """A string that is a module's name may be on its way to an import, whatever function it is given to."""
    module = re.compile(rf"({'|'.join(PEERS)})(\.\w+)*")
    for path in MODULES:
        strings = {node.value for node in ast.walk(tree(path)) if isinstance(node, ast.Constant)}
        named = [text for text in strings if isinstance(text, str) and module.fullmatch(text)]
        assert not named, f"{dotted(path)} names {named}"


def test_no_two_modules_share_a_name():
    names = Counter(path.name for path in MODULES if path.name != "__init__.py")
    assert [name for name, count in names.items() if count > 1] == []


def test_no_two_classes_share_a_name():
    homes = {}
    for path in MODULES:
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.ClassDef):
                homes.setdefault(node.name.lstrip("_"), []).append(dotted(path))
    assert not [name for name, where in homes.items() if len(where) > 1]


def test_no_module_is_longer_than_600_lines():
    lengths = {dotted(path): len(path.read_text().splitlines()) for path in MODULES}
    assert not {name for name, length in lengths.items() if length > 600}


def test_every_module_and_chapter_is_introduced():
    for path in MODULES:
        docstring = ast.get_docstring(tree(path))
        assert docstring, path
        assert len(docstring.splitlines()) <= 30, path


def test_no_code_is_run_from_data_and_no_generator_is_global():
    run = re.compile(r"(eval|exec|compile|__import__|runpy\.\w+)$")
    random = re.compile(r"(np\.random\.(seed|rand)|random\.(seed|random|choice)$)")
    for path in MODULES:
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.Call):
                called = ast.unparse(node.func)
                assert not random.match(called), f"{path}: {called}"
                # A study may be a Python file of the user's own, named on the command line.
                assert not run.match(called) or (path.name, called) == (
                    "study_file.py",
                    "runpy.run_path",
                ), path
        banned = {"pickle", "shelve", "marshal", "dill", "cloudpickle"}
        assert not banned & {name.split(".")[0] for name in imported(path)}, path


def test_no_drawer_for_everything():
    assert not {"utils", "common", "core", "base", "helpers", "misc"} & {
        path.stem for path in SOURCE.rglob("*")
    }


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text().splitlines()) <= 120
