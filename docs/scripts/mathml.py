"""A Python-Markdown extension that converts formulas between dollar signs to MathML.

Browsers display MathML without scripts or network access.
"""

from __future__ import annotations

import re
import unicodedata
from xml.etree import ElementTree as ET

from latex2mathml.converter import convert
from markdown import Markdown
from markdown.extensions import Extension
from markdown.inlinepatterns import InlineProcessor

FORMULA = r"(?<![\\$\w])\$(?=\S)([^$\n]+?)(?<=\S)\$(?![\w$])"
BEFORE_ESCAPES = 185
"""Above the priority of backslash escapes (they would remove TeX's), below that of code."""
NAMESPACE = re.compile(r"\{[^}]*\}")


VARIANTS = {"script": "SCRIPT", "double-struck": "DOUBLE-STRUCK"}


def letter(text: str | None, variant: str) -> str | None:
    """Convert a letter to the Unicode character of its variant (browsers ignore `mathvariant`).

    >>> letter("R", "script"), letter("1", "double-struck"), letter("x", "")
    ('ℛ', '𝟙', 'x')
    """
    if variant not in VARIANTS or text is None or len(text) != 1:
        return text
    plain = unicodedata.name(text).removeprefix("LATIN ").replace("LETTER ", "")
    for start in ("MATHEMATICAL ", ""):
        try:
            return unicodedata.lookup(f"{start}{VARIANTS[variant]} {plain}")
        except KeyError:
            continue
    return text


class Formulas(InlineProcessor):
    """Replaces `$…$` by its MathML."""

    def handleMatch(self, m: re.Match[str], data: str) -> tuple[ET.Element, int, int]:
        element = ET.fromstring(convert(m[1]))
        for node in element.iter():
            node.tag = NAMESPACE.sub("", node.tag)
            node.text = letter(node.text, node.attrib.pop("mathvariant", ""))
        return element, m.start(0), m.end(0)


class MathML(Extension):
    """The extension."""

    def extendMarkdown(self, md: Markdown) -> None:
        md.inlinePatterns.register(Formulas(FORMULA, md), "mathml", BEFORE_ESCAPES)


def makeExtension(**settings: object) -> MathML:
    """Entry point of Python-Markdown."""
    return MathML(**settings)
