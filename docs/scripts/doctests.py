"""Examples of docstrings as code: lines from `>>>` to the next empty line, which Markdown would take for quotations.

A Python-Markdown extension, named in zensical.toml.
"""

from __future__ import annotations

from markdown import Markdown
from markdown.extensions import Extension
from markdown.preprocessors import Preprocessor

BEFORE_FENCES = 35
"""Above the priority of fenced code, which reads what is made here."""


class Doctests(Preprocessor):
    """Puts fences around examples that have none.

    >>> Doctests(Markdown()).run(["Add:", ">>> 1 + 1", "2", "", "Done."])
    ['Add:', '', '```pycon', '>>> 1 + 1', '2', '```', '', 'Done.']
    """

    def run(self, lines: list[str]) -> list[str]:
        found = list[str]()
        fenced = example = False
        for line in [*lines, ""]:
            fenced ^= line.startswith("```")
            if line.startswith(">>>") and not fenced and not example:
                found += ["", "```pycon"]
                example = True
            elif not line.strip() and example:
                found.append("```")
                example = False
            found.append(line)
        return found[:-1]


class DoctestBlocks(Extension):
    """The extension."""

    def extendMarkdown(self, md: Markdown) -> None:
        md.preprocessors.register(Doctests(md), "doctests", BEFORE_FENCES)


def makeExtension(**settings: object) -> DoctestBlocks:
    """Make the extension, as Markdown asks for it."""
    return DoctestBlocks(**settings)
