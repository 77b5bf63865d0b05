"""A world of your own in JAX, for networks: a few pure functions of one environment.

Functions have no batch axis: the learners map the functions over thousands of environments and compile them together with the machine.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

from pdrm.errors import BadDomainSetting
from pdrm.machines.guards import Label

Array = Any
"""An array of JAX, or a number."""
State = Any
"""Whatever a state is: a tree of JAX arrays."""
MOST_EVENTS = 12
"""Each set of events is a column of the compiled machine, so that their number doubles with each event."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class JaxWorld:
    """A world as pure JAX functions, to train `PPO`, `RecurrentPPO`, `DQN` or `SAC` in.

    >>> import jax, jax.numpy as jnp
    >>> corridor = JaxWorld(
    ...     name="corridor",
    ...     events=("left", "right"),
    ...     reset=lambda key: jnp.float32(0),
    ...     step=lambda x, action, key: jnp.clip(x + 0.2 * action - 0.1, -1, 1),
    ...     label=lambda before, action, after: jnp.stack([after <= -1, after >= 1]),
    ...     observe=lambda x: x[None],
    ...     observation_size=1,
    ...     actions=2,
    ...     step_limit=100,
    ... )
    >>> len(corridor.labels), corridor.labels[3] == {"left", "right"}
    (4, True)
    """

    name: str
    events: tuple[str, ...]
    reset: Callable[[Array], State]
    """`reset(key)`: a first state. `key` is a key of `jax.random`."""
    step: Callable[[State, Array, Array], State]
    """`step(state, action, key)`: the next state."""
    label: Callable[[State, Array, State], Array]
    """`label(before, action, after)`: which of `events` are true after the step, as an array of booleans."""
    observe: Callable[[State], Array]
    """`observe(state)`: the vector that the networks see."""
    observation_size: int
    """Numbers in that vector."""
    actions: int = 0
    """The number of actions; 0 if an action is a vector."""
    action_size: int = 0
    """Numbers of an action that is a vector, each in [-1, 1]."""
    step_limit: int = 1_000
    """Steps after which an episode is truncated."""
    reward: Callable[[State, Array, State], Array] | None = None
    """`reward(before, action, after)`: the world's own reward (default: none)."""
    terminated: Callable[[State], Array] | None = None
    """`terminated(state)`: the world itself ends the episode (default: never)."""

    def __post_init__(self) -> None:
        if len(self.events) > MOST_EVENTS:
            fault = f"{len(self.events)} events have {2 ** len(self.events):,} labels"
            raise BadDomainSetting(fault, fix=f"use at most {MOST_EVENTS} events")
        if (self.actions > 0) == (self.action_size > 0):
            fault = f"`{self.name}` needs either `actions` or `action_size`"
            raise BadDomainSetting(
                fault, fix="actions=4 if they are numbered, action_size=2 if not"
            )

    def record(self, hash_source: Callable[[Any], str]) -> dict[str, Any]:
        """The fields as JSON values; a function by the hash of its source."""
        own = {field.name: getattr(self, field.name) for field in fields(self)}
        return {
            name: hash_source(value) if callable(value) else value for name, value in own.items()
        }

    @property
    def labels(self) -> tuple[Label, ...]:
        """Every set of events; the bits of a label's position say which are in it."""
        return tuple(
            frozenset(event for bit, event in enumerate(self.events) if position >> bit & 1)
            for position in range(1 << len(self.events))
        )
