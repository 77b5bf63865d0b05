"""The tests of pdrm. `make coverage` traces every line: limits of time are `TRACED` times as long then."""

import sys

TRACED = 1 if sys.gettrace() is None else 10
