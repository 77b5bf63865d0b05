"""The product of an environment and a machine (Definition 2), seen through a view of the stack.

`wrapping` is the product of anyone's Gymnasium environment (`machines.tables.LazyTable`: the machine at the speed of a dictionary;
`observation`: the views of the stack, and what the agent gets). `explore_kernel` numbers configurations as they are reached, for the tabular
learners. `shaping` has the potential of the machine alone, by which rewards may be shaped. `finite_kernel` has all product states up to a bound,
for the analysis; `hash_kernel` is the one hash table of all engines; `task_findings` warns of mistakes in a task; `jax_env/` is the product in
JAX, for the deep learners.

The names below are what the rest of the package and users may rely on; each is imported when it is first used.
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
