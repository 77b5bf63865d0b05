"""The pages of docs/ that are made, not written: commands, errors, the library. `python -m pages` writes them."""
