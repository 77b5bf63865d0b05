"""An observation as it is now: environments may change the array they gave, and a labelling function compares two of them."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

UNCHANGING = frozenset({int, float, bool, complex, str, bytes, type(None)})


def kept(observation: Any) -> Any:  # noqa: ANN401 - any environment's
    """The observation, copied as far as it can be changed.

    >>> array = np.zeros(2)
    >>> before = kept({"place": array, "time": 3})
    >>> array += 1
    >>> before
    {'place': array([0., 0.]), 'time': 3}
    """
    kind = type(observation)
    if kind in UNCHANGING or isinstance(observation, np.generic):
        return observation
    if kind is np.ndarray and not observation.dtype.hasobject:
        return observation.copy()
    if kind is dict:
        return {key: kept(value) for key, value in observation.items()}
    if kind is tuple:
        return tuple([kept(value) for value in observation])
    try:
        return copy.deepcopy(observation)
    except (TypeError, AttributeError, NotImplementedError, RuntimeError, copy.Error):
        return observation  # of a kind that cannot be copied
