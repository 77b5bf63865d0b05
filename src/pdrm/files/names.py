"""A word for a name of a catalogue or for a file: one rule, for machines and domains alike.

A name of the catalogue means what the catalogue has, whatever files are about; `./letter` is the file. Any other word that
could be a name is one unless there is such a file. What has a folder or an ending, and every `Path`, is a file.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path


def means_name(word: str | os.PathLike[str], known: Collection[str], folder: Path = Path()) -> bool:
    """Whether a name of a catalogue is meant, even if it has no such name; files are looked for in the folder.

    >>> [means_name(word, ["letter"]) for word in ("letter", "lettr", "./letter", "task.pdrm", Path("letter"))]
    [True, True, False, False, False]
    """
    if not isinstance(word, str):
        return False
    if word in known:
        return True
    path, file = Path(word), folder / word
    return path.name == word and not path.suffix and (file.is_dir() or not file.exists())
