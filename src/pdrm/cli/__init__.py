"""The `pdrm` command. Heavy imports are inside the commands, to keep `pdrm --help` instant."""
