"""What can be proved: optimal values, which k is enough, and how large policies get (Sections 4 and 5)."""
