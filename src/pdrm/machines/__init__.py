"""What is rewarded: machines that read labels and pay (Sections 2, 3 and 5 of the paper).

Read `guards` (which labels a rule reads), `rewards` (what is paid, exactly), `transitions` (a rule), `configurations` (state and stack, steps, runs) and `pushdown`
(Definition 1, the specification of all that runs). `reward_machine` and `counting` are the other two kinds; `conversions` turns
one kind into another where the theory allows it. A machine is checked when it is built: the folder `checks`,
with `alphabet` for questions about all labels and `decision_diagrams` for formulas; `reach` says which states and tops occur. `tables`, `stacks` and `step_kernel` are what runs: integer tables, hash-consed
stacks, the Numba step. `catalogue/` holds the paper's machines as .pdrm files.

The names below are what the rest of the package and users may rely on; each is imported when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pdrm.lazy import lazy

if TYPE_CHECKING:
    from pdrm.machines.checks.pushdown_analysis import (
        StackGrowth,
        highest_stack,
        pops_in_a_step,
        reachable_heads,
        stack_growth,
        symbols_that_matter,
    )
    from pdrm.machines.configurations import Configuration, Run, Step
    from pdrm.machines.conversions import (
        counting_configuration,
        counting_to_pushdown,
        pushdown_configuration,
        pushdown_to_counting,
        reward_machine_to_pushdown,
    )
    from pdrm.machines.counting import (
        CountingConfiguration,
        CountingRewardAutomaton,
        CountingTransition,
    )
    from pdrm.machines.guards import ALWAYS, SILENT, And, Event, Exactly, Guard, Label, Not, Or
    from pdrm.machines.pushdown import PushdownRewardMachine
    from pdrm.machines.reward_machine import RewardMachine, RewardTransition
    from pdrm.machines.tables import (
        CountingTable,
        Table,
        begin_table,
        step_table,
        tabulate,
        tabulate_counting,
    )
    from pdrm.machines.transitions import Otherwise, Transition

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
    "Run",
    "PushdownRewardMachine",
    # The other two kinds, and conversions
    "RewardTransition",
    "RewardMachine",
    "CountingTransition",
    "CountingConfiguration",
    "CountingRewardAutomaton",
    "reward_machine_to_pushdown",
    "counting_to_pushdown",
    "pushdown_to_counting",
    "counting_configuration",
    "pushdown_configuration",
    # What holds on every word
    "reachable_heads",
    "pops_in_a_step",
    "symbols_that_matter",
    "highest_stack",
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
