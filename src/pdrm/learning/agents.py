"""The built-in agents, each a class of settings, and a list of them by name.

Tabular agents have the paper's symbols in their docstrings. Deep agents have Stable-Baselines3's
names and meanings. Settings that it does not have are marked with *ours*. A setting left at None
depends on the task: the paper's for a domain of the catalogue, the tuned one for WaterWorld (see
`settings`), and `defaults` elsewhere. The learners are in `tabular/` and `deep/`.
"""

from __future__ import annotations

import inspect
from abc import abstractmethod
from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

from pdrm.domains.finite_domain import FiniteDomain
from pdrm.errors import BadSetting, UnknownAgent, did_you_mean
from pdrm.learning.settings import (
    ANY_NUMBER,
    DEEP_DEFAULTS,
    DEFAULT_OPERATIONS_PER_EPISODE,
    DQN_DEFAULTS,
    EVALUATIONS_PER_RUN,
    FROM_TASK,
    FULL,
    NON_NEGATIVE,
    NOTHING,
    PAPER_SETTINGS,
    PPO_DEFAULTS,
    RPPO_DEFAULTS,
    SAC_DEFAULTS,
    SB3_SETTINGS,
    STOCHASTIC_LEARNING_RATE,
    TABULAR_DEFAULTS,
    UNIT_INTERVAL,
    WATER_SETTINGS,
    BuiltInAgent,
    Number,
    Settings,
    bad_setting,
    check_choice,
    field_values,
    list_settings,
    settings_class,
)
from pdrm.task import Task

if TYPE_CHECKING:
    from pdrm.product.shaping import Shaping

EMITTED, AUTO = "emitted", "auto"
SHAPINGS = (NOTHING, "machine", EMITTED)
"""The potentials for reward shaping. Deep agents also have `auto`."""


def _check_shaping(agent: QLearning | Deep) -> None:
    """Raise unless the agent's rewards can be shaped."""
    if agent.shaping is None or (agent.shaping == AUTO and isinstance(agent, Deep)):
        return
    check_choice("shaping", agent.shaping, SHAPINGS)
    if agent.shaping == NOTHING:
        return
    sees_tops = isinstance(agent, OffPolicy) and agent.counterfactuals
    if sees_tops or isinstance(agent, CountingQ):
        fault = f"agent `{agent.name}` cannot use shaping: it sees only counters or the tops of counterfactual stacks, but the potential needs the whole stack"
        raise BadSetting(fault, fix='shaping="none", or for networks counterfactuals=0')
    if agent.discount is not None:
        shaping_of(agent)


def shaping_of(agent: QLearning | Deep) -> Shaping | None:
    """The shaping of an agent's rewards, or None.

    >>> shaping_of(QLearning(discount=0.9, shaping="machine"))
    Shaping(discount=0.9, potential_discount=None, scale=1.0, shift=0.0)
    """
    if agent.shaping in (AUTO, NOTHING, None):
        return None
    from pdrm.product.shaping import Shaping

    shaping = Shaping(float(agent.discount), agent.shaping_discount)
    if isinstance(agent, QLearning):
        variant = agent.variant
        return replace(shaping, scale=variant.shaping_scale, shift=variant.shaping_shift)
    return shaping


# --- Tabular agents


class Counterfactuals(StrEnum):
    """The counterfactuals of CpRM (Section 6): every machine state with observed stacks."""

    NONE = "none"
    """None: plain Q-learning."""
    EXHAUSTIVE = "exhaustive"
    """Every stack observed so far, as Algorithms 1 and 2 are printed."""
    DEDUPLICATED = "deduplicated"
    """One stack of each class that a k-policy can tell apart. Their number is bounded."""


class VariantSettings(NamedTuple):
    """Settings of some tabular agents or of readings of the paper (`paper_agents`), with neutral
    defaults for all others.
    """

    counterfactuals: Counterfactuals = Counterfactuals.NONE
    updates_per_step: int | None = None
    updates_per_episode: int | None = None
    operations_per_episode: int | None = None
    seconds_per_episode: float | None = None
    ties: str = "random"
    limit_ends: bool = False
    counter_values: int | None = None
    shaping_scale: float = 1.0
    shaping_shift: float = 0.0
    option_pay: float = 1.0
    r_plus: float = 0.0
    r_minus: float = 0.0


