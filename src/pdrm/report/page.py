"""The page of a report: plain HTML with its style inside, readable on a phone and on paper; nothing is fetched or run.

`html` writes a tag. Text is escaped wherever it comes from; only what is `Markup`, because a function here made it or because
it is a constant of ours, is taken as it is.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

KINDS = {"svg": "image/svg+xml", "png": "image/png"}
VOID = ("br", "img", "link", "meta")


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
    named = "".join(f' {name.rstrip("_")}="{escape(value)}"' for name, value in attributes.items() if value)
    return Markup(f"<{tag}{named}>" + ("" if tag in VOID else f"{join(children)}</{tag}>"))


def join(parts: Iterable[str], between: str = "") -> Markup:
    """Some parts, one after the other.

    >>> join(["a & b", html("br")], ", ")
    'a &amp; b, <br>'
    """
    return Markup(between.join(part if isinstance(part, Markup) else escape(part, quote=False) for part in parts))


def picture(data: bytes, kind: str, caption: str, text: str = "") -> Markup:
    """A picture in the page itself; text: what stands below it, if it is not the caption.

    >>> picture(b"", "png", "nothing")
    '<figure><img src="data:image/png;base64," alt="nothing"><figcaption>nothing</figcaption></figure>'
    """
    source = f"data:{KINDS[kind]};base64,{base64.b64encode(data).decode()}"
    return html("figure", html("img", src=source, alt=caption), html("figcaption", text or caption))


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], numbers: Sequence[int] = ()) -> Markup:
    """A table that scrolls by itself; the columns in `numbers` are set to the right.

    >>> table(["a"], [["<1"]], numbers=[0])
    '<div class="wide"><table><thead><tr><th class="n">a</th></tr></thead><tbody><tr><td class="n">&lt;1</td></tr></tbody></table></div>'
    """

    def row(tag: str, cells: Sequence[str]) -> Markup:
        return html("tr", *(html(tag, cell, class_="n" * (place in numbers)) for place, cell in enumerate(cells)))

    body = html("tbody", *(row("td", cells) for cells in rows))
    return html("div", html("table", html("thead", row("th", heads)), body), class_="wide")


def details(summary: str, *body: str) -> Markup:
    """Something to open.

    >>> details("more", html("p", "this"))
    '<details><summary>more</summary><p>this</p></details>'
    """
    return html("details", html("summary", summary), *body)


def badge(text: str, kind: str = "none") -> Markup:
    """A short word in its colour: one that `holds`, `fails`, or neither."""
    return html("span", text, class_=f"badge {kind}")


def bullets(items: Iterable[str]) -> Markup:
    """A list."""
    return html("ul", *(html("li", item) for item in items))


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


STYLE = """
:root { --ink: #262a33; --soft: #6b6f78; --line: #e2dfd8; --paper: #fff; --wash: #f7f6f2; --link: #0b5c8f; }
* { box-sizing: border-box; }
body { font: 16px/1.55 system-ui, "Segoe UI", "Helvetica Neue", Arial, sans-serif; max-width: 66rem; margin: 0 auto;
  padding: 1.2rem; color: var(--ink); background: var(--paper); overflow-wrap: break-word; }
h1 { font-size: 2rem; line-height: 1.15; margin: .4rem 0; } h2 { font-size: 1.45rem; margin: 0 0 .6rem; }
h3 { font-size: 1.1rem; margin: 1.6rem 0 .3rem; }
a { color: var(--link); } p { max-width: 46rem; }
.lead { font-size: 1.1rem; } .soft { color: var(--soft); font-size: .92rem; }
nav { position: sticky; top: 0; background: var(--paper); border-bottom: 1px solid var(--line); padding: .5rem 0; z-index: 1;
  overflow-x: auto; white-space: nowrap; } nav a { margin-right: 1rem; text-decoration: none; }
section { border-top: 1px solid var(--line); padding: 1.4rem 0; scroll-margin-top: 3rem; }
section:first-of-type { border-top: 0; }
figure { margin: .8rem 0; } figure img, figure svg { max-width: 100%; height: auto; }
figcaption { color: var(--soft); font-size: .9rem; max-width: 46rem; }
.wide { overflow-x: auto; margin: .6rem 0; } table { border-collapse: collapse; font-size: .92rem; }
th { text-align: left; font-weight: 600; border-bottom: 1.5px solid var(--ink); }
td code { white-space: nowrap; } td, th { padding: .3rem .9rem .3rem 0; vertical-align: top; } tbody tr { border-bottom: 1px solid var(--line); }
td.n { white-space: nowrap; } .n { text-align: right; font-variant-numeric: tabular-nums; }
.side { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(24rem, 100%), 1fr)); gap: 1rem 1.6rem; }
pre { font: 13px/1.45 ui-monospace, Menlo, Consolas, monospace; background: var(--wash); padding: .8rem; overflow-x: auto; }
code { font: .92em ui-monospace, Menlo, Consolas, monospace; }
details { margin: .5rem 0; } summary { cursor: pointer; color: var(--link); }
.badge { display: inline-block; padding: .05rem .55rem; border-radius: 1rem; font-size: .85rem; white-space: nowrap; }
.holds { background: #d9f0dd; color: #14532d; } .fails { background: #fbe0dc; color: #7f1d1d; }
.none { background: #ecebe6; color: #55585f; }
.count { display: flex; flex-wrap: wrap; gap: .8rem; margin: 1rem 0; } .count div { background: var(--wash); border-radius: .6rem;
  padding: .6rem 1rem; } .count b { display: block; font-size: 1.5rem; }
@media print { nav { display: none; } section { break-inside: auto; } figure, tr { break-inside: avoid; } body { font-size: 11pt; } }
"""


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the page: a heading, and what is below it."""

    anchor: str
    heading: str
    body: Markup

    @property
    def link(self) -> Markup:
        """A link to it."""
        return html("a", self.heading, href=f"#{self.anchor}")


def page(title: str, introduction: Markup, sections: Sequence[Section]) -> str:
    """The whole page.

    >>> "<h1>Machines</h1><p>All of them.</p>" in page("Machines", html("p", "All of them."), [])
    True
    """
    head = html(
        "head",
        html("meta", charset="utf-8"),
        html("meta", name="viewport", content="width=device-width, initial-scale=1"),
        html("title", title),
        html("link", rel="icon", href="data:,"),
        html("style", Markup(STYLE)),
    )
    parts = (html("section", html("h2", part.heading), part.body, id=part.anchor) for part in sections)
    body = html(
        "body",
        html("header", html("h1", title), introduction),
        html("nav", join((part.link for part in sections), " ")),
        html("main", *parts),
    )
    return f"<!doctype html>{html('html', head, body, lang='en')}\n"
