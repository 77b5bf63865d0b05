"""The product of any Gymnasium environment and a machine (Definition 2), as a Gymnasium environment: `pdrm.wrap`.

The environment's own reward, `terminated`, `truncated`, `info` and seed are kept; the machine's reward is added, its final
states terminate, and `info["machine"]` says what it did. `reward_weight` weighs the environment's reward or switches it off,
`ignore_end` lets episodes go on where the environment itself would end them, and `shaping` adds what `potentials` says. Episodes
begin with the machine's silent moves and the label at reset, if there is one; what they pay is in the `info` of `reset`, because
Gymnasium's `reset` returns no reward.

Many side by side (`wrap_vector`): each machine sits inside its sub-environment, so Gymnasium resets the two together, in every
autoreset mode. A machine put around a finished vector environment could not: its final state would have to reset one
sub-environment from outside.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from inspect import signature
from math import isfinite
from typing import TYPE_CHECKING, Any, Literal, NoReturn

import gymnasium
import numpy as np
from gymnasium.utils import RecordConstructorArgs
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv, VectorEnv
from gymnasium.wrappers import RecordEpisodeStatistics

from pdrm.domains.gymnasium_table import check_flag, check_weight, name_function, takes
from pdrm.domains.pictures import list_stack
from pdrm.errors import (
    BadEnvironment,
    BadEnvironmentReward,
    BadSetting,
    CannotWrap,
    EpisodeOver,
    FinishedAtReset,
    LongVector,
    NotHere,
    PdrmError,
    SmallImage,
    StackTooHigh,
    check_words,
    warn_caller,
)
from pdrm.machines.configurations import Configuration
from pdrm.machines.guards import Label
from pdrm.machines.transitions import Stack
from pdrm.product.labelling import Labelling, Labels, LabelsAtReset, read_label, snapshot
from pdrm.product.observation import Observing, Window, check_observation, is_image
from pdrm.product.quick_step import QuickStep
from pdrm.product.views import view_of
from pdrm.task import MachineLike, find_machine, find_success, pushdown_machine

if TYPE_CHECKING:
    from pdrm.product.summaries.potentials import Shaping

EnvFunction = Callable[[], gymnasium.Env[Any, Any]]
SEES_TOP = Observing()
NOT_BEGUN, OVER = "no episode has begun", "the episode is over"
BROKEN_OFF = (
    f"{OVER}: an error broke it off, after the environment had moved and before the machine had"
)
"""Why an environment cannot be stepped."""


class MachineEnv(gymnasium.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """An environment with a machine that watches it, as `pdrm.wrap` makes it, which explains `env`, `machine`, `labels`,
    `labels_at_reset`, `reward_weight`, `ignore_end`, `shaping`, `success` and `remember`; `observing` is the view, the form, the depth and the keys.

    >>> bare = gymnasium.make("FrozenLake-v1", is_slippery=False)
    >>> labels = lambda before, action, after, info: {"A"} if after == 4 else {"B"} if after == 5 else set()
    >>> env = MachineEnv(bare, "letter", labels)
    >>> env.reset(seed=0)[0]
    {'observation': 0, 'machine': 0, 'stack': array([1])}
    >>> observation, reward, terminated, truncated, info = env.step(1)
    >>> reward, str(env.configuration), info["machine"]["label"]
    (-0.01, 'u0, A #', frozenset({'A'}))
    """

    def __init__(
        self,
        env: gymnasium.Env[Any, Any],
        machine: MachineLike,
        labels: Labels,
        observing: Observing = SEES_TOP,
        labels_at_reset: LabelsAtReset | None = None,
        reward_weight: float = 1.0,
        ignore_end: bool = False,
        shaping: Shaping | None = None,
        success: str | Sequence[str] = (),
        remember: Callable[[gymnasium.Env[Any, Any]], Any] | None = None,
    ) -> None:
        _check_order(env, machine, labels)
        _check_bare(env)
        _check_interface(env)
        # Recorded for `env.spec`, from which Gymnasium makes an environment anew. Not copied: `labels` may be a method of
        # something that cannot be.
        RecordConstructorArgs.__init__(
            self,
            _disable_deepcopy=True,
            machine=machine,
            labels=labels,
            observing=observing,
            labels_at_reset=labels_at_reset,
            reward_weight=reward_weight,
            ignore_end=ignore_end,
            shaping=shaping,
            success=success,
            remember=remember,
        )
        gymnasium.Wrapper.__init__(self, env)
        given = find_machine(machine)
        self.machine = pushdown_machine(given)
        """The machine that watches, as a pushdown one."""
        self.success = frozenset(find_success(given, success))
        """The final states that mean success, which `info["is_success"]` tells."""
        self.observing = observing
        """How the product is observed: the view of the stack, and the form."""
        self.reward_weight = check_weight(reward_weight)
        """What the environment's own reward is multiplied by."""
        self.ignore_end = check_flag("ignore_end", ignore_end)
        """Whether episodes go on where the environment itself says `terminated`."""
        self._labelling = Labelling(labels, labels_at_reset)
        self._compares = labels != "info"
        self._remember = None if remember is None else _check_remember(remember, self._compares)
        self._quick = QuickStep(self.machine)
        self._potential = None if shaping is None else _check_shaping(shaping).of(self.machine)
        self._events, self._final = frozenset(self.machine.events), frozenset(self.machine.final)
        self._form = observing.form(env.observation_space, self.machine)
        self.observation_space = self._form.space
        self._shows = Window(self.machine, observing.view, observing.depth).describe(
            self._form.space
        )
        self._observation: Any = None
        self._state, self._stack, _ = self._quick.begin()
        self._taken, self._over, self._checked = 0, NOT_BEGUN, False
        # One environment can be wrapped twice, for one after the other; kept with it is whose episode it plays.
        self._turn: list[object] = vars(env.unwrapped).setdefault("_pdrm_turn", [None])
        self._mine = object()
        self._check_not_final()

    @property
    def configuration(self) -> Configuration:
        """The machine's configuration now: `env.configuration.state`, and `env.configuration.stack`, top first."""
        return Configuration(self._state, self._stack)

    if not TYPE_CHECKING:
        # By habit; as properties, because a `__getattr__` would make every step slower.
        machine_state = state = property(
            lambda _: _refuse_name("state"), doc="It is `env.configuration.state`."
        )
        stack = property(lambda _: _refuse_name("stack"), doc="It is `env.configuration.stack`.")

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Reset both; the machine takes its first silent moves and reads the label at reset, if there is one. seed, options: of
        the environment."""
        self._over, self._taken = NOT_BEGUN, 0
        self._turn[0] = self._mine
        observation, info = self._reset_environment(seed, options)
        self._check_info(info)
        if not self._checked:
            if fault := check_observation(self.env.observation_space, observation):
                raise BadEnvironment(f"{fault} (at reset of {self.env})", fix=SPACE_FIX)
            self._checked = True
        self._state, self._stack, paid = self._quick.begin()
        label, read = None, False
        try:
            events = self._labelling.reset(observation, {**info, "env": self.env})
            read = True
            if events is not None:
                label = read_label(events, self._events, self._labelling.source_at_reset)
                self._state, self._stack, more = self._quick.step(self._state, self._stack, label)
                paid += more
            self._check_not_final()
            seen = self._form.put(observation, self._state, self._stack)
        except PdrmError as error:
            raise self._locate(error, self._labelling.source_at_reset) from None
        except Exception as error:
            if not read:
                self._note(error, self._labelling.source_at_reset)
            raise
        self._observation, self._over = snapshot(observation) if self._compares else None, ""
        record = _record(paid, 0.0, 0.0, False, self._state, self._stack, label, self._shows)
        return seen, {**info, "machine": record}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """One action: the environment moves, the machine reads the label of the move, and both pay."""
        if self._over or self._turn[0] is not self._mine:
            raise self._refuse_to_step()
        before_step = None if self._remember is None else snapshot(self._remember(self.env))
        moved: Any = self.env.step(action)
        self._taken += 1
        self._over = BROKEN_OFF  # until the machine has followed: after an error between the two they are out of step
        if (type(moved) is not tuple and not isinstance(moved, tuple | list)) or len(
            moved
        ) != 5:  # the first is quick
            raise _refuse_step(self.env, moved)
        observation, reward, terminated, truncated, info = moved
        self._check_info(info)
        read = False
        try:
            told = {**info, "env": self.env} if self._compares else info
            if self._remember is not None:
                told["before"] = before_step
            events = self._labelling.step(self._observation, action, observation, told)
            read = True
            label = read_label(events, self._events, self._labelling.source)
            before = self._state, self._stack
            state, stack, paid = self._quick.step(self._state, self._stack, label)
            self._state, self._stack = state, stack
            own = _read_reward(self.env, reward)
            counted = self._weigh(own)
            seen = self._form.put(observation, state, stack)
        except PdrmError as error:
            raise self._locate(error, self._labelling.source) from None
        except Exception as error:
            if not read:
                self._note(error, self._labelling.source)
            raise
        self._observation = snapshot(observation) if self._compares else None
        terminated = bool(terminated) and not self.ignore_end
        record = _record(paid, counted, own, terminated, state, stack, label, self._shows)
        terminated = terminated or state in self._final
        self._over = OVER if terminated else ""
        total = counted + paid
        if self._potential is not None:
            record["shaping"] = self._potential.reward(before, (state, stack), over=terminated)
            total += record["shaping"]
        if not self.success:
            return seen, total, terminated, truncated, {**info, "machine": record}
        if "is_success" in info:
            record["own_success"] = info["is_success"]
        told = {**info, "machine": record, "is_success": state in self.success}
        return seen, total, terminated, truncated, told

    def render(self) -> Any:
        """What the environment draws; as text ("ansi"), the machine's state and stack, top first, stand under it."""
        shown = self.env.render()
        if not isinstance(shown, str):
            return shown
        return "\n".join([shown.rstrip("\n"), f"state  {self._state}", *list_stack(self._stack)])

    def key(self, observation: Any) -> tuple[Any, ...]:
        """An observation as a hashable key, for tables."""
        if not isinstance(observation, Mapping):
            return tuple(np.asarray(observation).ravel().tolist())
        return tuple(tuple(np.asarray(part).ravel().tolist()) for part in observation.values())

    def _refuse_to_step(self) -> EpisodeOver:
        """The error that there is no episode to step in, and why."""
        if not self._over:
            fault = f"another machine on the same environment, {self.env.unwrapped}, has begun an episode there since"
            return EpisodeOver(
                fault,
                fix="make an environment for each: pdrm.wrap(make(), …), pdrm.wrap(make(), …)",
            )
        fault = self._over
        if fault == OVER:
            final = self._state in self._final
            ended = (
                f"the machine reached its final state `{self._state}`"
                if final
                else "the environment terminated"
            )
            fault += f": {ended}, at step {self._taken}"
        return EpisodeOver(fault, fix="call `reset` before `step`")

    def _weigh(self, reward: float) -> float:
        """What of the environment's own reward counts."""
        if not isfinite(reward):
            raise _refuse_reward(self.env, reward)
        if self.reward_weight == 1:
            return reward
        return self.reward_weight * reward if self.reward_weight else 0.0

    def _reset_environment(
        self, seed: int | None, options: dict[str, Any] | None
    ) -> tuple[Any, dict[str, Any]]:
        """What the environment's own `reset` returned, if it is what Gymnasium's returns."""
        try:
            began: Any = self.env.reset(seed=seed, options=options)
        except TypeError:
            if (one := _find_old_reset(self.env)) is None:
                raise
            fault = f"`reset` of {one} does not take `seed` and `options`, which Gymnasium's takes"
            raise BadEnvironment(fault, fix=f"{RESET_FIX}; {OLD_GYM}") from None
        if (
            not isinstance(began, tuple | list)
            or len(began) != 2
            or not isinstance(began[1], Mapping)
        ):
            shown = (
                "None"
                if began is None
                else "only an observation"
                if not isinstance(began, tuple)
                else "something else"
            )
            fault = (
                f"`reset` of {self.env} returned {shown}; Gymnasium's returns (observation, info)"
            )
            raise BadEnvironment(fault, fix=f"{RESET_FIX}; {OLD_GYM}")
        observation, info = began
        return observation, info

    def _check_info(self, info: object) -> None:
        if type(info) is not dict and not isinstance(info, Mapping):  # the first is quick
            fault = f"the info of {self.env} is {str(info)[:60]!r}; Gymnasium's is a dictionary"
            raise BadEnvironment(fault, fix="return {} where there is nothing to tell")
        if "machine" in info:
            raise self._refuse_entry("machine")
        if self._compares and "env" in info:
            raise self._refuse_entry("env")
        if self._remember is not None and "before" in info:
            raise self._refuse_entry("before")

    def _refuse_entry(self, name: str) -> CannotWrap:
        fault = (
            f"the info of {self.env} has an entry `{name}` already, where pdrm.wrap puts its own"
        )
        return CannotWrap(
            fault, fix=f"rename it in a wrapper around the environment, such as info['own_{name}']"
        )

    def _check_not_final(self) -> None:
        if self._state in self._final:
            fault = f"machine `{self.machine.name}` is in its final state `{self._state}` before the first action"
            raise FinishedAtReset(fault, fix="let the first label, not the start, lead there")

    def _locate(self, error: PdrmError, source: str) -> PdrmError:
        """The error, with the labelling function, where it has to do with it, the environment and the step that it came from."""
        labelled = isinstance(error, BadEnvironmentReward | StackTooHigh) or source in error.message
        by = "" if labelled else f"labelled by {source}, "
        return type(error)(f"{error.message} ({by}at {self._when()})", fix=error.fix)

    def _when(self) -> str:
        return f"{f'step {self._taken} of an episode' if self._taken else 'reset'} of {self.env}"

    def _note(self, error: Exception, source: str) -> None:
        """Say where an error of somebody else's function came from; it stays as it is, with its traceback."""
        error.add_note(f"pdrm: raised in {source}, at {self._when()}")
        if isinstance(error, KeyError) and error.args == ("before",) and self._remember is None:
            error.add_note(
                'pdrm: `info["before"]` is what `remember` returned: give remember=lambda env: …'
            )


