"""`pdrm fmt`: regular layout, nothing lost."""

import re

import pytest

from pdrm.machines.catalogue import catalogue, names, text_of
from pdrm.machines.text.files import parse
from pdrm.machines.text.layout import lay_out
from pdrm.machines.text.writer import to_text


@pytest.mark.parametrize("name", names())
def test_the_machine_and_the_comments_stay(name):
    before = text_of(name)
    after = lay_out(before, name)
    assert parse(after, f"{name}.pdrm") == catalogue(name)
    assert re.findall("//.*", after) == re.findall("//.*", before)
    assert lay_out(after, name) == after


@pytest.mark.parametrize("name", names())
def test_the_catalogue_is_laid_out(name):
    assert lay_out(text_of(name), name) == text_of(name)


@pytest.mark.parametrize("name", names())
def test_squeezed_text_is_laid_out_alike(name):
    lines = [
        line if line.startswith("    ") else re.sub(r"\s+", " ", line) for line in to_text(catalogue(name)).splitlines()
    ]
    assert lay_out("\n".join(lines), name) == to_text(catalogue(name))


def test_blocks_are_indented_by_four():
    text = (
        "for a in x y:\n  u -> v : a, 1\n  for b in x y where b!=a :\n     // why\n     v -> u : b, 1\nu -> u : t, 2\n"
    )
    assert lay_out(text, "t") == (
        "for a in x y:\n    u -> v : a, 1\n    for b in x y where b != a:\n        // why\n        v -> u : b, 1\nu -> u : t, 2\n"
    )
