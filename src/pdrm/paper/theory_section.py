"""The sections about what can be proved: which k is enough, how large tables get, and the paper's machines."""

from __future__ import annotations

from typing import Any

from pdrm.drawing.markup import Markup, html, join, table
from pdrm.drawing.render import draw
from pdrm.experiments.page import Section, badge, bullets, details
from pdrm.language.loading import catalogue, catalogue_names, catalogue_text

SIZES = ("full policy", "1-policy", "CRA policy")
QUESTIONS = {"same_values": "same values", "everywhere": "everywhere", "start": "from the start"}


def k_section(facts: dict[str, Any]) -> Section:
    """The smallest k that is enough."""
    rows = [
        [html("code", name), *(_smallest(answers, question) for question in QUESTIONS)]
        for name, answers in facts["k"].items()
    ]
    body = Markup(
        "<p>The smallest k for which a policy that sees the top k symbols is enough, of k = 0…5. <em>Same values</em> is the paper's "
        "Proposition 1; <em>everywhere</em>: some k-policy is optimal from every state; <em>from the start</em>: from the start. "
        "Discounted, without a step limit, stacks unbounded; every answer is proved.</p>"
    )
    shown = body + table(["domain", *QUESTIONS.values()], rows)
    return Section("which-k", "Which k is enough", shown)


def _smallest(answers: dict[str, Any], question: str) -> Markup:
    said = {k: found[question] for k, found in answers.items()}
    enough = [k for k, answer in said.items() if answer == "yes"]
    if enough:
        return badge(f"k = {enough[0]}", "holds")
    refused = [k for k, answer in said.items() if answer == "no"]
    if len(refused) == len(said):
        return badge("none of 0…5", "fails")
    return badge(f"not k = {', '.join(refused)}" if refused else "undecided")


def sizes_section(facts: dict[str, Any]) -> Section:
    """The number of rows of each kind of policy."""
    rows = []
    for name, record in facts["sizes"].items():
        found = {size["what"]: size for size in record["sizes"]}
        cells = []
        for what in SIZES:
            star = "" if found[what]["within"] == record["steps"] else "*"
            cells += [_power(found[what]["bound"]), f"{found[what]['reachable']:,}{star}"]
        holds = "yes" if record["holds"] else "no"
        rows.append([html("code", name), f"{record['steps']:,}", *cells, holds])
    body = html(
        "p",
        "Rows of tables for an episode of the domain's length: the bound by the theorems of Section 5, and what can be "
        "reached. A star: counted within the first steps only, because the whole would not fit.",
    )
    columns = [f"{what}: {part}" for what in SIZES for part in ("bound", "reachable")]
    heads = ["domain", "steps", *columns, "all within"]
    shown = body + table(heads, rows, range(1, len(heads) - 1))
    return Section("sizes", "How large policies get", shown)


def _power(bound: dict[str, Any] | None) -> str:
    if bound is None:
        return "none"
    if bound["exact"] is not None and bound["exact"] < 10**7:
        return f"{bound['exact']:,}"
    return Markup("10") + html("sup", f"{bound['log10']:.1f}")


def machines_section() -> Section:
    """Every machine of the catalogue: its drawing, undefined cases and text."""
    names = catalogue_names()
    links = join((html("a", name, href=f"#{name}") for name in names), " ")
    return Section("machines", "The machines", html("p", links) + join(map(_machine_part, names)))


def _machine_part(name: str) -> Markup:
    machine = catalogue(name)
    text = catalogue_text(name)
    lines = (line for line in text.splitlines() if line.startswith("//"))
    comment = " ".join(line.removeprefix("//").strip() for line in lines)
    findings = [finding.message for finding in machine.findings()]
    return join(
        [
            html("h3", name, id=name),
            html("p", comment),
            draw(machine).html(),
            details("Where no rule applies", bullets(findings)) if findings else "",
            details(f"{name}.pdrm", html("pre", text)),
        ]
    )
