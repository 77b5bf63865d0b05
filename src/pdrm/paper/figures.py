"""The paper's figures as data, in its order, and by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import chain
from typing import Any

from pdrm.domains.water import SIDES, WaterWorld
from pdrm.errors import UnknownStudy, did_you_mean
from pdrm.experiments.panel import AgentLine, Panel
from pdrm.experiments.study import Study
from pdrm.paper.paper_agents import PAPER_AGENTS

# --- The tabular agents: as the legends name them, the agent, the stack symbols that it sees, and its settings.

EXHAUSTIVE = {"counterfactuals": "exhaustive"}
AGENTS: dict[str, tuple[str, str, dict[str, str]]] = {
    "pdRM": ("q", "full", {}),
    "1-pdRM": ("q", "1", {}),
    "2-pdRM": ("q", "2", {}),
    "3-pdRM": ("q", "3", {}),
    "4-pdRM": ("q", "4", {}),
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
NO_STACK, DEDUPLICATED, SUMMARY = "0-pdRM (ours)", "1-CpRM, deduplicated (ours)", "summary (ours)"


def _lines(*names: str, **settings: float) -> list[AgentLine]:
    """Some tabular agents with the same settings."""
    lines = []
    for name in names:
        agent, k, own = AGENTS[name]
        line = AgentLine(
            name=name, agent=agent, k=k, settings={**own, **settings}, ours="ours" in name
        )
        lines.append(line)
    return lines


def _panel(
    domain: str,
    title: str,
    figure: str,
    lines: Iterable[AgentLine],
    name: str = "",
    machine: str | None = None,
) -> Panel:
    """A panel; without a name it is called after its domain."""
    return Panel(
        name=name or domain,
        domain=domain,
        machine=machine,
        title=title,
        figure=figure,
        lines=tuple(lines),
    )


def _study(name: str, title: str, *panels: Panel, figure: str = "") -> Study:
    return Study(name=name, title=title, figure=figure, panels=panels)


# --- Figure 2: LetterEnv, six agents.

LETTER = _study(
    "letter",
    "LetterEnv",
    _panel(
        "letter",
        "LetterEnv",
        "Figure 2",
        _lines("pdRM", "1-pdRM", "CpRM", "1-CpRM", "Q-CRA", "CQL-CRA", NO_STACK, DEDUPLICATED),
    ),
)
LETTER_LONGER = _study(
    "letter-longer",
    "LetterEnv, trained four times as long",
    _panel(
        "letter",
        "LetterEnv, 20,000 episodes",
        "next to Figure 2",
        _lines("pdRM", "Q-CRA", episodes=20_000),
        "letter-longer",
    ),
)


# --- Figure 3, left, and the three figures of Appendix E: 1-TreasureMaze, six agents on each of three mazes.
#
# The paper ends episodes after a time that depends on the machine. The runs here that are judged end them after a number of
# updates or counter operations: one per microsecond of the paper's limit. `maze-wall-clock` has the limits as printed.

SECONDS = {"5x5": 0.03, "10x10": 0.06, "20x20": 0.1}
"""The paper's limits of an episode, by the size of the maze."""
PER_SECOND = 1_000_000
"""Updates or operations that stand for a second."""
MAX_OPERATIONS = 10_000_000
"""With the wall-clock limits, too: a single step can take more operations than any computer makes in a second."""


def _maze_panel(size: str) -> Panel:
    """The paper's agents; and ours: no stack at all (k = 0), and counterfactuals that stay within bounds."""
    budget = round(PER_SECOND * SECONDS[size])
    title = size.replace("x", "×")
    lines = [
        *_lines("pdRM", "1-pdRM"),
        *_lines("CpRM", "1-CpRM", updates_per_episode=budget),
        *_lines("Q-CRA", "CQL-CRA", operations_per_episode=budget),
        *_lines(NO_STACK, DEDUPLICATED),
    ]
    return _panel(f"maze-{size}", title, f"Appendix E, 1-TreasureMaze, {title}", lines)


def _timed_panel(size: str) -> Panel:
    """The agents that ran into the paper's limit."""
    seconds = SECONDS[size]
    title = size.replace("x", "×")
    limits = {"seconds_per_episode": seconds, "operations_per_episode": MAX_OPERATIONS}
    lines = [
        *_lines("CpRM", "1-CpRM", seconds_per_episode=seconds),
        *_lines("Q-CRA", "CQL-CRA", **limits),
    ]
    return _panel(
        f"maze-{size}",
        f"{title}, {seconds:g} s per episode",
        f"next to Appendix E, 1-TreasureMaze, {title}",
        (replace(line, agent=PAPER_AGENTS[line.agent_name]) for line in lines),
        f"maze-{size}-wall-clock",
    )


