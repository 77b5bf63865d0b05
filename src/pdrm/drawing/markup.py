"""HTML for reports and notebooks: tags, tables, pictures, and readable numbers.

`html` writes a tag. All text is escaped except `Markup`, the result of these functions.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from html import escape

MIME_TYPES = {"svg": "image/svg+xml", "png": "image/png", "gif": "image/gif"}
VOID = ("br", "img", "input", "link", "meta")


class Markup(str):
    """HTML that is not escaped again. Text added to it is escaped.

    >>> Markup("<br>") + "a & b"
    '<br>a &amp; b'
    """

    __slots__ = ()

    def __add__(self, other: str) -> Markup:
        return join((self, other))


def html(tag: str, *children: str, **attributes: str) -> Markup:
    """Write a tag with its attributes (`class_` is `class`; empty ones are omitted) and children.

    >>> html("p", "a < b, ", html("em", "really"), class_="soft", id="")
    '<p class="soft">a &lt; b, <em>really</em></p>'
    """
    written = "".join(
        f' {name.rstrip("_")}="{escape(value)}"' for name, value in attributes.items() if value
    )
    closed = "" if tag in VOID else f"{join(children)}</{tag}>"
    return Markup(f"<{tag}{written}>{closed}")


def join(parts: Iterable[str], between: str = "") -> Markup:
    """Join parts with a separator.

    >>> join(["a & b", html("br")], ", ")
    'a &amp; b, <br>'
    """
    escaped = (part if isinstance(part, Markup) else escape(part, quote=False) for part in parts)
    return Markup(between.join(escaped))


SCALED = "max-width: 100%; height: auto"
"""The style of pictures that shrink to the width of the page."""


def picture(data: bytes, kind: str, caption: str, text: str = "") -> Markup:
    """Embed a picture, with `text` below it (default: the caption).

    >>> picture(b"", "png", "nothing").partition("alt=")[2][:61]
    '"nothing" style="max-width: 100%; height: auto"><figcaption>n'
    """
    image = html("img", src=data_url(data, kind), alt=caption, style=SCALED)
    return html("figure", image, html("figcaption", text or caption))


FIXED = "font-family: monospace; white-space: pre; line-height: 1.25; overflow-x: auto"


def listing(text: str) -> Markup:
    """Text with aligned columns, whatever font a page uses for `pre`.

    >>> listing("a < b").partition(">")[2]
    'a &lt; b</pre>'
    """
    return html("pre", text, style=FIXED)


SHOW = (
    "const n = +this.value; this.parentNode.querySelectorAll('img')"
    ".forEach((image, i) => image.style.display = i === n ? 'block' : 'none')"
)
"""The slider's script: show only the picture with its number."""


def slides(pictures: Sequence[bytes], kind: str, caption: str) -> Markup:
    """Show one picture at a time, with a slider; without scripts, only the first.

    >>> slides([b"", b""], "png", "two").count("<img")
    2
    """
    images = []
    for number, data in enumerate(pictures):
        style = f"{SCALED}; display: {'none' if number else 'block'}"
        image = html("img", src=data_url(data, kind), alt=f"{caption}, {number}", style=style)
        images.append(image)
    size = {"min": "0", "max": str(len(images) - 1), "value": "0", "step": "1"}
    style = "width: 24em; max-width: 100%"
    slider = html("input", type="range", **size, oninput=SHOW, style=style, title=caption)
    return html("div", slider, *images) if len(images) > 1 else html("div", *images)


def data_url(data: bytes, kind: str) -> str:
    """Encode a picture as a data URL."""
    return f"data:{MIME_TYPES[kind]};base64,{base64.b64encode(data).decode()}"


def table(
    headings: Sequence[str], rows: Iterable[Sequence[str]], numbers: Sequence[int] = ()
) -> Markup:
    """A table that scrolls horizontally; the columns in `numbers` are right-aligned.

    >>> table(["a"], [["<1"]], numbers=[0]).partition("<tbody>")[2]
    '<tr><td class="n">&lt;1</td></tr></tbody></table></div>'
    """

    def row(tag: str, cells: Sequence[str]) -> Markup:
        classes = ["n" if column in numbers else "" for column in range(len(cells))]
        pairs = zip(cells, classes, strict=True)
        return html("tr", *(html(tag, cell, class_=class_) for cell, class_ in pairs))

    body = html("tbody", *(row("td", cells) for cells in rows))
    return html("div", html("table", html("thead", row("th", headings)), body), class_="wide")


def number(value: float | None) -> str:
    """Format a number for reading.

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