def wrap(
    env: gymnasium.Env[Any, Any],
    machine: MachineLike,
    labels: Labels,
    k: int | str = 1,
    *,
    flatten: bool = False,
    discrete: bool = False,
    depth: int | None = None,
    keys: Sequence[str] | None = None,
    float_images: bool = False,
    labels_at_reset: LabelsAtReset | None = None,
    reward_weight: float = 1.0,
    ignore_end: bool = False,
    shaping: Shaping | None = None,
    success: str | Sequence[str] = (),
    remember: Callable[[gymnasium.Env[Any, Any]], Any] | None = None,
) -> MachineEnv:
    """Put a machine on any Gymnasium environment.

    env: the environment. machine: a machine, the path of its file, its name in the catalogue, or its text; reward machines, and
    counting automata with one counter, are translated. labels: `labels(observation, action, next_observation, info)` returns the
    set of events true after a step; its `info` is the environment's with one entry more, the environment itself (`info["env"]`).
    The word "info" in place of a function reads `info["label"]`. labels_at_reset: `labels_at_reset(observation, info)`, the label
    read before the first action, or None for none; left out, nothing is read (with "info": `info["label"]`, where there is one).

    k: how many symbols of the stack are seen, or "full", which needs a `depth`: a higher stack is an error then. The observation is a
    dictionary; with `flatten` one vector of float32; with `discrete` one number, if the environment's is one. keys: which entries
    of an environment's Dict observation are seen; None: all but texts. float_images: whether images are shown as float32, which
    Stable-Baselines3 reads as plain numbers, not with its convolutions: for MiniGrid's codes of 7 by 7.

    reward_weight: what the environment's own reward is multiplied by; 0: the machine alone pays; what the environment paid is in
    `info["machine"]["own_reward"]` in any case. ignore_end: whether an episode
    goes on where the environment says `terminated`, for environments that can be stepped further; `truncated` always counts.

    shaping: `pdrm.product.Shaping(discount=0.99)`, with the discount of the agent that will learn here, adds γΦ(after) - Φ(before) to
    every reward, where Φ is what the machine's configuration is worth by itself; how much is in `info["machine"]["shaping"]`.

    success: the final states that mean the task was achieved; none: those that some rule enters with a reward above 0, or all, if
    there is no such rule; `info["is_success"]` says whether the machine is in one, and `info["machine"]["own_success"]` what the
    environment itself said there.
    remember: `remember(env)` is called before every step; what it returned is `info["before"]` for `labels`.

    >>> import gymnasium
    >>> def events(observation, action, next_observation, info):
    ...     return {"A"} if next_observation == 1 else set()
    >>> env = wrap(gymnasium.make("FrozenLake-v1", is_slippery=False), "letter", events)
    >>> env.reset(seed=0)[0]
    {'observation': 0, 'machine': 0, 'stack': array([1])}
    >>> env.step(2)[:2]
    ({'observation': 1, 'machine': 0, 'stack': array([2])}, -0.01)
    """
    chosen = None if keys is None else (keys,) if isinstance(keys, str) else tuple(keys)
    observing = Observing(view_of(k), depth, flatten, discrete, chosen, float_images)
    product = MachineEnv(
        env,
        machine,
        labels,
        observing,
        labels_at_reset,
        reward_weight,
        ignore_end,
        shaping,
        success,
        remember,
    )
    _warn_of_size(product.observation_space)
    return product


