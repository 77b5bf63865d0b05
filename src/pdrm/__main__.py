"""`python -m pdrm` is the `pdrm` command."""

from pdrm.cli.main import main

if __name__ == "__main__":  # spawned processes import this module as well
    main()
