"""Tasks defined by context-free grammars: machines that reward the words of a language.

`grammar_machine` is the entry point (`from_grammar`). It reads the rules (`grammar_text`), numbers
them (`productions`), and builds a top-down parser (`ll1`), or a bottom-up parser with one event of
lookahead (`lr1`). `language.draft` minimises its moves and writes them as a machine. `conflicts`
explains with example words why a grammar is neither LL(1) nor LR(1).
"""
