"""The paper's figures as data, in its order, and by name."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pdrm.errors import UnknownStudy, did_you_mean
from pdrm.experiments.panel import Line, Panel
from pdrm.experiments.study import Study

# --- Figure 2: LetterEnv, six agents.

AS_PRINTED = {"counterfactuals": "exhaustive"}

LETTER = Study(
    name="letter",
    title="LetterEnv",
    panels=(
        Panel(
            name="letter",
            domain="letter",
            title="LetterEnv",
            figure="Figure 2",
            success=("u2",),
            lines=(
                Line(name="pdRM", agent="q", k="full", seconds=0.1),
                Line(name="1-pdRM", agent="q", k="1", seconds=0.1),
                Line(name="CpRM", agent="cprm", k="full", settings=AS_PRINTED, seconds=0.1),
                Line(name="1-CpRM", agent="cprm", k="1", settings=AS_PRINTED, seconds=0.1),
                Line(name="Q-CRA", agent="cra-q", k="full", seconds=0.1),
                Line(name="CQL-CRA", agent="cra-cql", k="full", seconds=0.1),
                Line(name="0-pdRM (ours)", agent="q", k="0", ours=True, seconds=0.1),
                Line(name="1-CpRM, deduplicated (ours)", agent="cprm", k="1", ours=True, seconds=0.1),
                Line(
                    name="CpRM, co-observed (ours)",
                    agent="cprm",
                    k="full",
                    settings={"counterfactuals": "co-observed"},
                    ours=True,
                    seconds=0.1,
                ),
            ),
        ),
    ),
)


# --- Figure 3, left, and the three figures of Appendix E: 1-TreasureMaze, six agents on each of three mazes.
#
# The paper ends episodes after a time that depends on the machine. The runs here that are judged end them after so many
# updates or counter operations: one per microsecond of the paper's limit. `maze-wall-clock` has the limits as printed.

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
        title=f"{size.replace('x', '×')}, {SECONDS[size]:g} s per episode",
        figure=f"beside Appendix E, 1-TreasureMaze, {size.replace('x', '×')}",
        success=("home",),
        lines=lines,
    )


MAZE = Study(name="maze", title="1-TreasureMaze", figure="Figure 3, left", panels=tuple(_panel(size) for size in SIZES))
MAZE_WALL_CLOCK = Study(
    name="maze-wall-clock",
    title="1-TreasureMaze, with the paper's limits of wall-clock time",
    panels=tuple(_timed_panel(size) for size in SIZES),
)


# --- Figure 3, right: MultipleTreasureMaze, two agents on each of two mazes.


def _line(name: str, agent: str, k: str, seconds: float, gigabytes: float) -> Line:
    return Line(name=name, agent=agent, k=k, seconds=seconds, gigabytes=gigabytes, ours="ours" in name)


def _multi_panel(size: str, *lines: Line) -> Panel:
    name, title = f"multi-{size}", size.replace("x", "×")
    return Panel(name=name, domain=name, title=title, success=("home",), lines=lines)


MULTI = Study(
    name="multi",
    title="MultipleTreasureMaze",
    figure="Figure 3, right",
    panels=(
        _multi_panel(
            "10x10",
            _line("pdRM", "q", "full", 10, 2.8),
            _line("1-pdRM", "q", "1", 0.2, 0.3),
            _line("0-pdRM (ours)", "q", "0", 18, 4.3),
            _line("1-CpRM, deduplicated (ours)", "cprm", "1", 2, 0.3),
        ),
        _multi_panel(
            "20x20",
            _line("pdRM", "q", "full", 60, 10.8),
            _line("1-pdRM", "q", "1", 0.7, 0.3),
            _line("1-CpRM, deduplicated (ours)", "cprm", "1", 5, 0.4),
        ),
    ),
)


# --- Figure 4: DeliverWorld-8 (nine agents) and DeliverWorld-4-8 (six agents).

APPROACHES: tuple[tuple[str, str, dict[str, str]], ...] = (
    ("pdRM", "q", {}),
    ("CpRM", "cprm", {"counterfactuals": "exhaustive"}),
    ("hierarchical", "hrm", {}),
)


def _name(approach: str, k: str) -> str:
    if approach == "hierarchical":
        return f"hierarchical {'pdRM' if k == 'full' else f'{k}-pdRM'}"
    return approach if k == "full" else f"{k}-{approach}"


def _lines(views: tuple[str, ...]) -> tuple[Line, ...]:
    paper = tuple(
        Line(name=_name(approach, k), agent=agent, k=k, settings=settings)
        for approach, agent, settings in APPROACHES
        for k in views
    )
    none = Line(name="0-pdRM (ours)", agent="q", k="0", ours=True)
    few = Line(name="1-CpRM, deduplicated (ours)", agent="cprm", k="1", ours=True)
    return (*paper, none, few)


DELIVER = Study(
    name="deliver",
    title="DeliverWorld",
    panels=(
        Panel(
            name="deliver-8",
            domain="deliver-8",
            title="DeliverWorld-8",
            figure="Figure 4, left",
            success=("done",),
            lines=_lines(("1", "2", "full")),
        ),
        Panel(
            name="deliver-4-8",
            domain="deliver-4-8",
            title="DeliverWorld-4-8",
            figure="Figure 4, right",
            success=("done",),
            lines=_lines(("1", "2")),
        ),
    ),
)


# --- The figure of Appendix C: PaintWorld, five agents that see one to five symbols.

_SEEN = tuple(
    Line(name="pdRM" if k == 5 else f"{k}-pdRM", agent="q", k=str(k), colour=f"{k}-pdRM", seconds=0.1)
    for k in range(1, 6)
)

PAINT = Study(
    name="paint",
    title="PaintWorld",
    panels=(
        Panel(
            name="paint",
            domain="paint",
            title="PaintWorld",
            figure="Appendix C",
            success=("clean",),
            lines=(*_SEEN, Line(name="0-pdRM (ours)", agent="q", k="0", ours=True, seconds=0.1)),
        ),
    ),
)


# --- Figure 5: WaterWorld, three deep agents on each of two maps; and what is ours beside it, named so.

WITH, WITHOUT, RECURRENT = "PPO + 1-pdRM", "PPO", "recurrent PPO"
WATER_MAPS = ("water-17", "water-20")
_PRINTED = {
    "n_envs": 5,
    "n_steps": 10_000,
    "linear_decay": True,
    "clip_range": 0.15,
    "target_kl": 0.3,
    "clip_range_vf": 1_000.0,
    "test_every": 100_000,
}
_PRINTED_PPO = {**_PRINTED, "batch_size": 3_000, "n_epochs": 30, "gamma": 0.99, "gae_lambda": 0.9, "vf_coef": 0.5}
_PRINTED_RPPO = {
    **_PRINTED,
    "batch_size": 2_000,
    "n_epochs": 20,
    "gamma": 0.95,
    "gae_lambda": 0.95,
    "vf_coef": 1.0,
    "sequence_length": 20,
}
_PRINTED_STEPS = {"water-17": 3_000_000, "water-20": 5_000_000}
_PPO_RATE = {"water-17": 3e-6, "water-20": 3e-5}
_RPPO_RATE = {"water-17": 3e-9, "water-20": 3e-6}
_SCALED = {"clip_range_vf": 1.0, "reward_scale": 1e-3}
"""Ours: rewards a thousandth, and the clipping of values with them."""


def _water_panel(
    name: str,
    lines: tuple[Line, ...],
    study: str = "water",
    machine: str | None = None,
    figure: str = "beside Figure 5",
) -> Panel:
    side = name.removeprefix("water-")
    return Panel(
        name=f"{study}-{side}",
        domain=name,
        machine=machine,
        title=f"{side} × {side}",
        figure=figure,
        success=("done",),
        lines=lines,
    )


def _three(ppo: dict[str, Any], rppo: dict[str, Any], *, ours: bool) -> tuple[Line, ...]:
    """PPO that sees the machine, PPO that does not, and recurrent PPO that does not."""
    return (
        Line(name=WITH, agent="ppo", k=1, settings=ppo, ours=ours),
        Line(name=WITHOUT, agent="ppo", k="none", settings=ppo, ours=ours),
        Line(name=RECURRENT, agent="rppo", k="none", settings=rppo, ours=ours),
    )


def _printed(name: str, study: str = "water", **rewards: float) -> Panel:
    """The paper's settings, but for what is given."""
    steps = {"total_timesteps": _PRINTED_STEPS[name], "net_arch": (64, 64), **_UNTUNED}
    lines = _three(
        {**steps, **_PRINTED_PPO, "learning_rate": _PPO_RATE[name], **rewards},
        {**steps, **_PRINTED_RPPO, "learning_rate": _RPPO_RATE[name], **rewards, "lstm_hidden_size": 256},
        ours=bool(rewards),
    )
    return _water_panel(name, lines, study) if rewards else _water_panel(name, lines, figure="Figure 5")


