"""The agents of pdrm: tables' and networks', each a class of settings, and one list of them by name.

Tabular agents carry the paper's symbols in their docstrings. Deep agents have Stable-Baselines3's names and meanings; what is ours
is marked. A setting left at None is the task's: the paper's for a domain of the catalogue, the tuned one for WaterWorld (see
`settings`), `defaults` elsewhere. Nothing here learns: see `tabular/` and `deep/`.
"""

from __future__ import annotations

import inspect
from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

from pdrm.domains.finite_domain import FiniteDomain
from pdrm.errors import BadSetting, UnknownAgent, did_you_mean
from pdrm.learning.settings import (
    DEEP_DEFAULTS,
    DQN_DEFAULTS,
    FROM_TASK,
    FULL,
    NOTHING,
    OPERATIONS,
    PAPER_SETTINGS,
    PPO_DEFAULTS,
    RPPO_DEFAULTS,
    SAC_DEFAULTS,
    SB3_SETTINGS,
    STOCHASTIC_LEARNING_RATE,
    SUMMARY_DEFAULTS,
    TABULAR_DEFAULTS,
    TESTS_PER_RUN,
    WATER_SETTINGS,
    BuiltInAgent,
    Number,
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
"""The potential for reward shaping. Deep agents can leave it to the task (`auto`)."""


def _check_shaping(agent: QLearning | Deep) -> None:
    """Raise unless rewards can be shaped as the agent says."""
    if agent.shaping is None or (agent.shaping == AUTO and isinstance(agent, Deep)):
        return
    check_choice("shaping", agent.shaping, SHAPINGS)
    if agent.shaping == NOTHING:
        return
    sees_tops = isinstance(agent, OffPolicy) and agent.counterfactuals
    if sees_tops or isinstance(agent, CountingQ):
        fault = f"agent `{agent.name}` sees counters, or counterfactuals with tops of stacks, and a potential is of a whole stack"
        raise BadSetting(fault, fix='shaping="none", or for networks counterfactuals=0')
    if agent.discount is not None:
        shaping_of(agent)


def shaping_of(agent: QLearning | Deep) -> Shaping | None:
    """The shaping of an agent's rewards, if there is any.

    >>> shaping_of(QLearning(discount=0.9, shaping="machine"))
    Shaping(discount=0.9, potential_discount=None, scale=1.0, shift=0.0)
    """
    if agent.shaping in (AUTO, NOTHING, None):
        return None
    from pdrm.product.shaping import Shaping

    shaping = Shaping(float(agent.discount), agent.shaping_discount)
    if isinstance(agent, QLearning):
        extras = agent.extras
        return replace(shaping, scale=extras.shaping_scale, shift=extras.shaping_shift)
    return shaping


# --- Tabular agents


class Counterfactuals(StrEnum):
    """The counterfactual experiences of CpRM (Section 6): every machine state with certain observed stacks."""

    NONE = "none"
    """None: plain Q-learning."""
    EXHAUSTIVE = "exhaustive"
    """Every stack observed so far, as Algorithms 1 and 2 are printed."""
    DEDUPLICATED = "deduplicated"
    """One observed stack for each class that a k-policy can tell apart, so their number stops growing."""


class Extras(NamedTuple):
    """Settings that only some tabular agents have, or only readings of the paper (`paper_agents`); here as all others have them."""

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

    episodes: int = FROM_TASK
    """Training episodes."""
    learning_rate: float = FROM_TASK
    """α"""
    epsilon: float = FROM_TASK
    """ε at first: the share of random actions."""
    epsilon_decay: float = FROM_TASK
    """ε is multiplied by this after every episode ..."""
    epsilon_least: float = FROM_TASK
    """... down to this."""
    step_limit: int | None = None
    """Steps after which an episode is truncated (default: the domain's own limit)."""

    def __post_init__(self) -> None:
        super().__post_init__()
        both = self.epsilon is not None and self.epsilon_least is not None
        if both and self.epsilon_least > self.epsilon:
            wanted = f"at most epsilon, {self.epsilon!r}"
            raise bad_setting("epsilon_least", self.epsilon_least, wanted)

    @property
    def extras(self) -> Extras:
        """The settings that only some tabular agents have."""
        own = field_values(self)
        return Extras(**{name: own[name] for name in Extras._fields if name in own})

    def defaults_for(self, task: Task) -> dict[str, Any]:
        """The paper's settings in its own domains; a smaller learning rate in others with chance."""
        if task.catalogued:
            return {**self.defaults, **PAPER_SETTINGS.get(task.name, {})}
        if isinstance(task.domain, FiniteDomain):
            probability = task.domain.arrays.probability
            if ((probability > 0) & (probability < 1)).any():
                return {**self.defaults, "learning_rate": STOCHASTIC_LEARNING_RATE}
        return dict(self.defaults)


@settings_class
class QLearning(Tabular):
    """Q-learning over what the agent sees of the environment, the machine and its stack.

    >>> QLearning(k=1, episodes=10, learning_rate=0.1)
    QLearning(k=1, episodes=10, learning_rate=0.1)
    """

    name = "q"

    updates_per_episode: int | None = None
    """Updates after which an episode is truncated (instead of the paper's wall-clock limit; default: never)."""
    shaping: str = "none"
    """Reward shaping. `machine`: a step teaches γΦ(after) - Φ(before) more, where Φ is the value of the configuration if
    every label could be chosen; `emitted`: every label that the domain emits. Reported returns are never shaped."""
    shaping_discount: float | None = None
    """γ of Φ, below 1 (default: the agent's own)."""

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_shaping(self)
        if isinstance(self, CpRM | CountingCQL):
            known = list(Counterfactuals)[1:]
            check_choice("counterfactuals", self.counterfactuals, known)
            object.__setattr__(self, "counterfactuals", Counterfactuals(self.counterfactuals))


@settings_class
class CpRM(QLearning):
    """Q-learning with counterfactual experiences (Section 6): every step also teaches what would have happened elsewhere.

    >>> CpRM(k=1).counterfactuals
    <Counterfactuals.DEDUPLICATED: 'deduplicated'>
    """

    name = "cprm"

    counterfactuals: Counterfactuals = Counterfactuals.DEDUPLICATED
    """The stacks of counterfactual experiences: `exhaustive` (as printed) or `deduplicated`."""
    updates_per_step: int | None = None
    """Maximum number of counterfactual updates per step, taken in turn (default: all of them)."""


@settings_class
class CountingQ(QLearning):
    """Q-learning over the counters of a counting reward automaton instead of a stack, all of which it sees.

    >>> CountingQ().k
    'full'
    """

    name = "cra-q"

    k: int | str = FULL
    operations_per_episode: int | None = None
    """Moves of the automaton, real or counterfactual, after which an episode is truncated (instead of the paper's
    wall-clock limit; default: 30,000 if the automaton simulates a stack, else never)."""

    def defaults_for(self, task: Task) -> dict[str, Any]:
        found = super().defaults_for(task)
        return (
            found
            if task.has_counting_automaton
            else {**found, "operations_per_episode": OPERATIONS}
        )


@settings_class
class CountingCQL(CountingQ):
    """Q-learning over counters with counterfactual experiences, the counting automata's own method (CQL)."""

    name = "cra-cql"

    counterfactuals: Counterfactuals = Counterfactuals.EXHAUSTIVE
    """The counters of counterfactual experiences: `exhaustive` or `deduplicated`."""
    updates_per_step: int | None = None
    """Maximum number of counterfactual updates per step, taken in turn (default: all of them)."""


@settings_class
class Hierarchical(Tabular):
    """A meta-policy over options, learnt together with the options' policies (Toro Icarte's HRM, over a stack).

    Both have the same α, γ and ε: ε is the share of random options, and of random actions within them.

    >>> Hierarchical(episodes=10, learning_rate=0.01).r_minus
    0.0
    """

    name = "hrm"

    r_plus: float = 1.0
    """r⁺: what an option's policy is paid for completing the option, in addition to the machine and the environment."""
    r_minus: float = 0.0
    """r⁻: likewise, if the option ends without being completed."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.r_minus >= self.r_plus:
            raise bad_setting("r_minus", self.r_minus, f"less than r_plus, {self.r_plus!r}")


@settings_class
class Summary(BuiltInAgent):
    """Ours: learns the moves of a deterministic environment, and acts optimally by them with the whole stack in view.

    The value of a stack symbol is a function of what lies below it (a summary), so it acts at heights that it never met, too.

    >>> Summary().k
    'full'
    """

    name = "summary"
    defaults = SUMMARY_DEFAULTS

    k: int | str = FULL
    episodes: int = 500
    """Training episodes."""
    precision: float = 1e-9
    """Gains of operators that are left out, as a share of the largest value: fewer lines, and values that are less exact."""
    step_limit: int | None = None
    """Steps after which an episode is truncated (default: the domain's own limit)."""
    test_every: int = 10

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.k != FULL:
            raise bad_setting("k", self.k, "full: it sees the whole stack")
        if self.discount is not None and not self.discount < 1:
            raise bad_setting("discount", self.discount, "a number from 0 to below 1")

    def defaults_for(self, task: Task) -> dict[str, Any]:
        """The paper's discount in its own domains."""
        return {"discount": task.discount}


# --- Deep agents


@settings_class
class Deep(BuiltInAgent):
    """Settings of every deep agent."""

    deep = True
    unit = "timesteps"
    continuous: ClassVar[bool | None] = None
    """True if it chooses actions that are vectors, None for either kind."""
    defaults = DEEP_DEFAULTS

    total_timesteps: Number = FROM_TASK
    """Steps of training, over all environments, rounded up to whole iterations (`n_envs` times `n_steps` or `train_freq` steps); the schedules refer to it."""
    n_envs: int = FROM_TASK
    """Environments side by side."""
    learning_rate: Number = FROM_TASK
    """The optimiser's."""
    linear_decay: bool = FROM_TASK
    """Ours: the learning rate falls linearly to 0 (in SB3 one hands in such a function)."""
    discount: Number = FROM_TASK
    """γ, as for tables (`gamma` in Stable-Baselines3)."""
    net_arch: tuple[int, ...] = FROM_TASK
    """Units of the hidden layers, of actor and critic each."""
    reward_scale: Number = None
    """Ours: the factor of rewards for the networks (default: 1, or less if a reward of the task is beyond 10, so that
    the largest one becomes 10). Reported returns are raw."""
    reward_clip: Number = FROM_TASK
    """Ours: scaled rewards are clipped to this, for the networks (default: none are; 10 in WaterWorld)."""
    staggered: bool = FROM_TASK
    """Ours: the first episodes begin at clocks spread over the step limit, so that not all end together."""
    depth: int | None = None
    """Ours: symbols that a stack has room for (default: what the task can need, 32 to 1,024; 512 with the whole stack)."""
    test_episodes: int = FROM_TASK
    shaping: str = FROM_TASK
    """Ours: reward shaping. `machine`: a step teaches γΦ(after) - Φ(before) more, where Φ is the value of the configuration if
    every label could be chosen; `emitted`: every label that the domain emits. `auto`: `emitted`, or `none` if an agent has
    `counterfactuals`. Reported returns are never shaped."""
    shaping_discount: float | None = None
    """Ours: γ of Φ, below 1 (default: 0.6, or the agent's own for SAC)."""

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_shaping(self)

    @property
    def rollout(self) -> int:
        """Steps of each environment between updates."""
        return 1

    @property
    def iteration(self) -> int:
        """Steps of all environments between updates."""
        return self.n_envs * self.rollout

    @property
    def total(self) -> int:
        """The steps of training, in whole iterations."""
        return -(-int(self.total_timesteps) // self.iteration) * self.iteration

    @property
    def between_tests(self) -> int:
        """The steps between two evaluations, in whole iterations."""
        asked = self.test_every or int(self.total_timesteps) // TESTS_PER_RUN
        return max(1, asked // self.iteration) * self.iteration

    @classmethod
    def like_sb3(cls, **settings: Any) -> Self:
        """The agent with Stable-Baselines3's defaults where ours are others, and these settings.

        >>> PPO.like_sb3(n_envs=4).n_steps, PPO().resolved().n_steps
        (2048, 128)
        """
        return cls(**{**SB3_SETTINGS[cls.name], **settings})

    def defaults_for(self, task: Task) -> dict[str, Any]:
        """The tuned settings in WaterWorld."""
        return (
            {**self.defaults, **WATER_SETTINGS[self.name]}
            if task.continuous
            else dict(self.defaults)
        )


@settings_class
class PPO(Deep):
    """Proximal policy optimisation.

    >>> PPO(n_steps=128).clip_range
    0.2
    """

    name = "ppo"
    defaults = PPO_DEFAULTS

    n_steps: int = FROM_TASK
    """Steps of each environment between updates."""
    batch_size: int = FROM_TASK
    """Experiences per update."""
    n_epochs: int = FROM_TASK
    """Passes over the same experiences."""
    gae_lambda: float = 0.95
    """λ of generalised advantage estimation."""
    clip_range: float = 0.2
    """The most that the new policy may differ from the old."""
    clip_range_vf: Number = None
    """The clip range of the value function, in the unit of scaled rewards (default: no limit)."""
    normalize_advantage: bool = True
    """A batch's advantages are brought to mean 0 and deviation 1."""
    ent_coef: Number = FROM_TASK
    """Weight of the policy's entropy in the loss."""
    vf_coef: float = 0.5
    """Weight of the value's error in the loss."""
    max_grad_norm: float = 0.5
    """Maximum gradient norm."""
    target_kl: float | None = None
    """No further update once the approximate divergence from the old policy is beyond 1.5 times this (default: no limit)."""
    restarts: float = FROM_TASK
    """Ours: the share of training episodes that begin in a situation that an earlier one met, instead of at a start: with its environment
    state, machine state and stack, drawn uniformly among those met (stacks of up to 32 symbols). So the later stages of a task are
    learnt even if the first ones do not lead there yet. Not used if nothing of the machine is seen. Tests always begin at a start."""

    @property
    def rollout(self) -> int:
        return self.n_steps


@settings_class
class RecurrentPPO(PPO):
    """PPO with an LSTM each for actor and critic, before their hidden layers.

    >>> RecurrentPPO().resolved().lstm_hidden_size
    256
    """

    name = "rppo"
    defaults = RPPO_DEFAULTS

    lstm_hidden_size: int = FROM_TASK
    """Units of each LSTM."""
    sequence_length: int = FROM_TASK
    """Ours: through how many steps gradients flow back (in sb3-contrib through as many as a batch holds). It divides
    `n_steps` and `batch_size`."""

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

    buffer_size: int = FROM_TASK
    """Transitions kept, over all environments."""
    learning_starts: int = FROM_TASK
    """Steps, over all environments, before the first update."""
    batch_size: int = FROM_TASK
    """Experiences per update."""
    tau: Number = FROM_TASK
    """The step of the target network towards the network, at each of its updates, as a share of the distance."""
    train_freq: int = FROM_TASK
    """Steps of each environment between updates."""
    gradient_steps: int = FROM_TASK
    """Gradient steps after each rollout."""
    n_steps: int = FROM_TASK
    """The n of the n-step return."""
    counterfactuals: int | None = None
    """Ours: counterfactual experiences for each sampled one, with other machine states and observed stacks (CpRM; default: 8 for DQN,
    or none if rewards are shaped, nothing of the machine is seen, or its stacks have too many tops to keep)."""

    @property
    def rollout(self) -> int:
        return self.train_freq


@settings_class
class DQN(OffPolicy):
    """Deep Q-learning.

    >>> DQN().resolved().exploration_fraction
    0.8
    """

    name = "dqn"
    continuous = False
    defaults = DQN_DEFAULTS

    target_update_interval: int = FROM_TASK
    """Steps, over all environments, between updates of the target network."""
    exploration_fraction: float = FROM_TASK
    """The share of training during which ε falls."""
    exploration_initial_eps: float = 1.0
    """ε at first."""
    exploration_final_eps: float = FROM_TASK
    """ε at last."""
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

    ent_coef: float | None = None
    """The weight of entropy (default: learnt, towards `target_entropy`)."""
    target_entropy: float | None = None
    """The entropy that `ent_coef` is learnt for (default: minus the dimension of an action)."""


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
"""Every agent of pdrm, by its name."""
DEFAULT_TABLE, DEFAULT_DEEP = "q", "ppo"
"""The default agents: in finite domains, and in WaterWorld."""


def kind_of(name: str) -> type[BuiltInAgent]:
    """The agent of this name."""
    if name not in AGENTS:
        raise UnknownAgent(f"no agent is called `{name}`", fix=did_you_mean(str(name), AGENTS))
    return AGENTS[name]


for _kind in AGENTS.values():  # what `help(pdrm.PPO)` shows
    _kind.__doc__ = f"{inspect.cleandoc(_kind.__doc__ or '')}\n\n{list_settings(_kind)}"
