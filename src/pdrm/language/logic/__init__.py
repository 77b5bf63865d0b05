"""Tasks defined by regular expressions and temporal formulas: regular sets of words.

`regular_expressions` (`from_regex`) and `temporal_logic` (`from_ltlf`) compute an automaton, from
which `acceptors` builds a reward machine. `temporal_formulas` reads formulas and Declare patterns.
"""