@settings_class
class Tabular(BuiltInAgent):
    """Settings of every tabular agent."""

    defaults = TABULAR_DEFAULTS
    ranges = dict.fromkeys(
        ("learning_rate", "epsilon", "epsilon_decay", "epsilon_least"), UNIT_INTERVAL
    )

    episodes: int = FROM_TASK
    """Training episodes."""
    learning_rate: float = FROM_TASK
    """The learning rate α."""
    epsilon: float = FROM_TASK
    """Initial ε: the share of random actions."""
    epsilon_decay: float = FROM_TASK
    """ε is multiplied by this after every episode."""
    epsilon_least: float = FROM_TASK
    """Minimum ε."""
    step_limit: int | None = None
    """Steps after which an episode is truncated (default: the domain's own limit)."""

    def __post_init__(self) -> None:
        super().__post_init__()
        are_known = None not in (self.epsilon, self.epsilon_least)
        if are_known and self.epsilon_least > self.epsilon:
            wanted = f"at most epsilon, {self.epsilon!r}"
            raise bad_setting("epsilon_least", self.epsilon_least, wanted)

    @property
    def variant(self) -> VariantSettings:
        """The settings of some tabular agents, with neutral defaults."""
        values = field_values(self)
        names = [name for name in VariantSettings._fields if name in values]
        return VariantSettings(**{name: values[name] for name in names})

    def defaults_for(self, task: Task) -> Settings:
        """The paper's settings in its domains, and a smaller learning rate in stochastic ones."""
        if task.catalogued and task.name in PAPER_SETTINGS:
            return {**self.defaults, **PAPER_SETTINGS[task.name]}
        if isinstance(task.domain, FiniteDomain):
            probability = task.domain.arrays.probability
            is_stochastic = ((probability > 0) & (probability < 1)).any()
            if is_stochastic:
                return {**self.defaults, "learning_rate": STOCHASTIC_LEARNING_RATE}
        return dict(self.defaults)


@settings_class
class QLearning(Tabular):
    """Q-learning over what the agent sees of the environment, the machine and its stack.

    >>> QLearning(k=1, episodes=10, learning_rate=0.1)
    QLearning(k=1, episodes=10, learning_rate=0.1)
    """

    name = "q"
    ranges = {"shaping_discount": UNIT_INTERVAL}

    updates_per_episode: int | None = None
    """Updates after which an episode is truncated (default: never). It replaces the paper's
    wall-clock limit."""
    shaping: str = "none"
    """Reward shaping. `machine`: γΦ(after) - Φ(before) is added to each step's reward, where Φ is
    the value of the configuration if every label could be chosen. `emitted`: the same, with the
    labels that the domain emits. Reported returns are never shaped."""
    shaping_discount: float | None = None
    """γ of Φ, below 1 (default: the agent's γ)."""

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_shaping(self)
        if isinstance(self, CpRM | CountingCQL):
            known = list(Counterfactuals)[1:]
            check_choice("counterfactuals", self.counterfactuals, known)
            object.__setattr__(self, "counterfactuals", Counterfactuals(self.counterfactuals))


@settings_class
class CpRM(QLearning):
    """Q-learning with counterfactual experiences (Section 6): every step is also replayed from
    other machine configurations.

    >>> CpRM(k=1).counterfactuals
    <Counterfactuals.DEDUPLICATED: 'deduplicated'>
    """

    name = "cprm"

    counterfactuals: Counterfactuals = Counterfactuals.DEDUPLICATED
    """Stacks of counterfactuals: `exhaustive` (as in the paper) or `deduplicated`."""
    updates_per_step: int | None = None
    """Maximum number of counterfactual updates per step, taken in turn (default: all of them)."""


