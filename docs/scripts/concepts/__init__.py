"""Pictures of the Concepts pages that the library has no function for. Each module draws a figure
from plain data."""
