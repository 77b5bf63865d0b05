"""pdrm: pushdown reward machines for reinforcement learning."""

__version__ = "0.1.0"
