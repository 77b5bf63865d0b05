"""`python -m pdrm` is the `pdrm` command."""

from pdrm.cli.main import main

main()
