"""The .pdrm language and its relatives: reading, writing, laying out (machines as text, as JSON, as others write them)."""
