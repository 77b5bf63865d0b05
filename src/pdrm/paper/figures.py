"""The paper's figures as studies, in the paper's order and by name."""

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

# --- The tabular agents by their names in legends: agent and k

NO_STACK = "0-pdRM (ours)"
DEDUPLICATED = "1-CpRM, deduplicated (ours)"
SUMMARY = "summary (ours)"
AGENTS = {
    "pdRM": ("q", "full"),
    "1-pdRM": ("q", "1"),
    "2-pdRM": ("q", "2"),
    "3-pdRM": ("q", "3"),
    "4-pdRM": ("q", "4"),
    "CpRM": ("cprm", "full"),
    "1-CpRM": ("cprm", "1"),
    "2-CpRM": ("cprm", "2"),
    "hierarchical pdRM": ("hrm", "full"),
    "hierarchical 1-pdRM": ("hrm", "1"),
    "hierarchical 2-pdRM": ("hrm", "2"),
    "Q-CRA": ("cra-q", "full"),
    "CQL-CRA": ("cra-cql", "full"),
    NO_STACK: ("q", "0"),
    DEDUPLICATED: ("cprm", "1"),
    SUMMARY: ("summary", "full"),
}
EXHAUSTIVE = {"counterfactuals": "exhaustive"}
"""Settings of the paper's CpRM agents. Ours are deduplicated."""


def _lines(*names: str, **settings: Any) -> list[AgentLine]:
    """Lines of tabular agents with the same additional settings."""
    lines = []
    for name in names:
        agent, k = AGENTS[name]
        ours = "ours" in name
        given = {**EXHAUSTIVE, **settings} if agent == "cprm" and not ours else settings
        lines.append(AgentLine(name=name, agent=agent, k=k, settings=given, ours=ours))
    return lines


def _panel(
    domain: str,
    title: str,
    figure: str,
    lines: Iterable[AgentLine],
    name: str = "",
    machine: str | None = None,
) -> Panel:
    """A panel (default name: the domain's)."""
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


# --- Figure 2: LetterEnv, six agents

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


# --- Figure 3, left, and Appendix E: 1-TreasureMaze, six agents on each of three mazes
#
# The paper limits episodes by wall-clock time, so its results depend on the computer. For the
# claims, episodes are limited to a number of updates or counter operations: one per microsecond of
# the paper's limit. `maze-wall-clock` uses the printed limits.

SECONDS = {"5x5": 0.03, "10x10": 0.06, "20x20": 0.1}
"""The paper's time limits of an episode, by the size of the maze."""
PER_SECOND = 1_000_000
"""Updates or operations that replace a second."""
MAX_OPERATIONS = 10_000_000
"""An additional limit for the wall-clock study, because a step can take very many operations."""


def _maze_panel(size: str) -> Panel:
    """The paper's agents, and ours: without the stack (k = 0), and with bounded counterfactuals."""
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
    """The agents that exceeded the paper's time limit."""
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


# --- Figure 3, right: MultipleTreasureMaze, two agents on each of two mazes

MULTI = _study(
    "multi",
    "MultipleTreasureMaze",
    _panel("multi-10x10", "10×10", "", _lines("pdRM", "1-pdRM", NO_STACK, DEDUPLICATED)),
    _panel("multi-20x20", "20×20", "", _lines("pdRM", "1-pdRM", DEDUPLICATED)),
    figure="Figure 3, right",
)


# --- Figure 4: DeliverWorld-8 (nine agents) and DeliverWorld-4-8 (six agents)

PLAIN = ("1-pdRM", "2-pdRM", "pdRM")
COUNTERFACTUAL = ("1-CpRM", "2-CpRM", "CpRM")
HIERARCHICAL = ("hierarchical 1-pdRM", "hierarchical 2-pdRM", "hierarchical pdRM")