LEAST_PIXELS = 36
"""In each direction, for the convolutions of Stable-Baselines3's networks."""
LONG = 10_000
"""Numbers of a vector that are most often an image."""


def _warn_of_size(space: gymnasium.Space[Any]) -> None:
    """Warn of images that are too small for Stable-Baselines3's networks, where it is installed, and of those that became long vectors."""
    if isinstance(space, gymnasium.spaces.Dict):
        for name, part in space.items():
            shape = part.shape or ()
            # The shortest side is the colours.
            if (
                is_image(part)
                and sorted(shape)[1] < LEAST_PIXELS
                and find_spec("stable_baselines3") is not None
            ):
                warn_caller(SmallImage(name, shape))
    elif isinstance(space, gymnasium.spaces.Box) and space.shape[0] > LONG:
        warn_caller(LongVector(space.shape[0]))


def _check_shaping(shaping: object) -> Shaping:
    from pdrm.product.summaries.potentials import Shaping

    if not isinstance(shaping, Shaping):
        fix = "pdrm.product.Shaping(discount=0.99), with the discount of the agent that learns here"
        raise BadSetting(f"`shaping` is {str(shaping)[:60]!r}, but must be a Shaping", fix=fix)
    return shaping


class MachineInfo(dict[str, Any]):
    """The entry `machine` of `info`. Its `shows` says which machine is observed, and how: replay buffers check it."""

    __slots__ = ("shows",)
    shows: str


