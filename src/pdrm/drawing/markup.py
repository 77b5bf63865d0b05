"""HTML and text for reports and notebooks: a tag, a table, a picture, a number for people.

`html` writes a tag. Text is escaped wherever it comes from; only what is `Markup`, because a function here made it or because
it is a constant of ours, is taken as it is.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from html import escape

MIME_TYPES = {"svg": "image/svg+xml", "png": "image/png", "gif": "image/gif"}
VOID = ("br", "img", "input", "link", "meta")


class Markup(str):
    """HTML that is not escaped again; text that is added to it is.

    >>> Markup("<br>") + "a & b"
    '<br>a &amp; b'
    """

    __slots__ = ()

    def __add__(self, other: str) -> Markup:
        return join((self, other))


def html(tag: str, *children: str, **attributes: str) -> Markup:
    """A tag with its attributes (`class_` is `class`; empty ones are left out) and what is inside it.

    >>> html("p", "a < b, ", html("em", "really"), class_="soft", id="")
    '<p class="soft">a &lt; b, <em>really</em></p>'
    """
    named = "".join(
        f' {name.rstrip("_")}="{escape(value)}"' for name, value in attributes.items() if value
    )
    closed = "" if tag in VOID else f"{join(children)}</{tag}>"
    return Markup(f"<{tag}{named}>{closed}")


def join(parts: Iterable[str], between: str = "") -> Markup:
    """Some parts, one after the other.

    >>> join(["a & b", html("br")], ", ")
    'a &amp; b, <br>'
    """
    escaped = (one if isinstance(one, Markup) else escape(one, quote=False) for one in parts)
    return Markup(between.join(escaped))


SCALED = "max-width: 100%; height: auto"
"""The style of a picture that is scaled down instead of clipped."""


def picture(data: bytes, kind: str, caption: str, text: str = "") -> Markup:
    """A picture in the page itself; text: what stands below it, if it is not the caption.

    >>> picture(b"", "png", "nothing").partition(">")[2]
    '<img src="data:image/png;base64," alt="nothing" style="max-width: 100%; height: auto"><figcaption>nothing</figcaption></figure>'
    """
    image = html("img", src=data_url(data, kind), alt=caption, style=SCALED)
    return html("figure", image, html("figcaption", text or caption))


FIXED = "font-family: monospace; white-space: pre; line-height: 1.25; overflow-x: auto"


def listing(text: str) -> Markup:
    """Text whose columns stay aligned, whatever font a page has for `pre`.

    >>> listing("a < b").partition(">")[2]
    'a &lt; b</pre>'
    """
    return html("pre", text, style=FIXED)


SHOW = (
    "const n = +this.value; this.parentNode.querySelectorAll('img')"
    ".forEach((one, i) => one.style.display = i === n ? 'block' : 'none')"
)
"""The script of the slider: show the picture of its number, and no other."""


def slides(pictures: Sequence[bytes], kind: str, caption: str) -> Markup:
    """Pictures one at a time, with a slider to choose; without scripts, the first.

    >>> slides([b"", b""], "png", "two").count("<img")
    2
    """
    shown = []
    for place, data in enumerate(pictures):
        style = f"{SCALED}; display: {'none' if place else 'block'}"
        shown.append(html("img", src=data_url(data, kind), alt=f"{caption}, {place}", style=style))
    size = {"min": "0", "max": str(len(shown) - 1), "value": "0", "step": "1"}
    style = "width: 24em; max-width: 100%"
    slider = html("input", type="range", **size, oninput=SHOW, style=style, title=caption)
    return html("div", slider, *shown) if len(shown) > 1 else html("div", *shown)


def data_url(data: bytes, kind: str) -> str:
    """A picture as an address that holds all of it."""
    return f"data:{MIME_TYPES[kind]};base64,{base64.b64encode(data).decode()}"


def table(
    headings: Sequence[str], rows: Iterable[Sequence[str]], numbers: Sequence[int] = ()
) -> Markup:
    """A table that scrolls by itself; the columns in `numbers` are set to the right.

    >>> table(["a"], [["<1"]], numbers=[0])
    '<div class="wide"><table><thead><tr><th class="n">a</th></tr></thead><tbody><tr><td class="n">&lt;1</td></tr></tbody></table></div>'
    """

    def row(tag: str, cells: Sequence[str]) -> Markup:
        sides = ["n" if place in numbers else "" for place in range(len(cells))]
        sided = zip(cells, sides, strict=True)
        return html("tr", *(html(tag, cell, class_=side) for cell, side in sided))

    body = html("tbody", *(row("td", cells) for cells in rows))
    return html("div", html("table", html("thead", row("th", headings)), body), class_="wide")


def number(value: float | None) -> str:
    """A number for people.

    >>> number(100005.0), number(-0.123456), number(None), number(2.0)
    ('100,005', '−0.123', '–', '2')
    """
    if value is None or value != value:
        return "–"
    whole = value == round(value) or abs(value) >= 1000
    text = f"{value:,.0f}" if whole else f"{value:.3f}" if abs(value) < 1 else f"{value:.4g}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    text = "0" if text == "-0" else text
    return text.replace("-", "−")
