"""Settings of the deep agents, by Stable-Baselines3's names and with its meanings and defaults; ours are marked as such.

Rates may be traced arrays: runs that differ in them alone are then one compiled program.
"""

from __future__ import annotations

from dataclasses import Field, dataclass, fields
from math import isfinite
from numbers import Integral, Real
from typing import Any

from pdrm.errors import BadSetting

Number = Any
"""A number, or a traced scalar array."""

SHARES = ("gamma", "gae_lambda", "exploration_initial_eps", "exploration_final_eps", "exploration_fraction", "tau")
"""Settings that lie between 0 and 1."""
FROM_ZERO = ("ent_coef", "vf_coef", "learning_starts", "counterfactuals")
"""Settings that may be 0; all others are above."""
WHOLE = ("int", "tuple[int, ...]")
"""How fields of whole numbers are annotated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Deep:
    """What every deep agent has."""

    total_timesteps: Number = 100_000
    """Steps of training, over all environments; the schedules refer to it."""
    n_envs: int = 8
    """Environments side by side."""
    learning_rate: Number = 3e-4
    linear_decay: bool = False
    """Ours: whether the learning rate falls linearly to 0 (in SB3 one hands in such a function)."""
    gamma: Number = 0.99
    net_arch: tuple[int, ...] = (64, 64)
    """Units of the hidden layers, of actor and critic each."""
    reward_scale: Number = 1.0
    """Ours: what rewards are multiplied by for the networks. Reported returns are raw."""
    reward_clip: Number = None
    """Ours: scaled rewards beyond this are cut to it, for the networks; None: none are."""
    staggered: bool = False
    """Ours: whether the first episodes begin at clocks spread over the step limit, so that not all end together."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            for one in value if isinstance(value, tuple | list) else (value,):
                _check(field, one)


def _check(field: Field[Any], value: object) -> None:
    """Raise unless a number is one that the field may have; what is traced cannot be looked at."""
    name, whole = field.name, field.type in WHOLE
    fault = f"{name} is {value}"
    if whole and (isinstance(value, bool | str) or (isinstance(value, Real) and not isinstance(value, Integral))):
        raise BadSetting(fault, fix=f"{name} must be a whole number, such as {name}={_example(field)}")
    if isinstance(value, bool) or not isinstance(value, Real):
        return
    number = float(value)
    if not isfinite(number):
        raise BadSetting(fault, fix=f"{name} must be a finite number")
    if name in SHARES and not 0 <= number <= 1:
        raise BadSetting(fault, fix=f"{name} must be between 0 and 1")
    if name != "target_entropy" and (number < 0 or (number == 0 and name not in (*FROM_ZERO, *SHARES))):
        raise BadSetting(fault, fix=f"{name} must be above 0")


def _example(field: Field[Any]) -> str:
    """A field's default as one writes it after `--set`."""
    return ",".join(map(str, field.default)) if isinstance(field.default, tuple) else str(field.default)


@dataclass(frozen=True, slots=True, kw_only=True)
class PPO(Deep):
    """Proximal policy optimisation.

    >>> PPO(n_steps=128).clip_range
    0.2
    """

    n_steps: int = 2048
    """Steps of each environment between updates."""
    batch_size: int = 64
    n_epochs: int = 10
    gae_lambda: float = 0.95
    clip_range: float = 0.2
    clip_range_vf: Number = None
    """How far a value may move from the old one; None: as far as it likes. In the unit of scaled rewards."""
    normalize_advantage: bool = True
    ent_coef: Number = 0.0
    vf_coef: float = 0.5
    max_grad_norm: float = 0.5
    target_kl: float | None = None
    """No further update once the approximate divergence from the old policy is beyond 1.5 times this."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecurrentPPO(PPO):
    """PPO with an LSTM each for actor and critic, before their hidden layers.

    >>> RecurrentPPO().lstm_hidden_size
    256
    """

    n_steps: int = 128
    batch_size: int = 128
    lstm_hidden_size: int = 256
    sequence_length: int = 16
    """Ours: gradients flow back through so many steps (in sb3-contrib through as many as a batch holds). It divides
    `n_steps` and `batch_size`."""

    def __post_init__(self) -> None:
        PPO.__post_init__(self)
        if self.n_steps % self.sequence_length or self.batch_size % self.sequence_length:
            raise BadSetting(
                f"sequences of {self.sequence_length} steps do not fill {self.n_steps} steps and batches of {self.batch_size}",
                fix="let sequence_length divide n_steps and batch_size",
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class OffPolicy(Deep):
    """What DQN and SAC share."""

    buffer_size: int = 1_000_000
    """Transitions kept, over all environments."""
    learning_starts: int = 100
    """Steps, over all environments, before the first update."""
    batch_size: int = 256
    tau: Number = 1.0
    """How far the target network moves to the network, at each of its updates."""
    train_freq: int = 4
    """Steps of each environment between updates."""
    gradient_steps: int = 1
    """Updates then."""
    n_steps: int = 1
    """Rewards of so many steps are summed, discounted, before a value is trusted."""
    counterfactuals: int = 0
    """Ours: experiences imagined beside each sampled one, with other machine states and observed stacks (CpRM)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DQN(OffPolicy):
    """Deep Q-learning.

    >>> DQN().exploration_fraction
    0.1
    """

    learning_rate: Number = 1e-4
    batch_size: int = 32
    target_update_interval: int = 10_000
    """Steps, over all environments, between updates of the target network."""
    exploration_fraction: float = 0.1
    exploration_initial_eps: float = 1.0
    exploration_final_eps: float = 0.05
    max_grad_norm: float = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SAC(OffPolicy):
    """Soft actor-critic, for continuous actions.

    >>> SAC().tau
    0.005
    """

    net_arch: tuple[int, ...] = (256, 256)
    tau: Number = 0.005
    train_freq: int = 1
    ent_coef: float | None = None
    """The weight of entropy; None: learnt, towards `target_entropy`."""
    target_entropy: float | None = None
    """None: minus the number of an action's numbers."""
