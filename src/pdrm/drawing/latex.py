"""LaTeX spelling of a drawing's words: labels as formulas, captions as prose with names as formulas in it."""

from __future__ import annotations

import re
import unicodedata

from pdrm.drawing.words import ExactLabel, Name, Words, printable

SIGNS = {
    " | ": r" \mid ",
    ", ": r",\ ",
    " ": r"\ ",
    "ε": r"\epsilon ",
    " ∧ ": r" \land ",
    " ∨ ": r" \lor ",
    "¬": r"\neg ",
    "⊤": r"\top ",
    "⊥": r"\bot ",
    "⟨": r"\langle ",
    "⟩": r"\rangle ",
    "−": "-",
    " / ": " / ",
}
"""The paper's signs inside a formula."""

SIGN = re.compile("|".join(sorted(map(re.escape, SIGNS), key=len, reverse=True)) + r"|(?<=\d)e(?=[−\d])")

CHARACTERS = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "#": r"\#",
    "$": r"\$",
    "%": r"\%",
    "&": r"\&",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "`": r"\textasciigrave{}",
    '"': r"\textquotedbl{}",
    "□": r"$\square$",
    "⟨": r"$\langle$",
    "⟩": r"$\rangle$",
    "−": "$-$",
}
"""Characters that mean something to LaTeX in prose, or that its usual fonts lack."""


def formula(words: Words) -> str:
    r"""A line of a label.

    >>> print(formula((ExactLabel(("A",)), ", z / ", Name("#"), " z, −1e5")))
    $\{A\},\ z / \#\ z,\ -1\mathrm{e}5$
    """

    def one(word: str | Name | ExactLabel) -> str:
        match word:
            case Name(text):
                return name(text)
            case ExactLabel(events):
                return r"\{" + ", ".join(name(event) for event in events) + r"\}"
            case _:
                return SIGN.sub(lambda sign: SIGNS.get(sign[0], r"\mathrm{e}"), word)

    return f"${''.join(one(word) for word in words)}$"


def caption(words: Words) -> str:
    """A line of a caption."""
    return "".join(prose(word) if isinstance(word, str) else formula((word,)) for word in words)


def name(text: str) -> str:
    r"""A name inside a formula: a letter as such, a letter's number below it, words upright.

    >>> print(name("A"), name("u0"), name("#"), name("loc_1"))
    A u_{0} \# \textsf{loc\_1}
    """
    indexed = re.fullmatch(r"([A-Za-z])([0-9]*)", text)
    if indexed:
        return f"{indexed[1]}_{{{indexed[2]}}}" if indexed[2] else text
    if text in ("#", "%", "$"):
        return CHARACTERS[text]
    return rf"\textsf{{{prose(text)}}}"


def prose(text: str) -> str:
    r"""Text outside formulas; Greek letters are named, since the usual fonts lack them.

    >>> print(prose("50% of α_1"))
    50\% of $\alpha$\_1
    """
    return "".join(CHARACTERS.get(c) or _greek(c) or c for c in printable(text))


def _greek(character: str) -> str:
    """The formula for a small Greek letter, or nothing."""
    kind = re.fullmatch(r"GREEK SMALL LETTER (?!OMICRON|FINAL)([A-Z]+)", unicodedata.name(character, ""))
    return f"$\\{kind[1].lower().replace('lamda', 'lambda')}$" if kind else ""