@settings_class
class CountingQ(QLearning):
    """Q-learning over the counters of a counting reward automaton. It sees all of them.

    >>> CountingQ().k
    'full'
    """

    name = "cra-q"

    k: int | str = FULL
    operations_per_episode: int | None = None
    """Moves of the automaton, real or counterfactual, after which an episode is truncated (default:
    30,000 if the automaton simulates a stack, otherwise never). It replaces the paper's
    wall-clock limit."""

    def defaults_for(self, task: Task) -> Settings:
        defaults = super().defaults_for(task)
        if not task.has_counting_automaton:
            defaults["operations_per_episode"] = DEFAULT_OPERATIONS_PER_EPISODE
        return defaults


@settings_class
class CountingCQL(CountingQ):
    """Q-learning over counters with counterfactuals, as for counting automata (CQL)."""

    name = "cra-cql"

    counterfactuals: Counterfactuals = Counterfactuals.EXHAUSTIVE
    """The counters of counterfactual experiences: `exhaustive` or `deduplicated`."""
    updates_per_step: int | None = None
    """Maximum number of counterfactual updates per step, taken in turn (default: all of them)."""


@settings_class
class Hierarchical(Tabular):
    """A meta-policy over options, learnt together with the options' policies (Toro Icarte's HRM,
    over a stack).

    Both have the same α, γ and ε. ε is the share of random options, and of random actions in an
    option.

    >>> Hierarchical(episodes=10, learning_rate=0.01).r_minus
    0.0
    """

    name = "hrm"
    ranges = {"r_plus": ANY_NUMBER, "r_minus": ANY_NUMBER}

    r_plus: float = 1.0
    """r⁺: an option's reward for its completion, in addition to the ordinary rewards."""
    r_minus: float = 0.0
    """r⁻: the same, if the option ends without being completed."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.r_minus >= self.r_plus:
            raise bad_setting("r_minus", self.r_minus, f"less than r_plus, {self.r_plus!r}")


@settings_class
class Summary(BuiltInAgent):
    """Ours: learns a model of a deterministic environment, and acts optimally with respect to it.

    Sees the whole stack.

    The value of a stack symbol is a function of the stack below it (a summary), so it can also
    act with higher stacks than any that it has seen.

    >>> Summary().k
    'full'
    """

    name = "summary"
    defaults = {"discount": 0.99}

    k: int | str = FULL
    episodes: int = 500
    """Training episodes."""
    precision: float = 1e-9
    """Smaller improvements of operators, as a share of the largest value, are neglected."""
    step_limit: int | None = None
    """Steps after which an episode is truncated (default: the domain's own limit)."""
    test_every: int = 10

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.k != FULL:
            raise bad_setting("k", self.k, "full: it sees the whole stack")
        if self.discount is not None and not self.discount < 1:
            raise bad_setting("discount", self.discount, "a number from 0 to below 1")

    def defaults_for(self, task: Task) -> Settings:
        """The task's discount."""
        return {"discount": task.discount}


# --- Deep agents


@settings_class
class Deep(BuiltInAgent):
    """Settings of every deep agent."""

    deep = True
    unit = "timesteps"
    continuous: ClassVar[bool | None] = None
    """True if actions are vectors, False if they are numbered, None for both."""
    defaults = DEEP_DEFAULTS
    ranges = {"shaping_discount": UNIT_INTERVAL}

    total_timesteps: Number = FROM_TASK
    """Training steps in all environments, rounded up to whole iterations (`n_envs` times `n_steps`
    or `train_freq`). Schedules refer to it."""
    n_envs: int = FROM_TASK
    """The number of parallel environments."""
    learning_rate: Number = FROM_TASK
    """The optimiser's learning rate."""
    linear_decay: bool = FROM_TASK
    """Ours: linear decay of the learning rate to 0 (in SB3: pass a schedule)."""
    discount: Number = FROM_TASK
    """γ, as for tables (`gamma` in Stable-Baselines3)."""
    net_arch: tuple[int, ...] = FROM_TASK
    """Units of the hidden layers, for both actor and critic."""
    reward_scale: Number = None
    """Ours: the factor of rewards for the networks (default: 1, or less if a reward of the task
    exceeds 10: the largest then becomes 10). Reported returns are raw."""
    reward_clip: Number = FROM_TASK
    """Ours: the limit to which scaled rewards are clipped (default: none, 10 in WaterWorld)."""
    staggered: bool = FROM_TASK
    """Ours: spread the clocks of the first episodes, so that they do not end together."""
    depth: int | None = None
    """Ours: maximum stack height (default: the task's, from 32 to 1,024 or, if k=full, 512)."""
    test_episodes: int = FROM_TASK
    shaping: str = FROM_TASK
    """Ours: reward shaping. `machine`: γΦ(after) - Φ(before) is added to each step's reward, where
    Φ is the value of the configuration if every label could be chosen. `emitted`: the same, with
    the labels that the domain emits. `auto`: `emitted`, or `none` if the agent has
    `counterfactuals`. Reported returns are never shaped."""
    shaping_discount: float | None = None
    """Ours: γ of Φ, below 1 (default: 0.6, or the agent's γ for SAC)."""

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_shaping(self)

    @property
    @abstractmethod
    def steps_per_iteration(self) -> int:
        """Steps of all environments in an iteration."""

    @property
    def total(self) -> int:
        """Training steps, in whole iterations."""
        return -(-int(self.total_timesteps) // self.steps_per_iteration) * self.steps_per_iteration

    @property
    def between_tests(self) -> int:
        """Steps between two evaluations, in whole iterations."""
        steps = self.test_every or int(self.total_timesteps) // EVALUATIONS_PER_RUN
        return max(1, steps // self.steps_per_iteration) * self.steps_per_iteration

    @classmethod
    def like_sb3(cls, **settings: Any) -> Self:
        """The agent with Stable-Baselines3's defaults, and these settings.

        >>> PPO.like_sb3(n_envs=4).n_steps, PPO().resolved().n_steps
        (2048, 128)
        """
        return cls(**{**SB3_SETTINGS[cls.name], **settings})

    def defaults_for(self, task: Task) -> Settings:
        """The tuned settings in WaterWorld, otherwise `defaults`."""
        if task.continuous:
            return {**self.defaults, **WATER_SETTINGS[self.name]}
        return dict(self.defaults)


@settings_class
class PPO(Deep):
    """Proximal policy optimisation.

    >>> PPO(n_steps=128).clip_range
    0.2
    """

    name = "ppo"
    defaults = PPO_DEFAULTS
    ranges = {
        "gae_lambda": UNIT_INTERVAL,
        "restarts": UNIT_INTERVAL,
        "ent_coef": NON_NEGATIVE,
        "vf_coef": NON_NEGATIVE,
    }

    n_steps: int = FROM_TASK
    """Steps of each environment between updates."""
    batch_size: int = FROM_TASK
    """Experiences per update."""
    n_epochs: int = FROM_TASK
    """Passes over each rollout."""
    gae_lambda: float = 0.95
    """λ of generalised advantage estimation."""
    clip_range: float = 0.2
    """The clip range of the probability ratio between the new and the old policy."""
    clip_range_vf: Number = None
    """The clip range of the value function, in scaled rewards (default: no limit)."""
    normalize_advantage: bool = True
    """Normalise the advantages of each batch to mean 0 and deviation 1."""
    ent_coef: Number = FROM_TASK
    """Weight of the entropy bonus in the loss."""
    vf_coef: float = 0.5
    """Weight of the value error in the loss."""
    max_grad_norm: float = 0.5
    """Maximum gradient norm."""
    target_kl: float | None = None
    """No more updates of an iteration once the approximate divergence from the old policy exceeds
    1.5 times this (default: no limit)."""
    restarts: float = FROM_TASK
    """Ours: the share of training episodes that start in a situation of an earlier episode: an
    environment state, machine state and stack (of up to 32 symbols), drawn uniformly. So the
    agent learns the later stages of a task before it masters the first. Not used if the agent
    sees nothing of the machine. Evaluations always start at a start of the domain."""

    @property
    def steps_per_iteration(self) -> int:
        return self.n_envs * self.n_steps


@settings_class
class RecurrentPPO(PPO):
    """PPO with one LSTM for the actor and one for the critic, before their hidden layers.

    >>> RecurrentPPO().resolved().lstm_hidden_size
    256
    """

    name = "rppo"
    defaults = RPPO_DEFAULTS

    lstm_hidden_size: int = FROM_TASK
    """Units of each LSTM."""
    sequence_length: int = FROM_TASK
    """Ours: the number of steps through which gradients flow back (in sb3-contrib, the steps of a
    batch). It divides `n_steps` and `batch_size`."""

    def __post_init__(self) -> None:
        super().__post_init__()
        sizes = (self.sequence_length, self.n_steps, self.batch_size)
        if None in sizes:
            return
        if self.n_steps % self.sequence_length or self.batch_size % self.sequence_length:
            wanted = f"a divisor of n_steps, {self.n_steps}, and of batch_size, {self.batch_size}"
            raise bad_setting("sequence_length", self.sequence_length, wanted)


@settings_class
class OffPolicy(Deep):
    """Settings of both DQN and SAC."""

    ranges = {
        "tau": UNIT_INTERVAL,
        "learning_starts": NON_NEGATIVE,
        "counterfactuals": NON_NEGATIVE,
    }

    buffer_size: int = FROM_TASK
    """Transitions in the buffer, of all environments."""
    learning_starts: int = FROM_TASK
    """Steps in all environments before the first update."""
    batch_size: int = FROM_TASK
    """Experiences per update."""
    tau: Number = FROM_TASK
    """The soft update coefficient of the target network."""
    train_freq: int = FROM_TASK
    """Steps of each environment between updates."""
    gradient_steps: int = FROM_TASK
    """Gradient steps after each rollout."""
    n_steps: int = FROM_TASK
    """The n of the n-step return."""
    counterfactuals: int | None = None
    """Ours: counterfactual experiences for each sampled one, with other machine states and observed
    stacks (CpRM). The default is 8 for DQN, or 0 if rewards are shaped, the agent sees nothing
    of the machine, or the stacks have too many different tops."""

    @property
    def steps_per_iteration(self) -> int:
        return self.n_envs * self.train_freq


@settings_class
class DQN(OffPolicy):
    """Deep Q-learning.

    >>> DQN().resolved().exploration_fraction
    0.8
    """

    name = "dqn"
    continuous = False
    defaults = DQN_DEFAULTS
    ranges = {
        "exploration_fraction": UNIT_INTERVAL,
        "exploration_initial_eps": UNIT_INTERVAL,
        "exploration_final_eps": UNIT_INTERVAL,
    }

    target_update_interval: int = FROM_TASK
    """Steps in all environments between updates of the target network."""
    exploration_fraction: float = FROM_TASK
    """The share of training in which ε decays."""
    exploration_initial_eps: float = 1.0
    """Initial ε."""
    exploration_final_eps: float = FROM_TASK
    """Final ε."""
    max_grad_norm: float = 10.0
    """Maximum gradient norm."""


@settings_class
class SAC(OffPolicy):
    """Soft actor-critic, for continuous actions.

    >>> SAC().resolved().tau
    0.005
    """

    name = "sac"
    continuous = True
    defaults = SAC_DEFAULTS
    ranges = {"ent_coef": NON_NEGATIVE, "target_entropy": ANY_NUMBER}

    ent_coef: float | None = None
    """Weight of the entropy (default: learnt, for `target_entropy`)."""
    target_entropy: float | None = None
    """Target entropy for learning `ent_coef` (default: minus the dimension of an action)."""


# --- The agents by name

AGENTS: dict[str, type[BuiltInAgent]] = {
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
"""The built-in agents by name."""
DEFAULT_TABLE, DEFAULT_DEEP = "q", "ppo"
"""The default agents: for finite domains, and for all others."""


def kind_of(name: str) -> type[BuiltInAgent]:
    """The class of the built-in agent of this name."""
    if name not in AGENTS:
        raise UnknownAgent(f"no agent is called `{name}`", fix=did_you_mean(str(name), AGENTS))
    return AGENTS[name]


for _kind in AGENTS.values():  # for `help(pdrm.PPO)`
    _kind.__doc__ = f"{inspect.cleandoc(_kind.__doc__ or '')}\n\n{list_settings(_kind)}"
