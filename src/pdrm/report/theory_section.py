"""What can be proved, in the report: which k is enough, how large tables get, and the paper's machines."""

from __future__ import annotations

import re
from html import escape
from pathlib import Path
from typing import Any

from pdrm.analysis.check_k import check_k
from pdrm.analysis.sizes import sizes_record
from pdrm.domains.paper_domains import domain
from pdrm.drawing.plots import Situation, plot_bytes, sizes_plot, witness_plot
from pdrm.drawing.render import render
from pdrm.experiments.fact_cache import kept_facts
from pdrm.language.loading import catalogue, catalogue_text
from pdrm.learning.agents import PAPER_SETTINGS
from pdrm.machines.pushdown import PushdownRewardMachine
from pdrm.report.page import Section, number, picture, table

# --- What can be proved, in the report: which k is enough, and how large tables get. Kept beside the runs, since it takes a while.

CHECKED = ("letter", "maze-5x5", "maze-10x10", "multi-10x10", "deliver-8", "deliver-4-8", "paint", "echo")
COUNTED = ("letter", "maze-5x5", "maze-10x10", "multi-10x10", "deliver-8", "paint")
KS = range(6)
LOOKED = {"maze-5x5": 400_000}
FEWER = 150_000
"""States looked at for another domain at most: fewer than `pdrm check-k` does, so some answers stay undecided here."""
FILE = "theory.json"
VERDICTS = {"yes": "holds", "no": "fails", "undecided": "none"}
SIZES = ("full policy", "1-policy", "CRA policy")
QUESTIONS = {"same_values": "same values", "everywhere": "everywhere", "start": "from the start"}


def theory_facts(folder: Path) -> dict[str, Any]:
    """The answers and the sizes, as JSON values: read, or found where they are not known for this code and these questions."""
    return kept_facts(
        folder / FILE,
        {"discounts": {name: _discount(name) for name in CHECKED}, "states": {name: _most(name) for name in CHECKED},
         "k": list(KS), "sizes": list(COUNTED)},
        lambda: {"k": {name: _answers(name) for name in CHECKED}, "sizes": {name: _sizes(name) for name in COUNTED}},
    )  # fmt: skip


def _discount(name: str) -> float:
    return float(PAPER_SETTINGS[name]["discount"])


def _most(name: str) -> int:
    return LOOKED.get(name, FEWER)


def _machine(name: str) -> PushdownRewardMachine:
    machine = catalogue(str(domain(name).machine))
    if not isinstance(machine, PushdownRewardMachine):
        raise TypeError(f"{name} goes with a machine without a stack")
    return machine


def _answers(name: str) -> dict[str, Any]:
    return check_k(domain(name), _machine(name), KS, discount=_discount(name), most=_most(name)).record()


def _sizes(name: str) -> dict[str, Any]:
    return sizes_record(domain(name), _machine(name))


def k_section(facts: dict[str, Any]) -> Section:
    """Which top-k view is enough."""
    rows = []
    for name, record in facts["k"].items():
        far = "all" if record["depth"] is None else f"within {record['depth']} steps"
        rows.append(
            [f"<code>{name}</code>", f"{record['states_asked']:,} {far}", *(_smallest(record, q) for q in QUESTIONS)]
        )
    body = (
        "<p>The smallest k for which a policy that sees the top k symbols is enough, of k = 0…5. <em>Same values</em> is the paper's "
        "Proposition 1; <em>everywhere</em>: some k-policy is optimal from every state; <em>from the start</em>: from the start. "
        "Discounted, without a step limit, stacks unbounded; every answer is proved.</p>"
    )
    heads = ["domain", "states asked about", *QUESTIONS.values()]
    return Section("which-k", "Which k is enough", body + table(heads, rows) + _witness(facts["k"].get("maze-5x5")))


