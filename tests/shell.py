"""Shell commands of a page, run one after the other in one folder: `pdrm` in this process, where that makes no difference.

A process of its own costs a second and more for each command, and pages have a hundred of them.
"""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

FILE = re.compile(r"cat > (\S+) <<'END'\n(.*?)^END$", re.DOTALL | re.MULTILINE)
"""A file that a page writes."""
NEEDS_A_SHELL = re.compile(r"[|<>;&$`]")
"""Redirections and the like."""


def run_commands(script, pdrm):
    """Run a script in the current folder, as `bash -eu` would; returns what was printed."""
    said, files = [], {}
    marked = FILE.sub(
        lambda found: f"write {files.setdefault(found[1], found[2]) and found[1]}", script
    )
    for line in marked.replace("\\\n", "").splitlines():
        words = shlex.split(line, comments=True)
        if not words:
            continue
        if words[0] == "write":
            Path(words[1]).write_text(files[words[1]])
        elif words[0] == "cd":
            os.chdir(words[1])
        elif words[0] == "pdrm" and not NEEDS_A_SHELL.search(_unquoted(line)):
            here = (
                ("--workers", "1") if words[1] == "run" else ()
            )  # workers would outlive the command
            outcome = pdrm(*(found for word in words[1:] for found in _matching(word)), *here)
            said += [outcome.out, outcome.err]
            assert outcome.code == 0, f"{line}\n{outcome.err}"
        else:
            said.append(_in_bash(line))
    return "\n".join(said)


def _unquoted(line):
    """What the shell reads as its own: without quoted texts and the comment."""
    return re.sub(r"\"[^\"]*\"|'[^']*'", "", line).partition(" #")[0]


def _matching(word):
    """The first file that a pattern names, or the word itself."""
    return sorted(map(str, Path().glob(word)))[:1] if "*" in word else [word]


def _in_bash(line):
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    command = ["/bin/bash", "-eu", "-o", "pipefail", "-c", line]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{line}\n{done.stderr}"
    return done.stdout + done.stderr
