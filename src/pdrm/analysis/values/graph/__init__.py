"""The product as a graph: components, and what can be reached."""
