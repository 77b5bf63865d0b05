"""Values of a product without open states."""
