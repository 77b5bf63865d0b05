"""Walks on a domain by hand, and a machine's run on them."""

import numpy as np

from pdrm import catalogue
from pdrm.domains import FiniteEnv


def walk(domain, actions, start=0, seed=0):
    """The labels of a walk (first the optional label at reset) and the environment's rewards."""
    env = FiniteEnv(domain.starting(start))
    _, info = env.reset(seed=seed)
    labels, paid = [] if info["label"] is None else [info["label"]], 0.0
    for action in actions:
        _, reward, _, _, info = env.step(domain.actions.index(action))
        labels.append(info["label"])
        paid += reward
    return labels, paid


def words(labels):
    """Labels in the notation of words: `d+t`."""
    return [
        "+".join(sorted(label, key=lambda event: (event not in "udlr", event))) for label in labels
    ]


def run(domain, actions, start=0):
    """The machine's run over a walk, and the return of both together."""
    labels, paid = walk(domain, actions, start)
    ended = catalogue(domain.machine).run(labels)
    return ended, paid + ended.reward


def shortest(domain, source, target, avoid=()):
    """The actions of a shortest path between two states of a deterministic domain."""
    came, frontier = {source: ""}, [source]
    for state in frontier:
        for action, name in enumerate(domain.actions):
            there = int(domain.arrays.next[state, action, 0])
            if there not in came and there not in avoid:
                came[there] = came[state] + name
                frontier.append(there)
    return came[target]


def reachable(domain):
    """The states that can be reached from a start."""
    seen = set(domain.arrays.start_state.tolist())
    frontier = list(seen)
    for state in frontier:
        for there in np.unique(
            domain.arrays.next[state][domain.arrays.probability[state] > 0]
        ).tolist():
            if there not in seen:
                seen.add(there)
                frontier.append(there)
    return seen


BACK = str.maketrans("udlr", "durl")


def reverse(actions):
    """The path back."""
    return actions[::-1].translate(BACK)
