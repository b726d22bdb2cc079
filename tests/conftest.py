"""Options of the test run."""

from __future__ import annotations

import pytest
from hypothesis import settings
from kernel_cache import use_cache_of_this_run

settings.register_profile("repeatable", derandomize=True, deadline=None, max_examples=60)
settings.load_profile("repeatable")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write tests/golden/ anew; review the difference")


@pytest.fixture(scope="session", autouse=True)
def cache_of_this_run(tmp_path_factory: pytest.TempPathFactory) -> None:
    use_cache_of_this_run(tmp_path_factory)
