"""Shaped rewards: settings, stable ids, unshaped returns, resumed runs, and experience in
buffers."""

import numpy as np
import pytest

from pdrm.errors import BadSetting
from pdrm.learning.agents import (
    DQN,
    PPO,
    CountingQ,
    QLearning,
    shaping_of,
)
from pdrm.learning.protocol import Until
from pdrm.learning.settings import parse_setting
from pdrm.learning.tabular.learner import QLearner
from pdrm.paper.paper_agents import PaperCpRM, PaperQLearning
from pdrm.product.observation import FullStack, TopK
from pdrm.task import Task

LETTER = Task("letter")


def test_settings():
    agent = QLearning(shaping="machine", shaping_discount=0.9)
    assert QLearning(**agent.record()) == agent
    assert parse_setting(PPO, "shaping=machine") == ("shaping", "machine")
    assert parse_setting(PPO, "shaping_discount=none") == ("shaping_discount", None)
    assert shaping_of(QLearning()) is None
    wrong = (
        (QLearning, {"shaping": "some"}),
        (QLearning, {"shaping": "machine", "discount": 1.0}),
        (QLearning, {"shaping_discount": 1.5}),
        (PaperQLearning, {"shaping_shift": float("nan")}),
        (CountingQ, {"shaping": "machine"}),
        (DQN, {"shaping": "machine", "counterfactuals": 1}),
    )
    for kind, settings in wrong:
        with pytest.raises(BadSetting):
            kind(**settings)


def test_returns_are_never_shaped_and_a_run_resumes_from_a_snapshot():
    """A constant Φ of a million would be visible in any return."""
    settings = PaperCpRM(
        episodes=40, discount=0.9, shaping="machine", shaping_shift=1e6, step_limit=30
    )
    for view in (TopK(1), FullStack()):
        whole, first, second = (
            QLearner(LETTER.finite, LETTER.pushdown, view, settings, seed=2) for _ in range(3)
        )
        whole.advance(Until(episodes=40))
        first.advance(Until(episodes=15))
        second.load({name: np.array(array) for name, array in first.save().items()})
        second.advance(Until(episodes=40))
        for name in ("table.key", "table.value", "progress", "rng_state"):
            assert np.array_equal(second.save()[name], whole.save()[name]), name
        assert abs(whole.test(10).returns).max() < 5
        assert np.abs(whole.tables.table.value).max() > 1e4


def test_windows_of_deep_agents_are_paid_what_cancels_out():
    """The reward of a window is larger by γⁿΦ(last) - Φ(first). Φ(last) is 0 after the end of
    the episode."""
    jax = pytest.importorskip("jax")
    import jax.numpy as jnp

    from pdrm.learning.deep.deep_training import batch_key, make_algorithm, product_for
    from pdrm.learning.deep.replay import Row

    task = Task("echo")
    given = {"n_steps": 3, "discount": 0.5}
    plain = DQN(reward_scale=10.0, shaping="none", counterfactuals=0, **given).resolved()
    shaped = DQN(reward_scale=10.0, shaping="machine", **given).resolved()
    assert batch_key(task, shaped) != batch_key(task, DQN(shaping="machine", **given))
    labels, own = task.finite.labels, shaping_of(shaped)
    assert own is not None
    potential, numbers = own.of(task.pushdown), (jnp.zeros(3), jnp.zeros(3, jnp.bool_))
    products = [product_for(task, agent) for agent in (plain, shaped)]
    replay = [
        jax.jit(make_algorithm(product, agent).replay_window)
        for product, agent in zip(products, (plain, shaped), strict=True)
    ]
    for word, first, last in (
        (("a", "b"), ("listen", ("#",)), ("listen", ("b", "a", "#"))),
        (("say_a",), ("speak", ("a", "#")), None),
    ):
        at = [labels.index(frozenset({event})) for event in word]
        over = jnp.array([number == len(at) - 1 for number in range(3)])
        machine, seen = products[0].machine, jnp.zeros((3, products[0].domain.observation_size))
        symbols = tuple(task.pushdown.stack.index(symbol) + 1 for symbol in first[1])
        packed = machine.pack(task.pushdown.states.index(first[0]), symbols)
        thrice = jax.tree.map(lambda part: jnp.stack([part] * 3), packed)
        rows = Row(
            seen, jnp.zeros(3, jnp.int32), seen, jnp.array((at * 3)[:3]), *numbers, over, thrice
        )
        found = [window(rows, packed) for window in replay]
        added = float(found[1].reward - found[0].reward)
        later = 0.0 if last is None else 0.5 ** len(at) * 10 * potential.value(*last)
        assert bool(found[1].terminated) == (last is None)
        assert added == pytest.approx(later - 10 * potential.value(*first), rel=1e-5)


def test_a_buffer_that_imagines_refuses_shaped_rewards():
    pytest.importorskip("stable_baselines3")
    import pdrm
    from pdrm.domains import FiniteEnv
    from pdrm.learning.deep.sb3 import CounterfactualReplayBuffer
    from pdrm.product import Shaped, Shaping

    bare = pdrm.wrap(FiniteEnv("echo"), "echo", "info", k=1, flatten=True)
    env = Shaped(bare, Shaping(discount=0.9))
    before, _ = env.reset(seed=0)
    after, reward, terminated, _, info = env.step(0)
    row = (*(np.array([part]) for part in (before, after, 0, reward, terminated)), [info])
    for count in (0, 1):
        buffer = CounterfactualReplayBuffer(
            50,
            env.observation_space,
            env.action_space,
            counterfactuals=count,
            device="cpu",
        )
        if count:
            with pytest.raises(BadSetting, match="changed a reward"):
                buffer.add(*row)
        else:
            buffer.add(*row)
            assert buffer.rewards[0, 0] == np.float32(reward)
