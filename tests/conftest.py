"""Options of the test run."""

from __future__ import annotations

import os

import pytest
from hypothesis import settings
from webnn_compile.system.cache import FOLDER_VARIABLE

settings.register_profile("repeatable", derandomize=True, deadline=None, max_examples=60)
settings.load_profile("repeatable")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write tests/golden/ anew; review the difference")


@pytest.fixture(scope="session", autouse=True)
def cache_of_its_own(tmp_path_factory: pytest.TempPathFactory) -> None:
    """The user's cache of compiled kernels is neither read nor written."""
    os.environ[FOLDER_VARIABLE] = str(tmp_path_factory.mktemp("kernels"))
