"""Command lines as nobody means them, in real processes with odd locales and encodings: each ends with exit code 0, 1, 2 or
130, and none with a traceback.

Starting Python takes a second, and there are many cases: one process for each locale and encoding has the command ready, and
forks for every case. The fork has the streams, the arguments' encoding and the exit code of a command of its own. A command
that takes longer than a few seconds gets Ctrl-C, and must end then.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
import traceback
from collections import Counter
from pathlib import Path
from random import Random
from tempfile import mkdtemp
from typing import Any

from pdrm.cli.main import COMMANDS, load_command, main

CASES = 200
LONGEST = 4.0
"""Seconds before Ctrl-C."""
PATIENCE = 30.0
"""Seconds after it."""
MEMORY = 6 * 2**30
ALLOWED = (0, 1, 2, 130)
TRACEBACK = "Traceback (most recent call last)"
CRASHED = 99

PLACES: tuple[dict[str, str], ...] = (
    {"LC_ALL": "C.UTF-8"},
    {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"},
    {"LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "NO_COLOR": "1"},
    {"LC_ALL": "no_SUCH.locale", "PYTHONUTF8": "0"},
    {"PYTHONIOENCODING": "ascii"},
    {"PYTHONIOENCODING": "latin-1"},
    {"PYTHONIOENCODING": "utf-16"},
    {"PYTHONIOENCODING": "cp1252:strict", "TERM": "dumb"},
    {"PYTHONIOENCODING": "utf-8:surrogateescape"},
    {"LC_ALL": "C.UTF-8", "PDRM_CHECKPOINT_SECONDS": "abc", "COLUMNS": "0"},
    {"LC_ALL": "C.UTF-8", "COLUMNS": "x", "LINES": "-1", "TERM": ""},
)

HEAVY = ("reproduce", "run", "train", "report", "check-k", "film", "sizes", "doctor")
ODD: tuple[bytes, ...] = (
    *(
        b"",
        b"-",
        b"--",
        b"-x",
        b"--help",
        b"--json",
        b"x" * 300,
        b"x" * 5000,
        b"\xff\xfe",
        b"caf\xe9",
        "é□😀".encode(),
    ),
    *(
        b"$x",
        b"$(touch pwned)",
        b"a\nb",
        b"a b",
        b"'",
        b'"',
        b"../../x",
        b"/",
        b"/dev/null",
        b"/dev/zero",
        b".",
        b"..",
        b"nan",
    ),
    *(
        b"inf",
        b"-1",
        b"0",
        b"1",
        b"2",
        b"99999999999999999999",
        b"1e999",
        b"1.5",
        "١".encode(),
        b"full",
        b"none",
        b"k=1",
        b"=",
        b"%s{}",
    ),
    *(
        b"E0301",
        b"E9999",
        b"W0601",
        b"letter",
        b"maze-5x5",
        b"anbn",
        b"echo",
        b"water-17",
        b"paint",
        b"ppo",
        b"q",
        b"hrm",
        b"A A B C C",
        b"A+B -",
    ),
    *(
        b"task.pdrm",
        b"broken.pdrm",
        b"odd$name.pdrm",
        b"empty",
        b"folder",
        b"map.txt",
        b"deep.json",
        b"deep.toml",
        b"study.toml",
    ),
    *(
        b"out.svg",
        b"out.png",
        b"out.tex",
        b"out.dot",
        b"out.json",
        b"out.pdrm",
        b"out.xyz",
        b"missing/out.svg",
        b"run",
        b"runs",
        b"proof.json",
    ),
)
TASK = "name odd\nevents A B\nstack # A\nstart u\nfinal done\notherwise stay 0\nu -> u : {A}, z / A z, 1\nu -> done : {B}, A / eps, 2\n"
STUDY = "name = 's$'\nseeds = 1\n[[panels]]\ndomain = 'letter'\n[[panels.agents]]\nagent = 'q'\nsettings = {episodes = 20}\n"


def furnish(folder: Path) -> None:
    """Files to name: right, broken, empty, nested without end."""
    (folder / "task.pdrm").write_text(TASK)
    (folder / "odd$name.pdrm").write_text(
        TASK.replace("done", "d$ne").replace("name odd", "name $x^{")
    )
    (folder / "broken.pdrm").write_bytes(b"events A\nstack #\nu -> \xff")
    (folder / "empty").write_bytes(b"")
    (folder / "folder").mkdir()
    (folder / "map.txt").write_text("step_limit 9\nplace k key\n#####\n#@.k#\n#####\n")
    (folder / "deep.json").write_text("[" * 100_000)
    (folder / "deep.toml").write_text("a = " + "[" * 100_000)
    (folder / "study.toml").write_text(STUDY)
    (folder / "proof.json").write_text('{"format": "pdrm certificate 2"}')


def command_line(chance: Random, options: dict[str, list[str]]) -> list[bytes]:
    """A command, mostly one that there is, with arguments and options that it has or has not."""
    name = chance.choice(list(options))
    if name in HEAVY and chance.random() < 0.6:  # these take seconds where they are right
        name = chance.choice(list(options))
    words: list[bytes] = (
        []
        if chance.random() < 0.02
        else [name.encode() if chance.random() < 0.97 else chance.choice(ODD)]
    )
    words += chance.choices(ODD, k=chance.choice((0, 1, 1, 1, 2, 2, 3)))
    for _ in range(chance.choice((0, 0, 1, 1, 2, 3))):
        option = (
            chance.choice([*options[name], "--help"]).encode()
            if chance.random() < 0.95
            else b"--no-such"
        )
        words += [option] if chance.random() < 0.3 else [option, chance.choice(ODD)]
    if name == "train":
        words += [b"--set", b"episodes=20"] if chance.random() < 0.3 else [b"--episodes", b"20"]
    return words


# --- The process that forks


def serve() -> None:
    """Read command lines as JSON, run each in a fork, answer with its exit code."""
    found = {
        name: [
            word for one in load_command(name).params for word in one.opts if word.startswith("-")
        ]
        for name in COMMANDS
    }
    _answer(found)
    for line in iter(sys.stdin.buffer.readline, b""):
        case = json.loads(line)
        child = os.fork()
        if child == 0:
            _run(case)
        _answer(_wait(child))


def _answer(value: object) -> None:
    """One line of JSON, whatever the encoding of standard output."""
    os.write(1, json.dumps(value).encode() + b"\n")


def _run(case: dict[str, Any]) -> None:
    """The fork: a command of its own, from its arguments to its exit code."""
    os.setsid()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    os.chdir(case["folder"])
    with open("said", "wb") as said, open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)
        os.dup2(said.fileno(), 1)
        os.dup2(said.fileno(), 2)
    sys.argv = ["pdrm", *(os.fsdecode(bytes.fromhex(word)) for word in case["words"])]
    code: Any = 0
    try:
        main()
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except BaseException:
        traceback.print_exc()
        code = CRASHED
    finally:
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        except BaseException:
            code = CRASHED
        os._exit(code)


def _wait(child: int) -> int:
    """The exit code of a fork; it gets Ctrl-C when it takes long, and is killed, which is a fault, when that does not help."""
    began, asked = time.monotonic(), False
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            _kill_group(child)
            return os.waitstatus_to_exitcode(status)
        spent = time.monotonic() - began
        if spent > LONGEST and not asked:
            asked = True
            os.kill(child, signal.SIGINT)
        if spent > LONGEST + PATIENCE:
            _kill_group(child)
        time.sleep(0.005)


def _kill_group(child: int) -> None:
    try:
        os.killpg(child, signal.SIGKILL)
    except ProcessLookupError:
        return


# --- The proof


def check(seed: int, cases: int = CASES) -> Counter[str]:
    """So many command lines in one locale and encoding."""
    chance, counts, folder = Random(seed), Counter[str](), Path(mkdtemp())
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("LC_", "LANG", "PYTHONIO", "PYTHONUTF8"))
    }
    environment |= PLACES[seed % len(PLACES)]
    server = subprocess.Popen(
        [sys.executable, "-m", "tests.properties.command_lines"],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=Path.cwd(),
    )
    assert server.stdin is not None
    assert server.stdout is not None
    try:
        options = json.loads(server.stdout.readline())
        for case in range(cases):
            place = folder / str(case)
            place.mkdir()
            furnish(place)
            words = command_line(chance, options)
            server.stdin.write(
                json.dumps({"folder": str(place), "words": [word.hex() for word in words]}).encode()
                + b"\n"
            )
            server.stdin.flush()
            shown = f"{PLACES[seed % len(PLACES)]}: pdrm {b' '.join(words)!r:.600}"
            answer = server.stdout.readline()
            assert answer, f"the process that forks ended at {shown}"
            code, said = int(answer), (place / "said").read_bytes().decode("utf-8", "replace")
            assert code in ALLOWED, f"exit code {code} of {shown}\n{said[-3000:]}"
            assert TRACEBACK not in said.replace("\x00", ""), (
                f"a traceback of {shown}\n{said[-3000:]}"
            )
            assert not (folder / "x").exists(), f"a file outside its folder: {shown}"
            counts["cases"] += 1
            counts[f"exit code {code}"] += 1
            shutil.rmtree(place, ignore_errors=True)
    finally:
        server.kill()
        server.communicate()  # closes its pipes
        shutil.rmtree(folder, ignore_errors=True)
    return counts


if __name__ == "__main__":
    serve()
