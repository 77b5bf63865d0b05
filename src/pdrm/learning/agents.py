"""The agents: tables' and networks', each a class of settings, one list of them by name, and what they are set to for a task.

Tabular agents carry the paper's symbols in their docstrings. Deep agents have Stable-Baselines3's names and meanings; what is ours
is marked. Their defaults are for tasks of a machine, which pay late (`like_sb3` has the others). What both kinds have has one name,
the tables' (`discount`). What every agent is, and how settings are checked, is in `settings`. Nothing here learns: see `tabular/`
and `deep/`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar, Self

from pdrm.domains.finite_domain import FiniteDomain
from pdrm.errors import BadSetting, BadStudy, UnknownAgent, did_you_mean
from pdrm.learning.settings import (
    FULL,
    LATER,
    NOTHING,
    RECORDED_AS,
    Agent,
    Number,
    bad_setting,
    introduce,
)
from pdrm.machines.counting import CountingRewardAutomaton
from pdrm.task import COUNTED, DISCOUNTS, Task

if TYPE_CHECKING:
    from pdrm.product.shaping import Shaping

MOST_SEEDS = 100_000
"""More is a slip of the keyboard."""
EMITTED, AUTO = "emitted", "auto"
SHAPINGS = (NOTHING, "machine", EMITTED)
"""What rewards are shaped by. Deep agents can leave it to the task (`auto`)."""


def _check_shaping(agent: QLearning | Deep) -> None:
    """Raise unless rewards can be shaped as the agent says."""
    if agent.shaping == AUTO and isinstance(agent, Deep):
        return
    if agent.shaping not in SHAPINGS:
        fix = did_you_mean(str(agent.shaping), SHAPINGS)
        raise BadSetting(
            f"shaping is {agent.shaping!r}, but must be one of {', '.join(SHAPINGS)}", fix=fix
        )
    if agent.shaping == NOTHING:
        return
    if isinstance(agent, CountingQ):
        fault = (
            f"agent `{agent.name}` has no potentials: they are found for stacks, not for counters"
        )
        raise BadSetting(fault, fix='use q or cprm, or shaping="none" (--shaping none)')
    if isinstance(agent, OffPolicy) and agent.counterfactuals:
        fault = f"agent `{agent.name}` imagines with the tops of stacks, and a potential needs the whole stack"
        raise BadSetting(fault, fix="counterfactuals=0, or shaping=none")
    shaping_of(agent)


def shaping_of(agent: QLearning | Deep) -> Shaping | None:
    """How an agent's rewards are shaped; None: not at all.

    >>> shaping_of(QLearning(discount=0.9, shaping="machine", shaping_shift=2.0))
    Shaping(discount=0.9, potential_discount=None, scale=1.0, shift=2.0)
    """
    if agent.shaping in {AUTO, NOTHING}:
        return None
    from pdrm.product.shaping import Shaping

    return Shaping(
        float(agent.discount),
        agent.shaping_discount,
        float(agent.shaping_scale),
        float(agent.shaping_shift),
    )


# --- Tabular agents


@dataclass(frozen=True, slots=True, kw_only=True)
class Tabular(Agent):
    """What every tabular agent has."""

    episodes: int = 10_000
    """Training episodes."""
    learning_rate: float = 0.5
    """α"""
    discount: float = 0.99
    """γ"""
    epsilon: float = 1.0
    """ε at first: the share of random actions."""
    epsilon_decay: float = 0.995
    """ε is multiplied by this after every episode ..."""
    epsilon_least: float = 0.01
    """... down to this."""
    step_limit: int | None = None
    """Steps after which an episode is cut off; None: the domain's own limit."""
    seconds_per_episode: float | None = None
    """Wall-clock seconds after which an episode is cut off, as in the paper; None: never. The result then depends on the
    computer and its load."""
    test_every: int = 100
    """Training episodes between two tests."""
    test_episodes: int = 10
    """Greedy episodes per test."""

    def __post_init__(self) -> None:
        Agent.__post_init__(self)
        if self.epsilon_least > self.epsilon:
            wanted = f"at most epsilon, {self.epsilon!r}"
            raise bad_setting(self, "epsilon_least", self.epsilon_least, wanted, self.epsilon)

    @property
    def total(self) -> int:
        return self.episodes


