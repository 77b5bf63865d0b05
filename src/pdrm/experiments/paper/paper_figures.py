"""The paper's figures as data, in its order, and by name."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from pdrm.domains.water import SIDES, WaterWorld
from pdrm.errors import UnknownStudy, did_you_mean
from pdrm.experiments.panel import Line, Panel
from pdrm.experiments.study import Study

# --- The tabular agents: as the legends name them, the agent, the stack symbols that it sees, and its settings.

EXHAUSTIVE = {"counterfactuals": "exhaustive"}
AGENTS: dict[str, tuple[str, str, dict[str, str]]] = {
    "pdRM": ("q", "full", {}),
    "1-pdRM": ("q", "1", {}),
    "2-pdRM": ("q", "2", {}),
    "CpRM": ("cprm", "full", EXHAUSTIVE),
    "1-CpRM": ("cprm", "1", EXHAUSTIVE),
    "2-CpRM": ("cprm", "2", EXHAUSTIVE),
    "hierarchical pdRM": ("hrm", "full", {}),
    "hierarchical 1-pdRM": ("hrm", "1", {}),
    "hierarchical 2-pdRM": ("hrm", "2", {}),
    "Q-CRA": ("cra-q", "full", {}),
    "CQL-CRA": ("cra-cql", "full", {}),
    "0-pdRM (ours)": ("q", "0", {}),
    "1-CpRM, deduplicated (ours)": ("cprm", "1", {}),
    "summary (ours)": ("summary", "full", {}),
}
OURS = ("0-pdRM (ours)", "1-CpRM, deduplicated (ours)")


def _line(
    name: str, seconds: float | None = None, gigabytes: float = 0.5, **settings: float
) -> Line:
    agent, k, own = AGENTS[name]
    given = {**own, **settings}
    return Line(
        name=name,
        agent=agent,
        k=k,
        settings=given,
        ours="ours" in name,
        seconds=seconds,
        gigabytes=gigabytes,
    )


def _panel(name: str, title: str, figure: str, success: str, lines: Iterable[Line]) -> Panel:
    return Panel(
        name=name, domain=name, title=title, figure=figure, success=(success,), lines=tuple(lines)
    )


# --- Figure 2: LetterEnv, six agents.

_LETTER = (
    "pdRM",
    "1-pdRM",
    "CpRM",
    "1-CpRM",
    "Q-CRA",
    "CQL-CRA",
    *OURS,
)
LETTER = Study(
    name="letter",
    title="LetterEnv",
    panels=(
        _panel("letter", "LetterEnv", "Figure 2", "u2", (_line(name, 0.1) for name in _LETTER)),
    ),
)


# --- Figure 3, left, and the three figures of Appendix E: 1-TreasureMaze, six agents on each of three mazes.
#
# The paper ends episodes after a time that depends on the machine. The runs here that are judged end them after so many
# updates or counter operations: one per microsecond of the paper's limit. `maze-wall-clock` has the limits as printed.

SECONDS = {"5x5": 0.03, "10x10": 0.06, "20x20": 0.1}
"""The paper's limits of an episode, by the size of the maze."""
PER_SECOND = 1_000_000
"""Updates or operations that stand for a second."""
MOST_OPERATIONS = 10_000_000
"""With the wall-clock limits, too: a single step can take more operations than any computer makes in a second."""
COST = {  # (seconds, gigabytes) of one run, measured
    ("pdRM", "10x10"): (2, 0.8),
    ("pdRM", "20x20"): (4, 1.3),
    ("CpRM", "5x5"): (2.2, 0.4),
    ("CpRM", "10x10"): (6, 0.5),
    ("CpRM", "20x20"): (11, 0.6),
    ("1-CpRM", "5x5"): (1.5, 0.3),
    ("1-CpRM", "10x10"): (3, 0.3),
    ("1-CpRM", "20x20"): (5.5, 0.3),
    ("Q-CRA", "10x10"): (4, 0.4),
    ("Q-CRA", "20x20"): (8, 0.4),
}


