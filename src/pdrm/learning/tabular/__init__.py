"""Tabular agents: Q-learning, counterfactual experiences (CpRM) and the hierarchical method, over a stack or over counters; and the
agent `summary`, which acts with the whole stack in view.

Each learner is written twice: readable, as the specification, and in Numba; on the same random numbers both fill the same table,
entry by entry. In reading order: `memory` (one step of a stack or of counters, and the stacks that CpRM imagines with), `q_learning`
and `hierarchical` (the readable learners), `learner_tables` and `rows_kernel` (what a kernel is handed, and its growing tables),
`q_kernel`, `outlook_kernel` and `options_kernel` (the same learners in Numba), `training` (a run of either, which can stop at any
episode), `policy_table` and `policy` (what was learnt, by what the agent sees; its files) and `tabular_learner` (a run as
`learning/run_loop` trains it, and its snapshots). `summary_learner`, `seek_kernel` and `summary_policy` are the agent `summary`.
"""
