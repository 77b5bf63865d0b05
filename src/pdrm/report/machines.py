"""The machines of the paper in the report: each one's drawing, size, undefined cases and text."""

from __future__ import annotations

import re
from html import escape

from pdrm.drawing import render
from pdrm.machines.catalogue import catalogue, text_of
from pdrm.report.page import Section


def machine_section(name: str) -> Section:
    """One machine of the catalogue."""
    machine = catalogue(name)
    text = text_of(name)
    comment = " ".join(line.removeprefix("//").strip() for line in text.splitlines() if line.startswith("//"))
    drawing = re.sub(r"^.*?(?=<svg)", "", render(machine, "svg").decode(), flags=re.DOTALL)
    findings = "".join(f"<li>{escape(finding.message)}</li>" for finding in machine.findings())
    undefined = f"<details><summary>Where no rule applies</summary><ul>{findings}</ul></details>" if findings else ""
    body = (
        f"<p>{escape(comment)}</p><figure>{drawing}</figure>{undefined}"
        f"<details><summary>{escape(name)}.pdrm</summary><pre>{escape(text)}</pre></details>"
    )
    return Section(name, name, body)
