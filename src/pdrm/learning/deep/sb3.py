"""Counterfactual experiences for Stable-Baselines3: a replay buffer (`replay_buffer_class`) for DQN, SAC, TD3, DDPG, and for sb3-contrib's
QRDQN, TQC and CrossQ.

Rows are stored as they happened, with their labels; when a batch is sampled, each row is also seen with other machine states
and observed stacks. The environment is one of `pdrm.wrap`, whose `info` carries the labels; its observation is a dictionary or, with
`flatten=True`, a vector. Of either only the machine's part is replaced: two entries, or the end of the vector.

Which stacks are told apart (`symbols_that_matter`) and which states are drawn (those that are not final) is as in `replay`. The
rest is not shared: there, configurations are packed integers inside a compiled program of fixed shapes; here they are the
readable machine's own, looked up in a cache, and JAX need not be installed.

A k-policy does not see the whole stack, and what it learns for a state and a top is an average over the stacks below it. So what
is seen, a machine state and the top k symbols, is drawn at random, and the rest of the stack as often as it was observed there.
Drawn uniformly, rare stacks would count as much as those of every episode, and agents that imagine would learn the values of a
world in which they are not rare.
"""

from __future__ import annotations

import sys
from inspect import signature
from typing import Any, NamedTuple, cast

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from pdrm.domains.gymnasium_table import check_flag
from pdrm.errors import (
    BadSetting,
    MissingPackage,
    StackTooHigh,
    UndefinedMove,
    WrongArguments,
    did_you_mean,
)
from pdrm.machines.checks.pushdown_analysis import symbols_that_matter
from pdrm.machines.guards import Label
from pdrm.machines.tables import Rows
from pdrm.machines.transitions import Stack
from pdrm.product.observation import MACHINE, STACK, AsVector, ProductBox, ProductDict, Window
from pdrm.product.views import FullStack, view_of
from pdrm.product.wrapping import MachineEnv
from pdrm.task import MachineLike, pushdown_machine

try:
    from stable_baselines3 import DQN, SAC, TD3
    from stable_baselines3.common.buffers import DictReplayBuffer, ReplayBuffer
    from stable_baselines3.common.off_policy_algorithm import OffPolicyAlgorithm
    from stable_baselines3.common.type_aliases import DictReplayBufferSamples, ReplayBufferSamples
except ImportError as error:
    raise MissingPackage(
        "stable-baselines3 is not installed", fix="pip install 'pdrm[sb3]'"
    ) from error

NOTHING = spaces.Box(0, 1, (0,))
"""What an environment observes that shows nothing: with it, an observation is the machine's part alone."""
STALE = 1.1
"""Weights are made anew when so many times as many configurations were observed."""
ROUNDING = 1e-5
"""How far a reward may be, relative to what it is made of, from what `pdrm.wrap` paid: it has been float32 in between."""
TAKE_MORE = (DQN.train, SAC.train, TD3.train)
"""Training that takes as many rows as a batch has. Others reckon with `batch_size` of them: sb3-contrib's reshape and split by it."""
CHANGE_REWARDS = (gymnasium.RewardWrapper, gymnasium.wrappers.NormalizeReward)
"""Wrappers of Gymnasium's that change rewards, with those that are made of them."""
SETTINGS = (
    "counterfactuals",
    "enlarge",
    "seed",
    "machine",
    "k",
    "depth",
    "handle_timeout_termination",
)
"""What `replay_buffer_kwargs` may have; the rest is the agent's to give."""
OF_HINDSIGHT = ("env", "n_sampled_goal", "goal_selection_strategy", "copy_info_dict")
"""What Stable-Baselines3's HerReplayBuffer has and no other buffer."""
REWARDS_FIX = (
    "put the wrapper around the bare environment, inside pdrm.wrap, or use `reward_weight`; the machine's rewards are "
    "changed in its rules, and VecNormalize(env, norm_obs=False) scales both"
)

Observations = npt.NDArray[Any] | dict[str, npt.NDArray[Any]]
"""Of several rows: vectors, or what stands in each entry of a dictionary."""


