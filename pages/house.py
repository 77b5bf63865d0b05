"""docs/images/house.svg: the chapters of the package and what they import of each other, read from the source."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from pages.concept_pictures import GraphPicture

SOURCE = Path(__file__).parent.parent / "src" / "pdrm"
LAYERS = (
    ("cli",),
    ("report", "bench"),
    ("experiments",),
    ("learning", "analysis"),
    ("product", "drawing"),
    ("task",),
    ("language", "domains"),
    ("machines",),
)
"""From the top down; what every chapter may use (errors, files, lazy, progress) is left out."""
SAYS = {
    "cli": "the command",
    "report": "the page",
    "bench": "what it costs",
    "experiments": "what was run",
    "learning": "how it learns",
    "analysis": "what can be proved",
    "product": "what it solves",
    "drawing": "how it looks",
    "task": "a domain and a machine",
    "language": "how it is written",
    "domains": "where it acts",
    "machines": "what is rewarded",
}


def imports() -> dict[str, set[str]]:
    """Chapter -> the chapters that it imports."""
    found: dict[str, set[str]] = {name: set() for name in SAYS}
    for path in SOURCE.rglob("*.py"):
        own = path.relative_to(SOURCE).parts[0].removesuffix(".py")
        if own not in found:
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and (
                match := re.match(r"pdrm\.(\w+)", node.module or "")
            ):
                found[own] |= {match[1]} & found.keys() - {own}
    return found


def needed(graph: dict[str, set[str]]) -> dict[str, set[str]]:
    """The graph without the arrows that longer ways stand for."""

    def reach(start: str, skipped: str) -> set[str]:
        seen, left = set[str](), [name for name in graph[start] if name != skipped]
        while left:
            name = left.pop()
            if name not in seen:
                seen.add(name)
                left += graph[name]
        return seen

    return {
        name: {other for other in others if other not in reach(name, other)}
        for name, others in graph.items()
    }


def house_picture() -> GraphPicture:
    """The drawing, laid out by Graphviz."""
    sizes = {
        name: len([path for path in (SOURCE / name).rglob("*.py") if path.name != "__init__.py"])
        if (SOURCE / name).is_dir()
        else 1
        for name in SAYS
    }
    nodes = [
        f"  {name} [label=<<b>{name}{'/' if (SOURCE / name).is_dir() else '.py'}</b><br/>{says}<br/>"
        f'<font point-size="10">{sizes[name]} module{"s" * (sizes[name] > 1)}</font>>];'
        for name, says in SAYS.items()
    ]
    ranks = [f"  {{ rank=same; {' '.join(layer)} }}" for layer in LAYERS]
    arrows = [
        f"  {name} -> {other};"
        for name, others in sorted(needed(imports()).items())
        for other in sorted(others)
    ]
    style = '  graph [rankdir=TB, ranksep=0.35]; node [shape=box, style="rounded,filled", fillcolor="#eef3fa", fontname="Helvetica"]; edge [color="#5b6470"];'
    return GraphPicture("\n".join(["digraph house {", style, *nodes, *ranks, *arrows, "}", ""]))
