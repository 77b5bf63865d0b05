"""What is checked when a machine is built: that it is well-formed and deterministic, and which configurations it has.

`wellformed` has the checks that all kinds of machines share (names, duplicates, exclusive events), `determinism` finds two rules that fit
one case. `pushdown_analysis` knows which heads, heights and endless silent moves a pushdown machine has, `zero_patterns` which cases the
counters of a counting automaton come to. `findings` warns of what is allowed and probably not meant.
"""
