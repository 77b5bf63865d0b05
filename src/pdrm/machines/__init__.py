"""Reward machines: they read labels and pay (Sections 2, 3 and 5 of the paper).

Read `guards` (which labels a rule reads), `labels` (the alphabet, and sets of labels), `transitions` (a rule, and what it does to a
state and a stack), `machine` (what all kinds share, and the checks when one is built), `heads` (what happens at a state and a top
of the stack, and bounds on the stack) and `pushdown` (Definition 1, the specification of all that runs; a reward machine is a
pushdown machine that leaves its stack alone). `counting` is the other kind; `conversions` turns one into the other if the theory
allows it. `reach` finds the heads that occur; `findings` warns of what is allowed and probably not meant. `tables`, `stacks` and
`step_kernel` are what runs: integer tables, hash-consed stacks, the Numba step. `catalogue/` holds the paper's machines.

The names below are what the rest of the package and users may rely on; each is imported when it is first used.
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
    # Which labels a rule reads
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
    # Counting automata, and conversions
    "CountingTransition",
    "CountingConfiguration",
    "CountingRewardAutomaton",
    "counting_to_pushdown",
    "pushdown_to_counting",
    "counting_configuration",
    # What holds on every word
    "reachable_heads",
    "max_pops_per_step",
    "relevant_depth",
    "max_stack_height",
    "StackGrowth",
    "stack_growth",
    # A machine as integer tables
    "Table",
    "tabulate",
    "begin_table",
    "step_table",
    "CountingTable",
    "tabulate_counting",
]

__getattr__, __dir__ = lazy(__name__)