MAZE = _study("maze", "1-TreasureMaze", *map(_maze_panel, SECONDS), figure="Figure 3, left")
MAZE_WALL_CLOCK = _study(
    "maze-wall-clock",
    "1-TreasureMaze, with the paper's limits of wall-clock time",
    *map(_timed_panel, SECONDS),
)


# --- Figure 3, right: MultipleTreasureMaze, two agents on each of two mazes.

MULTI = _study(
    "multi",
    "MultipleTreasureMaze",
    _panel("multi-10x10", "10×10", "", _lines("pdRM", "1-pdRM", NO_STACK, DEDUPLICATED)),
    _panel("multi-20x20", "20×20", "", _lines("pdRM", "1-pdRM", DEDUPLICATED)),
    figure="Figure 3, right",
)


# --- Figure 4: DeliverWorld-8 (nine agents) and DeliverWorld-4-8 (six agents).

PLAIN = ("1-pdRM", "2-pdRM", "pdRM")
COUNTERFACTUAL = ("1-CpRM", "2-CpRM", "CpRM")
HIERARCHICAL = ("hierarchical 1-pdRM", "hierarchical 2-pdRM", "hierarchical pdRM")
NINE = (*PLAIN, *COUNTERFACTUAL, *HIERARCHICAL)
SIX = (*PLAIN[:2], *COUNTERFACTUAL[:2], *HIERARCHICAL[:2])
OURS = (NO_STACK, DEDUPLICATED)

DELIVER = _study(
    "deliver",
    "DeliverWorld",
    _panel("deliver-8", "DeliverWorld-8", "Figure 4, left", _lines(*NINE, *OURS)),
    _panel("deliver-4-8", "DeliverWorld-4-8", "Figure 4, right", _lines(*SIX, *OURS)),
)
DELIVER_LONGER = _study(
    "deliver-longer",
    "DeliverWorld-4-8, trained four times as long",
    _panel(
        "deliver-4-8",
        "DeliverWorld-4-8, 60,000 episodes",
        "next to Figure 4, right",
        _lines("1-pdRM", "2-pdRM", episodes=60_000),
        "deliver-4-8-longer",
    ),
)


# --- The figure of Appendix C: PaintWorld, five agents that see one to five symbols.

FIVE = AgentLine(name="pdRM", agent="q", k="5", colour="5-pdRM")
PAINTERS = [*_lines("1-pdRM", "2-pdRM", "3-pdRM", "4-pdRM"), FIVE, *_lines(NO_STACK)]
PAINT = _study("paint", "PaintWorld", _panel("paint", "PaintWorld", "Appendix C", PAINTERS))


# --- Figure 5: WaterWorld, three deep agents on each of two maps; and ours, under names of their own.

WITH, WITHOUT, RECURRENT = "PPO + 1-pdRM", "PPO", "recurrent PPO"
WATER_MAPS = ("water-17", "water-20")
BY_MAP = {"water-17": (3_000_000, 3e-6, 3e-9), "water-20": (5_000_000, 3e-5, 3e-6)}
"""Map -> timesteps, and the learning rates of PPO and of recurrent PPO."""
PRINTED: dict[str, Any] = {
    "n_envs": 5,
    "n_steps": 10_000,
    "linear_decay": True,
    "net_arch": (64, 64),
    "test_every": 100_000,
    "clip_range": 0.15,
    "target_kl": 0.3,
    "clip_range_vf": 1_000.0,
    # Where the paper says nothing: Stable-Baselines3's defaults, not the settings tuned for WaterWorld.
    "ent_coef": 0.0,
    "reward_scale": 1.0,
    "reward_clip": 1e9,
    "staggered": False,
    "test_episodes": 5,
}
PRINTED_PPO: dict[str, Any] = {
    "batch_size": 3_000,
    "n_epochs": 30,
    "discount": 0.99,
    "gae_lambda": 0.9,
    "vf_coef": 0.5,
}
PRINTED_RPPO: dict[str, Any] = {
    "batch_size": 2_000,
    "n_epochs": 20,
    "discount": 0.95,
    "gae_lambda": 0.95,
    "vf_coef": 1.0,
    "sequence_length": 20,
    "lstm_hidden_size": 256,
}
SCALED = {"clip_range_vf": 1.0, "reward_scale": 1e-3}
"""Ours: rewards a thousandth, and the clipping of values with them."""
BESIDE = "next to Figure 5"


