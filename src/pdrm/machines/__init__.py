"""What is rewarded: reward machines, pushdown reward machines and counting reward automata (Sections 2, 3 and 5)."""
