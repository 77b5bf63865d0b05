"""Tasks as regular expressions and temporal formulas: sets of words that finitely many states decide.

`regular_expressions` (`from_regex`) and `temporal_logic` (`from_ltlf`; its formulas and the Declare patterns are read in `temporal_formulas`) each
work out an automaton, of which `acceptors` makes a reward machine.
"""
