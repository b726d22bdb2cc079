"""Sites of two bundles, of wasm and of all backends, with which loads and runs end."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from device_artifacts import tiny_device_artifact
from devices import write_site
from server import ISOLATION, Site, serve
from tiny_artifact import tiny_artifact


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    bundles = {"tiny": tiny_device_artifact("wasm", "webgl", "webgpu"), "cpu": tiny_artifact()}
    return write_site(tmp_path_factory.mktemp("abort"), bundles)


@pytest.fixture(params=["messages", "shared memory"])
def site(folder: Path, request: pytest.FixtureRequest) -> Iterator[Site]:
    """Page and worker talk by messages, or, where the page is cross-origin isolated, by shared memory, too."""
    with serve(folder, headers=ISOLATION if request.param == "shared memory" else None) as served:
        yield served


@pytest.fixture
def plain_site(folder: Path) -> Iterator[Site]:
    with serve(folder) as served:
        yield served
