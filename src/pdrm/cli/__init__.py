"""The `pdrm` command. Heavy imports happen inside the commands, so that `pdrm --help` is instant."""
