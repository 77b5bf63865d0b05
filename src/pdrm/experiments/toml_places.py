"""Where in a TOML text a key stands: the standard library's reader says it for syntax errors only."""

from __future__ import annotations

import re

from pdrm.errors import Where

Path = tuple[str | int, ...]
HEADER = re.compile(r"\s*(\[\[?)\s*([\w.\-]+)\s*\]\]?")
KEY = re.compile(r"\s*([\w\-]+)\s*=")


class Places:
    r"""The line of each table and key.

    >>> text = "name = 'a'\n[[panels]]\ndomain = 'letter'\n[[panels.agents]]\nk = 1\n"
    >>> str(Places("s.toml", text).of(("panels", 0, "agents", 0, "k")))
    's.toml:5:1'
    >>> str(Places("s.toml", text).of(("panels", 0, "agents", 7, "k")))
    's.toml:4:1'
    """

    def __init__(self, file: str, text: str) -> None:
        self.file, self.lines = file, text.splitlines()
        self._found: dict[Path, int] = {(): 1}
        counts: dict[Path, int] = {}
        here: Path = ()
        for number, line in enumerate(self.lines, start=1):
            if header := HEADER.match(line):
                here = self._table(header[2].split("."), counts, is_array=header[1] == "[[")
                self._found.setdefault(here, number)
                self._found.setdefault(tuple(here[:-1]), number)
            elif key := KEY.match(line):
                self._found.setdefault((*here, key[1]), number)

    @staticmethod
    def _table(words: list[str], counts: dict[Path, int], *, is_array: bool) -> Path:
        """The path of a header: names of arrays are followed by the number of their latest table."""
        path: Path = ()
        for place, word in enumerate(words):
            path = (*path, word)
            if is_array and place == len(words) - 1:
                counts[path] = counts.get(path, 0) + 1
                for inner in [known for known in counts if len(known) > len(path) and known[: len(path)] == path]:
                    del counts[inner]
            if path in counts:
                path = (*path, counts[path] - 1)
        return path

    def has(self, path: Path) -> bool:
        """Whether there is a line for this very key (or, in a table on one line, for that table and a key of this name)."""
        around = self._found.get(path[:-1])
        inline = around is not None and re.search(rf"[{{,]\s*{path[-1]}\s*=", self.lines[around - 1]) is not None
        return path in self._found or inline

    def of(self, path: Path) -> Where:
        """The line of a key, or of the nearest table around it."""
        while path not in self._found:
            path = path[:-1]
        number = self._found[path]
        text = self.lines[number - 1] if self.lines else ""
        return Where(self.file, number, 1, text, max(1, len(text)))


def words(path: Path) -> str:
    """A path as people write it, counting from 1.

    >>> words(("panels", 0, "agents", 1, "k"))
    'panels[1].agents[2].k'
    """
    return "".join(f"[{part + 1}]" if isinstance(part, int) else f".{part}" for part in path).removeprefix(".")
