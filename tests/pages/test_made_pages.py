"""The pages that are made say what the commands, the errors and the library say now; nothing is left out."""

import re
from pathlib import Path

import pytest

from pages.commands import commands
from pages.error_examples import EXAMPLES
from pages.errors import PARTS, example_of, message_of
from pages.library import groups
from pages.made import PAGES
from pdrm.errors import explanations

DOCS = Path(__file__).parents[2] / "docs"
WITHOUT = {"E1103"}
"""Errors without an example: a cluster that dies."""


@pytest.mark.parametrize("name", PAGES)
def test_the_page_is_what_would_be_made_now(name):
    assert (DOCS / name).read_text() == PAGES[name](), "write it anew: python -m pages"


@pytest.mark.parametrize("name", commands())
def test_every_command_and_option_has_help_and_is_on_the_page(name):
    command, page = commands()[name], (DOCS / "commands.md").read_text()
    part = page.partition(f"\n## pdrm {name}\n")[2].partition("\n## ")[0]
    assert command.help
    assert "Example: pdrm" in command.help
    for parameter in command.params:
        assert parameter.help, parameter.name
        for option in parameter.opts if parameter.param_type_name == "option" and parameter.name != "help" else ():
            assert f"`{option}`" in part, option


@pytest.mark.parametrize("code", explanations())
def test_every_error_has_a_group_and_an_example(code):
    assert code[:3] in PARTS
    assert bool(example_of(code)) == (code not in WITHOUT)


@pytest.mark.parametrize("code", EXAMPLES)
def test_an_example_is_of_its_error(code):
    said = message_of(EXAMPLES[code])
    if code == "E0001":
        assert len(re.findall(r"^error\[E\d+\]", said, re.MULTILINE)) > 1
    else:
        assert said.startswith((f"error[{code}]", f"warning[{code}]"))


def test_every_public_name_is_on_the_page():
    import pdrm

    assert [name for names in groups().values() for name in names] == pdrm.__all__
    page = (DOCS / "api.md").read_text()
    for name in pdrm.__all__:
        assert f"\n### {name}\n" in page
