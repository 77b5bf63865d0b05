"""Domains in files: a map (text) or arrays (`.npz`). Your own domain needs no class, and loading it runs no code."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

from pdrm.domains.array_domain import domain_bytes, parse_array_file
from pdrm.domains.finite_domain import FiniteDomain
from pdrm.domains.paper_domains import domain, names
from pdrm.domains.water import SIDES
from pdrm.errors import BadDomainFile, UnknownDomain, UnknownFormat, did_you_mean
from pdrm.files import means_name, read_bytes, write_atomically
from pdrm.limits import LARGEST_DOMAIN

ARRAYS = ".npz"
ZIPPED = b"PK"
"""What the bytes of an `.npz` begin with, whatever its name."""


GYMNASIUM_ID = re.compile(r"-v\d+$")
"""How the names of Gymnasium's environments end."""


def load_domain(path: str | os.PathLike[str]) -> FiniteDomain:
    r"""The domain in a file: a map with its settings (see `map_file`), or arrays as `save_domain` writes them. path: of the file.

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
    from pdrm.domains.map_file import parse_map_file

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
    """The domain of a name of the catalogue, else of a file (`./letter` where there is a file of the same name).

    >>> find_domain("letter").name
    'letter'
    """
    _refuse_environment(name)
    if not means_name(name, names()):
        return load_domain(name)
    if name in names():
        return domain(str(name))
    if name in SIDES:
        raise UnknownDomain(
            f"`{name}` is continuous, and this needs a finite domain",
            fix=f"pdrm.train({name!r}) (pdrm train {name})",
        )
    files = [f"{name}{ending}" for ending in (".txt", ARRAYS) if Path(f"{name}{ending}").exists()]
    guess = (
        f"did you mean the file {files[0]}?"
        if files
        else did_you_mean(str(name), (*names(), *SIDES))
    )
    fix = f"{guess} (or give the path of a map or an {ARRAYS} file)"
    raise UnknownDomain(f"there is no domain `{name}`, and no such file", fix=fix)


def _refuse_environment(name: str | os.PathLike[str]) -> None:
    """Raise if this is the name of an environment of Gymnasium: by its ending, or because Gymnasium, where it is imported, has it."""
    called = Path(name).as_posix()
    known = getattr(sys.modules.get("gymnasium"), "registry", {})
    if (not GYMNASIUM_ID.search(called) and called not in known) or Path(name).exists():
        return
    kwargs = getattr(known.get(called), "kwargs", {})
    if own := called.startswith("pdrm/") and (kwargs.get("domain") or kwargs.get("world")):
        raise UnknownDomain(
            f"`{called}` is what Gymnasium calls the domain `{own}`", fix=f'pdrm.Task("{own}")'
        )
    fix = (
        "wrap it, and train it with Stable-Baselines3:\n"
        f'       env = pdrm.wrap(gymnasium.make("{called}"), machine, labels, flatten=True)\n'
        '       stable_baselines3.PPO("MlpPolicy", env).learn(100_000)\n'
        "       (pdrm.from_gymnasium(env, labels) makes a domain of one that has a transition table)"
    )
    raise UnknownDomain(
        f"`{called}` is an environment of Gymnasium, and a domain is needed", fix=fix
    )
