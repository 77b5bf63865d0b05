"""The product of any Gymnasium environment and a machine (Definition 2): `pdrm.wrap`.

The environment's reward, `terminated`, `truncated`, `info` and seed are kept. The machine's reward
is added, its final states terminate the episode, and `info["machine"]` records its step. Episodes
start with the machine's silent moves and the optional label at reset. Their reward is in the `info`
of `reset`, because Gymnasium's `reset` returns no reward.

In `wrap_vector` each machine is inside its sub-environment, so Gymnasium resets both together in
every autoreset mode. `Shaped` adds shaping rewards, outside of wrappers that record returns.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from functools import partial
from importlib.util import find_spec
from math import isfinite
from typing import TYPE_CHECKING, Any, Literal

import gymnasium
import numpy as np
from gymnasium.utils import RecordConstructorArgs
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv, VectorEnv
from gymnasium.wrappers import RecordEpisodeStatistics

from pdrm.domains.pictures import list_stack
from pdrm.domains.user_worlds import (
    RESET_CALL,
    STEP_CALL,
    LabelFunction,
    Labels,
    LabelsAtReset,
    check_function,
    check_weight,
    labels_in_info,
    name_function,
    read_label,
)
from pdrm.errors import (
    BadEnvironment,
    BadEnvironmentReward,
    BadSetting,
    CannotWrap,
    EpisodeOver,
    Finding,
    FinishedAtReset,
    TaskWarning,
    warn_caller,
)
from pdrm.machines.guards import Label
from pdrm.machines.tables import LazyTable
from pdrm.machines.transitions import Configuration
from pdrm.product.observation import (
    AsDict,
    AsVector,
    ObservationForm,
    Window,
    check_observation,
    hashable_key,
    view_of,
)
from pdrm.task import MachineLike, find_machine, find_success, pushdown_machine

if TYPE_CHECKING:
    from pdrm.product.shaping import Shaping

AnyEnv = gymnasium.Env[Any, Any]
EnvFunction = Callable[[], AnyEnv]
Remember = Callable[[AnyEnv], Any]
RESET_RETURNS = ("observation", "info")
STEP_RETURNS = ("observation", "reward", "terminated", "truncated", "info")
EARLY_ENDS_BEFORE_WARNING = 10
"""Warn (W0617) after this many episodes that the environment ended with a reward before the
machine finished."""
MIN_PIXELS = 36
"""Minimum height and width of an image for the convolutions of Stable-Baselines3's networks."""
MAX_VECTOR_LENGTH = 10_000
"""Length of a vector above which it is probably an image."""


