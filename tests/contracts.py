"""What every finite domain and its environment must pass."""

import warnings
from collections import Counter

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from pdrm.domains import NO_LABEL, FiniteEnv

DRAWS = 400
"""Draws from one distribution; its frequencies must then lie within five standard deviations."""


def check_domain(domain):
    """The whole contract."""
    labels_hold_declared_events(domain)
    probabilities_sum_to_one(domain)
    seeds_are_respected(domain)
    environment_follows_the_arrays(domain)
    outcomes_have_their_frequencies(domain)
    starts_have_their_frequencies(domain)
    the_limit_truncates(domain)
    rendering_has_the_right_types(domain)
    gymnasium_is_content(domain)


def labels_hold_declared_events(domain):
    assert all(label <= set(domain.events) for label in domain.labels)
    assert len(set(domain.labels)) == len(domain.labels)
    used = domain.arrays.probability > 0
    emitted = {*np.unique(domain.arrays.label[used]).tolist(), *domain.arrays.start_label.tolist()}
    assert emitted <= {NO_LABEL, *range(len(domain.labels))}


def probabilities_sum_to_one(domain):
    arrays = domain.arrays
    assert np.allclose(arrays.probability.sum(axis=2), 1, atol=1e-12)
    assert np.isclose(arrays.start_probability.sum(), 1, atol=1e-12)
    assert (arrays.probability >= 0).all()
    assert (
        arrays.next.shape == arrays.probability.shape == arrays.label.shape == arrays.reward.shape
    )
    assert ((arrays.next >= 0) & (arrays.next < domain.states)).all()


def trajectory(env, seed, steps, actions):
    """What an episode shows, from a seed and a list of actions: plain values, comparable."""
    seen = [env.reset(seed=seed)]
    seen += [env.step(action) for action in actions[:steps]]
    return [
        tuple(part if isinstance(part, dict) else float(part) for part in moment) for moment in seen
    ]


def seeds_are_respected(domain):
    steps = min(domain.step_limit, 300)
    actions = np.random.default_rng(0).integers(len(domain.actions), size=steps).tolist()
    once = [trajectory(FiniteEnv(domain), seed, steps, actions) for seed in range(8)]
    env = FiniteEnv(domain)
    assert once == [trajectory(env, seed, steps, actions) for seed in range(8)]
    random = (np.count_nonzero(domain.arrays.probability, axis=2) > 1).any() or len(
        domain.arrays.start_state
    ) > 1
    assert any(other != once[0] for other in once) == bool(random)


def support(domain, state, action):
    """Everything that may happen: (next state, label, reward) -> probability."""
    arrays, possible = domain.arrays, Counter()
    for outcome in np.flatnonzero(arrays.probability[state, action]):
        place = (state, action, outcome)
        event = (
            int(arrays.next[place]),
            domain.labels[arrays.label[place]],
            float(arrays.reward[place]),
        )
        possible[event] += float(arrays.probability[place])
    return possible


def environment_follows_the_arrays(domain, steps=600):
    env, choose = FiniteEnv(domain), np.random.default_rng(1)
    state, info = env.reset(seed=1)
    for _ in range(steps):
        assert env.observation_space.contains(state)
        action = int(choose.integers(len(domain.actions)))
        there, reward, terminated, truncated, info = env.step(action)
        assert (int(there), info["label"], reward) in support(domain, int(state), action)
        assert terminated == domain.arrays.terminal[there]
        state = env.reset()[0] if terminated or truncated else there


def outcomes_have_their_frequencies(domain, places=12):
    env = FiniteEnv(domain)
    env.reset(seed=2)
    for state, action in np.argwhere(np.count_nonzero(domain.arrays.probability, axis=2) > 1)[
        :places
    ].tolist():
        drawn = Counter()
        for _ in range(DRAWS):
            env.state = state
            there, reward, _, _, info = env.step(action)
            drawn[int(there), info["label"], reward] += 1
        assert_frequencies(drawn, support(domain, state, action))


def starts_have_their_frequencies(domain):
    env, arrays, expected = FiniteEnv(domain), domain.arrays, Counter()
    for state, chance, first in zip(
        arrays.start_state.tolist(),
        arrays.start_probability.tolist(),
        arrays.start_label.tolist(),
        strict=True,
    ):
        expected[state, None if first == NO_LABEL else domain.labels[first]] += chance
    env.reset(seed=3)
    drawn = Counter(
        (int(state), info["label"]) for state, info in (env.reset() for _ in range(DRAWS))
    )
    assert_frequencies(drawn, expected)


def assert_frequencies(drawn, expected):
    assert set(drawn) <= {event for event, chance in expected.items() if chance > 0}
    total = sum(drawn.values())
    for event, chance in expected.items():
        assert (
            abs(drawn[event] - total * chance) <= 5 * np.sqrt(total * chance * (1 - chance)) + 1e-6
        ), event


def the_limit_truncates(domain):
    """Where nothing is terminal, an episode is cut off at the limit, never before and never as an end."""
    env = FiniteEnv(domain)
    env.reset(seed=4)
    for step in range(1, domain.step_limit + 1):
        _, _, terminated, truncated, _ = env.step(0)
        assert not terminated or domain.arrays.terminal.any()
        assert truncated == (step >= domain.step_limit and not terminated)
        if terminated:
            return


def rendering_has_the_right_types(domain):
    words, pixels = (
        FiniteEnv(domain, render_mode="ansi"),
        FiniteEnv(domain, render_mode="rgb_array"),
    )
    shapes = set()
    for env in (words, pixels):
        env.reset(seed=5)
    for _ in range(3):
        assert isinstance(words.render(), str)
        image = pixels.render()
        assert image.dtype == np.uint8
        assert image.ndim == 3
        shapes.add(image.shape)
        words.step(0), pixels.step(0)
    assert len(shapes) == 1
    with pytest.warns(UserWarning, match="without a render_mode"):
        assert FiniteEnv(domain).render() is None


def gymnasium_is_content(domain):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # An environment made by hand has no registry entry; the registered ones are checked by name.
        warnings.filterwarnings("ignore", message=".*not able to test alternative render modes.*")
        check_env(FiniteEnv(domain, render_mode="rgb_array"))