def _smallest(record: dict[str, Any], question: str) -> str:
    answers = {k: found[question] for k, found in record["k"].items()}
    smallest = record["smallest"][question]
    if smallest is not None:
        depth = record["depths"][str(smallest)][question]
        limit = "" if depth is None else f' <span class="soft">to depth {depth}</span>'
        return f'<span class="badge holds">k = {smallest}</span>{limit}'
    refused = [k for k, answer in answers.items() if answer == "no"]
    if len(refused) == len(answers):
        return '<span class="badge fails">none of 0…5</span>'
    said = f"not k = {', '.join(refused)}" if refused else "undecided"
    return f'<span class="badge none">{said}</span>'


def _witness(record: dict[str, Any] | None) -> str:
    if record is None:
        return ""
    for k in ("2", "1", "0"):
        found = record["witnesses"].get(k, {}).get("everywhere")
        if found:
            drawn = [
                Situation(
                    one["place"], one["state"], tuple(one["stack"]), int(k), " ".join(one["way"]), " or ".join(one["actions"]),
                    number(one["value"][0]),
                )
                for one in found
            ]  # fmt: skip
            title = f"the top {k} symbols are the same, the best actions are not"
            plot = plot_bytes(witness_plot(domain("maze-5x5"), drawn, title), "svg")
            return picture(
                plot,
                "svg",
                title,
                "A witness: two ways into the same place of the 5×5 maze. The second bumped into a wall.",
            )
    return ""


def sizes_section(facts: dict[str, Any]) -> Section:
    """How many rows each kind of policy takes."""
    rows = []
    for name, record in facts["sizes"].items():
        found = {size["what"]: size for size in record["sizes"]}
        cells = [cell for what in SIZES for cell in (_power(found[what]["bound"]), _reachable(found[what], record))]
        rows.append([f"<code>{name}</code>", f"{record['steps']:,}", *cells, "yes" if record["holds"] else "no"])
    body = (
        "<p>Rows of tables for an episode of the domain's length: the bound by the theorems of Section 5, and what can be "
        "reached. A star: counted within the first steps only, since the whole would not fit.</p>"
    )
    heads = ["domain", "steps", *(f"{what}: {part}" for what in SIZES for part in ("bound", "reachable")), "all within"]
    plots = "".join(
        picture(plot_bytes(sizes_plot(facts["sizes"][name]), "svg"), "svg", f"growth of tables, {name}")
        for name in ("letter", "maze-10x10")
        if name in facts["sizes"]
    )
    return Section(
        "sizes",
        "How large policies get",
        body + table(heads, rows, range(1, len(heads) - 1)) + f'<div class="side">{plots}</div>',
    )


def _reachable(size: dict[str, Any], record: dict[str, Any]) -> str:
    whole = size["within"] == record["steps"]
    return f"{size['reachable']:,}" + ("" if whole else f'<abbr title="within {size["within"]} steps">*</abbr>')


def _power(bound: dict[str, Any] | None) -> str:
    if bound is None:
        return "none"
    if bound["exact"] is not None and bound["exact"] < 10**7:
        return f"{bound['exact']:,}"
    return f"10<sup>{bound['log10']:.1f}</sup>"


# --- The machines of the paper in the report: each one's drawing, size, undefined cases and text.


def machine_section(name: str) -> Section:
    """One machine of the catalogue."""
    machine = catalogue(name)
    text = catalogue_text(name)
    comment = " ".join(line.removeprefix("//").strip() for line in text.splitlines() if line.startswith("//"))
    drawing = re.sub(r"^.*?(?=<svg)", "", render(machine, "svg").decode(), flags=re.DOTALL)
    findings = "".join(f"<li>{escape(finding.message)}</li>" for finding in machine.findings())
    undefined = f"<details><summary>Where no rule applies</summary><ul>{findings}</ul></details>" if findings else ""
    body = (
        f"<p>{escape(comment)}</p><figure>{drawing}</figure>{undefined}"
        f"<details><summary>{escape(name)}.pdrm</summary><pre>{escape(text)}</pre></details>"
    )
    return Section(name, name, body)
