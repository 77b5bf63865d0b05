"""How it learns: tabular and deep agents for products of environments and machines (Sections 6 and 7)."""
