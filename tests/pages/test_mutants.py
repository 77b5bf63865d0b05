"""The page of mutants adds up; the copy that is mutated is the package with its decorators moved."""

import ast
import re
from pathlib import Path

from pages.mutants import CHAPTERS, undecorated
from pages.survivors import Survivor, reasons

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "mutants.md").read_text()


def test_the_page_adds_up():
    total, noticed, survived = (
        int(re.search(pattern, PAGE)[1].replace(",", ""))
        for pattern in (r"([\d,]+) such mutants", r"noticed ([\d,]+) \(", r"The ([\d,]+) that they did not")
    )
    assert noticed + survived == total
    assert "Not explained" not in PAGE
    assert sum(map(int, re.findall(r"^## .*\((\d+)\)$", PAGE, re.MULTILINE))) == survived


def test_every_file_that_is_named_is_there():
    files = set(re.findall(r"^\| `([\w/]+\.py)` \|", PAGE, re.MULTILINE))
    assert files
    assert all((ROOT / "src" / "pdrm" / file).exists() for file in files)


def test_every_place_of_a_reason_is_there():
    """A reason whose function was renamed or removed would be kept for ever."""
    there = {("*", "")}
    for chapter in CHAPTERS:
        for file in (ROOT / chapter).rglob("*.py"):
            name = file.relative_to(ROOT / "src" / "pdrm").as_posix()
            there |= {(name, node.name) for node in functions(ast.parse(file.read_text()))}
    places = {place: place.partition(": ")[0].partition(" ") for reason in reasons() for place in reason.places}
    assert not [place for place, (file, _, name) in places.items() if (file, name.rpartition(".")[2]) not in there]


def test_a_reason_is_for_its_place_alone():
    (limits,) = [reason for reason in reasons() if reason.title == "Limits that are one off"]
    line = "if len(found) >= MOST_CASES:"
    assert limits.fits(Survivor("machines/checks/zero_patterns.py", "reachable_cases", "", line))
    assert not limits.fits(Survivor("machines/checks/zero_patterns.py", "unread", "", line))
    assert not limits.fits(Survivor("machines/alphabet.py", "reachable_cases", "", line))
    assert not limits.fits(
        Survivor("machines/checks/zero_patterns.py", "reachable_cases", "", "if len(found) > MOST_CASES + 1:")
    )


def functions(tree):
    return [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]


def decorators(tree):
    return [ast.unparse(one) for node in functions(tree) for one in node.decorator_list]


def test_nothing_but_decorators_is_moved():
    for chapter in CHAPTERS:
        for file in sorted((ROOT / chapter).rglob("*.py")):
            check_moved(file)


def check_moved(file):
    before = ast.parse(file.read_text())
    after = ast.parse(undecorated(file.read_text()))
    bare = [
        [(node.name, ast.dump(node.args), *map(ast.dump, node.body)) for node in functions(tree)]
        for tree in (before, after)
    ]
    assert bare[0] == bare[1]
    assert not any(one.startswith(("njit", "lru_cache")) for one in decorators(after))
    gone = len(decorators(before)) - len(decorators(after))
    put = [ast.unparse(node) for node in ast.walk(after) if isinstance(node, ast.Assign)]
    compiled = sum(one.startswith("njit") for one in decorators(before))
    assert gone - compiled == sum(bool(re.fullmatch(r"(\w+) = (property|lru_cache\(.*\))\(\1\)", one)) for one in put)
