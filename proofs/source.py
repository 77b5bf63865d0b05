"""Which source a result depends on, as a short digest: another digest, and the result is of another program.

That source is the module of the check with what it imports of `proofs/`, and every folder of the package that these import,
with the folders that those import in turn, data files included.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from proofs.proof import Proof

ROOT = Path(__file__).resolve().parent.parent
IMPORTED = re.compile(r"^\s*(?:from|import) (pdrm|proofs)\.(\w+)|^\s*from (proofs) import ([\w, ]+)", re.MULTILINE)
COMPILED = ("machines", "domains", "product", "learning", "analysis")
"""The folders with Numba kernels, and what these are compiled from."""

T = TypeVar("T")


class Sources:
    """The source at one moment: every file is read once."""

    def __init__(self, root: Path = ROOT) -> None:
        self.root = root

    def digest(self, proof: Proof) -> str:
        """Of everything that a proof's result depends on."""
        return self._hashed([*self.modules(proof), *self._files(self.folders(proof))])

    def modules(self, proof: Proof) -> list[Path]:
        """The files of the check."""
        return reached([self.root / f"{proof.module.replace('.', '/')}.py"], self._modules_in)

    def folders(self, proof: Proof) -> list[str]:
        """The folders of the package that its result depends on."""
        named = (name for path in self.modules(proof) for name in self._named(path, "pdrm"))
        return reached([*proof.also, *named], self._folders_in)

    def kernels(self) -> str:
        """Of everything that Numba's kernels are compiled from: its own cache looks at the date of one file only."""
        return self._hashed(self._files(reached(list(COMPILED), self._folders_in)))

    @cached_property
    def _read(self) -> dict[Path, bytes]:
        places = (*self.root.glob("proofs/*.py"), *self.root.glob("src/pdrm/*/**/*"))
        return {path: path.read_bytes() for path in places if path.is_file() and "__pycache__" not in path.parts}

    def _bytes(self, path: Path) -> bytes:
        return self._read[path] if path in self._read else path.read_bytes()

    def _named(self, path: Path, package: str) -> list[str]:
        """The parts of a package that a file imports from."""
        found = IMPORTED.findall(self._bytes(path).decode()) if path.suffix == ".py" else []
        single = [part for name, part, _, _ in found if name == package]
        return single + [part.strip() for *_, name, parts in found if name == package for part in parts.split(",")]

    def _modules_in(self, path: Path) -> list[Path]:
        paths = (self.root / "proofs" / f"{name}.py" for name in self._named(path, "proofs"))
        return [path for path in paths if path in self._read]

    def _folders_in(self, folder: str) -> list[str]:
        return sorted({name for path in self._files([folder]) for name in self._named(path, "pdrm")})

    def _files(self, folders: Iterable[str]) -> list[Path]:
        places = {self.root / "src" / "pdrm" / folder for folder in folders}
        return [path for path in self._read if places.intersection(path.parents)]

    def _hashed(self, paths: Iterable[Path]) -> str:
        digest = hashlib.sha256()
        for path in sorted(set(paths)):
            data = self._bytes(path)
            digest.update(f"{path.relative_to(self.root).as_posix()}\0{len(data)}\0".encode() + data)
        return digest.hexdigest()[:12]


def reached(begin: list[T], after: Callable[[T], list[T]]) -> list[T]:
    """Everything that can be reached from some things."""
    found = list(dict.fromkeys(begin))
    for one in found:
        found.extend(other for other in dict.fromkeys(after(one)) if other not in found)
    return found