def _maze_line(name: str, size: str, **limit: float) -> Line:
    return _line(name, *COST.get((name, size), (0.5, 0.3)), **limit)


def _maze(size: str) -> Panel:
    """The paper's agents; and ours: no stack at all (k = 0), and counterfactuals that stay within bounds."""
    budget, title = round(PER_SECOND * SECONDS[size]), size.replace("x", "×")
    lines = [_maze_line(name, size) for name in ("pdRM", "1-pdRM")]
    lines += [_maze_line(name, size, updates_per_episode=budget) for name in ("CpRM", "1-CpRM")]
    lines += [
        _maze_line(name, size, operations_per_episode=budget) for name in ("Q-CRA", "CQL-CRA")
    ]
    lines += [_line("0-pdRM (ours)", 0.3), _line("1-CpRM, deduplicated (ours)", 0.4)]
    return _panel(f"maze-{size}", title, f"Appendix E, 1-TreasureMaze, {title}", "home", lines)


def _timed_maze(size: str) -> Panel:
    """The agents that ran into the paper's limit."""
    seconds, title = SECONDS[size], size.replace("x", "×")
    lines = [_maze_line(name, size, seconds_per_episode=seconds) for name in ("CpRM", "1-CpRM")]
    limits = {"seconds_per_episode": seconds, "operations_per_episode": MOST_OPERATIONS}
    lines += [_maze_line(name, size, **limits) for name in ("Q-CRA", "CQL-CRA")]
    beside = f"beside Appendix E, 1-TreasureMaze, {title}"
    panel = _panel(f"maze-{size}", f"{title}, {seconds:g} s per episode", beside, "home", lines)
    return replace(panel, name=f"maze-{size}-wall-clock")


MAZE = Study(
    name="maze", title="1-TreasureMaze", figure="Figure 3, left", panels=tuple(map(_maze, SECONDS))
)
MAZE_WALL_CLOCK = Study(
    name="maze-wall-clock",
    title="1-TreasureMaze, with the paper's limits of wall-clock time",
    panels=tuple(map(_timed_maze, SECONDS)),
)


# --- Figure 3, right: MultipleTreasureMaze, two agents on each of two mazes.

_MULTI = {  # size -> the lines, with the seconds and gigabytes of one run
    "10x10": (("pdRM", 9, 1.8), ("1-pdRM", 0.2, 0.3), (OURS[0], 7, 2.5), (OURS[1], 1, 0.3)),
    "20x20": (("pdRM", 45, 6.5), ("1-pdRM", 0.7, 0.3), (OURS[1], 5, 0.4)),
}
MULTI = Study(
    name="multi",
    title="MultipleTreasureMaze",
    figure="Figure 3, right",
    panels=tuple(
        _panel(f"multi-{size}", size.replace("x", "×"), "", "home", (_line(*one) for one in lines))
        for size, lines in _MULTI.items()
    ),
)


# --- Figure 4: DeliverWorld-8 (nine agents) and DeliverWorld-4-8 (six agents).

_EIGHT = ["1-pdRM", "2-pdRM", "pdRM", "1-CpRM", "2-CpRM", "CpRM"]
_EIGHT += ["hierarchical 1-pdRM", "hierarchical 2-pdRM", "hierarchical pdRM"]
_FOUR_EIGHT = [name for name in _EIGHT if AGENTS[name][1] != "full"]
_DELIVER_SECONDS = {"CpRM": 10.0, "2-CpRM": 5.0, "1-CpRM": 3.0}
"""Of one run, about: exhaustive counterfactuals are nearly all of it."""


def _deliver(name: str, title: str, figure: str, lines: Iterable[str]) -> Panel:
    return _panel(
        name,
        title,
        figure,
        "done",
        (_line(line, _DELIVER_SECONDS.get(line, 0.5)) for line in lines),
    )


