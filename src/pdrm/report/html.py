"""Small pieces of HTML: pictures inside the page, tables that scroll by themselves, things to open."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from html import escape

KINDS = {"svg": "image/svg+xml", "png": "image/png"}


def picture(data: bytes, kind: str, alt: str, caption: str = "") -> str:
    """A picture in the page itself.

    >>> picture(b"", "png", "nothing")
    '<figure><img src="data:image/png;base64," alt="nothing"></figure>'
    """
    text = f"<figcaption>{caption}</figcaption>" if caption else ""
    source = base64.b64encode(data).decode()
    return f'<figure><img src="data:{KINDS[kind]};base64,{source}" alt="{escape(alt)}">{text}</figure>'


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], numbers: Sequence[int] = ()) -> str:
    """A table of cells that are HTML already; the columns in `numbers` are set to the right.

    >>> table(["a"], [["1"]], numbers=[0])
    '<div class="wide"><table><thead><tr><th class="n">a</th></tr></thead><tbody><tr><td class="n">1</td></tr></tbody></table></div>'
    """
    sides = ['class="n"' if place in numbers else "" for place in range(len(heads))]
    head = "".join(f"{_tag('th', side)}{cell}</th>" for cell, side in zip(heads, sides, strict=True))
    body = "".join(
        "<tr>" + "".join(f"{_tag('td', side)}{cell}</td>" for cell, side in zip(row, sides, strict=True)) + "</tr>"
        for row in rows
    )
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _tag(name: str, side: str) -> str:
    return f"<{name} {side}>" if side else f"<{name}>"


def details(summary: str, body: str) -> str:
    """Something to open.

    >>> details("more", "<p>this</p>")
    '<details><summary>more</summary><p>this</p></details>'
    """
    return f"<details><summary>{escape(summary)}</summary>{body}</details>"


def number(value: float | None) -> str:
    """A number for people.

    >>> number(100005.0), number(-0.123456), number(None), number(2.0)
    ('100,005', '−0.123', '–', '2')
    """
    if value is None or value != value:  # noqa: PLR0124 - not a number
        return "–"
    whole = value == round(value) or abs(value) >= 1000
    text = f"{value:,.0f}" if whole else f"{value:.3f}" if abs(value) < 1 else f"{value:.4g}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    text = "0" if text == "-0" else text
    return text.replace("-", "−")
