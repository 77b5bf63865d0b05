"""docs/errors.md: every error and warning, with its explanation and what is really said in an example."""

from __future__ import annotations

import io
import os
import re
import sys
import tempfile
from contextlib import chdir, redirect_stderr, redirect_stdout, suppress
from functools import cache
from pathlib import Path

from pages.error_examples import EXAMPLES, START
from pdrm.cli.main import main
from pdrm.errors import PdrmError, explanations

ROOT = Path(__file__).parent.parent
GOLDEN = ROOT / "tests" / "machines" / "text" / "messages.txt"
PARTS = {
    "E00": "Several at once",
    "E01": "Reading a text",
    "E02": "Names",
    "E03": "Machines",
    "E04": "Running a machine",
    "E05": "Files and names",
    "E07": "Domains",
    "E08": "Settings, agents, policies",
    "E09": "Wrapping an environment",
    "E10": "What can be proved",
    "E11": "Studies",
    "W06": "Warnings",
}
WIDEST = 160
HEAD = """# Errors and warnings

*Made by `python -m pages`: the explanations are those of `pdrm explain CODE`, the messages are what pdrm says.*

Every error that pdrm raises on purpose is a `pdrm.PdrmError` with a `code`, a `message`, a `fix` and, where it is about a text, the place. The command prints
it and ends with exit code 2.
"""


def errors_page() -> str:
    """The page."""
    parts, group = [HEAD], ""
    for code, (title, text) in explanations().items():
        if code[:3] != group:
            group = code[:3]
            parts += [f"## {PARTS[group]}", ""]
        parts += [f"### {code}: {title}", "", _escaped(" ".join(text.split())), ""]
        example = example_of(code)
        if example:
            parts += [example, ""]
    return "\n".join(parts)


def example_of(code: str) -> str:
    """What is said where the fault is: of a faulty machine file, or after a few lines of Python. Empty: there is none."""
    if code in EXAMPLES:
        program, said = EXAMPLES[code], message_of(EXAMPLES[code])
        language = "sh" if program.startswith("pdrm ") else "pycon"
        return f"```{language}\n{shown(program)}\n```\n```text\n{said}\n```"
    messages = re.split(r"^=== .+\n", GOLDEN.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    fitting = [
        said
        for said in messages
        if said.startswith(f"error[{code}]") and max(map(len, said.splitlines())) <= WIDEST
    ]
    if not fitting:
        return ""
    said = min(
        fitting, key=lambda said: (" task.pdrm:" not in said, said.count("error["), len(said))
    )
    return f"```text\n{said.partition('  more: ')[0].rstrip()}\n```"


def shown(program: str) -> str:
    """Python lines as in a session; commands as they are."""
    lines = program.split("\n")
    return "\n".join(line if line.startswith("pdrm ") else f">>> {line}" for line in lines)


@cache
def message_of(program: str) -> str:
    """What the lines say in an empty folder: what they print, or the error."""
    lines = program.split("\n")
    python = "\n".join(line for line in lines if not line.startswith("pdrm "))
    printed, loaded = io.StringIO(), dict(sys.modules)
    with tempfile.TemporaryDirectory() as folder, chdir(folder), redirect_stdout(printed):
        try:
            exec(compile(START + python, "<example>", "exec"), {})
        except PdrmError as error:
            return _bare(str(error), folder)
        finally:
            sys.modules.update(
                {
                    name: loaded[name]
                    for name, module in sys.modules.items()
                    if module is None and name in loaded
                }
            )
            for name in [
                name
                for name, module in sys.modules.items()
                if module is None and name not in loaded
            ]:
                del sys.modules[name]
        for line in lines:
            if line.startswith("pdrm "):
                printed.write(_run(line))
    return _bare(printed.getvalue(), folder)


def _run(command: str) -> str:
    """What a command says on standard error."""
    said, words, colour = io.StringIO(), sys.argv, os.environ.get("NO_COLOR")
    sys.argv, os.environ["NO_COLOR"] = command.split(), "1"
    try:
        with redirect_stdout(io.StringIO()), redirect_stderr(said), suppress(SystemExit):
            main()
    finally:
        sys.argv = words
        os.environ.pop("NO_COLOR") if colour is None else os.environ.update(NO_COLOR=colour)
    return said.getvalue()


def _bare(said: str, folder: str) -> str:
    """Without the name of the folder, addresses, and the line that names `pdrm explain`."""
    text = said.partition("  more: ")[0].replace(f"{folder}/", "").strip()
    return re.sub(r" at 0x[0-9a-f]+", "", text)


def _escaped(text: str) -> str:
    """Brackets and angles that Markdown would take for its own, outside of code."""
    parts = text.split("`")
    parts[::2] = [re.sub(r"([\[\]<>*_])", r"\\\1", part) for part in parts[::2]]
    return "`".join(parts)
