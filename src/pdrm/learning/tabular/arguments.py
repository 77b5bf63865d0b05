"""What a training run is made of, checked: a domain, a machine, a view and settings, each of its kind."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from pdrm.domains.labelled_mdp import FiniteDomain
from pdrm.errors import BadSetting
from pdrm.learning.tabular.schedule import MOST
from pdrm.machines.reward_machine import RewardMachine
from pdrm.product.view import FullStack, TopK


def check_domain(domain: object) -> None:
    """Raise unless it is a finite domain.

    >>> check_domain("letter")
    Traceback (most recent call last):
    ...
    pdrm.errors.settings.BadSetting: error[E0801]: domain is 'letter', but must be a finite domain
      fix: pdrm.find_domain('letter')
    """
    if isinstance(domain, FiniteDomain):
        return
    fix = "pdrm.domain('letter'), pdrm.load_domain('my_map.txt'), or pdrm.from_arrays"
    if isinstance(domain, str | os.PathLike):
        fix = f"pdrm.find_domain({os.fspath(domain)!r})"
    elif hasattr(domain, "step") and hasattr(domain, "reset"):
        fix = "pdrm.from_gymnasium(env, labels), with the bare environment, makes a domain of its transition table"
    raise BadSetting(f"domain is {_shown(domain)}, but must be a finite domain", fix=fix)


def check_machine(machine: object, *kinds: type) -> None:
    """Raise unless it is a machine of one of these kinds."""
    if isinstance(machine, kinds):
        return
    fix = "pdrm.catalogue('letter'), pdrm.load('task.pdrm') or pdrm.parse(text)"
    if isinstance(machine, RewardMachine):
        fix = "pdrm.reward_machine_to_pushdown(machine)"
    elif isinstance(machine, str | os.PathLike):
        word = str(machine)
        fix = f"pdrm.load({word!r})" if Path(word).suffix else f"pdrm.catalogue({word!r})"
        fix = "pdrm.parse(text)" if "\n" in word else fix
    named = " or ".join(kind.__name__ for kind in kinds)
    raise BadSetting(f"machine is {_shown(machine)}, but must be a {named}", fix=fix)


def check_view(view: object) -> None:
    """Raise unless it is a view of the stack."""
    if not isinstance(view, FullStack | TopK):
        fix = f"pdrm.TopK({view})" if isinstance(view, int) and view >= 0 else "pdrm.TopK(1), or pdrm.FullStack()"
        raise BadSetting(f"view is {_shown(view)}, but must be a view of the stack", fix=fix)


def check_settings(settings: object, kind: type) -> None:
    """Raise unless the settings are of this kind."""
    if not isinstance(settings, kind):
        fault = f"settings are {_shown(settings)}, but must be a {kind.__name__}"
        raise BadSetting(fault, fix=f"pdrm.{kind.__name__}(episodes=10_000)")


def check_episodes(until: object) -> None:
    """Raise unless a run can be trained up to so many episodes."""
    if isinstance(until, bool) or not isinstance(until, int | np.integer) or not 0 <= until <= MOST:
        fault = f"a run is trained up to a whole number of episodes from 0 to {MOST:,}, not {until!r}"
        raise BadSetting(fault, fix="training.advance(1_000)")


def _shown(value: object) -> str:
    """The value, if it is short."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
