"""docs/settings.md: every setting of every agent, its default and what it means, from the list of agents."""

from __future__ import annotations

import inspect
from dataclasses import fields

from pdrm.learning.agents import AGENTS
from pdrm.learning.settings import Agent, describe_settings

HEAD = """# Settings of the agents

*Made by `python -m pages` from the classes that hold them.*

An agent is its settings: `pdrm.CpRM(k=1, learning_rate=0.1)` in Python, `--set learning_rate=0.1` on the command line, `settings = { learning_rate = 0.1 }` in a
study. For a domain of the paper, the paper's settings are the defaults of the tabular agents. The names and meanings of the deep agents' settings are Stable-Baselines3's, where nothing is said to
be ours; their defaults are [for tasks that pay late](deep.md#tasks-that-pay-late), and `pdrm.PPO.like_sb3()` has Stable-Baselines3's.
"""


def settings_page() -> str:
    """The page: a section per agent; one that only changes the defaults of its parent lists those."""
    parts = [HEAD]
    for name, kind in AGENTS.items():
        parent = kind.__bases__[0]
        shown = fields(kind)
        parts += [f"## {kind.__name__}", "", f"`--agent {name}`. {_first(kind)}", ""]
        if parent in AGENTS.values():
            before = {field.name: field.default for field in fields(parent)}
            shown = tuple(field for field in shown if before.get(field.name, ...) != field.default)
            parts += [
                f"As [{parent.__name__}](#{parent.__name__.lower()}){', with:' if shown else '.'}",
                "",
            ]
        rows = [
            f"| `{one.name}` | {_default(one.default)} | {_cell(describe_settings(kind)[one.name])} |"
            for one in shown
        ]
        parts += ["| setting | default | |", "|---|---|---|", *rows, ""] if rows else []
    return "\n".join(parts)


def _first(kind: type[Agent]) -> str:
    return " ".join(inspect.cleandoc(kind.__doc__ or "").partition("\n\n")[0].split())


def _default(value: object) -> str:
    shown = "none" if value is None else getattr(value, "value", value)
    return f"`{','.join(map(str, shown)) if isinstance(shown, tuple) else shown}`"


def _cell(text: str) -> str:
    """Text as it stands in a table: a bar would end the cell."""
    return text.replace("|", "\\|")
