"""Comparisons with other libraries: `python -m benchmarks [tabular | analysis | deep]`.

A benchmark is a generator of flat dictionaries of named figures. `tabular` is compared with PyCRM
(`pycrm_letter`), `analysis` with Storm (`storm_product`), and `deep` with Stable-Baselines3, or
measured alone on a GPU. `record` writes the figures with the computer and the package versions.
"""

from collections.abc import Callable

Figures = dict[str, float]
OnProgress = Callable[[str], None]
"""Called with a description of the next measurement."""
