"""What the four agents have in common, as one record of functions; and the agents by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

from pdrm.errors import BadSetting, UnknownAgent, did_you_mean
from pdrm.learning.deep import actor_critic as ac
from pdrm.learning.deep import dqn, ppo, recurrent_ppo, sac
from pdrm.learning.deep.evaluation import Act
from pdrm.learning.deep.settings import DQN, PPO, SAC, Deep, RecurrentPPO
from pdrm.product.jax_env.product import JaxProduct

Network = Any
State = Any


@dataclass(frozen=True, slots=True)
class Algorithm:
    """A way to learn; its functions are pure and know nothing of seeds, which are mapped over."""

    name: str
    settings: type[Deep]
    network: Callable[..., Network]
    """product, settings, generator -> the first parameters."""
    begin: Callable[..., State]
    """product, settings, network, key -> the state before the first step."""
    iterate: Callable[..., tuple[State, Any]]
    """product, settings, state -> the state after an iteration, and its metrics."""
    steps_per_iteration: Callable[..., int]
    act: Callable[[JaxProduct, Any, Network], Act]
    """product, settings, network -> the policy without exploration."""
    memory: Callable[[Any, int], Any]
    """settings, how many -> what that many episodes remember at their start."""
    continuous: bool | None
    """Whether actions are vectors; None: either."""


def _ppo_act(product: JaxProduct, _settings: PPO, network: Network) -> Act:
    discrete = product.domain.actions > 0
    return lambda memory, seen, _start: (memory, ac.best(ac.judge(network, seen), discrete=discrete))


def _recurrent_act(product: JaxProduct, _settings: RecurrentPPO, network: Network) -> Act:
    def act(memory: Any, seen: Any, start: Any) -> tuple[Any, Any]:
        memory, judged = recurrent_ppo.recalled(network, memory, seen, start)
        return memory, ac.best(judged, discrete=product.domain.actions > 0)

    return act


def _nothing(_settings: Deep, _count: int) -> tuple[()]:
    return ()


ALGORITHMS = {
    "ppo": Algorithm(
        "ppo", PPO, ppo.network, ppo.begin, ppo.iterate, ppo.steps_per_iteration, _ppo_act, _nothing, None
    ),
    "rppo": Algorithm(
        "rppo",
        RecurrentPPO,
        recurrent_ppo.network,
        recurrent_ppo.begin,
        recurrent_ppo.iterate,
        ppo.steps_per_iteration,
        _recurrent_act,
        recurrent_ppo.no_memory,
        None,
    ),
    "dqn": Algorithm(
        "dqn", DQN, dqn.network, dqn.begin, dqn.iterate, dqn.steps_per_iteration, dqn.act, _nothing, False
    ),
    "sac": Algorithm("sac", SAC, sac.network, sac.begin, sac.iterate, dqn.steps_per_iteration, sac.act, _nothing, True),
}


def algorithm_of(name: str) -> Algorithm:
    """The agent of this name.

    >>> algorithm_of("ppo").settings.__name__
    'PPO'
    """
    if name not in ALGORITHMS:
        raise UnknownAgent(f"no deep agent is called `{name}`", fix=did_you_mean(name, ALGORITHMS))
    return ALGORITHMS[name]


def settings_of(name: str, given: dict[str, Any]) -> Any:
    """An agent's settings: its defaults, and those given; ones that it does not have are refused."""
    kind = algorithm_of(name).settings
    known = [field.name for field in fields(kind)]
    for setting in given:
        if setting not in known:
            raise BadSetting(f"agent `{name}` has no setting `{setting}`", fix=did_you_mean(setting, known))
    return kind(**given)


def check_fits(algorithm: Algorithm, product: JaxProduct) -> None:
    """Raise unless the agent can choose the domain's actions."""
    vectors = product.domain.actions == 0
    if algorithm.continuous is not None and algorithm.continuous != vectors:
        kind = "vectors" if vectors else "one of several"
        fix = "use sac or ppo" if vectors else "use ppo, rppo or dqn"
        raise BadSetting(f"`{algorithm.name}` cannot choose the actions of `{product.domain.name}`, {kind}", fix=fix)
