"""Greedy episodes of the hierarchical agent."""
