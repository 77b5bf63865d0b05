"""Greedy episodes of Q-learning and CpRM."""
