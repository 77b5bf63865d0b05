"""Reward machines, which read labels and give rewards (Sections 2, 3 and 5 of the paper).

Definition 1, in reading order:

- `guards`: the labels that a rule reads.
- `labels`: the alphabet, and sets of labels.
- `transitions`: rules, configurations and steps.
- `machine`: the base class of all machines, with its checks.
- `pushdown_rules`: the choice of the rule that applies.
- `pushdown`: the pushdown reward machine, the specification of all that runs. A reward machine is
  a pushdown machine that ignores its stack.

More kinds and analyses:

- `counting`: counting reward automata. `conversions`: from one kind of machine to the other.
- `reach`: reachable heads. `heads`: rules at a head, and bounds on the stack. `findings`: warnings.

Compiled machines:

- `tables`: integer tables. `stacks`: hash-consed stacks. `step_kernel`: the Numba step.

The folder `catalogue` contains the paper's machines. The public names are imported on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pdrm.lazy import lazy

if TYPE_CHECKING:
    from pdrm.machines.conversions import (
        counting_configuration,
        counting_to_pushdown,
        pushdown_to_counting,
    )
    from pdrm.machines.counting import (
        CountingConfiguration,
        CountingRewardAutomaton,
        CountingTransition,
    )
    from pdrm.machines.guards import ALWAYS, SILENT, And, Event, Exactly, Guard, Label, Not, Or
    from pdrm.machines.heads import (
        StackGrowth,
        max_pops_per_step,
        max_stack_height,
        reachable_heads,
        relevant_depth,
        stack_growth,
    )
    from pdrm.machines.pushdown import PushdownRewardMachine
    from pdrm.machines.tables import (
        CountingTable,
        Table,
        begin_table,
        step_table,
        tabulate,
        tabulate_counting,
    )
    from pdrm.machines.transitions import Configuration, MachineRun, Otherwise, Step, Transition

__all__ = [
    # Labels and guards
    "Label",
    "Guard",
    "Event",
    "Not",
    "And",
    "Or",
    "Exactly",
    "ALWAYS",
    "SILENT",
    # Pushdown reward machines
    "Transition",
    "Otherwise",
    "Configuration",
    "Step",
    "MachineRun",
    "PushdownRewardMachine",
    # Counting automata and conversions
    "CountingTransition",
    "CountingConfiguration",
    "CountingRewardAutomaton",
    "counting_to_pushdown",
    "pushdown_to_counting",
    "counting_configuration",
    # Bounds on every word
    "reachable_heads",
    "max_pops_per_step",
    "relevant_depth",
    "max_stack_height",
    "StackGrowth",
    "stack_growth",
    # Integer tables
    "Table",
    "tabulate",
    "begin_table",
    "step_table",
    "CountingTable",
    "tabulate_counting",
]

__getattr__, __dir__ = lazy(__name__)
