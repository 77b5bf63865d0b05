"""docs/settings.md: every setting of every agent, its default and what it means, from the classes that hold them."""

from __future__ import annotations

import ast
import inspect
import itertools
from dataclasses import fields
from typing import Any

from pdrm.learning.agents import Hierarchical, QLearning
from pdrm.learning.deep.deep_training import algorithm_of

HEAD = """# Settings of the agents

*Made by `python -m pages` from the classes that hold them.*

Tabular agents take theirs as options of `pdrm train` (`--learning-rate 0.1`), in a study (`settings = { learning_rate = 0.1 }`) and in Python
(`pdrm.QLearning(learning_rate=0.1)`); for a domain of the paper, its settings are the defaults. Deep agents take theirs as `--set gamma=0.95`, and by the same names
in Python; the names, meanings and defaults are Stable-Baselines3's, where nothing is said to be ours.
"""
AGENTS: dict[str, Any] = {
    "Q-learning, CpRM and counting automata (q, cprm, cra-q, cra-cql)": QLearning,
    "The hierarchical agent (hrm)": Hierarchical,
    "PPO (ppo)": algorithm_of("ppo").settings,
    "Recurrent PPO (rppo)": algorithm_of("rppo").settings,
    "DQN (dqn)": algorithm_of("dqn").settings,
    "SAC (sac)": algorithm_of("sac").settings,
}
PLAIN = {
    "learning_rate": "The optimiser's.",
    "gamma": "The discount.",
    "batch_size": "Experiences in an update.",
    "n_epochs": "How often the same experiences are gone through.",
    "gae_lambda": "λ of generalised advantage estimation.",
    "clip_range": "How far the new policy may differ from the old.",
    "normalize_advantage": "Whether a batch's advantages are brought to mean 0 and deviation 1.",
    "ent_coef": "Weight of the policy's entropy in the loss.",
    "vf_coef": "Weight of the value's error in the loss.",
    "max_grad_norm": "Longer gradients are shortened to this.",
    "lstm_hidden_size": "Units of each LSTM.",
    "exploration_fraction": "The share of training during which ε falls.",
    "exploration_initial_eps": "ε at first.",
    "exploration_final_eps": "ε at last.",
}
"""What Stable-Baselines3's names mean, where the class leaves it to them."""


def settings_page() -> str:
    """The page."""
    parts = [HEAD]
    for title, kind in AGENTS.items():
        rows = [f"| `{field.name}` | {_default(field.default)} | {_said(kind, field.name)} |" for field in fields(kind)]
        parts += [f"## {title}", "", "| setting | default | |", "|---|---|---|", *rows, ""]
    return "\n".join(parts)


def _default(value: object) -> str:
    shown = "none" if value is None else getattr(value, "value", value)
    return f"`{','.join(map(str, shown)) if isinstance(shown, tuple) else shown}`"


def _said(kind: type, name: str) -> str:
    """The text below a field, in the class or the nearest parent that has one."""
    for parent in kind.__mro__[:-1]:
        found = _texts(parent).get(name)
        if found:
            return " ".join(found.split()).replace("|", "\\|")
    return PLAIN[name]


def _texts(kind: type) -> dict[str, str]:
    """The string below each field of a class."""
    (body,) = (node.body for node in ast.parse(inspect.getsource(kind)).body if isinstance(node, ast.ClassDef))
    return {
        field.target.id: str(text.value.value)
        for field, text in itertools.pairwise(body)
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and isinstance(text, ast.Expr)
        and isinstance(text.value, ast.Constant)
    }
