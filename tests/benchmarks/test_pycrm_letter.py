"""What PyCRM is measured on is our LetterEnv: the same moves, labels and rewards."""

import numpy as np

from benchmarks.pycrm_letter import COLUMNS, LISTED, ROWS, LetterWorld, peer_agent, peer_product
from pdrm.domains.paper_domains import domain
from pdrm.language.loading import catalogue


def test_the_same_moves_and_labels():
    letter, labelling = domain("letter"), peer_product().lf
    for number in range(letter.states):
        turned, cell = divmod(number, ROWS * COLUMNS)
        row, column = divmod(cell, COLUMNS)
        shows = "B" if turned else "A"
        assert letter.describe(number) == f"row {row}, column {column}; {shows} shows"
        for action in range(4):
            outcomes = {}
            for outcome in np.flatnonzero(letter.arrays.probability[number, action]):
                label = letter.labels[letter.arrays.label[number, action, outcome]]
                outcomes[int(letter.arrays.next[number, action, outcome])] = label
            assert moves(labelling, (turned, row, column), action) == outcomes


def moves(labelling, place, action):
    """Where an action leads in the peer's world, and with which label; tried often enough to see both outcomes."""
    seen, world = {}, LetterWorld()
    world.reset(seed=1)
    for _ in range(40):
        world._turned, world._row, world._column = place
        after = world.step(action)[0]
        label = labelling(np.array(place), action, after)
        seen[int(after[0]) * ROWS * COLUMNS + int(after[1]) * COLUMNS + int(after[2])] = frozenset(
            letter.name for letter in label
        )
    return seen


def test_the_same_rewards():
    product, machine, rng = peer_product(), catalogue("letter"), np.random.default_rng(2)
    for _ in range(30):
        product.reset()
        labels, paid, over = [], 0.0, False
        while not over:
            _, reward, terminated, truncated, _ = product.step(int(rng.integers(4)))
            labels.append(frozenset(letter.name for letter in product.props))
            paid += reward
            over = terminated or truncated
        run = machine.run(labels)
        assert (run.reward, run.finished) == (paid, terminated)


def test_the_updates_that_are_counted_are_made():
    agent = peer_agent(counterfactual=True)
    made = agent.env.generate_counterfactual_experience(np.array([0, 1, 2]), 2, np.array([0, 1, 1]))
    assert len(made[0]) == 2 * LISTED
    assert len(agent.learn(2)) == 2
    assert 0 < agent.env.steps <= 300