def _record(
    reward: float,
    environment_reward: float,
    own_reward: float,
    ended: bool,
    state: str,
    stack: Stack,
    label: Label | None,
    shows: str,
) -> MachineInfo:
    """The entry `machine` of `info`. `environment_reward` and `environment_terminated` are the environment's own share, as it
    counts: weighted, and never ended where its end is ignored; `own_reward` is what the environment itself paid, before the weight."""
    record = MachineInfo(
        {
            "reward": reward,
            "environment_reward": environment_reward,
            "own_reward": own_reward,
            "environment_terminated": ended,
            "state": state,
            "stack": stack,
            "label": label,
        }
    )
    record.shows = shows
    return record


def _refuse_name(name: str) -> NoReturn:
    raise NotHere(f"the machine's {name} is not here", fix=f"env.configuration.{name}")


def _check_order(env: object, machine: object, labels: object) -> None:
    """Raise where two of the first three arguments stand in each other's place."""
    right = "wrap(env, machine, labels)"
    if isinstance(machine, gymnasium.Env) and not isinstance(env, gymnasium.Env):
        raise CannotWrap(
            "the environment was given as the machine", fix=f"put the environment first: {right}"
        )
    if callable(machine) and not isinstance(machine, type | gymnasium.Env) and not callable(labels):
        raise CannotWrap(
            f"{name_function(machine)} was given as the machine",
            fix=f"put the labels last: {right}",
        )


