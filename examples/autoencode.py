"""POPGym's Autoencode: watch a deck of cards, then name its suits in reverse order.

The environment shows one card at a time, so an agent needs memory for 52, 104 or 156 cards. A
pushdown machine has this memory. It pushes each suit shown and pops one with each answer. The agent
only learns a table over (state of the machine, top of its stack). The machine specifies *how* to
remember, and the agent learns the answers from the environment's rewards.

Requires popgym. Run it with:  python autoencode.py
"""

import gymnasium as gym
import numpy as np
import popgym  # noqa: F401 - registers the environments

import pdrm

PLAY = 0
"""The mode in which the environment expects answers. Before that it shows cards."""
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
    """The events of a step: an answer, or the suit of a card. The last card starts the game."""
    (mode_before, _), (mode, suit) = before, after
    if mode_before == PLAY:
        return {"answer"}
    return {SUITS[suit], "last"} if mode == PLAY else {SUITS[suit]}


def first_card(observation, _info):
    """The event at reset: the suit of the first card."""
    return {SUITS[observation[1]]}


def play(env, table, rng, learns, k=1, learning_rate=0.1, epsilon=0.1):
    """Play one episode, greedily or while learning. Return its return and its number of steps."""
    _, info = env.reset(seed=int(rng.integers(2**31)))
    episode_return = 0.0
    steps = 0
    done = False
    while not done:
        machine = info["machine"]
        key = machine["state"], *machine["stack"][:k]
        row = table.setdefault(key, np.zeros(env.action_space.n))
        explores = learns and rng.random() < epsilon
        action = int(rng.integers(len(row)) if explores else row.argmax())
        _, reward, terminated, truncated, info = env.step(action)
        if learns:  # an answer is rewarded immediately, so the next state adds nothing
            row[action] += learning_rate * (reward - row[action])
        episode_return += reward
        steps += 1
        done = terminated or truncated
    return episode_return, steps


def make(name):
    """The environment with its machine."""
    return pdrm.wrap(gym.make(name), MACHINE, labels=events, labels_at_reset=first_card, k=1)


if __name__ == "__main__":
    for level in ("Easy", "Medium", "Hard"):
        for k in (0, 1):
            env, table, rng = make(f"popgym-Autoencode{level}-v0"), {}, np.random.default_rng(0)
            training = sum(play(env, table, rng, learns=True, k=k)[1] for _ in range(10))
            mean = np.mean([play(env, table, rng, learns=False, k=k)[0] for _ in range(20)])
            print(f"{level:<7} k={k}: return {mean:6.3f} after {training:,} steps of training")