DELIVER = Study(
    name="deliver",
    title="DeliverWorld",
    panels=(
        _deliver("deliver-8", "DeliverWorld-8", "Figure 4, left", (*_EIGHT, *OURS)),
        _deliver("deliver-4-8", "DeliverWorld-4-8", "Figure 4, right", (*_FOUR_EIGHT, *OURS)),
    ),
)


LONGER = 4
"""How much longer Q-learning is trained on DeliverWorld-4-8 to see what the paper expects of "a longer training"."""
DELIVER_LONGER = Study(
    name="deliver-longer",
    title="DeliverWorld-4-8, trained four times as long",
    panels=(
        replace(
            _panel(
                "deliver-4-8",
                "DeliverWorld-4-8, 60,000 episodes",
                "beside Figure 4, right",
                "done",
                (_line(name, 60, episodes=LONGER * 15_000) for name in ("1-pdRM", "2-pdRM")),
            ),
            name="deliver-4-8-longer",
        ),
    ),
)


# --- The figure of Appendix C: PaintWorld, five agents that see one to five symbols.

_SEEN = [
    Line(
        name="pdRM" if k == 5 else f"{k}-pdRM", agent="q", k=str(k), colour=f"{k}-pdRM", seconds=0.1
    )
    for k in range(1, 6)
]
PAINT = Study(
    name="paint",
    title="PaintWorld",
    panels=(
        _panel("paint", "PaintWorld", "Appendix C", "clean", (*_SEEN, _line("0-pdRM (ours)", 0.1))),
    ),
)


# --- Figure 5: WaterWorld, three deep agents on each of two maps; and what is ours beside it, named so.

WITH, WITHOUT, RECURRENT = "PPO + 1-pdRM", "PPO", "recurrent PPO"
WATER_MAPS = ("water-17", "water-20")
_PRINTED = {
    "n_envs": 5,
    "n_steps": 10_000,
    "linear_decay": True,
    "net_arch": (64, 64),
    "test_every": 100_000,
}
_CLIPPED = {"clip_range": 0.15, "target_kl": 0.3, "clip_range_vf": 1_000.0}
_UNTUNED = {
    "ent_coef": 0.0,
    "reward_scale": 1.0,
    "reward_clip": None,
    "staggered": False,
    "test_episodes": 5,
}
"""Stable-Baselines3's defaults, where those tuned for WaterWorld differ and the paper says nothing."""
_PRINTED_PPO = {
    "batch_size": 3_000,
    "n_epochs": 30,
    "discount": 0.99,
    "gae_lambda": 0.9,
    "vf_coef": 0.5,
}
_PRINTED_RPPO = {
    "batch_size": 2_000,
    "n_epochs": 20,
    "discount": 0.95,
    "gae_lambda": 0.95,
    "vf_coef": 1.0,
}
_LSTM = {"sequence_length": 20, "lstm_hidden_size": 256}
_BY_MAP = {"water-17": (3_000_000, 3e-6, 3e-9), "water-20": (5_000_000, 3e-5, 3e-6)}
"""Map -> timesteps, and the learning rates of PPO and of recurrent PPO."""
_SCALED = {"clip_range_vf": 1.0, "reward_scale": 1e-3}
"""Ours: rewards a thousandth, and the clipping of values with them."""


def _water_panel(
    name: str,
    lines: Iterable[Line],
    study: str,
    machine: str | None = None,
    figure: str = "beside Figure 5",
) -> Panel:
    side = name.removeprefix("water-")
    panel = _panel(name, f"{side} × {side}", figure, "done", lines)
    return replace(panel, name=f"{study}-{side}", machine=machine)


def _three(ppo: dict[str, Any], rppo: dict[str, Any], *, ours: bool) -> tuple[Line, ...]:
    """PPO that sees the machine, PPO that does not, and recurrent PPO that does not."""
    return (
        Line(name=WITH, agent="ppo", k=1, settings=ppo, ours=ours),
        Line(name=WITHOUT, agent="ppo", k="none", settings=ppo, ours=ours),
        Line(name=RECURRENT, agent="rppo", k="none", settings=rppo, ours=ours),
    )


