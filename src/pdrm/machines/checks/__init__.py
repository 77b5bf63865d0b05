"""The checks of a machine when it is built: that it is well-formed and deterministic, and which configurations it has.

`wellformed` has the checks that both kinds of machine share (names, duplicates, exclusive events), `determinism` finds two rules
that fit one case. `pushdown_analysis` finds the heads, heights and endless silent moves of a pushdown machine. `findings` warns
of what is allowed and probably not meant.
"""