def _water_panel(
    study: str,
    domain: str,
    lines: Iterable[AgentLine],
    machine: str | None = None,
    figure: str = BESIDE,
) -> Panel:
    side = domain.removeprefix("water-")
    return _panel(domain, f"{side} × {side}", figure, lines, f"{study}-{side}", machine)


def _three(ppo: Mapping[str, Any], rppo: Mapping[str, Any], *, ours: bool) -> list[AgentLine]:
    """PPO that sees the machine, PPO that does not, and recurrent PPO that does not."""
    return [
        AgentLine(name=WITH, agent="ppo", k=1, settings=ppo, ours=ours),
        AgentLine(name=WITHOUT, agent="ppo", k="none", settings=ppo, ours=ours),
        AgentLine(name=RECURRENT, agent="rppo", k="none", settings=rppo, ours=ours),
    ]


def _printed(study: str, domain: str, **changed: float) -> Panel:
    """The paper's settings, with some changed."""
    steps, ppo_rate, rppo_rate = BY_MAP[domain]
    shared = {**PRINTED, "total_timesteps": steps, **changed}
    ppo = {**shared, **PRINTED_PPO, "learning_rate": ppo_rate}
    rppo = {**shared, **PRINTED_RPPO, "learning_rate": rppo_rate}
    lines = _three(ppo, rppo, ours=bool(changed))
    return _water_panel(study, domain, lines, figure=BESIDE if changed else "Figure 5")


def _water(name: str, title: str, **changed: float) -> Study:
    return _study(name, title, *(_printed(name, domain, **changed) for domain in WATER_MAPS))


def _tuned(name: str, title: str, machine: str | None = None) -> Study:
    lines = _three({}, {}, ours=True)
    panels = (_water_panel(name, domain, lines, machine) for domain in WATER_MAPS)
    return _study(name, title, *panels)


def _off_policy() -> Study:
    name = "water-off-policy"
    lines = [
        AgentLine(
            name=f"{agent.upper()} + {shown}",
            agent=agent,
            k=1,
            settings={"counterfactuals": number},
            ours=True,
        )
        for agent in ("dqn", "sac")
        for number, shown in ((0, "1-pdRM"), (2, "1-CpRM"))
    ]
    return _study(name, "WaterWorld, off-policy agents", _water_panel(name, "water-17", lines))


WATER = (
    _water("water", "WaterWorld"),
    _tuned("water-tuned", "WaterWorld, tuned"),
    _off_policy(),
    _tuned("water-strict", "WaterWorld, tuned, with the strict machine", "water-strict"),
    _water("water-scaled", "WaterWorld, as printed but for the scale of rewards", **SCALED),
)


# --- Figure 5 under other physics: the paper prints none, so each choice here is a reading of it.

FAST = WaterWorld(ball_speed=1.0, acceleration=1.0, top_speed=3.0)
PHYSICS = {
    "slow": WaterWorld(),
    "fast": FAST,
    "small and fast": replace(FAST, radius=0.2),
    "large": WaterWorld(radius=0.5),
    "large and fast": replace(FAST, radius=0.5),
    "largest": WaterWorld(radius=1.0),
    "scaled from 400 pixels": WaterWorld(
        radius=0.64, ball_speed=1.275, acceleration=1.275, top_speed=3.8
    ),
}
"""The first is the default; the last is Toro Icarte's WaterWorld, whose box is 400 pixels wide, scaled to a side of 17."""


def _under(physics: str, ending: str, changed: Mapping[str, float]) -> Study:
    """Both maps with these physics, PPO with and without the machine, at the printed settings; rewards maybe a thousandth."""
    name = f"water-{physics.replace(' ', '-')}{ending}"
    panels = []
    for domain in WATER_MAPS:
        panel = _printed(name, domain, test_every=200_000, **changed)
        world = replace(PHYSICS[physics], side=SIDES[domain])
        panels.append(replace(panel, domain=world, lines=panel.lines[:2]))
    title = f"WaterWorld, {physics}{', rewards of a thousandth' if changed else ''}"
    return replace(_study(name, title, *panels), seeds=3)


UNDER_OTHER_PHYSICS = tuple(
    _under(physics, ending, changed)
    for physics in PHYSICS
    for ending, changed in (("", {}), ("-scaled", SCALED))
)


