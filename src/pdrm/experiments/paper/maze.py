"""Figure 3, left, and the three figures of Appendix E: 1-TreasureMaze, six agents on each of three mazes.

The paper ends episodes after a time that depends on the machine. The runs here that are judged end them after so many
updates or counter operations: one a microsecond of the paper's limit. `maze-wall-clock` has the limits as printed.
"""

from typing import Any

from pdrm.experiments.study import Line, Panel, Study

SIZES = ("5x5", "10x10", "20x20")
SECONDS = {"5x5": 0.03, "10x10": 0.06, "20x20": 0.1}
"""The paper's limits of an episode."""
A_SECOND = 1_000_000
"""Updates or operations that stand for a second."""
MOST_OPERATIONS = 10_000_000
"""With the wall-clock limits, too: a single step can take more operations than any computer makes in a second."""
COST = {  # (seconds, gigabytes) of one run, measured
    ("pdRM", "10x10"): (1.5, 1.3),
    ("pdRM", "20x20"): (3.5, 2.3),
    ("CpRM", "5x5"): (11, 0.4),
    ("CpRM", "10x10"): (30, 0.5),
    ("CpRM", "20x20"): (55, 0.6),
    ("1-CpRM", "5x5"): (4, 0.3),
    ("1-CpRM", "10x10"): (9, 0.3),
    ("1-CpRM", "20x20"): (16, 0.3),
    ("Q-CRA", "10x10"): (4, 0.4),
    ("Q-CRA", "20x20"): (8, 0.4),
}


def _paper(name: str, agent: str, k: str, size: str, settings: dict[str, Any] | None = None) -> Line:
    seconds, gigabytes = COST.get((name, size), (0.5, 0.3))
    return Line(name=name, agent=agent, k=k, settings=settings or {}, seconds=seconds, gigabytes=gigabytes)


def _limited(size: str, limit: dict[str, Any], counting_limit: dict[str, Any]) -> tuple[Line, ...]:
    """The agents that ran into the paper's limit."""
    as_printed = {"counterfactuals": "exhaustive", **limit}
    return (
        _paper("CpRM", "cprm", "full", size, as_printed),
        _paper("1-CpRM", "cprm", "1", size, as_printed),
        _paper("Q-CRA", "cra-q", "full", size, counting_limit),
        _paper("CQL-CRA", "cra-cql", "full", size, counting_limit),
    )


def _ours(size: str) -> tuple[Line, ...]:
    """No stack at all (k = 0), and counterfactuals that stay within bounds."""
    none = Line(name="0-pdRM (ours)", agent="q", k="0", ours=True, seconds=0.3)
    few = Line(name="1-CpRM, deduplicated (ours)", agent="cprm", k="1", ours=True, seconds=0.4)
    co_observed = {"counterfactuals": "co-observed"}
    near = Line(name="CpRM, co-observed (ours)", agent="cprm", k="full", settings=co_observed, ours=True, seconds=2)
    return (none, few, near) if size == "5x5" else (none, few)


def _panel(size: str) -> Panel:
    budget = round(A_SECOND * SECONDS[size])
    limits = {"updates_per_episode": budget}, {"operations_per_episode": budget}
    paper = (_paper("pdRM", "q", "full", size), _paper("1-pdRM", "q", "1", size), *_limited(size, *limits))
    return Panel(
        name=f"maze-{size}",
        domain=f"maze-{size}",
        title=size.replace("x", "×"),
        figure=f"Appendix E, 1-TreasureMaze, {size.replace('x', '×')}",
        success=("home",),
        lines=(*paper, *_ours(size)),
    )


def _timed_panel(size: str) -> Panel:
    limit = {"seconds_per_episode": SECONDS[size]}
    counting = {**limit, "operations_per_episode": MOST_OPERATIONS}
    lines = _limited(size, limit, counting)
    return Panel(
        name=f"maze-{size}-wall-clock",
        domain=f"maze-{size}",
        title=f"{size.replace('x', '×')}, {SECONDS[size]:g} s an episode",
        success=("home",),
        lines=lines,
    )


MAZE = Study(name="maze", title="1-TreasureMaze", figure="Figure 3, left", panels=tuple(_panel(size) for size in SIZES))
MAZE_WALL_CLOCK = Study(
    name="maze-wall-clock",
    title="1-TreasureMaze, with the paper's limits of wall-clock time",
    panels=tuple(_timed_panel(size) for size in SIZES),
)
