"""Domains in files: a map (text) or arrays (`.npz`). Your own domain needs no class, and loading it runs no code."""

from __future__ import annotations

import os
import re
from pathlib import Path

from pdrm.domains.array_domain import domain_bytes, parse_array_file
from pdrm.domains.finite_domain import FiniteDomain
from pdrm.domains.map_file import parse_map_file
from pdrm.domains.paper_domains import domain, names
from pdrm.domains.water import SIDES
from pdrm.errors import BadDomainFile, UnknownDomain, UnknownFormat, did_you_mean
from pdrm.files import means_name, read_bytes, write_atomically
from pdrm.limits import LARGEST_DOMAIN

ARRAYS = ".npz"
ZIPPED = b"PK"
"""The first bytes of an `.npz`, whatever its name."""

GYMNASIUM_ID = re.compile(r"-v\d+$")
"""The end of the name of an environment of Gymnasium."""


def load_domain(path: str | os.PathLike[str]) -> FiniteDomain:
    r"""The domain in a file: a map with its settings (see `map_file`), or arrays as `save_domain` writes them.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "rooms.txt"
    ...     _ = file.write_text("place k key\nstep_limit 50\n#####\n#@.k#\n#####")
    ...     load_domain(file).events
    ('key',)
    """
    file = Path(path)
    data = read_bytes(file, LARGEST_DOMAIN)
    if data.startswith(ZIPPED) or file.suffix == ARRAYS:
        return parse_array_file(data, file.stem, str(file))
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        fault = f"{file} is neither a map nor arrays: byte {error.start} is not UTF-8 text"
        raise BadDomainFile(
            fault, fix="save a map as UTF-8, arrays with pdrm.domains.save_domain"
        ) from error
    return parse_map_file(text, file.stem, str(file))


def save_domain(domain: FiniteDomain, path: str | os.PathLike[str]) -> None:
    """Write a domain's arrays and words to a `.npz` file, whole or not at all.

    >>> import tempfile
    >>> from pdrm.domains.paper_domains import domain as named
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_domain(named("letter"), Path(folder) / "letter.npz")
    ...     load_domain(Path(folder) / "letter.npz").states == named("letter").states
    True
    """
    file = Path(path)
    if file.suffix != ARRAYS:
        fault = f"a domain is saved as {ARRAYS}, and `{file.name}` has another ending"
        raise UnknownFormat(fault, fix=f"call it {file.with_suffix(ARRAYS).name}")
    write_atomically(file, domain_bytes(domain))


def find_domain(name: str | os.PathLike[str]) -> FiniteDomain:
    """The domain of a name of the catalogue, else of a file (`./letter` if there is a file of the same name).

    >>> find_domain("letter").name
    'letter'
    """
    if name in names():
        return domain(str(name))
    if not Path(name).exists() and GYMNASIUM_ID.search(Path(name).as_posix()):
        fault = f"`{name}` is an environment of Gymnasium, and a domain is needed"
        fix = (
            f'wrap it: pdrm.wrap(gymnasium.make("{name}"), machine, labels); '
            "pdrm.from_gymnasium(env, labels) makes a domain of one that has a transition table"
        )
        raise UnknownDomain(fault, fix=fix)
    if not means_name(name, names()):
        return load_domain(name)
    if name in SIDES:
        fault = f"`{name}` is continuous, and this needs a finite domain"
        raise UnknownDomain(fault, fix=f"pdrm.train({name!r})")
    files = [f"{name}{ending}" for ending in (".txt", ARRAYS)]
    known = [*names(), *SIDES, *(file for file in files if Path(file).exists())]
    fix = f"{did_you_mean(str(name), known)} (or give the path of a map or an {ARRAYS} file)"
    raise UnknownDomain(f"there is no domain `{name}`, and no such file", fix=fix)
