"""Tabular agents: Q-learning, counterfactual experiences (CpRM) and the hierarchical method, over a stack or over counters; and the
agent `summary`, which acts with the whole stack in view.

Each learner is written twice: readable, as the specification, and in Numba; on the same random numbers both fill the same table,
entry by entry. In reading order: `q_learning` (one step of a stack or of counters, too) and `hierarchical` (the readable
learners), `rows_kernel` (what a kernel is handed), `q_kernel` and `options_kernel` (the same learners in Numba),
`learner` (a run, which can stop at any episode), `policy` (what was learnt, by what the agent sees; its
files). `summary` and `seek_kernel` are the agent `summary`.
"""
