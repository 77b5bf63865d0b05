"""Benchmarks next to the peers, outside the package: `python -m benchmarks [tabular | analysis | deep]`.

A benchmark is a generator of named figures, one flat dictionary after the other. `tabular` is measured next to PyCRM
(`pycrm_letter`), `analysis` next to Storm (`storm_product`), and `deep` next to Stable-Baselines3, or on a GPU without a
peer. `record` keeps figures with the computer and the versions that they depend on.
"""

from collections.abc import Callable

Figures = dict[str, float]
OnProgress = Callable[[str], None]
"""Called with what is measured next."""
