"""Tasks that are made to be odd may warn of what is more often a mistake; tests that ask for such warnings name them."""

from pathlib import Path

import pytest


def pytest_collection_modifyitems(items):
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.filterwarnings("ignore::pdrm.errors.TaskWarning"))
