"""Q-learning in a few lines, over the wrapper's numbers, to show that nothing more is needed."""

import numpy as np


def learnt(env, steps, seeds=None, *, alpha=0.1, gamma=0.99, epsilon=0.2):
    """The table after so many steps; episodes start from the given seeds in turn, or from the generator's own."""
    random = np.random.default_rng(0)
    explores, guesses = (
        random.random(steps) < epsilon,
        random.integers(env.action_space.n, size=steps),
    )
    table = [[0.0] * int(env.action_space.n) for _ in range(int(env.observation_space.n))]
    episode, over, here = 0, True, 0
    for explore, guess in zip(explores.tolist(), guesses.tolist(), strict=True):
        if over:
            here, _ = env.reset(
                seed=seeds[episode % len(seeds)] if seeds else 0 if episode == 0 else None
            )
            episode += 1
        row = table[here]
        action = guess if explore else row.index(max(row))
        there, reward, terminated, truncated, _ = env.step(action)
        row[action] += alpha * (
            reward + (0.0 if terminated else gamma * max(table[there])) - row[action]
        )
        here, over = there, terminated or truncated
    return table


def mean_return(env, table, seeds):
    """The mean return of the greedy policy, an episode a seed."""
    returns = []
    for seed in seeds:
        here, _ = env.reset(seed=seed)
        total, over = 0.0, False
        while not over:
            here, reward, terminated, truncated, _ = env.step(table[here].index(max(table[here])))
            total, over = total + reward, terminated or truncated
        returns.append(total)
    return float(np.mean(returns))
