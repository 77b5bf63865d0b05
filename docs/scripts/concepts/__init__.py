"""The drawings of the Concepts pages that the library has no function for: one module a picture, plain data in, a figure out."""