def _printed(name: str, study: str = "water", **rewards: float) -> Panel:
    """The paper's settings, but for what is given."""
    steps, ppo_rate, rppo_rate = _BY_MAP[name]
    shared = {**_PRINTED, **_CLIPPED, **_UNTUNED, "total_timesteps": steps, **rewards}
    ppo = {**shared, **_PRINTED_PPO, "learning_rate": ppo_rate}
    rppo = {**shared, **_PRINTED_RPPO, **_LSTM, "learning_rate": rppo_rate}
    figure = "beside Figure 5" if rewards else "Figure 5"
    return _water_panel(name, _three(ppo, rppo, ours=bool(rewards)), study, figure=figure)


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
        panels=tuple(
            _water_panel(one, _three({}, {}, ours=True), name, machine) for one in WATER_MAPS
        ),
    )
    for name, title, machine in (
        ("water-tuned", "WaterWorld, tuned", None),
        ("water-strict", "WaterWorld, tuned, with the strict machine", "water-strict"),
    )
)
_OFF_POLICY = [
    Line(
        name=f"{agent.upper()} + {name}",
        agent=agent,
        k=1,
        settings={"counterfactuals": imagined},
        ours=True,
    )
    for agent in ("dqn", "sac")
    for imagined, name in ((0, "1-pdRM"), (2, "1-CpRM"))
]
WATER_OFF_POLICY = Study(
    name="water-off-policy",
    title="WaterWorld, off-policy agents",
    panels=(_water_panel("water-17", _OFF_POLICY, "water-off-policy"),),
)


# --- Figure 5 under other physics: the paper prints none, so each choice here is a reading of it.

PHYSICS = {
    "slow": (0.3, 0.5, 0.5, 1.5),
    "fast": (0.3, 1.0, 1.0, 3.0),
    "small and fast": (0.2, 1.0, 1.0, 3.0),
    "large": (0.5, 0.5, 0.5, 1.5),
    "large and fast": (0.5, 1.0, 1.0, 3.0),
    "largest": (1.0, 0.5, 0.5, 1.5),
    "scaled from 400 pixels": (0.64, 1.275, 1.275, 3.8),
}
"""Name -> radius, speed of the balls, push, top speed. The first is the default; the last is Toro Icarte's WaterWorld, whose box
is 400 pixels wide, scaled to a side of 17."""


def _under(physics: str, *, scaled: bool) -> Study:
    """Both maps with these physics, PPO with and without the machine, at the printed settings; rewards maybe a thousandth."""
    radius, ball_speed, acceleration, top_speed = PHYSICS[physics]
    name = f"water-{physics.replace(' ', '-')}{'-scaled' * scaled}"
    panels = []
    for one in WATER_MAPS:
        panel = _printed(one, name, **{"test_every": 200_000, **(_SCALED if scaled else {})})
        world = WaterWorld(
            side=SIDES[one],
            radius=radius,
            ball_speed=ball_speed,
            acceleration=acceleration,
            top_speed=top_speed,
        )
        panels.append(
            replace(
                panel,
                domain=world,
                machine="water",
                figure="beside Figure 5",
                lines=panel.lines[:2],
            )
        )
    title = f"WaterWorld, {physics}{', rewards of a thousandth' * scaled}"
    return Study(name=name, title=title, panels=tuple(panels), seeds=3)


WATER_READINGS = tuple(
    _under(physics, scaled=scaled) for physics in PHYSICS for scaled in (False, True)
)


# --- Ours: the agent `summary`, with the whole stack in view, beside 1-CpRM. A study of its own and not lines of the figures, because it needs tests after
# every episode, where the figures have one every hundred; its runs come with the package, so that a reproduction takes no longer, and the report draws
# it into the figures of the same tasks. LetterEnv is left out: its moves are a matter of chance, which `summary` refuses.

