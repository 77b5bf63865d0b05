"""A Python-Markdown extension that puts the explanation of every code in place of a line
`[codes]`, with a heading for each."""

from __future__ import annotations

import inspect

from markdown import Markdown
from markdown.extensions import Extension
from markdown.preprocessors import Preprocessor

from pdrm.errors import explanations

MARK = "[codes]"
BEFORE_DOCTESTS = 36
"""Above the priority of the docstring examples, which may be part of an explanation."""


class Codes(Preprocessor):
    """Replaces the line by a section for each code.

    >>> lines = Codes(Markdown()).run([MARK])
    >>> next(line for line in lines if "E0202" in line)
    '### E0202 UnknownEvent {#E0202}'
    """

    def run(self, lines: list[str]) -> list[str]:
        result = list[str]()
        for line in lines:
            result += sections() if line == MARK else [line]
        return result


def sections() -> list[str]:
    """The lines of all sections. Errors are headed by code and class, warnings by their code."""
    result = list[str]()
    for code, (title, text) in explanations().items():
        name = "" if code.startswith("W") else f" {title.title().replace(' ', '')}"
        result += [f"### {code}{name} {{#{code}}}", "", *inspect.cleandoc(text).split("\n"), ""]
    return result


class CodeSections(Extension):
    """The extension."""

    def extendMarkdown(self, md: Markdown) -> None:
        md.preprocessors.register(Codes(md), "codes", BEFORE_DOCTESTS)


def makeExtension(**settings: object) -> CodeSections:
    """Entry point of Python-Markdown."""
    return CodeSections(**settings)
