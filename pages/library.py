"""docs/api.md: every public name of the library, with its signature and docstring."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

import pdrm

HEAD = """# The library

*Made by `python -m pages` from the docstrings; every example is run by the tests.*

`import pdrm` gives these names; each is loaded when it is first used. (`Run`, which `train` returns, is `pdrm.learning.Run`.)
"""
GROUP = re.compile(r"^    # (.+)$|^    \"(\w+)\",$", re.MULTILINE)


def groups() -> dict[str, list[str]]:
    """The public names under the headings that `__all__` has."""
    source = Path(str(pdrm.__file__)).read_text(encoding="utf-8")
    found: dict[str, list[str]] = {}
    for heading, name in GROUP.findall(source.partition("__all__ = [")[2].partition("\n]")[0]):
        if heading:
            found[heading] = []
        else:
            found[list(found)[-1]].append(name)
    return found


def library_page() -> str:
    """The page."""
    parts = [HEAD]
    for heading, names in groups().items():
        parts += [f"## {heading}", ""]
        for name in names:
            parts += entry(name, getattr(pdrm, name))
            parts += entry("Run", pdrm.learning.Run) if name == "train" else []
    return "\n".join(parts)


def entry(name: str, thing: Any) -> list[str]:
    """One name: signature, docstring, and a class's own methods."""
    home = thing.__module__.removeprefix("pdrm.").replace(".", "/")
    lines = [
        f"### {name}",
        "",
        "```py",
        signature(name, thing),
        "```",
        "",
        *prose(thing),
        f"Defined in `{home}`.",
        "",
    ]
    methods = members(thing) if inspect.isclass(thing) else []
    if methods:
        lines += ["| member | |", "|---|---|", *methods, ""]
    return lines


def signature(name: str, thing: Any) -> str:
    """How it is called, one argument a line where it is long; what a constant is."""
    if not callable(thing):
        return f"{name} = {thing!r}"
    try:
        found = inspect.signature(thing)
    except ValueError:
        return name
    text = _unquoted(f"{name}{found}").replace(" -> None", "")
    if len(text) <= 110:
        return text
    arguments = "".join(f"    {argument},\n" for argument in _arguments(found))
    answer = (
        ""
        if found.return_annotation in (None, "None", inspect.Signature.empty)
        else f" -> {found.return_annotation}"
    )
    return f"{name}(\n{arguments}){answer}"


def _arguments(found: inspect.Signature) -> list[str]:
    """The arguments as written, with the star before those that are only named."""
    texts: list[str] = []
    for parameter in found.parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY and "*" not in "".join(
            text[:1] for text in texts
        ):
            texts.append("*")
        texts.append(_unquoted(str(parameter)))
    return texts


def _unquoted(text: str) -> str:
    """Annotations without the quotes in which they are kept; defaults keep theirs."""
    return re.sub(r"(: |-> )'([^']*)'", r"\1\2", text)


def prose(thing: Any) -> list[str]:
    """The docstring, its examples fenced."""
    lines, fenced = [], False
    for line in inspect.cleandoc(thing.__doc__ or "").splitlines():
        if line.startswith(">>>") and not fenced:
            lines += ["```pycon"]
            fenced = True
        elif not line.strip() and fenced:
            lines += ["```"]
            fenced = False
        lines.append(line)
    return [*lines, *(["```"] if fenced else []), ""]


def members(kind: type) -> list[str]:
    """A row for each public method and property that the class itself has, and that says something."""
    rows = []
    for name, member in vars(kind).items():
        called = member.__func__ if isinstance(member, classmethod | staticmethod) else member
        documented = inspect.isfunction(called) or isinstance(called, property)
        if documented and not name.startswith("_") and called.__doc__:
            first = " ".join(inspect.cleandoc(called.__doc__).partition("\n\n")[0].split()).replace(
                "|", "\\|"
            )
            rows.append(f"| `{name}` | {first} |")
    return rows
