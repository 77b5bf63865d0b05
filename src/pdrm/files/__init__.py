"""How files are written, for every part of the package: knows nothing of what is in them."""