class Imagined(NamedTuple):
    """What a label does to a configuration, as an agent sees it."""

    before: npt.NDArray[
        Any
    ]  # the machine's part of the observation: the end of a vector, or the numbers in a dictionary
    after: npt.NDArray[Any]
    reward: float
    final: bool


class CounterfactualReplayBuffer(DictReplayBuffer):
    """Give it to an agent as `replay_buffer_class`; what else it needs, it takes from the environment of `pdrm.wrap`, with or
    without `flatten=True`.

    counterfactuals: rows imagined beside each sampled one, each with a machine state and an observed top of the stack drawn at
    random, and what is below as often as it was observed; rows for which the machine has no move, or the observation no room for
    its stack, are left out. enlarge: whether they come on top, so that a batch has up to (1 + counterfactuals) times `batch_size` rows,
    or are part of it, so that it has `batch_size`, with one real row to `counterfactuals` imagined ones (and real ones for those left
    out); None: on top for DQN, SAC, TD3 and DDPG, and where no agent makes the buffer, part of it for other agents, which take no larger batch. machine, k, depth: as given to
    `pdrm.wrap`, where another wrapper hides its observation space; k is 1 there unless given. seed: of what is drawn. buffer_size,
    observation_space, action_space, args, kwargs: as for SB3's `ReplayBuffer`.

    >>> import pdrm
    >>> from pdrm.domains import FiniteEnv
    >>> from stable_baselines3 import DQN
    >>> env = pdrm.wrap(FiniteEnv("letter"), "letter", "info", k=1, flatten=True)
    >>> agent = DQN("MlpPolicy", env, replay_buffer_class=CounterfactualReplayBuffer, device="cpu")
    >>> agent.replay_buffer.machine.name, agent.replay_buffer.counterfactuals
    ('letter', 2)
    >>> env = pdrm.wrap(FiniteEnv("letter"), "letter", "info")
    >>> agent = DQN("MultiInputPolicy", env, replay_buffer_class=CounterfactualReplayBuffer, device="cpu")
    >>> sorted(agent.replay_buffer.observations)
    ['machine', 'observation', 'stack']
    """

    def __init__(
        self,
        buffer_size: int,
        observation_space: spaces.Space[Any],
        action_space: spaces.Space[Any],
        *args: Any,
        machine: MachineLike | None = None,
        k: int | str | None = None,
        depth: int | None = None,
        counterfactuals: int | np.integer[Any] = 2,
        enlarge: bool | None = None,
        seed: int = 0,
        **kwargs: Any,
    ) -> None:
        _check_words(kwargs)
        if (
            isinstance(counterfactuals, bool)
            or not isinstance(counterfactuals, int | np.integer)
            or counterfactuals < 0
        ):
            fault = f"counterfactuals is {counterfactuals!r}, but must be a non-negative integer"
            raise BadSetting(fault, fix="counterfactuals=2")
        if kwargs.get("optimize_memory_usage"):
            fault = "optimize_memory_usage keeps no next observations, and a machine's part of them is replaced here"
            raise BadSetting(fault, fix="leave `optimize_memory_usage` out")
        agent = _find_agent()
        if agent is not None and agent.n_steps > 1:
            fault = f"this buffer imagines single steps, and the agent was given n_steps={agent.n_steps}"
            raise BadSetting(fault, fix="leave `n_steps` out, or `replay_buffer_class`")
        self.enlarge = _check_enlarge(enlarge, agent)
        """Whether imagined rows come on top of those asked for; else they are part of them."""
        if machine is None and not isinstance(observation_space, ProductBox | ProductDict):
            _check_wrapped(agent)
        self._window = _find_window(observation_space, machine, k, depth)
        self.machine, self.view, self.counterfactuals = (
            self._window.machine,
            self._window.view,
            int(counterfactuals),
        )
        if self.counterfactuals:
            _check_wrappers(agent)
        self._quick = Rows(self.machine)
        self._form = AsVector(NOTHING, self._window)
        self._width = self._environment_width(observation_space)
        self._shows = self._window.describe(observation_space)
        self._storage = ReplayBuffer if self._width is not None else DictReplayBuffer
        self._storage.__init__(self, buffer_size, observation_space, action_space, *args, **kwargs)  # type: ignore[arg-type]
        self._rng = np.random.default_rng(seed)
        # For a k-policy, stacks that agree on what one step can pop and on what counts below are one.
        self._kept = (
            None
            if isinstance(self.view, FullStack)
            else symbols_that_matter(self.machine, self.view.k)
        )
        self._labels: list[Label] = []
        self._number: dict[Label, int] = {}
        self.stacks: list[Stack] = []
        """The stacks observed, up to what the view and one step can tell apart."""
        self._known: set[Stack] = set()
        self._noted = 0
        self._observed: dict[tuple[str, Stack], int] = {}
        """How often each state was observed with each of them."""
        self._drawn: tuple[list[tuple[str, Stack]], npt.NDArray[np.float64]] = [], np.zeros(0)
        self._drawn_at = 0
        self._note(*self._quick.begin()[:2])
        self._cache: dict[tuple[str, Stack, int], Imagined | None] = {}
        shape = (self.buffer_size, self.n_envs)
        self.label = np.zeros(shape, np.int32)
        self.environment_reward = np.zeros(shape, np.float32)
        self.environment_terminated = np.zeros(shape, np.bool_)

    def _environment_width(self, space: spaces.Space[Any]) -> int | None:
        """Numbers of a vector that are the environment's; None: the observation is a dictionary."""
        if isinstance(space, spaces.Dict):
            own = [MACHINE, STACK] if self._window.places else [MACHINE]
            shown = [np.shape(space[name].sample()) for name in own if name in space.spaces]
            if shown != [(), (self._window.places,)][: len(own)]:
                fault = f"the observation {space} does not show this machine and k as `{'` and `'.join(own)}`"
                raise BadSetting(fault, fix="give those given to `pdrm.wrap`")
            return None
        if not isinstance(space, spaces.Box) or len(space.shape) != 1:
            fault = f"the observation {space} is neither a dictionary nor a vector, and the machine's part of it cannot be replaced"
            raise BadSetting(
                fault,
                fix="use pdrm.wrap(..., flatten=True), and put wrappers that stack observations inside it",
            )
        width = space.shape[0] - self._form.space.shape[0]
        if width < 0:
            fault = "the observation is too short for this machine and k"
            raise BadSetting(fault, fix="give those given to `pdrm.wrap`")
        return int(width)

    def add(
        self,
        obs: Observations,
        next_obs: Observations,
        action: npt.NDArray[Any],
        reward: npt.NDArray[Any],
        done: npt.NDArray[Any],
        infos: list[dict[str, Any]],
    ) -> None:
        """Store one step of every environment."""
        at = self.pos
        for env, info in enumerate(infos):
            record = self._record(info)
            if self.counterfactuals:
                self._check_outcome(record, float(reward[env]), bool(done[env]), info)
            if not done[env]:
                self._check_seen(record, next_obs, env)
            label = record["label"]
            if label not in self._number:
                self._number[label] = len(self._labels)
                self._labels.append(label)
            self.label[self.pos, env] = self._number[label]
            self.environment_reward[self.pos, env] = record["environment_reward"]
            self.environment_terminated[self.pos, env] = record["environment_terminated"]
            self._note(record["state"], record["stack"])
            if done[env]:
                self._note(*self._quick.begin()[:2])
        self._storage.add(self, obs, next_obs, action, reward, done, infos)  # type: ignore[arg-type]
        for env in np.flatnonzero(done).tolist():
            # Under VecNormalize an episode's last observation has been normalised, clipped and put back, which is not exact.
            record = infos[env]["machine"]
            last = _rows(self.next_observations, np.array([at]), np.array([env]))
            exact = self._replace_parts(last, [self._put(record["state"], record["stack"])])
            _store(self.next_observations, exact, at, env)

    def _record(self, info: dict[str, Any]) -> dict[str, Any]:
        """What the wrapped environment says about the machine, which must be the one of this buffer."""
        if "machine" not in info:
            raise BadSetting(
                "the environment's info has no `machine`", fix="wrap it: pdrm.wrap(...)"
            )
        record: dict[str, Any] = info["machine"]
        shown = getattr(record, "shows", "a machine that pdrm.wrap did not name")
        if shown != self._shows:
            fault = f"the environment shows {shown}, and this buffer was made for {self._shows}"
            fix = "give both the same; wrappers that make an observation longer go inside pdrm.wrap; a new environment needs a new agent"
            raise BadSetting(fault, fix=fix)
        return record

    def _check_outcome(
        self, record: dict[str, Any], reward: float, done: bool, info: dict[str, Any]
    ) -> None:
        """Raise where something outside `pdrm.wrap` has changed a reward or ended an episode: imagined rows would not have it."""
        if "shaping" in record:
            fault = "the environment's rewards are shaped, and the potential of a stack whose top alone is imagined is not known"
            raise BadSetting(fault, fix="counterfactuals=0, or leave `shaping` out of pdrm.wrap")
        paid, own = record["reward"], record["environment_reward"]
        if abs(reward - (paid + own)) > ROUNDING * (abs(paid) + abs(own)):
            fault = f"a wrapper outside pdrm.wrap made the reward {reward:g} of {paid + own:g}, and imagined rewards would not be changed"
            raise BadSetting(fault, fix=REWARDS_FIX)
        ended = record["environment_terminated"] or record["state"] in self.machine.final
        if done and not ended and not info.get("TimeLimit.truncated"):
            fault = "a wrapper outside pdrm.wrap ended the episode, and imagined ones would not end"
            raise BadSetting(
                fault, fix="put the wrapper around the bare environment, inside pdrm.wrap"
            )

    def _check_seen(self, record: dict[str, Any], seen: Observations, env: int) -> None:
        """Raise where the machine's part of an observation has been changed."""
        if not np.array_equal(
            self._own_part(seen, env), self._put(record["state"], record["stack"])
        ):
            fault = "a wrapper outside pdrm.wrap changed the machine's part of the observation, which imagined ones replace"
            raise BadSetting(
                fault, fix="put the wrapper around the bare environment, inside pdrm.wrap"
            )

    def _put(self, state: str, stack: Stack) -> npt.NDArray[Any]:
        """The machine's part of an observation."""
        if self._width is not None:
            return self._form.put((), state, stack)
        return np.array(
            [
                self._window.state[state],
                *(self._window.numbers(stack) if self._window.places else ()),
            ]
        )

    def _own_part(self, seen: Observations, env: int) -> npt.NDArray[Any]:
        """The same, of what one of the environments observed."""
        if not isinstance(seen, dict):
            return np.asarray(seen[env, self._width :])
        return np.concatenate(
            [np.ravel(seen[name][env]) for name in (MACHINE, STACK) if name in seen]
        )

    def _replace_parts(self, seen: Observations, parts: list[npt.NDArray[Any]]) -> Observations:
        """The observations with other parts of the machine."""
        if parts and isinstance(seen, dict):
            rows = np.array(parts)
            seen[MACHINE] = rows[:, :1].reshape(seen[MACHINE].shape).astype(seen[MACHINE].dtype)
            if STACK in seen:
                seen[STACK] = rows[:, 1:].astype(seen[STACK].dtype)
        elif parts:
            cast("npt.NDArray[Any]", seen)[:, self._width :] = parts
        return seen

    def _note(self, state: str, stack: Stack) -> None:
        place = state, stack[: self._kept]
        if place not in self._observed:
            self._drawn_at = 0  # what is drawn must be weighed anew
            if place[1] not in self._known:
                self._known.add(place[1])
                self.stacks.append(place[1])
        self._observed[place] = self._observed.get(place, 0) + 1
        self._noted += 1

    def draw(self, count: int) -> list[tuple[str, Stack]]:
        """Configurations: what is seen uniformly, what is not seen as often as it was observed with it (if never with that
        state: with any)."""
        states = self.machine.states
        if isinstance(self.view, FullStack):
            chosen = (
                self._rng.integers(len(states), size=count),
                self._rng.integers(len(self.stacks), size=count),
            )
            return [
                (states[state], self.stacks[number]) for state, number in zip(*chosen, strict=True)
            ]
        if not self._drawn_at or self._noted > STALE * self._drawn_at:
            self._weigh()
        found, cumulated = self._drawn
        numbers = cumulated.searchsorted(self._rng.random(count) * cumulated[-1], side="right")
        return [found[min(number, len(found) - 1)] for number in numbers.tolist()]

    def _weigh(self) -> None:
        """Weigh the configurations to draw from."""
        with_state: dict[tuple[str, Stack], dict[Stack, int]] = {}
        with_any: dict[Stack, dict[Stack, int]] = {}
        for (state, stack), times in self._observed.items():
            seen = self.view.of(stack)
            with_state.setdefault((state, seen), {})[stack] = times
            below = with_any.setdefault(seen, {})
            below[stack] = below.get(stack, 0) + times
        found, weights = [], []
        for state in self.machine.states:
            for seen, anywhere in with_any.items():
                below = with_state.get((state, seen), anywhere)
                found += [(state, stack) for stack in below]
                weights += [times / sum(below.values()) for times in below.values()]
        self._drawn, self._drawn_at = (found, np.cumsum(weights)), self._noted

    def sample(self, batch_size: int, env: Any = None) -> Any:
        """A batch: rows drawn as Stable-Baselines3 does, then those imagined beside them. batch_size: of the rows drawn or, unless the
        batch is enlarged, of all. env: normalises them, if it is given."""
        return self._storage.sample(self, batch_size, env)

    def _get_samples(self, batch_inds: npt.NDArray[Any], env: Any = None) -> Any:
        """The rows with these numbers, each of one environment drawn at random, then those imagined beside them. Where the batch keeps
        its size, imagined rows stand in place of the last ones."""
        envs = self._rng.integers(self.n_envs, size=len(batch_inds))
        count, copies = len(batch_inds), self.counterfactuals
        drawn = count if self.enlarge else -(-count // (1 + copies))
        imagined = self.imagine(
            np.repeat(batch_inds[:drawn], copies), np.repeat(envs[:drawn], copies)
        )
        if not self.enlarge:
            imagined = tuple(_cut(part, count - drawn) for part in imagined)
            drawn = count - len(imagined[-1])  # more than before where the machine had no move
            batch_inds, envs = batch_inds[:drawn], envs[:drawn]
        before, after = (
            _rows(self.observations, batch_inds, envs),
            _rows(self.next_observations, batch_inds, envs),
        )
        ended = self.dones[batch_inds, envs] * (1 - self.timeouts[batch_inds, envs])
        real = (
            before,
            self.actions[batch_inds, envs],
            after,
            ended,
            self.rewards[batch_inds, envs],
        )
        seen, action, next_seen, ended, reward = (
            _join(*pair) for pair in zip(real, imagined, strict=True)
        )
        data: tuple[Any, ...] = (
            self._normalize_obs(seen, env),
            action,
            self._normalize_obs(next_seen, env),
            ended.reshape(-1, 1),
            self._normalize_reward(reward.reshape(-1, 1), env),
        )
        samples = DictReplayBufferSamples if self._width is None else ReplayBufferSamples
        return samples(*(self._as_tensors(part) for part in data))

    def _as_tensors(self, part: Observations) -> Any:
        if isinstance(part, dict):
            return {name: self.to_torch(values) for name, values in part.items()}
        return self.to_torch(part)

    def imagine(self, steps: npt.NDArray[Any], envs: npt.NDArray[Any]) -> tuple[Any, ...]:
        """Rows (before, action, after, terminated, reward) at these places, each with a configuration drawn at random."""
        found = [
            self.what_if(state, stack, int(self.label[step, env]))
            for (state, stack), step, env in zip(self.draw(len(steps)), steps, envs, strict=True)
        ]
        kept = np.array([one is not None for one in found], np.bool_)
        rows = [one for one in found if one is not None]
        steps, envs = steps[kept], envs[kept]
        before = self._replace_parts(
            _rows(self.observations, steps, envs), [one.before for one in rows]
        )
        after = self._replace_parts(
            _rows(self.next_observations, steps, envs), [one.after for one in rows]
        )
        final = np.array([one.final for one in rows], np.bool_)
        paid = np.array([one.reward for one in rows], np.float32)
        ended = (self.environment_terminated[steps, envs] | final).astype(np.float32)
        return (
            before,
            self.actions[steps, envs],
            after,
            ended,
            self.environment_reward[steps, envs] + paid,
        )

    def what_if(self, state: str, stack: Stack, label: int) -> Imagined | None:
        """What a label (by number) does to a configuration; None where the machine has no move or its stack gets too high."""
        key = (state, stack, label)
        if key not in self._cache:
            try:
                there, above, paid = self._quick.step(state, stack, self._labels[label])
                seen = self._put(state, stack), self._put(there, above)
            except (UndefinedMove, StackTooHigh):
                self._cache[key] = None
            else:
                self._cache[key] = Imagined(*seen, paid, there in self.machine.final)
        return self._cache[key]


def _check_words(words: dict[str, Any]) -> None:
    """Raise at a setting that neither this buffer nor Stable-Baselines3's has."""
    if "n_steps" in words:
        fault = "this buffer imagines single steps, and has no `n_steps`"
        raise WrongArguments(
            fault,
            fix="leave it out, or use n_steps=… of the agent with Stable-Baselines3's own buffer",
        )
    if "gae_lambda" in words:
        fault = "PPO and A2C have a rollout buffer, whose steps are learnt from once, and no replay buffer to imagine with"
        fix = "leave `rollout_buffer_class` out, or use DQN, SAC, TD3 or DDPG, with `replay_buffer_class`"
        raise WrongArguments(fault, fix=fix)
    theirs = signature(ReplayBuffer.__init__).parameters  # which the agent gives, all but one
    for word in words:
        if word in OF_HINDSIGHT:
            fault = f"`{word}` is an argument of HerReplayBuffer, which imagines other goals; this buffer imagines other machine states"
            raise WrongArguments(
                fault, fix=f"leave it out; known: {', '.join(f'`{one}`' for one in SETTINGS)}"
            )
        if word not in theirs:
            fault = f"`CounterfactualReplayBuffer` has no argument `{word}`"
            raise WrongArguments(fault, fix=did_you_mean(word, SETTINGS))


def _find_agent() -> OffPolicyAlgorithm | None:
    """The agent that makes the buffer, if one does. Stable-Baselines3 hands a buffer the spaces alone, so the calls are searched: whether
    an agent takes larger batches, and what stands around its environment, should be known before it learns."""
    frame = sys._getframe(1)
    while frame.f_back is not None and isinstance(frame.f_locals.get("self"), ReplayBuffer):
        frame = frame.f_back
    maker = frame.f_locals.get("self")
    return maker if isinstance(maker, OffPolicyAlgorithm) else None


def _check_enlarge(enlarge: object, agent: OffPolicyAlgorithm | None) -> bool:
    """Whether batches grow: as asked for, or as the agent can."""
    takes_more = agent is None or type(agent).train in TAKE_MORE
    if enlarge is None:
        return takes_more
    if check_flag("enlarge", enlarge) and not takes_more:
        fault = f"{type(agent).__name__} takes batches of `batch_size` rows alone, and `enlarge` would make them larger"
        raise BadSetting(fault, fix="leave `enlarge` out: imagined rows are part of the batch then")
    return bool(enlarge)


def _check_wrapped(agent: OffPolicyAlgorithm | None) -> None:
    """Raise where the agent's environment is not one of `pdrm.wrap`."""
    if (
        agent is not None
        and agent.env is not None
        and not any(agent.env.env_is_wrapped(MachineEnv))
    ):
        fault = "the environment is not from pdrm.wrap: no machine watches it, and there is nothing to imagine"
        fix = "give the agent pdrm.wrap(env, machine, labels, flatten=True), or leave `replay_buffer_class` out"
        raise BadSetting(fault, fix=fix)


def _check_wrappers(agent: OffPolicyAlgorithm | None) -> None:
    """Raise where a wrapper outside `pdrm.wrap` changes rewards. Environments in other processes are not looked at: there it is noticed in
    the first step whose reward was changed, as are wrappers of one's own."""
    env = None if agent is None or agent.env is None else agent.env.unwrapped
    for whole in getattr(env, "envs", ()):
        one = whole
        while isinstance(one, gymnasium.Wrapper) and not isinstance(one, MachineEnv):
            if isinstance(one, CHANGE_REWARDS):
                fault = f"{type(one).__name__}, outside pdrm.wrap, changes rewards, and imagined rewards would not be changed"
                raise BadSetting(fault, fix=REWARDS_FIX)
            one = one.env


def _find_window(
    space: spaces.Space[Any], machine: MachineLike | None, k: int | str | None, depth: int | None
) -> Window:
    """What the observations of a space show: what it says itself, which what is given must not contradict."""
    if isinstance(space, spaces.Discrete):
        fault = "an observation that is one number shows no machine's part that could be replaced"
        fix = "use an environment of pdrm.wrap, and leave `discrete` out; `flatten=True` makes it one vector"
        raise BadSetting(fault, fix=fix)
    if isinstance(space, ProductBox | ProductDict):
        window = Window(space.machine, space.view, space.depth)
        given = Window(
            space.machine if machine is None else pushdown_machine(machine),
            space.view if k is None else view_of(k),
            space.depth if depth is None and k in (None, "full") else depth,
        )
        if given.describe(space) != window.describe(space):
            fault = f"the environment shows {window.describe(space)}, and the buffer was given {given.describe(space)}"
            raise BadSetting(
                fault, fix="leave `machine`, `k` and `depth` out: the environment says them"
            )
        return window
    if machine is None:
        fault = f"the observation space, a {type(space).__name__} of shape {space.shape}, does not say which machine it shows"
        words = "replay_buffer_kwargs=dict(machine=..., k=...), and `depth` where it was given"
        fix = (
            "use the environment of pdrm.wrap (with `flatten=True` in place of FlattenObservation), and put wrappers that change observations inside it; where one outside leaves the "
            f"machine's part as it is, say what pdrm.wrap was given: {words}"
        )
        raise BadSetting(fault, fix=fix)
    return Window(pushdown_machine(machine), view_of(1 if k is None else k), depth)


def _store(stored: Observations, seen: Observations, step: int, env: int) -> None:
    """Store the one row of these observations."""
    if isinstance(stored, dict):
        for name, values in cast("dict[str, npt.NDArray[Any]]", seen).items():
            stored[name][step, env] = values[0]
    else:
        stored[step, env] = cast("npt.NDArray[Any]", seen)[0]


def _rows(stored: Observations, steps: npt.NDArray[Any], envs: npt.NDArray[Any]) -> Observations:
    """Copies of the observations at these places."""
    if isinstance(stored, dict):
        return {name: values[steps, envs] for name, values in stored.items()}
    return np.asarray(stored[steps, envs])


def _cut(rows: Any, most: int) -> Any:
    """The first rows, at most so many."""
    return (
        {name: values[:most] for name, values in rows.items()}
        if isinstance(rows, dict)
        else rows[:most]
    )


def _join(first: Any, second: Any) -> Any:
    """The rows of both, one after the other."""
    if isinstance(first, dict):
        return {name: np.concatenate([values, second[name]]) for name, values in first.items()}
    return np.concatenate([first, second])
