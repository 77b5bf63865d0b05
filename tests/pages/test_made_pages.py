"""The pages that are made say what the commands, the errors and the library say now; nothing is left out."""

import re
from pathlib import Path

import pytest

from pages import counterfactuals
from pages.commands import commands
from pages.error_examples import EXAMPLES
from pages.errors import PARTS, errors_page, example_of, message_of
from pages.library import groups
from pages.made import PAGES
from pages.van import with_table
from pdrm.errors import explanations

DOCS = Path(__file__).parents[2] / "docs"
WITHOUT = {"E0813", "E1103"}
"""Errors without an example: a network that must be compiled and trained first, a cluster that dies."""


@pytest.mark.parametrize("name", [name for name in PAGES if name != "errors.md"])
def test_the_page_is_what_would_be_made_now(name):
    assert (DOCS / name).read_text() == PAGES[name](), "write it anew: python -m pages"


def test_the_tables_of_deep_agents_are_what_the_record_says():
    page = (DOCS / "deep.md").read_text()
    assert with_table(page) == page, "write them anew: python -m pages.van"


def test_every_command_and_option_has_help_and_is_on_the_page():
    page = (DOCS / "commands.md").read_text()
    for name, command in commands().items():
        part = page.partition(f"\n## pdrm {name}\n")[2].partition("\n## ")[0]
        assert "Example: pdrm" in (command.help or ""), name
        for parameter in command.params:
            assert parameter.help, (name, parameter.name)
            for option in (
                parameter.opts
                if parameter.param_type_name == "option" and parameter.name != "help"
                else ()
            ):
                assert f"`{option}`" in part, (name, option)


def test_every_error_has_a_group_and_an_example_of_itself_and_the_page_says_so():
    for code in explanations():
        assert code[:3] in PARTS, code
        assert bool(example_of(code)) == (code not in WITHOUT), code
    for code, program in EXAMPLES.items():
        said = message_of(program)
        if code == "E0001":
            assert len(re.findall(r"^error\[E\d+\]", said, re.MULTILINE)) > 1
        else:
            assert said.startswith((f"error[{code}]", f"warning[{code}]")), said
    assert (DOCS / "errors.md").read_text() == errors_page(), "write it anew: python -m pages"


def test_every_public_name_is_on_the_page():
    import pdrm

    assert [name for names in groups().values() for name in names] == pdrm.__all__
    page = (DOCS / "api.md").read_text()
    for name in pdrm.__all__:
        assert f"\n### {name}\n" in page


def test_learnt_is_two_tests_in_a_row():
    """One good test at the very end is not enough, and a seed that never learnt counts as later than all others."""
    runs = [
        {"delivered": delivered, "seconds": 30}
        for delivered in ([0, 1, 1, 0], [0, 1, 0, 1], [0, 0, 0.8, 1])
    ]
    line = {"steps": 4000, "runs": runs}
    record = {
        "made_by": "us",
        "stable_baselines3": "2",
        "steps_between_tests": 1000,
        "lines": {"DQN": line},
    }
    assert (
        "| DQN | 4,000 | 1 of 3 | more than 4,000 | 2,000, 2,000 | 67% |"
        in counterfactuals.table(record)
    )
    line["runs"] = runs[:1]
    assert "| 1 of 1 | 2,000 |" in counterfactuals.table(record)
