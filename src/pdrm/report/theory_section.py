"""What can be proved, in the report: which k is enough, how large tables get, and the paper's machines."""

from __future__ import annotations

import multiprocessing
import re
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pdrm.analysis.sizes import sizes_record
from pdrm.analysis.sufficient_k.check_k import check_k
from pdrm.domains.paper_domains import domain
from pdrm.drawing.markup import Markup, html, join, number, picture, table
from pdrm.drawing.plots import Situation, plot_bytes, sizes_plot, witness_plot
from pdrm.drawing.render import render
from pdrm.experiments.paper.facts import read_or_find
from pdrm.experiments.paper.paper_claims import size_facts
from pdrm.files import ensure_folder
from pdrm.language.loading import catalogue, catalogue_names, catalogue_text
from pdrm.learning.agents import PAPER_SETTINGS
from pdrm.report.page import Section, badge, bullets, details
from pdrm.task import Task

CHECKED = (
    "letter",
    "maze-5x5",
    "maze-10x10",
    "multi-10x10",
    "deliver-8",
    "deliver-4-8",
    "paint",
    "echo",
)
COUNTED = ("letter", "maze-5x5", "maze-10x10", "multi-10x10", "deliver-8", "paint")
KS = range(6)
MOST_STATES = {"maze-5x5": 600_000}
FEWER = 225_000
"""States expanded for another domain: fewer than `pdrm check-k` expands, so some answers stay undecided here."""
SECONDS = {"deliver-8": 10.0, "deliver-4-8": 10.0}
"""For which answers that need many minutes are looked for, too."""
FILE = "theory.json"
SIZES = ("full policy", "1-policy", "CRA policy")
QUESTIONS = {"same_values": "same values", "everywhere": "everywhere", "start": "from the start"}


def theory_facts(folder: Path) -> dict[str, Any]:
    """The answers and the sizes, as JSON values: cached beside the runs, because they take a minute."""
    discounts = {name: float(PAPER_SETTINGS[name]["discount"]) for name in CHECKED}
    most = {name: MOST_STATES.get(name, FEWER) for name in CHECKED}
    return read_or_find(
        folder / FILE,
        {
            "discounts": discounts,
            "states": most,
            "k": list(KS),
            "sizes": list(COUNTED),
            "asked": "furthest",
        },
        lambda: {
            "k": {
                name: check_k(
                    name, k=KS, discount=discounts[name], most=most[name], seconds=SECONDS.get(name)
                ).record()
                for name in CHECKED
            },
            "sizes": {name: sizes_record(Task(name)) for name in COUNTED},
        },
    )


@contextmanager
def find_facts_meanwhile(folder: Path, tell: Callable[[str], None]) -> Iterator[None]:
    """Have the answers and sizes found in a process of their own, while the block runs; it ends when both have. tell: what is waited for.

    They are found again where that process fails: nothing but time depends on it.
    """
    process = multiprocessing.get_context("spawn").Process(
        target=_find_facts, args=(ensure_folder(folder),), daemon=True
    )
    process.start()
    try:
        yield
        if process.is_alive():
            tell("proving which k is enough, counting tables (once)")
        process.join()
    finally:
        process.kill()


def _find_facts(folder: Path) -> None:
    signal.signal(
        signal.SIGINT, signal.SIG_IGN
    )  # Ctrl-C is for the process that waits for this one
    size_facts(folder)
    theory_facts(folder)


def k_section(facts: dict[str, Any]) -> Section:
    """Which top-k view is enough."""
    rows = []
    for name, record in facts["k"].items():
        far = "all" if record["depth"] is None else f"within {record['depth']} steps"
        asked = f"{record['states_asked']:,} {far}"
        rows.append(
            [html("code", name), asked, *(_smallest(record, question) for question in QUESTIONS)]
        )
    body = Markup(
        "<p>The smallest k for which a policy that sees the top k symbols is enough, of k = 0…5. <em>Same values</em> is the paper's "
        "Proposition 1; <em>everywhere</em>: some k-policy is optimal from every state; <em>from the start</em>: from the start. "
        "Discounted, without a step limit, stacks unbounded; every answer is proved.</p>"
    )
    heads = ["domain", "states asked about", *QUESTIONS.values()]
    return Section(
        "which-k",
        "Which k is enough",
        body + table(heads, rows) + _witness(facts["k"].get("maze-5x5")),
    )


