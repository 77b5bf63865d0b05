"""Values of product states: sound intervals, and exact fractions."""
