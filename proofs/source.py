"""Which source a result depends on, as a short digest: with another digest, the result is of another program.

A part is a chapter of the package, data files included (`pdrm.machines`), or a module outside it (`proofs.engines`). A result
depends on the parts that its check imports, and on those that they import in turn.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
IMPORT = re.compile(
    r"""(?:^\s*(?:from|import) |["'])(pdrm|proofs)(?:\.(\w+)| import ([\w, ]+))""", re.MULTILINE
)
COMPILED = ("pdrm.machines", "pdrm.domains", "pdrm.product", "pdrm.learning", "pdrm.analysis")
"""The chapters with Numba kernels."""


class Sources:
    """The source at one moment: every file is read once."""

    def __init__(self, root: Path = ROOT) -> None:
        self.root = root
        self._read: dict[str, dict[str, bytes]] = {}

    def digest(self, parts: Iterable[str]) -> str:
        """Of some parts and of everything that they import."""
        digest = hashlib.sha256()
        for part in sorted(self.reach(parts)):
            for name, data in sorted(self.files(part).items()):
                digest.update(f"{name}\0{len(data)}\0".encode() + data)
        return digest.hexdigest()[:12]

    def reach(self, parts: Iterable[str]) -> list[str]:
        """These parts, and all that they import, directly or not."""
        found = list(dict.fromkeys(parts))
        for part in found:
            found.extend(other for other in self._imports(part) if other not in found)
        return found

    def files(self, part: str) -> dict[str, bytes]:
        """The files of a part; none if there is no such part."""
        if part not in self._read:
            place = self.root / ("src" if part.startswith("pdrm.") else "") / part.replace(".", "/")
            paths = (
                path for path in (place.with_suffix(".py"), *place.rglob("*")) if path.is_file()
            )
            kept = (path for path in paths if "__pycache__" not in path.parts)
            self._read[part] = {
                path.relative_to(self.root).as_posix(): path.read_bytes() for path in kept
            }
        return self._read[part]

    def _imports(self, part: str) -> list[str]:
        text = "\n".join(
            data.decode() for name, data in self.files(part).items() if name.endswith(".py")
        )
        found = (
            f"{package}.{name.strip()}"
            for package, one, several in IMPORT.findall(text)
            for name in (one or several).split(",")
        )
        return [name for name in dict.fromkeys(found) if self.files(name)]
