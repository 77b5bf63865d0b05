"""Rows of tables found by hash, and random numbers, in Numba."""
