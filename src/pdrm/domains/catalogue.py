"""The paper's domains, and Echo, by name."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial

from pdrm.domains.deliver import deliver_4_8, deliver_8
from pdrm.domains.echo import echo
from pdrm.domains.labelled_mdp import FiniteDomain
from pdrm.domains.letter import letter
from pdrm.domains.multiple_treasure_maze import multiple_treasure_maze
from pdrm.domains.paint import paint
from pdrm.domains.treasure_maze import treasure_maze
from pdrm.errors import BadDomainSetting, UnknownDomain, did_you_mean

BUILDERS: dict[str, Callable[..., FiniteDomain]] = {
    "letter": letter,
    "maze-5x5": partial(treasure_maze, 5),
    "maze-10x10": partial(treasure_maze, 10),
    "maze-20x20": partial(treasure_maze, 20),
    "multi-10x10": partial(multiple_treasure_maze, 10),
    "multi-20x20": partial(multiple_treasure_maze, 20),
    "deliver-8": deliver_8,
    "deliver-4-8": deliver_4_8,
    "paint": paint,
    "echo": echo,
}


def names() -> list[str]:
    """The domains there are, in the paper's order.

    >>> names()[:2]
    ['letter', 'maze-5x5']
    """
    return list(BUILDERS)


def settings(name: str) -> list[str]:
    """What can be set of a domain.

    >>> settings("echo")
    ['more', 'step_limit']
    """
    builder = _builder(name)
    given = set(builder.args) if isinstance(builder, partial) else set()
    return [word for word in inspect.signature(builder).parameters if word not in given]


def domain(name: str, **chosen: float | None) -> FiniteDomain:
    """A domain by name, with settings of its own where it has some; `step_limit` every domain has.

    >>> domain("maze-10x10", step_limit=15).step_limit
    15
    """
    builder = _builder(name)
    known = settings(name)
    for word, value in chosen.items():
        if word not in known:
            raise BadDomainSetting(f"domain `{name}` has no setting `{word}`", fix=did_you_mean(word, known))
        if word == "step_limit" and value is not None and (not isinstance(value, int) or value < 1):
            raise BadDomainSetting(f"a step limit of {value}", fix="a whole number of steps, at least one")
    return builder(**chosen)


def _builder(name: str) -> Callable[..., FiniteDomain]:
    if name not in BUILDERS:
        raise UnknownDomain(f"there is no domain `{name}`", fix=did_you_mean(name, names()))
    return BUILDERS[name]
