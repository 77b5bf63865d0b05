"""Tasks as context-free grammars: a grammar's words, made into a machine that pays when one has been read.

`grammar_machine` is the door (`from_grammar`). It reads the rules (`grammar_text`), has them as numbers (`productions`), and makes moves of
them: `owed` top-down, or `lr_tables` and `bottom_up` with one event of look-ahead. `shrinking` makes the moves few, `draft` makes
the machine, and `conflicts` says, with words that show it, why a grammar cannot be decided.
"""