_UNTUNED = {"ent_coef": 0.0, "reward_scale": 1.0, "reward_clip": None, "staggered": False, "test_episodes": 5}
"""Stable-Baselines3's defaults, where those tuned for WaterWorld differ and the paper says nothing."""

WATER = Study(name="water", title="WaterWorld", panels=tuple(_printed(name) for name in WATER_MAPS))
WATER_SCALED = Study(
    name="water-scaled",
    title="WaterWorld, as printed but for the scale of rewards",
    panels=tuple(_printed(name, "water-scaled", **_SCALED) for name in WATER_MAPS),
)
WATER_TUNED, WATER_STRICT = (
    Study(
        name=name,
        title=title,
        panels=tuple(_water_panel(one, _three({}, {}, ours=True), name, machine) for one in WATER_MAPS),
    )
    for name, title, machine in (
        ("water-tuned", "WaterWorld, tuned", None),
        ("water-strict", "WaterWorld, tuned, with the strict machine", "water-strict"),
    )
)
WATER_OFF_POLICY = Study(
    name="water-off-policy",
    title="WaterWorld, off-policy agents",
    panels=(
        _water_panel(
            "water-17",
            tuple(
                Line(
                    name=f"{agent.upper()} + {'1-CpRM' if imagined else '1-pdRM'}",
                    agent=agent,
                    k=1,
                    settings={"counterfactuals": imagined},
                    ours=True,
                )
                for agent in ("dqn", "sac")
                for imagined in (0, 2)
            ),
            "water-off-policy",
        ),
    ),
)


