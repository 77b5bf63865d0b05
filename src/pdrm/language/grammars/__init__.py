"""Tasks as context-free grammars: a machine that pays for the words of a language.

`grammar_machine` is the door (`from_grammar`). It reads the rules (`grammar_text`), numbers them
(`productions`), and makes moves of them: top-down (`ll1`), or bottom-up with one event of look-ahead
(`lr1`). `draft` makes the moves few and writes them as a machine, and `conflicts` says, with words that
show it, why a grammar is neither LL(1) nor LR(1).
"""
