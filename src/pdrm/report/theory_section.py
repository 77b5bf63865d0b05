"""What can be proved, in the report: which k is enough, how large tables get, and the paper's machines."""

from __future__ import annotations

import multiprocessing
import re
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pdrm.analysis.k_search import check_k
from pdrm.analysis.sizes import sizes_record
from pdrm.domains.paper_domains import domain
from pdrm.drawing.markup import Markup, html, join, number, picture, table
from pdrm.drawing.plots import Situation, plot_bytes, sizes_plot, witness_plot
from pdrm.drawing.render import render
from pdrm.experiments.fact_cache import read_or_find
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
SECONDS = 10.0
"""For each domain."""
FILE = "theory.json"
SIZES = ("full policy", "1-policy", "CRA policy")


def theory_facts(folder: Path) -> dict[str, Any]:
    """The answers and the sizes, as JSON values: cached beside the runs, because they take a minute."""
    discounts = {name: float(PAPER_SETTINGS[name]["discount"]) for name in CHECKED}
    asked = {"discounts": discounts, "k": list(KS), "sizes": list(COUNTED), "asked": "loss"}
    return read_or_find(
        folder / FILE,
        asked,
        lambda: {
            "k": {
                name: check_k(name, k=KS, discount=discounts[name], seconds=SECONDS).record()
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
    """What the best k-policy loses."""
    rows = []
    for name, record in facts["k"].items():
        found = [_loss(record["k"].get(str(k)), record["tolerance"]) for k in KS]
        everywhere = next((k for k, one in record["k"].items() if one["everywhere"] == "yes"), None)
        enough = (
            badge(f"k = {everywhere}", "holds") if everywhere is not None else badge("not known")
        )
        rows.append([html("code", name), *found, enough])
    body = Markup(
        "<p>What the best deterministic policy that sees the top k symbols loses from the start, between proved bounds, and the "
        "smallest k that is proved enough from every state. Discounted, without a step limit, stacks unbounded.</p>"
    )
    heads = ["domain", *(f"k = {k}" for k in KS), "everywhere"]
    return Section(
        "which-k",
        "Which k is enough",
        body + table(heads, rows) + _witness(facts["k"].get("maze-5x5")),
    )


def _loss(found: dict[str, Any] | None, tolerance: float) -> Markup:
    if found is None:
        return Markup("")
    low, high = found["loss"]
    if found["start"] == "yes":
        return badge("nothing", "holds")
    low = 0.0 if low <= tolerance else low
    said = f"{low:.4g} to {high:.4g}" if high - low > 1e-4 * high else f"{high:.4g}"
    return badge(said, "fails") if found["start"] == "no" else badge(said)


def _witness(record: dict[str, Any] | None) -> Markup:
    witnesses = {} if record is None else record["witnesses"]
    k = next((k for k in ("2", "1", "0") if len(witnesses.get(k, ())) > 1), None)
    if k is None:
        return Markup("")
    drawn = [
        Situation(
            one["place"], one["state"], tuple(one["stack"]), int(k), " ".join(one["way"]), " or ".join(one["actions"]),
            number(one["value"][0]),
        )
        for one in witnesses[k]
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
