"""A small real study, shared by the tests of this folder."""

import json

import pdrm
from pdrm.analysis.k_search import check_k
from pdrm.analysis.sizes import sizes
from pdrm.experiments.panel import AgentLine, Panel
from pdrm.experiments.study import Study
from pdrm.paper.facts import FACTS
from pdrm.paper.size_claims import measure_blowup, size_claims

SHORT = {"episodes": 300, "test_every": 100, "test_episodes": 3}


def small_study(seeds=(0, 1)):
    """Three agents on two domains. Each run takes a fraction of a second."""
    letter = Panel(
        name="letter",
        domain="letter",
        settings=SHORT,
        lines=(
            AgentLine(name="1-pdRM", agent="q"),
            AgentLine(name="CQL-CRA", agent="cra-cql", k="full"),
        ),
    )
    maze = Panel(
        name="maze",
        domain="maze-5x5",
        settings=SHORT,
        success=("home",),
        lines=(AgentLine(name="1-CpRM", agent="cprm", k="1"),),
    )
    return Study(name="small", panels=(letter, maze), seeds=seeds)


def keep_small_facts(folder):
    """Cache real facts of few domains, because computing all facts takes a while."""
    few = size_claims([sizes("letter")], measure_blowup(4))
    claims = {fact["id"]: fact for fact in few}
    asked = ("maze-5x5", "maze-10x10", "deliver-8")
    found = {name: check_k(name, k=[1], seconds=1).record()["k"] for name in asked}
    facts = {"k": found, "sizes": {}, "claims": claims}
    record = json.dumps({"version": pdrm.__version__, "facts": facts})
    (folder / FACTS).write_text(record, encoding="utf-8")


def files(folder):
    """The content of all files below a folder, except timings."""
    found = (path for path in folder.rglob("*") if path.is_file() and path.name != "timing.json")
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}
