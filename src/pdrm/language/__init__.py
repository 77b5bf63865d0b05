"""How a task is written: the .pdrm text, JSON, and the formats of other programs."""
