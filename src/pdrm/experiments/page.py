"""The page of a report: plain HTML with its style inside, readable on a phone and on paper; nothing is fetched or run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pdrm.drawing.markup import Markup, html, join


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
td, th { padding: .3rem .9rem .3rem 0; vertical-align: top; } tbody tr { border-bottom: 1px solid var(--line); }
td.n { white-space: nowrap; } .n { text-align: right; font-variant-numeric: tabular-nums; }
.row { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(15rem, 100%), 1fr)); gap: .6rem 1rem; }
.row figure { margin: 0; } .row img { width: 100%; }
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
    parts = (
        html("section", html("h2", part.heading), part.body, id=part.anchor) for part in sections
    )
    body = html(
        "body",
        html("header", html("h1", title), introduction),
        html("nav", join((part.link for part in sections), " ")),
        html("main", *parts),
    )
    return f"<!doctype html>{html('html', head, body, lang='en')}\n"
