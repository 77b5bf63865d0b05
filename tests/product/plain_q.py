"""Q-learning in a few lines, over the keys of observations."""

from collections import defaultdict

import numpy as np


def learnt(env, steps, seeds=None, *, alpha=0.1, gamma=0.99, epsilon=0.2):
    """The table after n steps. Episodes start from the given seeds in turn, or from random ones."""
    random = np.random.default_rng(0)
    explores, guesses = (
        random.random(steps) < epsilon,
        random.integers(env.action_space.n, size=steps),
    )
    table = defaultdict(lambda: [0.0] * int(env.action_space.n))
    episode, over, here = 0, True, 0
    for explore, guess in zip(explores.tolist(), guesses.tolist(), strict=True):
        if over:
            seed = seeds[episode % len(seeds)] if seeds else 0 if episode == 0 else None
            here = env.key(env.reset(seed=seed)[0])
            episode += 1
        row = table[here]
        action = guess if explore else row.index(max(row))
        seen, reward, terminated, truncated, _ = env.step(action)
        there = env.key(seen)
        row[action] += alpha * (
            reward + (0.0 if terminated else gamma * max(table[there])) - row[action]
        )
        here, over = there, terminated or truncated
    return table


def mean_return(env, table, seeds):
    """The mean return of the greedy policy, with one episode per seed."""
    returns = []
    for seed in seeds:
        here = env.key(env.reset(seed=seed)[0])
        total, over = 0.0, False
        while not over:
            action = table[here].index(max(table[here]))
            seen, reward, terminated, truncated, _ = env.step(action)
            here = env.key(seen)
            total, over = total + reward, terminated or truncated
        returns.append(total)
    return float(np.mean(returns))