TIES = ("random", "first")
"""Which of several best actions Q-learning takes."""


class Counterfactuals(StrEnum):
    """Which experiences CpRM imagines beside the real one (Section 6): every machine state with certain observed stacks."""

    NONE = "none"
    """None: plain Q-learning."""
    EXHAUSTIVE = "exhaustive"
    """Every stack observed so far, as Algorithms 1 and 2 are printed."""
    DEDUPLICATED = "deduplicated"
    """One observed stack for each class that a k-policy can tell apart, so their number stops growing."""
    CO_OBSERVED = "co-observed"
    """The stacks that were observed together with the present environment state."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QLearning(Tabular):
    """Q-learning over what the agent sees of the environment, the machine and its stack.

    >>> QLearning(k=1, episodes=10, learning_rate=0.1).epsilon
    1.0
    """

    name: ClassVar[str] = "q"

    updates_per_episode: int | None = None
    """Updates after which an episode is cut off (in place of the paper's wall-clock limit); None: never."""
    ties: str = "random"
    """Which of several best actions is taken: a `random` one, or the `first` in the domain's order, unless all are worth 0."""
    limit_ends: bool = False
    """Whether an episode that the limit of steps cuts off is learnt as one that has ended, with nothing to come."""
    shaping: str = "none"
    """Reward shaping. `machine`: a step teaches γΦ(after) - Φ(before) more, where Φ is what the configuration is worth if
    every label could be chosen; `emitted`: every label that the domain emits. Reported returns are never shaped."""
    shaping_scale: float = 1.0
    """What Φ is multiplied by; -1 is the sign of Toro Icarte's code."""
    shaping_shift: float = 0.0
    """Added to Φ then, before the end of an episode."""
    shaping_discount: float | None = None
    """γ of Φ, below 1; None: the agent's own."""

    def __post_init__(self) -> None:
        Tabular.__post_init__(self)
        _check_shaping(self)
        if self.ties not in TIES:
            raise BadSetting(f"ties is {self.ties!r}", fix=did_you_mean(self.ties, TIES))
        if isinstance(self, CpRM | CountingCQL):
            known = [
                choice.value for choice in Counterfactuals if choice is not Counterfactuals.NONE
            ]
            if self.counterfactuals not in known:
                fault = f"agent `{self.name}` with counterfactuals {str(self.counterfactuals)!r}"
                fix = f"{did_you_mean(str(self.counterfactuals), known)} (without any it is Q-learning)"
                raise BadSetting(fault, fix=fix)
            object.__setattr__(self, "counterfactuals", Counterfactuals(self.counterfactuals))

    @property
    def counterfactuals(self) -> Counterfactuals:
        """The choice of counterfactual experiences: none, but for CpRM."""
        return Counterfactuals.NONE

    @property
    def updates_per_step(self) -> int | None:
        """Counterfactual updates per step at most; None: all of them."""
        return None

    @property
    def counter_values(self) -> int | None:
        """What is imagined with before it was observed: nothing, but for counters."""
        return None

    @property
    def operations_per_episode(self) -> int | None:
        """Moves of a counting automaton after which an episode is cut off; None: never."""
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class CpRM(QLearning):
    """Q-learning with counterfactual experiences (Section 6): every step also teaches what would have happened elsewhere.

    >>> CpRM(k=1).counterfactuals
    <Counterfactuals.DEDUPLICATED: 'deduplicated'>
    """

    name: ClassVar[str] = "cprm"

    counterfactuals: Counterfactuals = Counterfactuals.DEDUPLICATED
    """Which experiences are imagined: `exhaustive` (as printed), `deduplicated` or `co-observed`."""
    updates_per_step: int | None = None
    """Counterfactual updates per step at most, taken in turn; None: all of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CountingQ(QLearning):
    """Q-learning over the counters of a counting reward automaton in place of a stack, all of which it sees.

    >>> CountingQ().k
    'full'
    """

    name: ClassVar[str] = "cra-q"

    k: int | str = FULL
    operations_per_episode: int | None = None
    """Moves of the automaton, real or imagined, beyond which an episode is cut off before the step that would make them (in
    place of the paper's wall-clock limit); None: never."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CountingCQL(CountingQ):
    """Q-learning over counters with counterfactual experiences, the counting automata's own method (CQL)."""

    name: ClassVar[str] = "cra-cql"

    counterfactuals: Counterfactuals = Counterfactuals.EXHAUSTIVE
    """Which experiences are imagined: `exhaustive`, `deduplicated` or `co-observed`."""
    updates_per_step: int | None = None
    """Counterfactual updates per step at most, taken in turn; None: all of them."""
    counter_values: int | None = None
    """Imagine from the first step on with every value of each counter below this, observed or not; None: with those observed."""

    def __post_init__(self) -> None:
        QLearning.__post_init__(self)
        if self.counter_values is not None and self.counterfactuals is Counterfactuals.CO_OBSERVED:
            fault = "counter_values says what to imagine with in every state, and co-observed asks what was seen in each"
            raise BadSetting(fault, fix="counterfactuals=exhaustive, or counter_values=none")


@dataclass(frozen=True, slots=True, kw_only=True)
class Hierarchical(Tabular):
    """A meta-policy over options, learnt together with the options' policies (Toro Icarte's HRM, over a stack).

    Both have the same α, γ and ε: ε is the share of random options, and of random actions within them.

    >>> Hierarchical(episodes=10, learning_rate=0.01).r_minus
    0.0
    """

    name: ClassVar[str] = "hrm"

    r_plus: float = 1.0
    """r⁺: what an option's policy is paid for achieving the option, beside what the machine and the environment pay."""
    r_minus: float = 0.0
    """r⁻: what it is paid, likewise, where the option ends without being achieved."""

    def __post_init__(self) -> None:
        Tabular.__post_init__(self)
        if self.r_minus >= self.r_plus:
            wanted = f"less than r_plus, which is {self.r_plus!r}"
            raise bad_setting(self, "r_minus", self.r_minus, wanted, self.r_plus - 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary(Agent):
    """Ours: learns the moves of a deterministic environment, and acts optimally by them with the whole stack in view. What each
    stack symbol is worth is a function of what lies below it (a summary), so it acts at heights that it never met, too.

    >>> Summary().k
    'full'
    """

    name: ClassVar[str] = "summary"

    k: int | str = FULL
    episodes: int = 500
    """Training episodes."""
    discount: float = 0.99
    """γ, below 1."""
    precision: float = 1e-9
    """Gains of operators that are let go, as a share of the largest value: fewer lines, and values that are less exact."""
    step_limit: int | None = None
    """Steps after which an episode is cut off; None: the domain's own limit."""
    test_every: int = 10
    """Training episodes between two tests."""
    test_episodes: int = 10
    """Greedy episodes per test."""

    def __post_init__(self) -> None:
        Agent.__post_init__(self)
        if self.k != FULL:
            raise BadSetting(
                f"agent `{self.name}` sees the whole stack, not {self.k} symbols",
                fix='k="full" (--k full)',
            )
        if not self.discount < 1:
            raise bad_setting(self, "discount", self.discount, "a number from 0 to below 1", 0.99)

    @property
    def total(self) -> int:
        """Training episodes."""
        return self.episodes


# --- Deep agents

TESTS_PER_RUN = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Deep(Agent):
    """What every deep agent has."""

    deep: ClassVar[bool] = True
    unit: ClassVar[str] = "timesteps"
    continuous: ClassVar[bool | None] = None
    """Whether it chooses actions that are vectors; None: either kind."""

    total_timesteps: Number = 100_000
    """Steps of training, over all environments, rounded up to whole iterations (`n_envs` times `n_steps` or `train_freq` steps); the schedules refer to it."""
    n_envs: int = 8
    """Environments side by side."""
    learning_rate: Number = 3e-4
    """The optimiser's."""
    linear_decay: bool = False
    """Ours: whether the learning rate falls linearly to 0 (in SB3 one hands in such a function)."""
    discount: Number = 0.99
    """γ, as for tables (`gamma` in Stable-Baselines3)."""
    net_arch: tuple[int, ...] = (64, 64)
    """Units of the hidden layers, of actor and critic each."""
    reward_scale: Number = None
    """Ours: what rewards are multiplied by for the networks; None: 1, or less where a reward of the task is beyond 10, so that
    the largest one becomes 10. Reported returns are raw."""
    reward_clip: Number = None
    """Ours: scaled rewards beyond this are cut to it, for the networks; None: none are."""
    staggered: bool = False
    """Ours: whether the first episodes begin at clocks spread over the step limit, so that not all end together."""
    depth: int | None = None
    """Ours: symbols that a stack has room for; None: what the task can need, 32 to 1,024 (512 with the whole stack)."""
    test_every: int | None = None
    """Ours: steps between two tests; None: a twentieth of all."""
    test_episodes: int = 5
    """Ours: episodes without exploration per test."""
    shaping: str = "none"
    """Ours: reward shaping. `machine`: a step teaches γΦ(after) - Φ(before) more, where Φ is what the configuration is worth if
    every label could be chosen; `emitted`: every label that the domain emits. `auto`: `emitted`, or `none` where an agent is told to
    imagine (`counterfactuals`). Reported returns are never shaped."""
    shaping_scale: float = 1.0
    """Ours: what Φ is multiplied by; -1 is the sign of Toro Icarte's code."""
    shaping_shift: float = 0.0
    """Ours: added to Φ then, before the end of an episode."""
    shaping_discount: float | None = None
    """Ours: γ of Φ, below 1; None: the agent's own."""

    def __post_init__(self) -> None:
        Agent.__post_init__(self)
        _check_shaping(self)

    @classmethod
    def like_sb3(cls, **settings: Any) -> Self:
        """The agent with Stable-Baselines3's defaults where ours are others. settings: what else is set, or set otherwise.

        >>> PPO.like_sb3(n_envs=4).n_steps, PPO().n_steps
        (2048, 128)
        """
        return cls(**{**SB3_SETTINGS[cls.name], **settings})

    @property
    def total(self) -> int:
        return int(self.total_timesteps)

    @property
    def steps_between_tests(self) -> int:
        """`test_every`, or its default."""
        return max(1, self.total // TESTS_PER_RUN) if self.test_every is None else self.test_every


@dataclass(frozen=True, slots=True, kw_only=True)
class PPO(Deep):
    """Proximal policy optimisation.

    >>> PPO(n_steps=128).clip_range
    0.2
    """

    name: ClassVar[str] = "ppo"

    total_timesteps: Number = 2_400_000
    n_envs: int = 128
    learning_rate: Number = 1e-3
    n_steps: int = 128
    """Steps of each environment between updates."""
    batch_size: int = 2_048
    """Experiences per update."""
    n_epochs: int = 4
    """Passes over the same experiences."""
    gae_lambda: float = 0.95
    """λ of generalised advantage estimation."""
    clip_range: float = 0.2
    """How far the new policy may differ from the old."""
    clip_range_vf: Number = None
    """How far a value may move from the old one; None: any distance. In the unit of scaled rewards."""
    normalize_advantage: bool = True
    """Whether a batch's advantages are brought to mean 0 and deviation 1."""
    ent_coef: Number = 0.1
    """Weight of the policy's entropy in the loss."""
    vf_coef: float = 0.5
    """Weight of the value's error in the loss."""
    max_grad_norm: float = 0.5
    """Longer gradients are shortened to this."""
    target_kl: float | None = None
    """No further update once the approximate divergence from the old policy is beyond 1.5 times this."""
    restarts: float = 0.8
    """Ours: the share of training episodes that begin in a situation that an earlier one met, instead of at a start: with its environment
    state, machine state and stack, drawn uniformly among those met (stacks of up to 32 symbols). So the later stages of a task are
    learnt even where the first ones do not lead there yet. None do where nothing of the machine is seen. Tests always begin at a start."""
    shaping: str = EMITTED
    shaping_discount: float | None = 0.6


@dataclass(frozen=True, slots=True, kw_only=True)
class RecurrentPPO(PPO):
    """PPO with an LSTM each for actor and critic, before their hidden layers.

    >>> RecurrentPPO().lstm_hidden_size
    256
    """

    name: ClassVar[str] = "rppo"

    restarts: float = 0.0
    lstm_hidden_size: int = 256
    """Units of each LSTM."""
    sequence_length: int = 16
    """Ours: through how many steps gradients flow back (in sb3-contrib through as many as a batch holds). It divides
    `n_steps` and `batch_size`."""

    def __post_init__(self) -> None:
        PPO.__post_init__(self)
        if self.n_steps % self.sequence_length or self.batch_size % self.sequence_length:
            fault = f"sequences of {self.sequence_length} steps do not fill {self.n_steps} steps and batches of {self.batch_size}"
            raise BadSetting(fault, fix="let sequence_length divide n_steps and batch_size")


@dataclass(frozen=True, slots=True, kw_only=True)
class OffPolicy(Deep):
    """What DQN and SAC share."""

    buffer_size: int = 1_000_000
    """Transitions kept, over all environments."""
    learning_starts: int = 100
    """Steps, over all environments, before the first update."""
    batch_size: int = 256
    """Experiences per update."""
    tau: Number = 1.0
    """How far the target network moves to the network, at each of its updates."""
    train_freq: int = 4
    """Steps of each environment between updates."""
    gradient_steps: int = 1
    """Updates then."""
    n_steps: int = 1
    """Over how many steps rewards are summed, discounted, before a value is trusted."""
    counterfactuals: int | None = 0
    """Ours: experiences imagined beside each sampled one, with other machine states and observed stacks (CpRM); None: 8, or none
    where rewards are shaped, nothing of the machine is seen, or its stacks have too many tops to keep."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DQN(OffPolicy):
    """Deep Q-learning.

    >>> DQN().exploration_fraction
    0.8
    """

    name: ClassVar[str] = "dqn"
    continuous: ClassVar[bool | None] = False

    total_timesteps: Number = 240_000
    discount: Number = 0.98
    learning_rate: Number = 2e-3
    linear_decay: bool = True
    batch_size: int = 64
    buffer_size: int = 100_000
    gradient_steps: int = 16
    tau: Number = 0.05
    counterfactuals: int | None = None
    shaping: str = AUTO
    shaping_discount: float | None = 0.6
    target_update_interval: int = 32
    """Steps, over all environments, between updates of the target network."""
    exploration_fraction: float = 0.8
    """The share of training during which ε falls."""
    exploration_initial_eps: float = 1.0
    """ε at first."""
    exploration_final_eps: float = 0.1
    """ε at last."""
    max_grad_norm: float = 10.0
    """Longer gradients are shortened to this."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SAC(OffPolicy):
    """Soft actor-critic, for continuous actions.

    >>> SAC().tau
    0.005
    """

    name: ClassVar[str] = "sac"
    continuous: ClassVar[bool | None] = True

    net_arch: tuple[int, ...] = (256, 256)
    tau: Number = 0.005
    train_freq: int = 1
    ent_coef: float | None = None
    """The weight of entropy; None: learnt, towards `target_entropy`."""
    target_entropy: float | None = None
    """None: minus the number of an action's numbers."""


# --- The agents by name, and what they are set to unless something else is given

AGENTS: dict[str, type[Agent]] = {
    kind.name: kind
    for kind in (
        QLearning,
        CpRM,
        Hierarchical,
        Summary,
        CountingQ,
        CountingCQL,
        PPO,
        RecurrentPPO,
        DQN,
        SAC,
    )
}
"""Every agent, by its name."""
ELSEWHERE = {
    **dict.fromkeys(
        (
            "a2c",
            "a3c",
            "ars",
            "ddpg",
            "impala",
            "qr-dqn",
            "qrdqn",
            "rainbow",
            "reinforce",
            "td3",
            "tqc",
            "trpo",
        ),
        "the deep agents here are `ppo` and `dqn`, and `sac` for continuous actions",
    ),
    **dict.fromkeys(
        ("sarsa", "q-learning", "q_learning", "tabular"),
        "the tables here are `q` (Q-learning) and `cprm`",
    ),
}
"""What to choose in place of agents that other libraries have."""

DEFAULT_TABLE, DEFAULT_DEEP = "q", "ppo"
"""What is trained where no agent is named: in finite domains, and in WaterWorld."""

OPERATIONS = 30_000
"""Operations an episode may take of an automaton that simulates a stack (they grow sixfold with every symbol of the maze):
about what the paper's 0.03 seconds an episode allow."""

WITH_CHANCE = 0.1
"""The learning rate of tables in a domain of one's own whose moves are random: with a larger one a value is the last few outcomes."""
_LETTER = {
    "learning_rate": 0.01,
    "epsilon": 0.01,
    "epsilon_decay": 1.0,
    "epsilon_least": 0.01,
    "discount": 0.99,
}
_MAZE = {
    "learning_rate": 0.5,
    "epsilon": 1.0,
    "epsilon_decay": 0.995,
    "epsilon_least": 0.01,
    "discount": 0.99,
}
_DELIVER = {
    "learning_rate": 0.01,
    "epsilon": 1.0,
    "epsilon_decay": 0.9995,
    "epsilon_least": 0.1,
    "discount": 0.99,
}

PAPER_SETTINGS: dict[str, dict[str, Any]] = {
    "letter": {"episodes": 5_000, **_LETTER},
    "maze-5x5": {"episodes": 10_000, **_MAZE},
    "maze-10x10": {"episodes": 10_000, **_MAZE},
    "maze-20x20": {"episodes": 10_000, **_MAZE},
    "multi-10x10": {"episodes": 10_000, **_MAZE, "discount": DISCOUNTS["multi-10x10"]},
    "multi-20x20": {"episodes": 10_000, **_MAZE, "discount": DISCOUNTS["multi-20x20"]},
    "deliver-8": {"episodes": 10_000, **_DELIVER},
    "deliver-4-8": {"episodes": 15_000, **_DELIVER},
    # Appendix C gives no rates for PaintWorld; these are the mazes', tested as it says.
    "paint": {"episodes": 500, **_MAZE, "test_every": 5},
    "echo": {"episodes": 2_000, **_MAZE},
}
"""The paper's settings for each of its domains (Appendices C and E), for tabular agents."""

_PPO_LIKE_SB3 = {
    "total_timesteps": 100_000,
    "n_envs": 8,
    "learning_rate": 3e-4,
    "n_steps": 2_048,
    "batch_size": 64,
    "n_epochs": 10,
    "ent_coef": 0.0,
    "reward_scale": 1.0,
    "restarts": 0.0,
    "shaping": NOTHING,
    "shaping_discount": None,
}
SB3_SETTINGS: dict[str, dict[str, Any]] = {
    "ppo": _PPO_LIKE_SB3,
    "rppo": {**_PPO_LIKE_SB3, "n_steps": 128, "batch_size": 128},
    "dqn": {
        "total_timesteps": 100_000,
        "discount": 0.99,
        "learning_rate": 1e-4,
        "linear_decay": False,
        "reward_scale": 1.0,
        "buffer_size": 1_000_000,
        "batch_size": 32,
        "tau": 1.0,
        "gradient_steps": 1,
        "counterfactuals": 0,
        "shaping": NOTHING,
        "shaping_discount": None,
        "target_update_interval": 10_000,
        "exploration_fraction": 0.1,
        "exploration_final_eps": 0.05,
    },
    "sac": {"reward_scale": 1.0},
}
"""Stable-Baselines3's defaults, where ours are others, for each deep agent."""

_TUNED = {
    "total_timesteps": 78_643_200,
    "learning_rate": 7e-4,
    "n_envs": 2_048,
    "n_steps": 64,
    "n_epochs": 4,
    "batch_size": 16_384,
    "linear_decay": True,
    "ent_coef": 0.003,
    "reward_scale": 1e-3,
    "reward_clip": 10.0,
    "net_arch": (128, 128),
    "staggered": True,
    "test_episodes": 20,
}
"""Many environments, a larger learning rate and network than printed, scaled rewards (the last one as if it were 1e4)."""
_OFF_POLICY = {
    "n_envs": 64,
    "train_freq": 4,
    "gradient_steps": 8,
    "n_steps": 10,
    "batch_size": 256,
    "buffer_size": 500_000,
    "learning_starts": 20_000,
    "discount": 0.98,
    "net_arch": (256, 256),
    "staggered": True,
}
"""Of a sweep over discounts, rates, scales and steps of a target, with one seed each, what served the agents without
counterfactual experiences best. With one-step targets neither learnt the task."""

WATER_SETTINGS: dict[str, dict[str, Any]] = {
    "ppo": {**SB3_SETTINGS["ppo"], **_TUNED},
    "rppo": {
        **SB3_SETTINGS["rppo"],
        **_TUNED,
        "lstm_hidden_size": 128,
        "sequence_length": 64,
        "net_arch": (128,),
    },
    "dqn": {
        **SB3_SETTINGS["dqn"],
        **_OFF_POLICY,
        "total_timesteps": 6_144_000,
        "learning_rate": 1e-4,
        "tau": 0.05,
        "target_update_interval": 256,
        "reward_scale": 1e-3,
        "reward_clip": 10.0,
    },
    "sac": {
        **SB3_SETTINGS["sac"],
        **_OFF_POLICY,
        "total_timesteps": 3_072_000,
        "learning_rate": 1e-3,
        "reward_scale": 0.1,
        "reward_clip": 1_000.0,
    },
}
"""Ours: the settings tuned for WaterWorld, for each deep agent."""


def kind_of(name: str) -> type[Agent]:
    """The kind of agent that has this name."""
    if name not in AGENTS:
        classes = {kind.__name__.casefold(): agent for agent, kind in AGENTS.items()}
        fix = ELSEWHERE.get(str(name).casefold()) or did_you_mean(
            classes.get(str(name).casefold(), str(name)), AGENTS
        )
        raise UnknownAgent(f"no agent is called `{name}`", fix=fix)
    return AGENTS[name]


def read_agent(name: str, record: Mapping[str, Any]) -> Agent:
    """The agent that a saved record describes; settings that its kind no longer has are left out."""
    kind = kind_of(name)
    earlier = {new: record[old] for new, old in RECORDED_AS.items() if kind.deep and old in record}
    named = {**LATER, **record, **earlier}
    given = {field.name: named[field.name] for field in fields(kind) if field.name in named}
    settings: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in given.items()
    }
    return kind(**settings)


def agent_for(task: Task, name: str, given: Mapping[str, Any] | None = None) -> Agent:
    """The agent of a name for a task: the paper's settings for a domain of the catalogue, overridden by those given."""
    kind = kind_of(name)
    return kind(**{**default_settings(task, kind), **(given or {})})


def default_settings(task: Task, kind: type[Agent]) -> dict[str, Any]:
    """What a kind of agent is set to for a task unless something else is given, where that differs from its own defaults."""
    if kind.deep:
        return dict(WATER_SETTINGS[kind.name]) if task.continuous else {}
    given = dict(PAPER_SETTINGS.get(task.name, {})) if task.catalogued else {}
    if not task.catalogued and not task.continuous and _has_chance(task.finite):
        given = {"learning_rate": WITH_CHANCE}
    if kind is Summary:  # it needs far fewer episodes, and has no learning rate
        return {"discount": given["discount"]} if "discount" in given else {}
    own = isinstance(task.machine, CountingRewardAutomaton) or (
        task.text is None and task.machine.name in COUNTED
    )
    return {
        **given,
        **(
            {"operations_per_episode": OPERATIONS}
            if issubclass(kind, CountingQ) and not own
            else {}
        ),
    }


def _has_chance(domain: FiniteDomain) -> bool:
    """Whether an action can have several outcomes."""
    return bool(((domain.arrays.probability > 0) & (domain.arrays.probability < 1)).any())


def resolve_seeds(seeds: int | Sequence[int]) -> tuple[int, ...]:
    """The seeds that are meant: so many from 0 on, or these.

    >>> resolve_seeds(3), resolve_seeds([3, 14])
    ((0, 1, 2), (3, 14))
    """
    several: int | Sequence[int] = 0 if isinstance(seeds, bool | str) else seeds
    count = several if isinstance(several, int) else len(several)
    if count > MOST_SEEDS:
        raise BadStudy(
            f"{count:,} seeds are too many",
            fix=f"give at most {MOST_SEEDS:,}, such as seeds=5 (--seeds 5)",
        )
    found = tuple(range(several) if isinstance(several, int) else several)
    if not found or not all(type(seed) is int and seed >= 0 for seed in found):
        fix = "give a number of seeds, such as seeds=5 (--seeds 5), or different non-negative integers, such as [3, 14, 15]"
        raise BadStudy(f"the seeds are {seeds!r}", fix=fix)
    if len(set(found)) < len(found):
        twice = next(seed for seed in found if found.count(seed) > 1)
        fault = (
            f"the seeds are {seeds!r}: {twice} is among them twice, and its runs would be the same"
        )
        raise BadStudy(fault, fix=f"leave one out: seeds={sorted(set(found))}")
    return found


for _kind in AGENTS.values():  # what `help(pdrm.PPO)` and `pdrm.PPO()` show
    introduce(_kind)
