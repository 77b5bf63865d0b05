"""A small real study that the tests of this folder share."""

from pdrm.analysis.size_claims import measure_blowup, size_claims
from pdrm.analysis.sizes import sizes_record
from pdrm.experiments.panel import AgentLine, Panel
from pdrm.experiments.study import Study
from pdrm.paper.claims import SIZES, read_or_find
from pdrm.task import Task

SHORT = {"episodes": 300, "test_every": 100, "test_episodes": 3}


def small_study(seeds=(0, 1)):
    """Three agents on two domains, a fraction of a second each."""
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


def keep_small_sizes(folder):
    """Keep facts about sizes where claims look for them: real ones, of one domain, since all of them take a while."""
    few = size_claims([sizes_record(Task("letter"))], measure_blowup(4))
    read_or_find(folder / SIZES, lambda: {fact["id"]: fact for fact in few})


def files(folder):
    """Every file below a folder but for how long things took."""
    found = (path for path in folder.rglob("*") if path.is_file() and path.name != "timing.json")
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}