def _check_bare(env: object) -> None:
    """Raise unless this is an environment that no machine watches yet."""
    if not isinstance(env, gymnasium.Env):
        raise CannotWrap(f"{str(env)[:200]} is not a gymnasium.Env", fix=_suggest(env))
    inner: Any = env
    while isinstance(inner, gymnasium.Wrapper):
        if isinstance(inner, MachineEnv):
            fix = f"wrap the environment inside, {inner.env}, once, with both machines in one: pdrm.combine([one, other])"
            raise CannotWrap(f"machine `{inner.machine.name}` watches {env} already", fix=fix)
        if _counts_episodes(inner):
            name = type(inner).__name__
            fault = f"{name} inside pdrm.wrap would count the environment's own reward alone, and miss episodes that the machine ends"
            fix = f"put it outside: {name}(pdrm.wrap(env, machine, labels)); info['machine']['own_reward'] has the environment's own"
            raise CannotWrap(fault, fix=fix)
        inner = inner.env


def _counts_episodes(env: object) -> bool:
    """Whether a wrapper tells `info["episode"]`, the return of an episode, from which others read what an agent gained."""
    if isinstance(env, RecordEpisodeStatistics):
        return env._stats_key == "episode"
    monitors = sys.modules.get("stable_baselines3.common.monitor")
    return monitors is not None and isinstance(env, monitors.Monitor)


