"""The tests of pdrm. `make coverage` traces every line: limits of time are `TRACED` times as long then."""

import signal
import sys

TRACED = 1 if sys.gettrace() is None else 10

# Tests and properties interrupt the processes that they start. These would inherit that SIGINT is ignored, as it is in a shell's
# background jobs; after this they start with the default.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
