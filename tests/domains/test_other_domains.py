"""PaintWorld and Echo by hand, the catalogue of domains, and chosen starts."""

import pytest

from pdrm.domains import FiniteEnv, domain, names
from pdrm.domains.paper_domains import echo
from pdrm.errors import BadAction, BadDomainSetting, UnknownDomain
from tests.domains.walks import run, walk, words


def test_paint_rewards_and_labels():
    paint = domain("paint")
    assert paint.arrays.reward.ravel().tolist() == [-1 / 2, -2 / 3, -3 / 4, -4 / 5, -5 / 6]
    assert paint.states == 1
    assert words(walk(paint, ["ask_2", "ask_5"], start=2)[0]) == ["stains_3", "soap_2", "soap_5"]
    assert paint.arrays.start_probability.tolist() == [0.2] * 5
    assert paint.step_limit == 5


def test_paint_is_best_cleaned_at_once():
    for stains in range(1, 6):
        paint = domain("paint")
        ended, total = run(paint, [f"ask_{stains}"], start=stains - 1)
        assert ended.after.state == "clean"
        assert total == -stains / (stains + 1)
        assert total <= paint.highest
        test = paint.tests[stains - 1]
        assert [test.labels[first] for first in test.arrays.start_label] == [{f"stains_{stains}"}]


def test_echo_listens_then_speaks():
    word = echo(more=0.5)
    assert word.arrays.probability[0, 1].tolist() == [0.25, 0.25, 0.5]
    assert word.arrays.probability[1, 0].tolist() == [1.0, 0.0, 0.0]
    env = FiniteEnv(word)
    env.reset(seed=1)
    heard = []
    while env.state == 0:
        heard.append(env.step(0)[-1]["label"])
    assert heard[-1] == {"now"}
    assert all(label <= {"a", "b"} for label in heard[:-1])
    assert [env.step(action)[-1]["label"] for action in (0, 1)] == [{"say_a"}, {"say_b"}]


def test_echo_pays_for_the_word_named_backwards():
    from pdrm import catalogue

    word = [frozenset({event}) for event in ("a", "b", "now", "say_a", "say_b", "say_a")]
    ended = catalogue("echo").run(word)
    assert ended.after.state == "done"
    assert ended.reward == domain("echo").highest


def test_names_and_suggestions():
    assert names()[0] == "letter"
    assert len(names()) == 10
    with pytest.raises(UnknownDomain, match=r"did you mean `maze-5x5`\?"):
        domain("maze-5×5")


def test_bad_actions_and_modes():
    env = FiniteEnv("letter")
    env.reset(seed=0)
    with pytest.raises(BadAction, match="action 4"):
        env.step(4)
    with pytest.raises(BadDomainSetting, match="ansi"):
        FiniteEnv("letter", render_mode="human")