SUMMARY, BESIDE_SUMMARY = "summary (ours)", OURS[1]
_TESTS = {SUMMARY: 1, BESIDE_SUMMARY: 10}
"""Line -> the training episodes between two of its tests."""
_FINDS = {  # domain -> its title, the state that means success, the figure; and for both agents: the episodes, and about the seconds of a run
    "maze-5x5": ("1-TreasureMaze, 5×5", "home", "Appendix E", (10, 0.2), (500, 0.3)),
    "maze-10x10": ("1-TreasureMaze, 10×10", "home", "Appendix E", (10, 1), (500, 0.3)),
    "maze-20x20": ("1-TreasureMaze, 20×20", "home", "Appendix E", (10, 20), (500, 0.5)),
    "multi-10x10": ("MultipleTreasureMaze, 10×10", "home", "Figure 3, right", (20, 5), (2_000, 1)),
    "multi-20x20": ("MultipleTreasureMaze, 20×20", "home", "Figure 3, right", (20, 30), (2_000, 4)),
    "deliver-8": ("DeliverWorld-8", "done", "Figure 4, left", (10, 2), (500, 1)),
    "deliver-4-8": ("DeliverWorld-4-8", "done", "Figure 4, right", (10, 2), (500, 1)),
}


def _beside_summary(domain: str) -> Panel:
    title, success, figure, *trained = _FINDS[domain]
    lines = [
        _line(name, seconds, episodes=episodes, test_every=every)
        for (name, every), (episodes, seconds) in zip(_TESTS.items(), trained, strict=True)
    ]
    return replace(_panel(domain, title, f"beside {figure}", success, lines), name=f"ours-{domain}")


FOUND = Study(
    name="ours",
    title="Ours: with the whole stack in view",
    panels=tuple(map(_beside_summary, _FINDS)),
)


DEEP = (WATER, WATER_TUNED, WATER_OFF_POLICY, WATER_STRICT, WATER_SCALED)
NOTES = {
    "ours": "Ours, not in the paper, and no claim is judged by it: the agent `summary` learns the moves of a deterministic environment and composes, from "
    "what each stack symbol is worth, what the whole stack is worth. 1-CpRM beside it is the one whose counterfactuals are deduplicated, tested every "
    "ten episodes. Not LetterEnv, whose moves are a matter of chance.",
    "water": "The paper's settings: the claims of Figure 5 are judged by these runs.",
    "water-tuned": "Ours: many environments side by side, rewards scaled for the networks, a larger learning rate. The task is the "
    "same. With the machine every seed achieves both maps; on 20 × 20 the others improve, too, which the paper's did not.",
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

ON_REQUEST = (*DEEP, FOUND, MAZE_WALL_CLOCK, DELIVER_LONGER)
"""Run only when named: deep agents, which need a GPU, what is ours alone, and what takes hours by its own limits."""

EVERY = (*STUDIES, *ON_REQUEST)


GROUPS = {"water-readings": [study.name for study in WATER_READINGS]}
"""Names that stand for several studies."""


def figures(names: list[str], seeds: int | None = None) -> list[Study]:
    """The studies of these names (`maze`), or single panels of them (`maze-5x5`), each panel once; without names, the tabular ones.

    >>> [study.name for study in figures([])]
    ['letter', 'maze', 'multi', 'deliver', 'paint']
    >>> [panel.name for study in figures(["maze-5x5", "paint"]) for panel in study.panels]
    ['maze-5x5', 'paint']
    """
    known = {study.name: study for study in (*EVERY, *WATER_READINGS)}
    names = [one for name in names for one in GROUPS.get(name, [name])]
    for study in EVERY:
        for panel in study.panels:
            known.setdefault(panel.name, replace(study, panels=(panel,)))
    found: list[Study] = []
    for name in names or [study.name for study in STUDIES]:
        if name not in known:
            raise UnknownStudy(
                f"the paper has no figure `{name}`", fix=did_you_mean(name, [*known, *GROUPS])
            )
        earlier = {panel.name for one in found for panel in one.panels}
        panels = tuple(panel for panel in known[name].panels if panel.name not in earlier)
        found += [replace(known[name], panels=panels)] if panels else []
    return [study.seeded(seeds) for study in found]
