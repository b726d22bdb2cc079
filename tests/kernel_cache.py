"""Where compiled kernels are kept while tests run."""

from __future__ import annotations

import os

import pytest
from webnn_compile.system.cache import FOLDER_VARIABLE


def use_cache_of_this_run(folders: pytest.TempPathFactory) -> None:
    """The user's cache is neither read nor written: all processes of a run share a folder of its own. In CI that is the
    one which the script names, for the example's page, too."""
    if os.environ.get("CI") == "true" and FOLDER_VARIABLE in os.environ:
        return
    base = folders.getbasetemp()
    of_workers = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    os.environ[FOLDER_VARIABLE] = str(of_workers / "kernels")
