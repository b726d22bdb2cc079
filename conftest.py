"""Options of the test run, for tests/ and e2e/."""

from __future__ import annotations

import gc

import pytest
from effort import Effort, effort_of, leave_to_ci
from hypothesis import settings
from kernel_cache import use_cache_of_this_run
from webnn_compile.system.collector import collect_less_often

settings.register_profile("repeatable", derandomize=True, deadline=None, max_examples=60)
settings.load_profile("repeatable")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write tests/golden/ anew; review the difference")
    parser.addoption("--effort", choices=Effort.__args__, default="ci", help="how much runs: tests/effort.py")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if effort_of(config) == "check":
        items[:], left = leave_to_ci(items)
        config.hook.pytest_deselected(items=left)


def pytest_collection_finish() -> None:
    """What was collected stays until the end: the collector of garbage need not look at it again and again."""
    collect_less_often()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def cache_of_this_run(tmp_path_factory: pytest.TempPathFactory) -> None:
    use_cache_of_this_run(tmp_path_factory)
