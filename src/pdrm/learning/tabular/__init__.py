"""Tabular agents: Q-learning, counterfactual experiences (CpRM) and the hierarchical method."""
