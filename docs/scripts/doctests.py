"""A Python-Markdown extension that formats docstring examples as code.

An example extends from `>>>` to the next empty line. Markdown would treat it as a quotation.
"""

from __future__ import annotations

from markdown import Markdown
from markdown.extensions import Extension
from markdown.preprocessors import Preprocessor

BEFORE_FENCES = 35
"""Above the priority of fenced code, which reads the result."""


class Doctests(Preprocessor):
    """Puts fences around examples without fences.

    >>> Doctests(Markdown()).run(["Add:", ">>> 1 + 1", "2", "", "Done."])
    ['Add:', '', '```pycon', '>>> 1 + 1', '2', '```', '', 'Done.']
    """

    def run(self, lines: list[str]) -> list[str]:
        result = list[str]()
        in_fence = in_example = False
        for line in [*lines, ""]:
            in_fence ^= line.startswith("```")
            if line.startswith(">>>") and not in_fence and not in_example:
                result += ["", "```pycon"]
                in_example = True
            elif not line.strip() and in_example:
                result.append("```")
                in_example = False
            result.append(line)
        return result[:-1]


class DoctestBlocks(Extension):
    """The extension."""

    def extendMarkdown(self, md: Markdown) -> None:
        md.preprocessors.register(Doctests(md), "doctests", BEFORE_FENCES)


def makeExtension(**settings: object) -> DoctestBlocks:
    """Entry point of Python-Markdown."""
    return DoctestBlocks(**settings)
