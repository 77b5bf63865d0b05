"""What it solves: the product of a labelled MDP and a machine (Definition 2), seen through a view of the stack."""
