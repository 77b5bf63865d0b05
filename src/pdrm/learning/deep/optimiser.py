"""One step down a gradient: its norm cut, Adam, and a learning rate that may be traced."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import optax

Tree = Any
ADAM = optax.scale_by_adam(eps=1e-5)
"""With the ε of Stable-Baselines3's on-policy agents."""
ADAM_SMALL = optax.scale_by_adam(eps=1e-8)
"""With torch's own, as its off-policy agents have it."""


def clipped(gradient: Tree, most: float) -> Tree:
    """The gradient, scaled down where its norm is above `most`."""
    norm = jnp.sqrt(sum((part * part).sum() for part in jax.tree.leaves(gradient)))
    factor = jnp.minimum(1.0, most / (norm + 1e-6))
    return jax.tree.map(lambda part: part * factor, gradient)


def descended(
    adam: optax.GradientTransformation, tree: Tree, state: Tree, gradient: Tree, rate: jax.Array | float
) -> tuple[Tree, Tree]:
    """The tree and the optimiser's state after one step."""
    step, state = adam.update(gradient, state)
    return jax.tree.map(lambda part, change: part - rate * change, tree, step), state


def chosen(condition: jax.Array, new: Tree, old: Tree) -> Tree:
    """The new tree where the condition holds, else the old one."""
    return jax.tree.map(lambda one, other: jnp.where(condition, one, other), new, old)
