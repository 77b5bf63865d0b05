"""Tasks written as sets of words: grammars, and what such texts have in common."""
