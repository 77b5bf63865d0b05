"""Scripts of the documentation: pictures, Markdown extensions, recorded runs."""
