"""What each stack symbol is worth as a function of what lies below: from it, what any stack is worth, however high.

Read `heads` first: a machine in the form that operators are found for. `operators` has them: a constant and some lines for every
environment state, machine state and top symbol (`summary_kernel` finds them, `worth_kernel` says how exact they are and
what a stack is worth); `exact_operators` has them in fractions, for the heads that `heads_in_play` finds. `potentials` is the same for the machine alone, by which rewards may be shaped.
"""
