"""What `pdrm.wrap` adds to a step of someone else's environment: FrozenLake bare and wrapped, in turns."""

from __future__ import annotations

from functools import partial
from time import process_time as clock
from typing import Any

import gymnasium

from pdrm.product.gym_env import wrap

BURSTS = 60
STEPS = 500


def wrap_costs() -> dict[str, float]:
    """Microseconds a step over the bare environment, the label function included: the best of many short bursts each."""
    lake = partial(
        gymnasium.make, "FrozenLake-v1", is_slippery=False, max_episode_steps=10**9, disable_env_checker=True
    )
    forms: dict[str, dict[str, Any]] = {"": {}, "_flat": {"flatten": True}, "_number": {"discrete": True}}
    bare = lake()
    wrapped = {form: wrap(lake(), "letter", _events, **options) for form, options in forms.items()}
    best = dict.fromkeys(("bare", *forms), float("inf"))
    for _ in range(BURSTS):
        for form, env in {"bare": bare, **wrapped}.items():
            best[form] = min(best[form], _seconds_a_step(env))
    return {f"wrap_cost_us{form}": (best[form] - best["bare"]) * 1e6 for form in forms}


def _events(_observation: int, _action: int, next_observation: int, _info: dict[str, Any]) -> set[str]:
    return {"A"} if next_observation == 4 else set()


def _seconds_a_step(env: gymnasium.Env[Any, Any]) -> float:
    env.reset(seed=0)
    step, began = env.step, clock()
    for _ in range(STEPS):
        step(0)
    return (clock() - began) / STEPS
