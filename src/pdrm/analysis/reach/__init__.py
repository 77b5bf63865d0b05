"""What of a product can be reached: whole stacks one by one, and views of stacks without listing the stacks."""
