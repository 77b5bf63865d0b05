"""What the paper ran: its tabular figures as data, in its order, and the folder of the deep ones' records."""
