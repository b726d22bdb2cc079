"""Options of the test run, for tests/ and e2e/."""

from __future__ import annotations

import gc
import os

import pytest
from drivers import need_driver
from effort import Effort, effort_of, leave_to_all, leave_to_ci, target_of
from hypothesis import settings
from idle_threads import let_threads_sleep
from kernel_cache import use_cache_of_this_run
from webnn_compile.driver import compile_ahead
from webnn_compile.driver.device_target import DeviceTarget
from webnn_compile.driver.targets import TARGETS
from webnn_compile.system.collector import collect_less_often

for part in ("GOLDEN", "CANARIES"):  # most tests read none, and they take a compilation for this machine
    os.environ.setdefault(f"WEBNN_COMPILE_{part}", "off")

settings.register_profile("repeatable", derandomize=True, deadline=None, max_examples=60)
settings.load_profile("repeatable")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write golden files, screenshots anew; review them")
    parser.addoption("--effort", choices=Effort.__args__, default="ci", help="how much runs: tests/effort.py")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    leave = {"check": leave_to_ci, "ci": leave_to_all}.get(effort_of(config))
    if leave is not None:
        items[:], left = leave(items)
        config.hook.pytest_deselected(items=left)


def pytest_configure() -> None:
    """Where tests run beside each other, builds start no processes: to import the compiler takes each a second."""
    let_threads_sleep()
    if "PYTEST_XDIST_WORKER" in os.environ:
        compile_ahead.count_cores = lambda: 1


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Of a test with the parameter `target`: where it is of no bundle, compiling asks the device for facts."""
    row = TARGETS.get(target_of(item))
    if isinstance(row, DeviceTarget) and row.preference is None:
        need_driver(row.name)


def pytest_collection_finish() -> None:
    """What was collected stays until the end: the collector of garbage need not look at it again and again."""
    collect_less_often()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def cache_of_this_run(tmp_path_factory: pytest.TempPathFactory) -> None:
    use_cache_of_this_run(tmp_path_factory)
