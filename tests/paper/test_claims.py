"""Claims are judged by their numbers, on synthetic curves and on real runs."""

import json

import numpy as np
import pytest

from pdrm.experiments.curves import Curves
from pdrm.experiments.study import run_study
from pdrm.paper.claims import CLAIMS, judge_claims
from pdrm.paper.facts import FACTS
from pdrm.paper.figures import EVERY, STUDIES, study
from pdrm.paper.judging import DOES_NOT_HOLD, HOLDS, NOT_RUN, Evidence
from tests.experiments.small import keep_small_facts

ROWS = (
    *(
        "letter-best",
        "letter-speed",
        "letter-late",
        "letter-longer",
        "maze-5",
        "maze-large",
        "maze-cprm",
        "maze-cql",
        "maze-values",
        "multi",
        "multi-soon",
    ),
    *(
        "deliver-8",
        "deliver-order",
        "deliver-4-8",
        "deliver-q-best",
        "deliver-pace",
        "deliver-longer",
        "deliver-more",
    ),
    *("water-17", "water-17-dip", "water-20", "water-20-from", "paint"),
    *("size-full", "size-k", "size-cra", "translate"),
)
EPISODES = np.array([100, 200, 300, 400])


def curves(panel, line, success, returns):
    """Curves of a line with ten seeds, of which some achieve the task, and with the given returns."""
    shape = 10, len(EPISODES), 10
    achieved = np.zeros(shape)
    achieved[: round(10 * success), -1] = 1
    paid = np.broadcast_to(np.array(returns, float)[None, :, None], shape)
    return Curves(
        panel,
        line,
        tuple(range(10)),
        "episodes",
        EPISODES,
        paid,
        np.ones(shape),
        achieved,
        -1.0,
        1.0,
    )


NEVER, LATE, MIDDLE, EARLY = (
    (-1, -1, -1, -1),
    (-1, -1, -1, 0.5),
    (-1, -1, 0.99, 1),
    (-1, 0.98, 1, 1),
)
AS_THE_PAPER_SAYS = {
    "letter": {"pdRM": (0.3, LATE), "1-pdRM": (1, MIDDLE), "CpRM": (1, EARLY), "1-CpRM": (1, EARLY),
               "Q-CRA": (0.3, LATE), "CQL-CRA": (1, MIDDLE)},
    "letter-longer": {"pdRM": (1, MIDDLE), "Q-CRA": (1, MIDDLE)},
    "maze-5x5": {"pdRM": (1, MIDDLE), "1-pdRM": (1, MIDDLE), "CpRM": (1, MIDDLE), "1-CpRM": (0.9, MIDDLE),
                 "Q-CRA": (1, LATE), "CQL-CRA": (0, NEVER)},
    **{f"maze-{size}": {"pdRM": (0, NEVER), "1-pdRM": (0.8, MIDDLE), "CpRM": (0, NEVER), "1-CpRM": (0, NEVER),
                        "Q-CRA": (0.4, NEVER), "CQL-CRA": (0, NEVER)} for size in ("10x10", "20x20")},
    **{f"multi-{size}": {"pdRM": (0, NEVER), "1-pdRM": (1, MIDDLE)} for size in ("10x10", "20x20")},
    "deliver-8": {"pdRM": (0, NEVER), "1-pdRM": (1, (-1, -1, -1, 1)), "2-pdRM": (0.2, LATE), "1-CpRM": (1, (1, 1, 1, 1)),
                  "2-CpRM": (1, (1, 1, 1, 1)), "CpRM": (1, (1, 1, 1, 1)), "hierarchical 1-pdRM": (1, MIDDLE),
                  "hierarchical 2-pdRM": (1, EARLY), "hierarchical pdRM": (0.7, MIDDLE)},
    "deliver-4-8-longer": {"1-pdRM": (1, LATE), "2-pdRM": (0.8, LATE)},
    "deliver-4-8": {"1-pdRM": (0.2, LATE), "2-pdRM": (0.2, (-1, -1, -1, 0.3)), "1-CpRM": (1, EARLY), "2-CpRM": (1, EARLY),
                    "hierarchical 1-pdRM": (1, MIDDLE), "hierarchical 2-pdRM": (1, MIDDLE)},
    "paint": {f"{k}-pdRM" if k < 5 else "pdRM": (1, (-1, -1, -1, -0.71 - (5 - k) / 100)) for k in range(1, 6)},
}  # fmt: skip


def evidence(folder, told=AS_THE_PAPER_SAYS):
    """The given curves, for every line of the paper."""
    found = Evidence(folder)
    panels = {panel.name: panel for of in map(study, EVERY) for panel in of.panels}
    for name, lines in told.items():
        for line, (success, returns) in lines.items():
            found._read[name, line] = curves(
                panels[name], panels[name].line(line), success, returns
            )
    return found


