"""Many products side by side: a machine on each sub-environment, then Gymnasium's own vector environments.

Each machine sits inside its sub-environment, so Gymnasium resets the two together, in every autoreset mode. A machine put
around a finished vector environment could not: its final state would have to reset one sub-environment from outside.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Literal

import gymnasium
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv, VectorEnv

from pdrm.errors import BadSetting, CannotWrap
from pdrm.product.any_machine import MachineLike, pushdown_machine
from pdrm.product.gym_env import MachineEnv, wrap
from pdrm.product.labelling import Labels

EnvFunction = Callable[[], gymnasium.Env[Any, Any]]


def wrap_vector(
    env_fns: Iterable[EnvFunction],
    machine: MachineLike,
    labels: Labels,
    *,
    mode: Literal["sync", "async"] = "sync",
    autoreset: AutoresetMode | str = AutoresetMode.NEXT_STEP,
    **settings: Any,  # noqa: ANN401 - handed on to `wrap`
) -> VectorEnv[Any, Any, Any]:
    """A vector environment of products: in this process ("sync"), or each in a process of its own ("async").

    env_fns: functions that each make one environment. settings: `view`, `flatten`, `discrete`, `depth` and
    `labels_at_reset`, as for `wrap`.

    >>> make = partial(gymnasium.make, "FrozenLake-v1")
    >>> envs = wrap_vector([make, make], "letter", lambda *step: {"A"} if step[2] == 4 else set())
    >>> observations, infos = envs.reset(seed=0)
    >>> observations["stack"].tolist(), infos["machine"]["state"].tolist()
    ([[1], [1]], ['u0', 'u0'])
    """
    functions = list(env_fns) if isinstance(env_fns, Iterable) else []
    if not functions or not all(callable(function) for function in functions):
        raise CannotWrap(
            f"{env_fns!r} is no list of functions that make environments",
            fix='wrap before vectorising: wrap_vector([partial(gymnasium.make, "FrozenLake-v1")] * 4, machine, labels)',
        )
    known = [known.value for known in AutoresetMode]
    if not isinstance(autoreset, AutoresetMode) and autoreset not in known:
        raise BadSetting(f"`autoreset` is {autoreset!r}", fix=f"use one of {', '.join(known)}")
    # Loaded once and here, so that a faulty machine is reported before any process is started.
    shared = pushdown_machine(machine)
    makers = [partial(_made, function, shared, labels, settings) for function in functions]
    match mode:
        case "sync":
            return SyncVectorEnv(makers, autoreset_mode=autoreset)
        case "async":
            return AsyncVectorEnv(makers, autoreset_mode=autoreset)
    raise BadSetting(f"`mode` is {mode!r}", fix='use "sync" or "async"')


def _made(function: EnvFunction, machine: MachineLike, labels: Labels, settings: dict[str, Any]) -> MachineEnv:
    return wrap(function(), machine, labels, **settings)
