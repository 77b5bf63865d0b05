"""Which k is enough: for which k a policy that sees the top k symbols of the stack loses nothing (Section 4).

`questions` asks the three questions about k, with `from_start` for what happens from the start; `k_gap` says what a k costs where
it is not enough, `k_walks` bounds that by following policies, `high_witness` finds situations that show it at any height of the stack, and `every_stack` that a k is enough for
every stack. `check_k` is the search, within its time, and `k_report` what it answers,
with `k_words` for what is said of witnesses and numbers and `k_advice` for what to train with. `certificate` keeps what proves a yes, and `checker` and
`stack_checker` check it with nothing of the solver.
"""