def _smallest(record: dict[str, Any], question: str) -> Markup:
    answers = {k: found[question] for k, found in record["k"].items()}
    smallest = record["furthest"][question]
    if smallest is not None:
        depth = record["depths"][str(smallest)][question]
        found = badge(f"k = {smallest}", "holds")
        return (
            found
            if depth is None
            else join((found, html("span", f"to depth {depth}", class_="soft")), " ")
        )
    refused = [k for k, answer in answers.items() if answer == "no"]
    if len(refused) == len(answers):
        return badge("none of 0…5", "fails")
    return badge(f"not k = {', '.join(refused)}" if refused else "undecided")


def _witness(record: dict[str, Any] | None) -> Markup:
    witnesses = {} if record is None else record["witnesses"]
    k = next((k for k in ("2", "1", "0") if witnesses.get(k, {}).get("everywhere")), None)
    if k is None:
        return Markup("")
    drawn = [
        Situation(
            one["place"], one["state"], tuple(one["stack"]), int(k), " ".join(one["way"]), " or ".join(one["actions"]),
            number(one["value"][0]),
        )
        for one in witnesses[k]["everywhere"]
    ]  # fmt: skip
    title = f"the top {k} symbols are the same, the best actions are not"
    plot = plot_bytes(witness_plot(domain("maze-5x5"), drawn, title), "svg")
    return picture(
        plot,
        "svg",
        title,
        "A witness: two ways into the same place of the 5×5 maze. The second bumped into a wall.",
    )


def sizes_section(facts: dict[str, Any]) -> Section:
    """How many rows each kind of policy takes."""
    rows = []
    for name, record in facts["sizes"].items():
        found = {size["what"]: size for size in record["sizes"]}
        cells = [
            cell
            for what in SIZES
            for cell in (_power(found[what]["bound"]), _reachable(found[what], record))
        ]
        rows.append(
            [html("code", name), f"{record['steps']:,}", *cells, "yes" if record["holds"] else "no"]
        )
    body = html(
        "p",
        "Rows of tables for an episode of the domain's length: the bound by the theorems of Section 5, and what can be "
        "reached. A star: counted within the first steps only, because the whole would not fit.",
    )
    heads = [
        "domain",
        "steps",
        *(f"{what}: {part}" for what in SIZES for part in ("bound", "reachable")),
        "all within",
    ]
    plots = (
        picture(
            plot_bytes(sizes_plot(facts["sizes"][name]), "svg"), "svg", f"growth of tables, {name}"
        )
        for name in ("letter", "maze-10x10")
        if name in facts["sizes"]
    )
    shown = body + table(heads, rows, range(1, len(heads) - 1)) + html("div", *plots, class_="side")
    return Section("sizes", "How large policies get", shown)


def _reachable(size: dict[str, Any], record: dict[str, Any]) -> Markup:
    whole = size["within"] == record["steps"]
    star = Markup("") if whole else html("abbr", "*", title=f"within {size['within']} steps")
    return join((f"{size['reachable']:,}", star))


def _power(bound: dict[str, Any] | None) -> str:
    if bound is None:
        return "none"
    if bound["exact"] is not None and bound["exact"] < 10**7:
        return f"{bound['exact']:,}"
    return Markup("10") + html("sup", f"{bound['log10']:.1f}")


# --- The machines of the paper: each one's drawing, undefined cases and text.


def machines_section() -> Section:
    """Every machine of the catalogue."""
    links = join((html("a", name, href=f"#{name}") for name in catalogue_names()), " ")
    return Section(
        "machines",
        "The machines",
        html("p", links) + join(_machine_part(name) for name in catalogue_names()),
    )


def _machine_part(name: str) -> Markup:
    machine, text = catalogue(name), catalogue_text(name)
    comment = " ".join(
        line.removeprefix("//").strip() for line in text.splitlines() if line.startswith("//")
    )
    drawing = re.sub(r"^.*?(?=<svg)", "", render(machine, "svg").decode(), flags=re.DOTALL)
    findings = [finding.message for finding in machine.findings()]
    return join(
        (
            html("h3", name, id=name),
            html("p", comment),
            html("figure", Markup(drawing)),
            details("Where no rule applies", bullets(findings)) if findings else "",
            details(f"{name}.pdrm", html("pre", text)),
        )
    )
