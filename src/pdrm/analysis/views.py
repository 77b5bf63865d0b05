"""Classes of product states: those with the same environment state, machine state and top k symbols."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from pdrm.errors import BadSetting
from pdrm.product.finite.product import FiniteProduct

Numbers = npt.NDArray[np.int64]
MOST_K = 1_000
"""The largest k that is asked about."""


def check_ks(ks: Iterable[int]) -> list[int]:
    """Some k in order, each once; refused where one is no number of symbols, or far too many.

    >>> check_ks([2, 0, 2])
    [0, 2]
    """
    found = set()
    for k in ks:
        if not isinstance(k, int | np.integer) or not 0 <= k <= MOST_K:
            raise BadSetting(f"k is {k}", fix=f"whole numbers from 0 to {MOST_K}")
        found.add(int(k))
    return sorted(found)


def classes(product: FiniteProduct, chosen: Numbers, k: int) -> Numbers:
    """[chosen state]: the number of its class under ~k.

    >>> from pdrm.domains.catalogue import domain
    >>> from pdrm.machines.catalogue import catalogue
    >>> product = FiniteProduct(domain("paint"), catalogue("paint"))
    >>> product.explore()
    >>> [classes(product, np.arange(5), k).tolist() for k in (1, 3)]
    [[0, 0, 0, 0, 0], [0, 1, 2, 2, 2]]
    """
    states, stacks = product.states, product.stacks
    node = states.node[chosen].astype(np.int64)
    number = states.place[chosen].astype(np.int64) * product.table.move.shape[0] + states.state[chosen]
    number = np.unique(number, return_inverse=True)[1].astype(np.int64)
    symbols = product.table.move.shape[2]
    for _ in range(k):
        number = np.unique(number * symbols + stacks.symbol[node], return_inverse=True)[1].astype(np.int64)
        node = stacks.parent[node].astype(np.int64)
    return number
