"""The report: one self-contained page that opens from disk."""
