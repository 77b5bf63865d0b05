"""Scripts of the documentation: its pictures, Markdown extensions, and the recorded runs of the package."""