SPACE_FIX = "let the environment observe what its space says, or set `observation_space` to what it observes"
STEP_GIVES = ("observation", "reward", "terminated", "truncated", "info")
RESET_FIX = "def reset(self, *, seed=None, options=None): super().reset(seed=seed); …; return observation, {}"
OLD_GYM = "for an environment of the old Gym: shimmy.GymV21CompatibilityV0(env=env)"
"""What to do about environments that were written before Gymnasium."""


def _check_interface(env: gymnasium.Env[Any, Any]) -> None:
    """Raise unless the environment has spaces, and a `reset` and a `step` of its own."""
    bare = env.unwrapped
    for name in ("observation_space", "action_space"):
        if not isinstance(getattr(env, name, None), gymnasium.Space):
            fault = f"{env} has no `{name}` that is a space of Gymnasium"
            fix = f"set it in `__init__`, such as self.{name} = gymnasium.spaces.Discrete(4)"
            raise BadEnvironment(fault, fix=fix)
    for name, fix in (
        ("reset", RESET_FIX),
        ("step", f"def step(self, action): …; return {', '.join(STEP_GIVES)}"),
    ):
        if getattr(getattr(bare, name, None), "__func__", None) is getattr(gymnasium.Env, name):
            raise BadEnvironment(f"{bare} has no `{name}` of its own", fix=fix)


def _find_old_reset(env: gymnasium.Env[Any, Any]) -> gymnasium.Env[Any, Any] | None:
    """The wrapper or environment whose `reset` cannot be called as Gymnasium's; None: there is none."""
    one: Any = env
    while True:
        try:
            signature(one.reset).bind(seed=None, options=None)
        except TypeError:
            found: gymnasium.Env[Any, Any] = one
            return found
        if not isinstance(one, gymnasium.Wrapper):
            return None
        one = one.env


def _refuse_step(env: gymnasium.Env[Any, Any], moved: object) -> BadEnvironment:
    """The error that a step did not return what Gymnasium's does."""
    values = len(moved) if isinstance(moved, tuple | list) else 0
    shown = f"{values} values" if values else str(moved)[:60]
    right = f"({', '.join(STEP_GIVES)})"
    fix = f"return {right}"
    if values == 4:
        fix += f"; `done` of the old Gym is `terminated`, or `truncated` where a limit cut the episode off; {OLD_GYM}"
    return BadEnvironment(f"`step` of {env} returned {shown}; Gymnasium's returns {right}", fix=fix)


def _read_reward(env: gymnasium.Env[Any, Any], reward: Any) -> float:
    try:
        return float(reward)
    except (TypeError, ValueError):
        raise _refuse_reward(env, reward) from None


def _refuse_reward(env: gymnasium.Env[Any, Any], reward: object) -> BadEnvironmentReward:
    names = [type(env.unwrapped).__name__]
    while isinstance(env, gymnasium.Wrapper):
        if isinstance(env, gymnasium.RewardWrapper | gymnasium.wrappers.NormalizeReward):
            names.append(type(env).__name__)
        env = env.env
    fault = (
        f"the environment, not the machine, paid {str(reward)[:60]}, which is not a finite number"
    )
    return BadEnvironmentReward(
        fault, fix=f"look at the reward that `step` of {' or '.join(names)} returns"
    )


