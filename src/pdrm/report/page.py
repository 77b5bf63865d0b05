"""The page of a report: plain HTML with its style inside, readable on a phone and on paper; nothing is fetched or run."""

from __future__ import annotations

import base64
import os
import platform
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from importlib.metadata import PackageNotFoundError, version

from pdrm import __version__
from pdrm.experiments.curves import Curves
from pdrm.experiments.store import Store
from pdrm.experiments.study import Study

# --- Small pieces of HTML: pictures inside the page, tables that scroll by themselves, things to open.

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


# --- The page: plain HTML with its style inside, readable on a phone and on paper; nothing is fetched, nothing is run.

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
.n { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
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
    """A part of the page: a heading, and HTML below it."""

    anchor: str
    heading: str
    body: str


def page(title: str, introduction: str, sections: list[Section]) -> str:
    """The whole page; the introduction is HTML.

    >>> "<h1>Machines</h1>" in page("Machines", "<p>All of them.</p>", [])
    True
    """
    links = "".join(f'<a href="#{escape(part.anchor)}">{escape(part.heading)}</a> ' for part in sections)
    parts = "".join(
        f'<section id="{escape(part.anchor)}"><h2>{escape(part.heading)}</h2>{part.body}</section>' for part in sections
    )
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<title>{escape(title)}</title><link rel="icon" href="data:,"><style>{STYLE}</style></head><body>'
        f"<header><h1>{escape(title)}</h1>{introduction}</header><nav>{links}</nav><main>{parts}</main></body></html>\n"
    )


# --- How a report was made: versions, machine, time, and where its numbers are.

PACKAGES = ("numpy", "numba", "gymnasium", "joblib", "matplotlib", "lark", "pygraphviz")


def making_section(lines: Sequence[tuple[Study, Curves]], store: Store, data: str, again: str) -> Section:
    """The section; `data` and `again` (how to make it again) are HTML."""
    timings = [store.run(spec).timing for _, curves in lines for spec in curves.panel.specs(curves.line, curves.seeds)]
    seconds = sum(timing["seconds"] for timing in timings)
    when = sorted(timing["finished"] for timing in timings)
    rows = [
        ["pdrm", __version__],
        ["Python", f"{platform.python_version()} on {platform.system()} {platform.machine()}, {os.cpu_count()} cores"],
        ["packages", escape(", ".join(f"{name} {_version(name)}" for name in PACKAGES))],
        ["runs", f"{len(timings):,}, {seconds / 60:.1f} minutes of one core in all"],
        ["made", f"{when[0]} to {when[-1]}" if when else "–"],
        ["data", data],
        ["again", again],
    ]
    return Section("making", "How it was made", table(["", ""], rows))


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "(not installed)"
