"""The finite product: every product state that can be reached, up to a named bound."""