def _suggest(env: object) -> str:
    """What to wrap in place of something that is no environment."""
    if isinstance(env, str):
        return f"make it first: gymnasium.make({env!r})"
    if isinstance(env, gymnasium.vector.VectorEnv):
        return "use pdrm.wrap_vector with the functions that make the sub-environments"
    if hasattr(env, "step_async") and hasattr(env, "num_envs"):
        return "wrap before vectorising: make_vec_env(lambda: pdrm.wrap(make(), machine, labels, flatten=True), n_envs=4)"
    if isinstance(env, type) and issubclass(env, gymnasium.Env):
        return f"make one: {env.__name__}()"
    if callable(env) and not isinstance(env, type):
        return f"call it, if it makes one: {getattr(env, '__name__', 'make')}()"
    old = any(kind.__module__.partition(".")[0] == "gym" for kind in type(env).__mro__)
    return (
        f"{OLD_GYM}, or GymV26CompatibilityV0 from Gym 0.26 on"
        if old
        else "wrap an environment that follows Gymnasium's interface"
    )


def _check_remember(
    remember: Callable[[gymnasium.Env[Any, Any]], Any], compares: bool
) -> Callable[[gymnasium.Env[Any, Any]], Any]:
    if not compares:
        fault = 'labels="info" reads the label from the environment, and nothing would read what is remembered'
        raise BadSetting(fault, fix="leave `remember` out, or give a labelling function")
    if not callable(remember) or not takes(remember, 1):
        fix = "remember=lambda env: env.unwrapped.agent_pos, or what your environment has"
        raise BadSetting(
            f"`remember` is {remember!r}, but must be a function of the environment", fix=fix
        )
    return remember


def wrap_vector(
    env_fns: Iterable[EnvFunction],
    machine: MachineLike,
    labels: Labels,
    *,
    mode: Literal["sync", "async"] = "sync",
    autoreset: AutoresetMode | str = AutoresetMode.NEXT_STEP,
    **settings: Any,
) -> VectorEnv[Any, Any, Any]:
    """A vector environment of products: in this process ("sync"), or each in a process of its own ("async").

    env_fns: functions that each make one environment. machine, labels: as for `wrap`; `info["env"]` is the sub-environment. mode:
    where they run. autoreset: when ended episodes begin anew, as Gymnasium has it. settings: `k`, `flatten`, `discrete`,
    `depth`, `keys`, `float_images`, `labels_at_reset`, `reward_weight`, `ignore_end`, `shaping`, `success` and `remember`, as for `wrap`.

    >>> make = partial(gymnasium.make, "FrozenLake-v1")
    >>> envs = wrap_vector([make, make], "letter", lambda *step: {"A"} if step[2] == 4 else set())
    >>> observations, infos = envs.reset(seed=0)
    >>> observations["stack"].tolist(), infos["machine"]["state"].tolist()
    ([[1], [1]], ['u0', 'u0'])
    """
    functions = list(env_fns) if isinstance(env_fns, Iterable) else []
    if not functions or not all(callable(function) for function in functions):
        fix = 'wrap before vectorising: wrap_vector([partial(gymnasium.make, "FrozenLake-v1")] * 4, machine, labels)'
        raise CannotWrap(f"{env_fns!r} is not a list of functions that make environments", fix=fix)
    known = [known.value for known in AutoresetMode]
    if not isinstance(autoreset, AutoresetMode) and autoreset not in known:
        raise BadSetting(f"`autoreset` is {autoreset!r}", fix=f"use one of {', '.join(known)}")
    check_words("wrap_vector", settings, list(signature(wrap).parameters)[3:])
    # Loaded once and here, so that a faulty machine is reported before any process is started.
    shared = pushdown_machine(machine)
    makers = [partial(_make, function, shared, labels, settings) for function in functions]
    if mode not in ("sync", "async"):
        raise BadSetting(f"`mode` is {mode!r}", fix='use "sync" or "async"')
    if mode == "async":
        return AsyncVectorEnv(makers, autoreset_mode=autoreset)
    made = SyncVectorEnv(makers, autoreset_mode=autoreset)
    if len({id(env.unwrapped) for env in made.envs}) < len(made.envs):
        fix = "let each make its own: wrap_vector([lambda: gymnasium.make(…)] * 4, machine, labels)"
        raise CannotWrap(
            "two of the functions return the same environment, and episodes would mix", fix=fix
        )
    return made


def _make(
    function: EnvFunction, machine: MachineLike, labels: Labels, settings: dict[str, Any]
) -> MachineEnv:
    return wrap(function(), machine, labels, **settings)
