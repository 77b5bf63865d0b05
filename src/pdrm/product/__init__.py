"""The product of an environment and a machine (Definition 2), seen through a view of the stack.

`wrapping` is the product of any Gymnasium environment, with `machines.tables.LazyTable` for the
machine and `observation` for the views of the stack. `explore_kernel` enumerates reachable
configurations for the tabular learners. `shaping` defines a potential of the machine alone, for
reward shaping. `finite_kernel` enumerates product states up to a bound, for the analysis.
`hash_kernel` is the hash table of all engines, `task_findings` warns of mistakes in a task, and
`jax_env/` is the product in JAX, for the deep learners.

The names below are the public interface. Each is imported on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pdrm.lazy import lazy

if TYPE_CHECKING:
    from pdrm.product.finite_kernel import FiniteProduct
    from pdrm.product.observation import FullStack, TopK, View
    from pdrm.product.shaping import Shaping
    from pdrm.product.task_findings import inspect_task
    from pdrm.product.wrapping import MachineEnv, Shaped, wrap, wrap_vector

__all__ = [
    "wrap",
    "wrap_vector",
    "MachineEnv",
    "Shaped",
    "Shaping",
    "TopK",
    "FullStack",
    "View",
    "FiniteProduct",
    "inspect_task",
]

__getattr__, __dir__ = lazy(__name__)
