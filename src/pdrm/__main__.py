"""`python -m pdrm` is the `pdrm` command."""

from pdrm.cli.main import main

if __name__ == "__main__":  # a process that is spawned imports this module, too
    main()
