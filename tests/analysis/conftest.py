"""Ignore warnings of odd tasks in this folder. Tests of such warnings expect them by name."""

from pathlib import Path

import pytest


def pytest_collection_modifyitems(items):
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.filterwarnings("ignore::pdrm.errors.TaskWarning"))