DELIVER = _study(
    "deliver",
    "DeliverWorld",
    _panel(
        "deliver-8",
        "DeliverWorld-8",
        "Figure 4, left",
        _lines(*PLAIN, *COUNTERFACTUAL, *HIERARCHICAL, NO_STACK, DEDUPLICATED),
    ),
    _panel(
        "deliver-4-8",
        "DeliverWorld-4-8",
        "Figure 4, right",
        _lines(*PLAIN[:2], *COUNTERFACTUAL[:2], *HIERARCHICAL[:2], NO_STACK, DEDUPLICATED),
    ),
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


# --- The figure of Appendix C: PaintWorld, five agents that see one to five symbols

FIVE = AgentLine(name="pdRM", agent="q", k="5", colour="5-pdRM")
PAINTERS = [*_lines("1-pdRM", "2-pdRM", "3-pdRM", "4-pdRM"), FIVE, *_lines(NO_STACK)]
PAINT = _study("paint", "PaintWorld", _panel("paint", "PaintWorld", "Appendix C", PAINTERS))


# --- Figure 5: WaterWorld, three deep agents on each of two maps; and our variants

WITH = "PPO + 1-pdRM"
WITHOUT = "PPO"
RECURRENT = "recurrent PPO"
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
    # The paper does not give these: Stable-Baselines3's defaults, not settings tuned for
    # WaterWorld.
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
"""Our variant: rewards and value clipping scaled by 1/1000."""
NEXT_TO_FIGURE_5 = "next to Figure 5"


def _water_panel(
    study: str,
    domain: str,
    lines: Iterable[AgentLine],
    machine: str | None = None,
    figure: str = NEXT_TO_FIGURE_5,
) -> Panel:
    side = domain.removeprefix("water-")
    return _panel(domain, f"{side} × {side}", figure, lines, f"{study}-{side}", machine)


def _three(ppo: Mapping[str, Any], rppo: Mapping[str, Any], *, ours: bool) -> list[AgentLine]:
    """PPO with the machine, PPO without it, and recurrent PPO without it."""
    return [
        AgentLine(name=WITH, agent="ppo", k=1, settings=ppo, ours=ours),
        AgentLine(name=WITHOUT, agent="ppo", k="none", settings=ppo, ours=ours),
        AgentLine(name=RECURRENT, agent="rppo", k="none", settings=rppo, ours=ours),
    ]


def _printed(study: str, domain: str, **changed: float) -> Panel:
    """The paper's settings, with optional changes."""
    steps, ppo_rate, rppo_rate = BY_MAP[domain]
    shared = {**PRINTED, "total_timesteps": steps, **changed}
    ppo = {**shared, **PRINTED_PPO, "learning_rate": ppo_rate}
    rppo = {**shared, **PRINTED_RPPO, "learning_rate": rppo_rate}
    lines = _three(ppo, rppo, ours=bool(changed))
    return _water_panel(study, domain, lines, figure=NEXT_TO_FIGURE_5 if changed else "Figure 5")


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


# --- Figure 5 under other physics, which the paper does not specify

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
"""The first is the default. The last is Toro Icarte's WaterWorld, whose box is 400 pixels wide,
scaled to a side of 17."""


def _under(physics: str, suffix: str, changed: Mapping[str, float]) -> Study:
    """Both maps with these physics: PPO with and without the machine, at the printed settings."""
    name = f"water-{physics.replace(' ', '-')}{suffix}"
    panels = []
    for domain in WATER_MAPS:
        panel = _printed(name, domain, test_every=200_000, **changed)
        world = replace(PHYSICS[physics], side=SIDES[domain])
        panels.append(replace(panel, domain=world, lines=panel.lines[:2]))
    title = f"WaterWorld, {physics}{', rewards of a thousandth' if changed else ''}"
    return replace(_study(name, title, *panels), seeds=3)


UNDER_OTHER_PHYSICS = tuple(
    _under(physics, suffix, changed)
    for physics in PHYSICS
    for suffix, changed in (("", {}), ("-scaled", SCALED))
)


# --- Ours: the agent `summary`, which sees the whole stack, and 1-CpRM
#
# A separate study, because `summary` needs an evaluation after every episode instead of every
# hundred. Its runs come with the package. LetterEnv is not included, because it is stochastic.


def _whole_stack_panel(panel: Panel, summary_episodes: int, cprm_episodes: int) -> Panel:
    """The domain of a panel with other agents."""
    domain = panel.name
    lines = [
        *_lines(SUMMARY, episodes=summary_episodes, test_every=1),
        *_lines(DEDUPLICATED, episodes=cprm_episodes, test_every=10),
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
    "ours": "Ours, not in the paper, and not used for claims. The agent `summary` learns the moves of "
    "a deterministic environment and computes the value of the whole stack from the values of single "
    "stack symbols. 1-CpRM uses deduplicated counterfactuals.",
    "water": "The paper's settings: the claims of Figure 5 are judged by these runs.",
    "water-tuned": "Ours: many parallel environments, rewards scaled for the networks, and a larger "
    "learning rate. The task is the same. With the machine every seed achieves both maps. On 20 × 20 "
    "the other agents also improve, unlike the paper's.",
    "water-off-policy": "Ours: SAC with CpRM, which the paper's authors could not finish, and DQN, "
    "with and without counterfactual experiences. All see the machine's state and the top of its stack.",
    "water-strict": "Ours: in the printed machine touching the wrong ball costs nothing, so an agent "
    "without memory can touch both in turn. Here a wrong touch ends the episode.",
    "water-scaled": "Ours: the paper's settings with rewards divided by 1,000.",
}
"""The report's notes on studies by name."""


# --- The studies by name

TABULAR = (LETTER, MAZE, MULTI, DELIVER, PAINT)
ON_REQUEST = (*WATER, WHOLE_STACK, MAZE_WALL_CLOCK, LETTER_LONGER, DELIVER_LONGER)
"""Run only when named: deep agents (which need a GPU), ours, and studies that take hours."""
BY_NAME = {one.name: one for one in (*TABULAR, *ON_REQUEST, *UNDER_OTHER_PHYSICS)}

STUDIES = tuple(one.name for one in TABULAR)
"""The tabular figures in the paper's order, which run by default."""
DEEP = tuple(one.name for one in WATER)
EVERY = (*STUDIES, *(one.name for one in ON_REQUEST))
WATER_READINGS = tuple(one.name for one in UNDER_OTHER_PHYSICS)
"""The studies of other physics."""
GROUPS = {"water-readings": WATER_READINGS}
"""Names of several studies at once."""


def study(name: str) -> Study:
    """A study by name.

    >>> study("maze").title
    '1-TreasureMaze'
    """
    return BY_NAME[name]


def figures(names: list[str], seeds: int | None = None) -> list[Study]:
    """Studies (`maze`) and single panels (`maze-5x5`) by name, without duplicate panels.

    Without names, the tabular figures.

    >>> [study.name for study in figures([])]
    ['letter', 'maze', 'multi', 'deliver', 'paint']
    >>> [panel.name for study in figures(["maze-5x5", "paint"]) for panel in study.panels]
    ['maze-5x5', 'paint']
    """
    single_panels = {
        panel.name: replace(one, panels=(panel,))
        for one in BY_NAME.values()
        for panel in one.panels
    }
    known = {**single_panels, **BY_NAME}
    chosen: list[Study] = []
    for name in chain(*(GROUPS.get(name, (name,)) for name in names or STUDIES)):
        if name not in known:
            fix = did_you_mean(name, [*known, *GROUPS])
            raise UnknownStudy(f"the paper has no figure `{name}`", fix=fix)
        earlier = {panel.name for one in chosen for panel in one.panels}
        panels = tuple(panel for panel in known[name].panels if panel.name not in earlier)
        if panels:
            chosen.append(replace(known[name], panels=panels))
    return [one.seeded(seeds) for one in chosen]
