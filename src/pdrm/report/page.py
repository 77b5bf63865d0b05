"""The page: plain HTML with its style inside, readable on a phone and on paper."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

STYLE = """
body { font: 16px/1.5 Georgia, serif; max-width: 60rem; margin: 0 auto; padding: 1rem; color: #222; background: #fff; }
h1, h2 { font-weight: normal; line-height: 1.2; }
section { border-top: 1px solid #ccc; padding: 1rem 0; break-inside: avoid; }
figure { margin: 1rem 0; overflow-x: auto; }
figure svg { max-width: 100%; height: auto; }
pre { font: 13px/1.4 monospace; background: #f6f6f4; padding: .8rem; overflow-x: auto; }
table { border-collapse: collapse; } td, th { text-align: left; padding: .2rem .8rem .2rem 0; vertical-align: top; }
details summary { cursor: pointer; } nav a { margin-right: .8rem; white-space: nowrap; }
"""


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the page: a heading, and HTML below it."""

    anchor: str
    heading: str
    body: str


def page(title: str, introduction: str, sections: list[Section]) -> str:
    """The whole page.

    >>> "<h1>Machines</h1>" in page("Machines", "All of them.", [])
    True
    """
    links = "".join(f'<a href="#{escape(part.anchor)}">{escape(part.heading)}</a> ' for part in sections)
    parts = "".join(
        f'<section id="{escape(part.anchor)}"><h2>{escape(part.heading)}</h2>{part.body}</section>' for part in sections
    )
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{STYLE}</style></head><body>"
        f"<h1>{escape(title)}</h1><p>{escape(introduction)}</p><nav>{links}</nav>{parts}</body></html>\n"
    )
