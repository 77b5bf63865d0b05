"""Options of the hierarchical method (Section 7.4): the machine's rules as goals, their tables, kernel and training."""