@pytest.fixture(scope="module")
def sized(tmp_path_factory):
    """A folder with cached real facts of few domains."""
    folder = tmp_path_factory.mktemp("claims")
    keep_small_facts(folder)
    return folder


def verdicts(found):
    return {one.claim.id: one.verdict for one in found}


def test_every_claim_is_judged():
    assert [claim.id for claim in CLAIMS] == list(ROWS)
    figures = {*STUDIES} | {"water", "letter-longer", "deliver-longer", ""}
    assert {claim.study for claim in CLAIMS} == figures


def test_all_claims_hold_for_the_curves_of_the_paper(sized):
    found = judge_claims(evidence(sized))
    assert {name for name, verdict in verdicts(found).items() if verdict != HOLDS} == {
        "maze-values", "deliver-more", "water-17", "water-20", "water-20-from",
    }  # fmt: skip
    assert json.dumps([one.record() for one in found])


@pytest.mark.parametrize(
    ("panel", "line", "success", "returns", "claim"),
    [
        ("letter", "pdRM", 1, MIDDLE, "letter-best"),
        ("letter", "1-pdRM", 0.4, MIDDLE, "letter-best"),
        ("letter", "CQL-CRA", 1, (1, 1, 1, 1), "letter-speed"),
        ("letter", "1-pdRM", 1, LATE, "letter-speed"),
        ("letter", "pdRM", 0.3, (-1, 0.5, 0.5, 0.5), "letter-late"),
        ("letter-longer", "pdRM", 0.4, LATE, "letter-longer"),
        ("maze-5x5", "Q-CRA", 0.5, LATE, "maze-5"),
        ("maze-5x5", "CpRM", 0.5, LATE, "maze-cprm"),
        ("maze-5x5", "CQL-CRA", 0.6, LATE, "maze-cql"),
        ("maze-20x20", "1-pdRM", 0.5, MIDDLE, "maze-large"),
        ("maze-10x10", "Q-CRA", 0.6, MIDDLE, "maze-large"),
        ("multi-20x20", "pdRM", 1, MIDDLE, "multi"),
        ("deliver-8", "hierarchical pdRM", 1, MIDDLE, "deliver-8"),
        ("deliver-8", "pdRM", 0, (-1, -0.5, -1, -1), "deliver-8"),
        ("deliver-8", "hierarchical 1-pdRM", 1, (1, 1, 1, 1), "deliver-order"),
        ("deliver-4-8", "1-pdRM", 1, MIDDLE, "deliver-4-8"),
        ("multi-10x10", "1-pdRM", 1, (-1, -1, -1, 1), "multi-soon"),
        ("deliver-8", "2-pdRM", 0.2, (-1, -1, -1, 1), "deliver-q-best"),
        ("deliver-4-8", "hierarchical 1-pdRM", 1, (1, 1, 1, 1), "deliver-pace"),
        ("deliver-4-8-longer", "2-pdRM", 0.5, LATE, "deliver-longer"),
        ("paint", "4-pdRM", 1, (-1, -1, -1, -0.7), "paint"),
    ],
)
def test_a_single_different_line_refutes_its_claim(panel, line, success, returns, claim, sized):
    told = {**AS_THE_PAPER_SAYS, panel: {**AS_THE_PAPER_SAYS[panel], line: (success, returns)}}
    found = judge_claims(
        evidence(sized, told), {panel.partition("-")[0], f"{panel.partition('-')[0]}-longer"}
    )
    assert verdicts(found)[claim] == DOES_NOT_HOLD
    (one,) = (one for one in found if one.claim.id == claim)
    assert any(not part.holds and part.numbers for part in one.parts)


def test_claims_without_runs_are_not_run(sized):
    told = {name: lines for name, lines in AS_THE_PAPER_SAYS.items() if name != "maze-20x20"}
    found = judge_claims(evidence(sized, told))
    assert {name for name, verdict in verdicts(found).items() if verdict == NOT_RUN} == {
        "maze-large", "maze-cprm", "maze-cql", "multi-soon",
    }  # fmt: skip
    assert all(one.why for one in found if one.verdict == NOT_RUN)


def test_paint_is_judged_by_real_runs(tmp_path, sized):
    run_study(study("paint").seeded(3), tmp_path)
    (tmp_path / FACTS).write_bytes((sized / FACTS).read_bytes())
    found = judge_claims(Evidence(tmp_path))
    (paint,) = (one for one in found if one.claim.id == "paint")
    assert paint.parts[1].numbers["pdRM"] == pytest.approx(-0.71)
    assert verdicts(found)["letter-best"] == NOT_RUN
