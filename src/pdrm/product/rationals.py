"""The steps of a product in fractions: what the numbers of a machine, a domain and a discount are exactly.

A reward that was written is what was written (`machines.rewards`). A float that somebody computed has 16 or 17 digits: it is
taken for the simple fraction that rounds to it where there is one (0.3333333333333333 for 1/3), and this is a *guess*, which
certificates list; else for its shortest decimal. Whatever number is read, the float is the one nearest to it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

import numpy as np

from pdrm.arrays import lengthen
from pdrm.domains.finite_domain import DomainArrays
from pdrm.errors import BadReward
from pdrm.machines.stacks import Stacks
from pdrm.machines.tables import Table
from pdrm.product.finite_kernel import States, add_up
from pdrm.product.hash_kernel import FIRST_ROOM, Index

SAFE_DIGITS = 15
"""Digits that a float keeps of every decimal."""


def count_digits(text: str) -> int:
    """The significant digits of a decimal."""
    return len(text.lower().partition("e")[0].replace(".", "").lstrip("+-0").rstrip("0"))


DENOMINATORS = tuple(10**places for places in range(1, 7))
UNKNOWN = -1
"""A sum that was not made yet."""
BY_CHANCE = 1e-6
"""How likely a number may be to lie so near to a fraction of that size by chance."""


def read_number(number: float) -> Fraction:
    """The exact number that a float stands for.

    >>> read_number(0.99), read_number(-2 / 3), read_number(0.3000012345678) == Fraction("0.3000012345678")
    (Fraction(99, 100), Fraction(-2, 3), True)
    >>> read_number(0.9999999999999996)
    Fraction(2499999999999999, 2500000000000000)
    """
    guess = guess_fraction(float(number))
    return Fraction(repr(float(number))) if guess is None else guess


@lru_cache(maxsize=100_000)
def guess_fraction(number: float) -> Fraction | None:
    """The simple fraction that rounds to a float with more digits than somebody is sure to have written; None if none does.

    >>> guess_fraction(1 / 3), guess_fraction(0.3), guess_fraction(0.1 + 0.2), guess_fraction(2**0.5)
    (Fraction(1, 3), None, None, None)
    """
    if count_digits(repr(number)) <= SAFE_DIGITS:
        return None
    for denominator in DENOMINATORS:
        near = Fraction(number).limit_denominator(denominator)
        if float(near) == number:
            return near if near.denominator**2 * math.ulp(number) < BY_CHANCE else None
    return None


@lru_cache(maxsize=10_000)
def read_chances(*probabilities: float) -> tuple[Fraction, ...]:
    """Probabilities as fractions that sum to 1: as they are read if these do, else their decimals, divided by their sum.

    >>> read_chances(0.375, 0.375, 0.25), read_chances(1 / 3, 2 / 3), read_chances(0.333333333, 0.333333333, 0.333333333)[0]
    ((Fraction(3, 8), Fraction(3, 8), Fraction(1, 4)), (Fraction(1, 3), Fraction(2, 3)), Fraction(1, 3))
    """
    read = tuple(map(read_number, probabilities))
    if sum(read) == 1:
        return read
    decimals = [Fraction(repr(p)) for p in probabilities]
    return tuple(p / sum(decimals) for p in decimals)


class ExactSteps:
    """The chances and rewards of a product's steps, numbered: equal numbers, equal fractions.

    Rewards are added up anew, move by move, for every state that is expanded: the floats of the product may have rounded.
    """

    def __init__(self, world: DomainArrays, table: Table, rewards: Sequence[float]) -> None:
        """`rewards`: [move]: what it pays, as the machine has it."""
        self.world, self.table = world, table
        self.numbers: list[Fraction] = []
        """[number]: the fraction."""
        self.of_move = [read_number(reward) for reward in rewards]
        """[move]: what it pays."""
        self._number: dict[Fraction, int] = {}
        self._near = np.zeros(FIRST_ROOM)
        """[number]: the float nearest to it."""
        happens = world.probability > 0
        self.chance = np.zeros(world.probability.shape, np.int64)
        """[environment state, action, outcome]: the number of its chance."""
        for s, a in np.ndindex(world.probability.shape[:2]):
            self.chance[s, a] = [
                self._add(p) for p in read_chances(*world.probability[s, a].tolist())
            ]
        read = {
            own: self._add(read_number(own)) for own in np.unique(world.reward[happens]).tolist()
        }
        zero = self._add(Fraction(0))
        self._own = np.array(
            [read.get(own, zero) for own in world.reward.ravel().tolist()], np.int32
        )
        self._own = self._own.reshape(world.reward.shape)
        self._pairs = Index.room(FIRST_ROOM)
        """Row of a key: (number of what was paid before) * moves + move."""
        self._totals = np.full(FIRST_ROOM, UNKNOWN, np.int32)
        """[row]: the number of the two together, or UNKNOWN."""
        self.reward = np.zeros((0, *world.reward.shape[1:]), np.int32)
        """[x, action, outcome]: the number of its reward, for states that are expanded."""
        self._done = np.zeros(0, np.bool_)
        self.rounding = 0.0
        """How far a float of the product is from the reward it stands for, at most."""
        guessed = {
            p
            for row in np.unique(world.probability.reshape(-1, world.probability.shape[2]), axis=0)
            for p in row.tolist()
            if sum(map(read_number, row.tolist())) == 1
        }
        plain = set(rewards)
        self._floats = guessed | plain | set(read)

    def list_guesses(self, discount: float) -> dict[str, str]:
        """The floats of the problem that were taken for fractions they may not have been meant as."""
        guesses = ((number, guess_fraction(number)) for number in sorted(self._floats | {discount}))
        return {repr(number): str(guess) for number, guess in guesses if guess is not None}

    def follow(self, states: States, stacks: Stacks, count: int) -> None:
        """Add up the rewards of the first `count` states, as far as they are expanded and it was not done."""
        if count > len(self._done):
            room = max(count, 2 * len(self._done))
            self.reward = np.concatenate(
                [self.reward, np.zeros((room - len(self.reward), *self.reward.shape[1:]), np.int32)]
            )
            self._done = np.concatenate([self._done, np.zeros(room - len(self._done), np.bool_)])
        fresh = np.flatnonzero(states.expanded[:count] & ~self._done[:count])
        done = 0
        while done < len(fresh):
            sums = self._pairs, self._totals, self._near
            done, pair, off = add_up(
                self.table, stacks, self.world, states, fresh, done, self._own, *sums, self.reward
            )
            self.rounding = max(self.rounding, off)
            if pair >= 0:
                before, move = divmod(int(self._pairs.key[pair]), len(self.table.target))
                self._totals[pair] = self._add(self.numbers[before] + self.of_move[move])
                self._pairs = self._pairs.grow()
                self._totals = lengthen(self._totals, len(self._pairs.key), UNKNOWN)
        self._done[fresh] = True

    def _add(self, number: Fraction) -> int:
        """The number of a fraction, a new one if it is new."""
        if number not in self._number:
            self._number[number] = place = len(self.numbers)
            self.numbers.append(number)
            if place == len(self._near):
                self._near = lengthen(self._near, 2 * place)
            try:
                self._near[place] = float(number)
            except OverflowError:
                fault = "the rewards of one step add up to more than a float can hold"
                raise BadReward(fault, fix="use smaller rewards") from None
        return self._number[number]
