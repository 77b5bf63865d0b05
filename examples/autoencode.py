"""POPGym's Autoencode: watch a deck of cards, then name its suits in reverse order.

The world shows one card at a time, so an agent needs memory: 52, 104 or 156 cards of it. A pushdown
machine is such a memory. It pushes each suit it sees and pops one with each answer, and a table over
(state of the machine, top of its stack) is all there is to learn. The machine is knowledge of *how* to
remember; what to answer is learnt from the rewards of the world.

Needs popgym. Run it with:  python autoencode.py
"""

import gymnasium as gym
import numpy as np
import popgym  # noqa: F401 - registers the environments

import pdrm

PLAY = 0
"""The mode in which the world wants answers; before that it shows cards."""
SUITS = ("suit0", "suit1", "suit2", "suit3")
MACHINE = """
name      autoencode
events    suit0 suit1 suit2 suit3 last answer
exclusive suit0 suit1 suit2 suit3 answer
stack     # suit0 suit1 suit2 suit3
start     watch
final     done
otherwise error

for suit in suit0 suit1 suit2 suit3:
    watch -> watch : suit & !last, z / suit z, 0
    watch -> play  : suit & last,  z / suit z, 0
    play  -> play  : answer,       suit / eps, 0
play -> done : eps, # / #, 0
"""


def events(before, _action, after, _info):
    """The events of a step: an answer is given, or a card is seen, the last one as the game begins."""
    (mode_before, _), (mode, suit) = before, after
    if mode_before == PLAY:
        return {"answer"}
    return {SUITS[suit], "last"} if mode == PLAY else {SUITS[suit]}


def first_card(observation, _info):
    """The event at reset: the first card is seen."""
    return {SUITS[observation[1]]}


def play(env, table, rng, learns, k=1, learning_rate=0.1, epsilon=0.1):
    """Play one episode, greedily or to learn; return what it paid and its number of steps."""
    _, info = env.reset(seed=int(rng.integers(2**31)))
    gained, steps, over = 0.0, 0, False
    while not over:
        machine = info["machine"]
        seen = machine["state"], *machine["stack"][:k]
        row = table.setdefault(seen, np.zeros(env.action_space.n))
        at_random = learns and rng.random() < epsilon
        action = int(rng.integers(len(row)) if at_random else row.argmax())
        _, reward, terminated, truncated, info = env.step(action)
        if learns:  # an answer pays at once, so that the next state adds nothing
            row[action] += learning_rate * (reward - row[action])
        gained += reward
        steps += 1
        over = terminated or truncated
    return gained, steps


def make(name):
    """The environment with its machine."""
    return pdrm.wrap(gym.make(name), MACHINE, labels=events, labels_at_reset=first_card, k=1)


if __name__ == "__main__":
    for level in ("Easy", "Medium", "Hard"):
        for k in (0, 1):
            env, table, rng = make(f"popgym-Autoencode{level}-v0"), {}, np.random.default_rng(0)
            training = sum(play(env, table, rng, learns=True, k=k)[1] for _ in range(10))
            gained = np.mean([play(env, table, rng, learns=False, k=k)[0] for _ in range(20)])
            print(f"{level:<7} k={k}: return {gained:6.3f} after {training:,} steps of training")
