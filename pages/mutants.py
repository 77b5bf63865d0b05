"""The mutation run on `machines/` and `language/`: `make mutants` runs it (for hours; it can be stopped and goes on) and writes docs/mutants.md.

mutmut changes one thing at a time in a copy of the package and runs the tests that reach it. It leaves decorated functions
alone; so in the copy the kernels stand without Numba's decorator, and properties and cached functions are decorated below.

    python -m pages.mutants tenth 3     a sample: the mutants whose number ends in 3, with those that survived before tried again
"""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from pages.survivors import survivors_page

ROOT = Path(__file__).parent.parent
TREE = ROOT / ".measured" / "mutants"
COPIED = ("src", "tests", "proofs", "pages", "docs", "examples", "pyproject.toml")
CHAPTERS = (Path("src/pdrm/machines"), Path("src/pdrm/language"))
SURVIVED = (0, 5, 33)
"""mutmut's codes for a mutant that no test noticed, or that none reaches."""


def undecorated(source: str) -> str:
    r"""The source with Numba's decorators gone, and `f = property(f)` below a function in place of `@property` above it.

    >>> print(undecorated("class A:\n    @property\n    def f(self):\n        return 1\n\n    x = 2\n"), end="")
    class A:
        def f(self):
            return 1
        f = property(f)
    <BLANKLINE>
        x = 2
    """
    lines = source.split("\n")
    for node in reversed(_decorated(ast.parse(source).body)):
        (decorator,) = node.decorator_list
        text = ast.unparse(decorator)
        if not text.startswith("njit"):
            lines.insert(node.end_lineno or node.lineno, " " * node.col_offset + f"{node.name} = {text}({node.name})")
        del lines[decorator.lineno - 1]
    return "\n".join(lines)


def _decorated(body: list[ast.stmt]) -> list[ast.FunctionDef]:
    found: list[ast.FunctionDef] = []
    for node in body:
        if isinstance(node, ast.ClassDef) and not any("Protocol" in ast.unparse(base) for base in node.bases):
            found += _decorated(node.body)
        elif isinstance(node, ast.FunctionDef) and len(node.decorator_list) == 1:
            text = ast.unparse(node.decorator_list[0])
            found += [node] if text == "property" or text.startswith(("njit", "lru_cache")) else []
    return found


def copy() -> None:
    """The tree that is mutated, made anew beside what mutmut has found out so far."""
    TREE.mkdir(parents=True, exist_ok=True)
    for name in COPIED:
        there = TREE / name
        if there.is_dir():
            shutil.rmtree(there)
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, there, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, there)
    for chapter in CHAPTERS:
        for file in (TREE / chapter).rglob("*.py"):
            source = file.read_text(encoding="utf-8")
            file.write_text(undecorated(source), encoding="utf-8")


def results() -> dict[Path, dict[str, Any]]:
    """What mutmut has found out, file by file."""
    files = [file for chapter in CHAPTERS for file in (TREE / "mutants" / chapter).rglob("*.meta")]
    return {file: json.loads(file.read_text(encoding="utf-8")) for file in files}


def forget_survivors() -> None:
    """Let those that no test noticed be tried again: there may be new tests, and which tests reach what is found out anew."""
    (TREE / "mutants" / "mutmut-stats.json").unlink(missing_ok=True)
    for file, found in results().items():
        codes = found["exit_code_by_key"]
        found["exit_code_by_key"] = {name: None if code in SURVIVED else code for name, code in codes.items()}
        file.write_text(json.dumps(found), encoding="utf-8")


def run(*names: str) -> None:
    """Run mutmut on the mutants with these names (`*` stands for anything), else on all that have no result yet. It keeps the results of
    functions that have not changed."""
    command = [sys.executable, "-m", "mutmut", "run", "--max-children", str(os.cpu_count() or 1), *names]
    subprocess.run(command, cwd=TREE, env={**os.environ, "NUMBA_DISABLE_JIT": "1"}, check=True)  # noqa: S603


def write(tenth: str = "") -> int:
    """Write the page, of all mutants or of those that end in a digit; how many survivors it cannot explain."""
    codes = {name: code for found in results().values() for name, code in found["exit_code_by_key"].items()}
    tried = {name: code for name, code in codes.items() if name.endswith(tenth) and not (tenth and code is None)}
    text, unexplained = survivors_page(tried, TREE, tenth, len(codes), sum(name.endswith(tenth) for name in codes))
    (ROOT / "docs" / "mutants.md").write_text(text, encoding="utf-8")
    sys.stdout.write(f"wrote docs/mutants.md; {unexplained} survivors are not explained\n")
    return unexplained


if __name__ == "__main__":
    tenth = sys.argv[-1] if "tenth" in sys.argv else ""
    if "page" not in sys.argv:
        if "again" in sys.argv or tenth:
            forget_survivors()
        copy()
        run(*([f"*__mutmut_*{tenth}"] if tenth else []))
    sys.exit(1 if write(tenth) else 0)
