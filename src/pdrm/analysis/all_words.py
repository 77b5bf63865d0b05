"""The domain in which every word can happen: one state, and one action for each label. It shows a machine by itself."""

from __future__ import annotations

from pdrm.domains.array_domain import from_arrays
from pdrm.domains.labelled_mdp import FiniteDomain
from pdrm.errors import BadSetting
from pdrm.machines.guard import label_text
from pdrm.machines.pushdown import PushdownRewardMachine

MOST_LABELS = 4096


def all_words(machine: PushdownRewardMachine, step_limit: int = 20) -> FiniteDomain:
    """The domain of all words over a machine's labels.

    >>> from pdrm.machines.catalogue import catalogue
    >>> all_words(catalogue("marked-palindrome")).actions
    ('{}', '{0}', '{1}', '{x}')
    """
    labels = []
    for label in machine.alphabet.labels():
        labels.append(label)
        if len(labels) > MOST_LABELS:
            raise BadSetting(
                f"`{machine.name}` has more than {MOST_LABELS:,} labels",
                fix="declare events exclusive, or name a domain",
            )
    places = list(range(len(labels)))
    return from_arrays(
        "all words",
        [[0] * len(labels)],
        [places],
        labels,
        step_limit=step_limit,
        events=machine.events,
        actions=tuple(map(label_text, labels)),
    )
