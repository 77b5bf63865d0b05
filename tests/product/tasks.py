"""Small tasks in third-party environments that need a stack, and a scripted environment."""

import gymnasium
import numpy as np
from gymnasium import spaces

import pdrm

# FrozenLake as a corridor of three cells: coins on the left, a shop on the right, the door in the
# middle. Ice makes the number of coins random: pay for all of them before going through the door.
COINS = pdrm.parse("""
name      coins
events    coin pay door
exclusive coin pay door
stack     # C
start     gather
final     honest thief
otherwise stay 0

gather -> gather : coin, z / C z, 0
gather -> settle : pay,  C / eps, 0
settle -> settle : pay,  C / eps, 0
settle -> honest : door, # / #, 1
settle -> thief  : door, C / C, -1
""")


def corridor(**settings):
    return gymnasium.make("FrozenLake-v1", desc=["FSF"], is_slippery=True, **settings)


def shopping(_before, _action, after, _info):
    return {("coin", "door", "pay")[after]}


# Taxi: pick up the passenger, show him his destination, and bring him back. While he is aboard,
# only the stack remembers his start. Delivering him ends the episode, as in the plain game.
ROUND_TRIP = pdrm.parse("""
name      round-trip
events    R G Y B aboard shown
exclusive R G Y B
stack     # R G Y B
start     fetch
final     home lost
otherwise stay 0

for d in R G Y B:
    fetch -> carry : d & aboard, z / d z, 0
    back  -> home  : d, d / eps, 50
    for e in R G Y B where e != d:
        back -> lost : e, d / d, -50
carry -> back : shown, z / z, 0
""")
DEPOTS = {(0, 0): "R", (0, 4): "G", (4, 0): "Y", (4, 3): "B"}


def taxi(state):
    """The taxi's position, the passenger's (4: aboard) and his destination."""
    return (state // 100, state // 20 % 5), state // 4 % 5, state % 4


def sightseeing(before, _action, after, _info):
    (here, passenger, _), (there, now, wanted) = taxi(before), taxi(after)
    depot = DEPOTS.get(there)
    if depot is None or (here == there and now == passenger):
        return set()
    events = {depot}
    if now == 4:
        events |= {"aboard"} if passenger != 4 else {"shown"} if depot == "RGYB"[wanted] else set()
    return events


class Script(gymnasium.Env):
    """Plays back labels: `word[0]` at reset (None: no label), then one per step, rewards 0.5."""

    observation_space = spaces.Discrete(1000)
    action_space = spaces.Discrete(2)

    def __init__(self, word, ends="terminated"):
        self.word, self.ends, self.at = word, ends, 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.at = 0
        return 0, {"options": options} | ({} if self.word[0] is None else {"label": self.word[0]})

    def step(self, _action):
        self.at += 1
        over = self.at == len(self.word) - 1
        info = {"label": self.word[self.at], "at": self.at}
        return (
            self.at,
            0.5,
            over and self.ends == "terminated",
            over and self.ends == "truncated",
            info,
        )


class Room(gymnasium.Env):
    """A small world with MiniGrid's observations; entering 3 ends the episode with reward 1."""

    observation_space = spaces.Dict(
        {
            "direction": spaces.Discrete(4),
            "image": spaces.Box(0, 255, (2, 2, 1), np.uint8),
            "mission": spaces.Text(20),
            "body": spaces.Dict({"speed": spaces.Box(-1, 1, (2,), np.float32)}),
        }
    )
    action_space = spaces.Discrete(2)

    def __init__(self):
        self.at = 0

    def _seen(self):
        image = np.full((2, 2, 1), self.at % 256, np.uint8)
        speed = np.array([0.5, -0.5], np.float32)
        return {
            "direction": self.at % 4,
            "image": image,
            "mission": "go home",
            "body": {"speed": speed},
        }

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        self.at = 0
        return self._seen(), {"fuel": 9}

    def step(self, action):
        self.at += 1 if action else -1
        return self._seen(), float(self.at == 3), self.at == 3, False, {"fuel": 9 - self.at}


TRIP = pdrm.parse("""
name      trip
events    far empty
stack     # X
start     out
final     home
otherwise stay 0
out  -> back : far,   z / X z, 2
back -> home : empty, X / eps, 5
""")


def watch_room(_before, _action, _after, info):
    """Checks the environment itself, and its `info`."""
    far = {"far"} if info["env"].unwrapped.at == 3 else set()
    return far | ({"empty"} if info["fuel"] < 6 else set())
