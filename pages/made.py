"""The pages that are made, and how: from the commands, the errors' and the library's docstrings, the benches' records."""

from __future__ import annotations

from collections.abc import Callable

from pages.benchmarks import benchmarks_page
from pages.commands import commands_page
from pages.counterfactuals import sb3_page
from pages.errors import errors_page
from pages.k_budget import k_page
from pages.library import library_page
from pages.settings import settings_page
from pages.shaping import shaping_page
from pages.summary_study import summaries_page
from pages.van import PAGE as DEEP_PAGE
from pages.van import with_table

PAGES: dict[str, Callable[[], str]] = {
    "commands.md": commands_page,
    "errors.md": errors_page,
    "api.md": library_page,
    "benchmarks.md": benchmarks_page,
    "settings.md": settings_page,
    "deep.md": lambda: with_table(DEEP_PAGE.read_text(encoding="utf-8")),
    "stable-baselines3.md": sb3_page,
    "shaping.md": shaping_page,
    "sufficient-k.md": k_page,
    "summaries.md": summaries_page,
}
"""File name in docs/ -> what makes its text."""
