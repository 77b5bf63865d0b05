"""Tabular agents: Q-learning, counterfactual experiences (CpRM) and the hierarchical method, over a
stack or over counters; and the agent `summary`, which sees the whole stack.

Each learner is written twice: readable, as the specification, and in Numba. On the same random
numbers both fill the same table, entry by entry. In reading order: `q_learning` and
`hierarchical` (the readable learners), `rows_kernel` (the tables, and functions that the kernels
share), `q_kernel` and `options_kernel` (the same learners in Numba), `learner` (their runs),
`policy` (the learnt policies and their files). `summary` and `seek_kernel` are the agent
`summary`.
"""
