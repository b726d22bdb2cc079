"""The folder with which a page compiles models, built once for all processes of a run."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from made_once import made_once
from webnn_compile.compile_page.build_page import build_page
from webnn_compile.compile_page.downloads import Downloads
from webnn_compile.errors import InputError
from webnn_compile.system.cache import usual_folder

ROOT = Path(__file__).resolve().parent.parent
DEMO = Path("build/demo/compile")
"""The page of `make demo`."""
NUMPY = "WEBNN_COMPILE_NUMPY"
"""The variable with the path of NumPy's wheel, where the network does not have it."""


def downloads() -> Downloads:
    """The downloads that the command keeps."""
    numpy = os.environ.get(NUMPY)
    return Downloads(usual_folder() / "page", Path(numpy) if numpy else None)


def built_page(folders: pytest.TempPathFactory) -> Path:
    """The folder, which no test changes. Skips the test where downloads or Node are missing."""
    return made_once(folders, "compile-page", _build)


def _build(folder: Path) -> None:
    try:
        if _is_newer_than_its_sources():
            shutil.copytree(ROOT / DEMO, folder)
        else:
            build_page(folder, downloads(), lambda _: None)
    except InputError as error:
        pytest.skip(f"the page cannot be built: {error}")


def _is_newer_than_its_sources() -> bool:
    """Whether `make demo` has built the page of this tree. `test_build_page` builds one more, which is equal."""
    command = ["make", "--question", "--silent", (DEMO / "files.json").as_posix()]
    return shutil.which("make") is not None and subprocess.run(command, cwd=ROOT, capture_output=True).returncode == 0