class MachineEnv(gymnasium.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """An environment together with a machine, made by `pdrm.wrap`.

    >>> bare = gymnasium.make("FrozenLake-v1", is_slippery=False)
    >>> labels = lambda before, action, after, info: {4: {"A"}, 5: {"B"}}.get(after, set())
    >>> env = MachineEnv(bare, "letter", labels)
    >>> env.reset(seed=0)[0]
    {'observation': 0, 'machine': 0, 'stack': array([1])}
    >>> observation, reward, terminated, truncated, info = env.step(1)
    >>> reward, str(env.configuration), info["machine"]["label"]
    (-0.01, 'u0, A #', frozenset({'A'}))
    """

    def __init__(
        self,
        env: AnyEnv,
        machine: MachineLike,
        labels: Labels,
        k: int | str = 1,
        *,
        flatten: bool = False,
        depth: int | None = None,
        keys: Sequence[str] | None = None,
        labels_at_reset: LabelsAtReset | None = None,
        reward_weight: float = 1.0,
        ignore_end: bool = False,
        success: str | Sequence[str] = (),
        remember: Remember | None = None,
    ) -> None:
        _check_bare(env)
        # Saved for `env.spec`. Not copied: `labels` can be a method of an object without copies.
        RecordConstructorArgs.__init__(
            self,
            _disable_deepcopy=True,
            machine=machine,
            labels=labels,
            k=k,
            flatten=flatten,
            depth=depth,
            keys=keys,
            labels_at_reset=labels_at_reset,
            reward_weight=reward_weight,
            ignore_end=ignore_end,
            success=success,
            remember=remember,
        )
        gymnasium.Wrapper.__init__(self, env)
        loaded = find_machine(machine)
        self.machine = pushdown_machine(loaded)
        """The machine, translated to a pushdown reward machine if necessary."""
        self.success = frozenset(find_success(loaded, success))
        """The final states that count as success, for `info["is_success"]`."""
        self.reward_weight = check_weight(reward_weight)
        """The factor of the environment's reward."""
        self.ignore_end = ignore_end
        """True if episodes continue when the environment returns `terminated`."""
        self._from_info = labels == "info"
        self._labels: LabelFunction = labels_in_info if labels == "info" else labels
        check_function("labels", self._labels, STEP_CALL)
        self._labels_at_reset = labels_at_reset
        if labels_at_reset is not None:
            check_function("labels_at_reset", labels_at_reset, RESET_CALL)
        if remember is not None:
            check_function("remember", remember, "remember(env)")
        self._remember = remember
        self._table = LazyTable(self.machine)
        self._events = frozenset(self.machine.events)
        self._final = frozenset(self.machine.final)
        window = None if k == "none" else Window(self.machine, view_of(k), depth)
        form = AsVector if flatten else AsDict
        self._form: ObservationForm = form(env.observation_space, window, keys)
        self._fingerprint = "" if window is None else window.fingerprint
        self.observation_space = self._form.space
        self._observation: Any = None
        self._state, self._stack, _ = self._table.begin()
        self._steps = 0
        self._running = False
        """True during an episode, unless an error left machine and environment out of step."""
        self._ended_early = 0
        """Episodes that the environment ended with a reward, before the machine was ever final."""
        self._check_not_final()

    @property
    def configuration(self) -> Configuration:
        """The machine's present configuration: `.state`, and `.stack`, top first."""
        return Configuration(self._state, self._stack)

    key = staticmethod(hashable_key)
    """Convert an observation to a hashable key, for tables."""

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Reset the environment and the machine, which reads the label at reset."""
        self._running = False
        self._steps = 0
        observation, info = self._check(self.env.reset(seed=seed, options=options), RESET_RETURNS)
        check_observation(self.env.observation_space, observation)
        self._state, self._stack, machine_reward = self._table.begin()
        events = info.get("label") if self._from_info else None
        try:
            if self._labels_at_reset is not None:
                events = self._labels_at_reset(observation, {**info, "env": self.env})
            label = None if events is None else read_label(events, self._events)
            if label is not None:
                self._state, self._stack, reward = self._table.step(self._state, self._stack, label)
                machine_reward += reward
            self._check_not_final()
            shown = self._form.put(observation, self._state, self._stack)
        except Exception as error:
            self._add_note(error, self._labels_at_reset)
            raise
        self._observation = None if self._from_info else _copy(observation)
        self._running = True
        return shown, {**info, "machine": self._record(machine_reward, 0.0, 0.0, False, label)}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Make a step of the environment and of the machine, and add their rewards."""
        if not self._running:
            raise EpisodeOver("no episode is running", fix="call `reset` before `step`")
        remembered = (
            {} if self._remember is None else {"before": deepcopy(self._remember(self.env))}
        )
        result = self.env.step(action)
        self._steps += 1
        self._running = False
        observation, reward, terminated, truncated, info = self._check(result, STEP_RETURNS)
        try:
            labels_info = {**info, "env": self.env, **remembered}
            events = self._labels(self._observation, action, observation, labels_info)
            label = read_label(events, self._events)
            state, stack, machine_reward = self._table.step(self._state, self._stack, label)
            self._state = state
            self._stack = stack
            env_reward = _read_reward(reward)
            shown = self._form.put(observation, state, stack)
        except Exception as error:
            self._add_note(error, self._labels)
            raise
        if not self._from_info:  # environments can change an array that they returned
            self._observation = _copy(observation)
        ended = bool(terminated) and not self.ignore_end
        final = state in self._final
        weighted = self.reward_weight * env_reward if self.reward_weight else 0.0
        record = self._record(machine_reward, weighted, env_reward, ended, label)
        self._running = not (final or ended)
        if final:
            self._ended_early = EARLY_ENDS_BEFORE_WARNING  # stop counting
        elif ended:
            self._count_early_end(env_reward)
        full_info = {**info, "machine": record}
        if self.success:
            if "is_success" in info:
                record["own_success"] = info["is_success"]
            full_info["is_success"] = state in self.success
        return shown, weighted + machine_reward, final or ended, truncated, full_info

    def render(self) -> Any:
        """Render the environment; append the machine's state and stack to a text ("ansi")."""
        frame = self.env.render()
        if not isinstance(frame, str):
            return frame
        return "\n".join([frame.rstrip("\n"), f"state  {self._state}", *list_stack(self._stack)])

    def _record(
        self,
        machine_reward: float,
        weighted: float,
        env_reward: float,
        ended: bool,
        label: Label | None,
    ) -> dict[str, Any]:
        """The entry `machine` of `info`."""
        return {
            "reward": machine_reward,
            "environment_reward": weighted,
            "own_reward": env_reward,
            "environment_terminated": ended,
            "state": self._state,
            "stack": self._stack,
            "label": label,
            "shows": self._fingerprint,
        }

    def _check(self, result: Any, names: Sequence[str]) -> Any:
        """Validate what the environment returned; its `info` must not have an entry `machine`."""
        if (
            type(result) is not tuple
            or len(result) != len(names)
            or not isinstance(result[-1], dict)
        ):
            fault = f"{self.env} returned {str(result)[:60]}"
            fix = f"return a tuple ({', '.join(names)}), of which info is a dictionary"
            raise BadEnvironment(fault, fix=fix)
        if "machine" in result[-1]:
            fault = f"the info of {self.env} has an entry `machine`, which pdrm.wrap adds itself"
            fix = "rename it in a wrapper around the environment, such as info['own_machine']"
            raise CannotWrap(fault, fix=fix)
        return result

    def _check_not_final(self) -> None:
        if self._state in self._final:
            fault = (
                f"machine `{self.machine.name}` is in its final state `{self._state}` "
                "before the first action"
            )
            fix = "make the final state reachable only by reading a label"
            raise FinishedAtReset(fault, fix=fix)

    def _add_note(self, error: Exception, labels: object) -> None:
        """Add the step and the labelling function to an error."""
        when = f"step {self._steps} of an episode" if self._steps else "reset"
        by = "" if labels is None else f", labelled by {name_function(labels)}"
        error.add_note(f"pdrm: at {when} of {self.env}{by}")

    def _count_early_end(self, env_reward: float) -> None:
        """Warn once if the environment's goal is reached before the machine's."""
        if env_reward <= 0 or not self._final:
            return
        self._ended_early += 1
        if self._ended_early == EARLY_ENDS_BEFORE_WARNING:
            message = (
                f"the environment ended {EARLY_ENDS_BEFORE_WARNING} episodes with a reward before machine "
                f"`{self.machine.name}` was in a final state; with ignore_end=True they continue, "
                "if the environment can be stepped further"
            )
            warn_caller(TaskWarning(Finding("W0617", message)))


def wrap(
    env: AnyEnv,
    machine: MachineLike,
    labels: Labels,
    k: int | str = 1,
    *,
    flatten: bool = False,
    depth: int | None = None,
    keys: Sequence[str] | None = None,
    labels_at_reset: LabelsAtReset | None = None,
    reward_weight: float = 1.0,
    ignore_end: bool = False,
    success: str | Sequence[str] = (),
    remember: Remember | None = None,
) -> MachineEnv:
    """Add a machine to any Gymnasium environment.

    Args:
        env: The environment.
        machine: A machine, the path of its file, its name in the catalogue, or its text. Reward
            machines, and counting automata with one counter, are translated.
        labels: `labels(observation, action, next_observation, info)` returns the set of events true
            after a step; its `info` also contains the environment itself, `info["env"]`. The word
            "info" instead of a function reads `info["label"]`.
        k: The number of stack symbols that the agent sees; "full", which needs a `depth`; or "none"
            to hide the machine from the agent.
        flatten: Observe one vector of float32 instead of a dictionary.
        depth: The slots for a full stack. A higher stack is an error.
        keys: The entries of a dictionary observation that the agent sees (default: all but texts).
        labels_at_reset: `labels_at_reset(observation, info)` returns the label read before the
            first action, or None for no label (default: no label; with "info", `info["label"]`
            if present).
        reward_weight: The factor of the environment's reward; 0 leaves only the machine's.
        ignore_end: Continue episodes when the environment returns `terminated`, for environments
            that can be stepped further. `truncated` always counts.
        success: The final states that count as success, for `info["is_success"]` (default: those
            that a rule enters with a reward above 0, or all).
        remember: `remember(env)` is called before every step, and `labels` gets its value as
            `info["before"]`.

    Returns:
        The environment with the machine.

    >>> import gymnasium
    >>> def events(observation, action, next_observation, info):
    ...     return {"A"} if next_observation == 1 else set()
    >>> env = wrap(gymnasium.make("FrozenLake-v1", is_slippery=False), "letter", events)
    >>> env.reset(seed=0)[0]
    {'observation': 0, 'machine': 0, 'stack': array([1])}
    >>> env.step(2)[:2]
    ({'observation': 1, 'machine': 0, 'stack': array([2])}, -0.01)
    """
    product = MachineEnv(
        env,
        machine,
        labels,
        k,
        flatten=flatten,
        depth=depth,
        keys=keys,
        labels_at_reset=labels_at_reset,
        reward_weight=reward_weight,
        ignore_end=ignore_end,
        success=success,
        remember=remember,
    )
    _warn_of_images(product.observation_space)
    return product


def wrap_vector(
    env_fns: Iterable[EnvFunction],
    machine: MachineLike,
    labels: Labels,
    k: int | str = 1,
    *,
    mode: Literal["sync", "async"] = "sync",
    autoreset: AutoresetMode | str = AutoresetMode.NEXT_STEP,
    flatten: bool = False,
    depth: int | None = None,
    keys: Sequence[str] | None = None,
    labels_at_reset: LabelsAtReset | None = None,
    reward_weight: float = 1.0,
    ignore_end: bool = False,
    success: str | Sequence[str] = (),
    remember: Remember | None = None,
) -> VectorEnv[Any, Any, Any]:
    """Make a vector environment of products.

    Args:
        env_fns: Functions that each make one environment.
        machine: As for `wrap`.
        labels: As for `wrap`; `info["env"]` is the sub-environment.
        k: As for `wrap`.
        mode: "sync" runs the environments in this process, "async" each in a separate process.
        autoreset: The step in which Gymnasium resets an environment whose episode has ended.
        flatten: As for `wrap`.
        depth: As for `wrap`.
        keys: As for `wrap`.
        labels_at_reset: As for `wrap`.
        reward_weight: As for `wrap`.
        ignore_end: As for `wrap`.
        success: As for `wrap`.
        remember: As for `wrap`.

    Returns:
        Gymnasium's vector environment.

    >>> make = partial(gymnasium.make, "FrozenLake-v1")
    >>> envs = wrap_vector([make, make], "letter", lambda *step: {"A"} if step[2] == 4 else set())
    >>> observations, infos = envs.reset(seed=0)
    >>> observations["stack"].tolist(), infos["machine"]["state"].tolist()
    ([[1], [1]], ['u0', 'u0'])
    """
    functions = list(env_fns) if isinstance(env_fns, Iterable) else []
    if not functions or not all(callable(function) for function in functions):
        fault = f"{env_fns!r} is not a list of functions that make environments"
        fix = 'wrap_vector([lambda: gymnasium.make("FrozenLake-v1")] * 4, machine, labels)'
        raise CannotWrap(fault, fix=fix)
    if mode not in ("sync", "async"):
        raise BadSetting(f"`mode` is {mode!r}", fix='use "sync" or "async"')
    # Report a faulty machine before a process is started.
    product = partial(
        wrap,
        machine=pushdown_machine(machine),
        labels=labels,
        k=k,
        flatten=flatten,
        depth=depth,
        keys=keys,
        labels_at_reset=labels_at_reset,
        reward_weight=reward_weight,
        ignore_end=ignore_end,
        success=success,
        remember=remember,
    )
    makers = [lambda make=make: product(make()) for make in functions]
    reset_mode = AutoresetMode(autoreset)
    if mode == "async":
        return AsyncVectorEnv(makers, autoreset_mode=reset_mode)
    vector_env = SyncVectorEnv(makers, autoreset_mode=reset_mode)
    if len({id(env.unwrapped) for env in vector_env.envs}) < len(vector_env.envs):
        fault = "two of the functions return the same environment, so their episodes would mix"
        raise CannotWrap(fault, fix="create a new environment in each function")
    return vector_env


class Shaped(gymnasium.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """Add shaping rewards, γΦ(after) - Φ(before), to an environment of `pdrm.wrap`.

    Put it outside of `Monitor` and `RecordEpisodeStatistics`, so that they see the true return:
    `Shaped(Monitor(pdrm.wrap(…)), Shaping(discount=0.99))`. The shaping of a step is in
    `info["machine"]["shaping"]`.

    Args:
        env: An environment of `pdrm.wrap`, with or without wrappers around it.
        shaping: The potential, with the discount of the agent that learns here.

    >>> from pdrm.product.shaping import Shaping
    >>> lake = gymnasium.make("FrozenLake-v1", is_slippery=False)
    >>> env = Shaped(wrap(lake, "letter", lambda *step: {"A"}), Shaping(discount=0.9))
    >>> _ = env.reset(seed=0)
    >>> _, reward, _, _, info = env.step(2)
    >>> reward == info["machine"]["reward"] + info["machine"]["shaping"]
    True
    """

    def __init__(self, env: AnyEnv, shaping: Shaping) -> None:
        RecordConstructorArgs.__init__(self, shaping=shaping)
        gymnasium.Wrapper.__init__(self, env)
        try:
            self._potential = shaping.of(env.get_wrapper_attr("machine"))
        except AttributeError:
            fault = f"{env} is not an environment of pdrm.wrap, so there is no machine to shape by"
            fix = "Shaped(pdrm.wrap(env, machine, labels), shaping)"
            raise CannotWrap(fault, fix=fix) from None

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Take one action, and add the shaping to its reward."""
        before: Configuration = self.env.get_wrapper_attr("configuration")
        observation, reward, terminated, truncated, info = self.env.step(action)
        after: Configuration = self.env.get_wrapper_attr("configuration")
        shaping = self._potential.reward(
            (before.state, before.stack), (after.state, after.stack), over=terminated
        )
        info["machine"]["shaping"] = shaping
        return observation, float(reward) + shaping, terminated, truncated, info


# --- Checks


def _copy(observation: Any) -> Any:
    """Copy an observation, because an environment can change what it has returned."""
    return observation.copy() if isinstance(observation, np.ndarray) else deepcopy(observation)


def _read_reward(reward: Any) -> float:
    """Return the environment's reward as a finite number."""
    number = float(reward)
    if not isfinite(number):
        fault = f"the environment, not the machine, gave the reward {number}"
        fix = "make its rewards finite, or replace them in a wrapper (gymnasium.wrappers.TransformReward)"
        raise BadEnvironmentReward(fault, fix=fix)
    return number


def _check_bare(env: object) -> None:
    """Raise unless `env` is an environment without a machine or a wrapper that records returns."""
    if not isinstance(env, gymnasium.Env):
        fault = f"{str(env)[:200]} is not a gymnasium.Env"
        fix = (
            "wrap one environment: gymnasium.make(…); "
            "pdrm.wrap_vector takes functions that make several"
        )
        raise CannotWrap(fault, fix=fix)
    inner: Any = env
    while isinstance(inner, gymnasium.Wrapper):
        if isinstance(inner, MachineEnv):
            fault = f"{env} already has a machine, `{inner.machine.name}`"
            fix = (
                "wrap it once; pdrm.Task takes a function that makes the environment alone, and "
                "the machine; for two machines, pdrm.combine([first, second])"
            )
            raise CannotWrap(fault, fix=fix)
        if _records_returns(inner):
            name = type(inner).__name__
            fault = f"{name} inside pdrm.wrap would record only the environment's reward"
            raise CannotWrap(fault, fix=f"put it outside: {name}(pdrm.wrap(env, machine, labels))")
        inner = inner.env


def _records_returns(env: object) -> bool:
    """Return True if a wrapper writes the return of an episode to `info["episode"]`."""
    if isinstance(env, RecordEpisodeStatistics):
        return env._stats_key == "episode"
    monitors = sys.modules.get("stable_baselines3.common.monitor")
    return monitors is not None and isinstance(env, monitors.Monitor)


def _warn_of_images(space: gymnasium.Space[Any]) -> None:
    """Warn of long vectors, and of images too small for Stable-Baselines3 if it is installed."""
    if isinstance(space, gymnasium.spaces.Dict) and find_spec("stable_baselines3") is not None:
        for name, part in space.spaces.items():
            shape = part.shape or ()
            image = len(shape) == 3 and part.dtype == "uint8"
            if image and sorted(shape)[1] < MIN_PIXELS:  # the shortest side is the colours
                message = (
                    f"Stable-Baselines3's MultiInputPolicy takes `{name}`, of shape {shape}, for "
                    f"an image; its convolutions need {MIN_PIXELS} by {MIN_PIXELS} pixels: use "
                    "flatten=True, or keys=[…] without it"
                )
                warn_caller(TaskWarning(Finding("W0611", message)))
    if (
        isinstance(space, gymnasium.spaces.Box)
        and len(space.shape) == 1
        and space.shape[0] > MAX_VECTOR_LENGTH
    ):
        message = (
            f"an observation is a vector of {space.shape[0]:,} numbers; leave `flatten` out, or "
            "make images smaller first"
        )
        warn_caller(TaskWarning(Finding("W0616", message)))