# --- Ours: the agent `summary`, with the whole stack in view, and 1-CpRM. A study of its own, because `summary` needs evaluations after every episode, where
# the figures have one every hundred; its runs come with the package. LetterEnv is left out: its moves are a matter of chance, which `summary` refuses.


def _whole_stack_panel(panel: Panel, few: int, many: int) -> Panel:
    """The domain of a panel; `few` are the episodes of the agent `summary`, `many` those of 1-CpRM."""
    domain = panel.name
    lines = [
        *_lines(SUMMARY, episodes=few, test_every=1),
        *_lines(DEDUPLICATED, episodes=many, test_every=10),
    ]
    return _panel(
        domain, domain, f"next to {panel.figure or MULTI.figure}", lines, f"ours-{domain}"
    )


WHOLE_STACK = _study(
    "ours",
    "Ours: with the whole stack in view",
    *(_whole_stack_panel(panel, 10, 500) for panel in MAZE.panels),
    *(_whole_stack_panel(panel, 20, 2_000) for panel in MULTI.panels),
    *(_whole_stack_panel(panel, 10, 500) for panel in DELIVER.panels),
)

NOTES = {
    "ours": "Ours, not in the paper, and no claim is judged by it: the agent `summary` learns the moves of a deterministic environment and composes, from "
    "the values of the single stack symbols, the value of the whole stack. The 1-CpRM next to it is the one whose counterfactuals are deduplicated.",
    "water": "The paper's settings: the claims of Figure 5 are judged by these runs.",
    "water-tuned": "Ours: many environments side by side, rewards scaled for the networks, a larger learning rate. The task is the "
    "same. With the machine every seed achieves both maps; on 20 × 20 the others improve, too, which the paper's did not.",
    "water-off-policy": "Ours: what the paper's authors could not finish, SAC with CpRM, and DQN; with and without counterfactual "
    "experiences. All see the machine's state and the top of its stack.",
    "water-strict": "Ours: in the printed machine touching the wrong ball costs nothing, so an agent without memory may touch both in "
    "turn. Here a wrong touch ends the episode.",
    "water-scaled": "Ours: the paper's settings with rewards of a thousandth.",
}
"""The report's note on a study, by its name."""


# --- The studies by name, and those that run when nothing is named.

TABULAR = (LETTER, MAZE, MULTI, DELIVER, PAINT)
ON_REQUEST = (*WATER, WHOLE_STACK, MAZE_WALL_CLOCK, LETTER_LONGER, DELIVER_LONGER)
"""Run only when named: deep agents, which need a GPU, ours, and what takes hours by its own limits."""
BY_NAME = {one.name: one for one in (*TABULAR, *ON_REQUEST, *UNDER_OTHER_PHYSICS)}

STUDIES = tuple(one.name for one in TABULAR)
"""The tabular figures, in the paper's order: they run when nothing is named."""
DEEP = tuple(one.name for one in WATER)
EVERY = (*STUDIES, *(one.name for one in ON_REQUEST))
WATER_READINGS = tuple(one.name for one in UNDER_OTHER_PHYSICS)
"""The names of the studies of other physics."""
GROUPS = {"water-readings": WATER_READINGS}
"""Names that stand for several studies."""


def study(name: str) -> Study:
    """A study by its name.

    >>> study("maze").title
    '1-TreasureMaze'
    """
    return BY_NAME[name]


def figures(names: list[str], seeds: int | None = None) -> list[Study]:
    """The studies of these names (`maze`), or single panels of them (`maze-5x5`), each panel once; without names, the tabular ones.

    >>> [study.name for study in figures([])]
    ['letter', 'maze', 'multi', 'deliver', 'paint']
    >>> [panel.name for study in figures(["maze-5x5", "paint"]) for panel in study.panels]
    ['maze-5x5', 'paint']
    """
    single = {
        panel.name: replace(one, panels=(panel,))
        for one in BY_NAME.values()
        for panel in one.panels
    }
    known = {**single, **BY_NAME}
    found: list[Study] = []
    for name in chain(*(GROUPS.get(name, (name,)) for name in names or STUDIES)):
        if name not in known:
            fix = did_you_mean(name, [*known, *GROUPS])
            raise UnknownStudy(f"the paper has no figure `{name}`", fix=fix)
        earlier = {panel.name for one in found for panel in one.panels}
        panels = tuple(panel for panel in known[name].panels if panel.name not in earlier)
        found += [replace(known[name], panels=panels)] if panels else []
    return [one.seeded(seeds) for one in found]