DEEP = (WATER, WATER_TUNED, WATER_OFF_POLICY, WATER_STRICT, WATER_SCALED)
NOTES = {
    "water": "The paper's settings: the claims of Figure 5 are judged by these runs.",
    "water-tuned": "Ours: many environments side by side, rewards scaled for the networks, a larger learning rate. The task is the "
    "same, and the agents do what the paper found.",
    "water-off-policy": "Ours: what the paper's authors could not finish, SAC with CpRM, and DQN; with and without counterfactual "
    "experiences. All see the machine's state and the top of its stack.",
    "water-strict": "Ours: in the printed machine touching the wrong ball costs nothing, so an agent without memory may touch both in "
    "turn. Here a wrong touch ends the episode.",
    "water-scaled": "Ours: the paper's settings with rewards of a thousandth.",
}
"""What the report says of a study, by its name."""


# --- The paper's figures by name, and what is run when nothing is named.

STUDIES = (LETTER, MAZE, MULTI, DELIVER, PAINT)
"""The tabular figures, in the paper's order: what is run when nothing is named."""

ON_REQUEST = (*DEEP, MAZE_WALL_CLOCK)
"""Run only when named: deep agents, which need a GPU, and what takes hours by its own limits."""

EVERY = (*STUDIES, *ON_REQUEST)


def figures(names: list[str], seeds: int | None = None) -> list[Study]:
    """The studies of these names (`maze`), or single panels of them (`maze-5x5`); without names, all in the paper.

    >>> [study.name for study in figures([])]
    ['letter', 'maze', 'multi', 'deliver', 'paint']
    >>> [panel.name for study in figures(["maze-5x5", "paint"]) for panel in study.panels]
    ['maze-5x5', 'paint']
    """
    return [study.seeded(seeds) for study in (_once([_figure(name) for name in names]) if names else STUDIES)]


def _once(studies: list[Study]) -> list[Study]:
    """The studies without panels that an earlier one has."""
    found: list[Study] = []
    for study in studies:
        earlier = {panel.name for one in found for panel in one.panels}
        panels = tuple(panel for panel in study.panels if panel.name not in earlier)
        found += [replace(study, panels=panels)] if panels else []
    return found


def _figure(name: str) -> Study:
    for study in EVERY:
        if study.name == name:
            return study
    for study in EVERY:
        for panel in study.panels:
            if panel.name == name:
                return replace(study, panels=(panel,))
    known = [study.name for study in EVERY] + [panel.name for study in EVERY for panel in study.panels]
    raise UnknownStudy(f"the paper has no figure `{name}`", fix=did_you_mean(name, known))
