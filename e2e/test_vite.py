"""A page that imports the bundle works after a production build by vite."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from compiled import PAGES, ROOT
from device_artifacts import tiny_device_artifact
from harness import RUN, open_page, outcome
from playwright.sync_api import Page
from server import serve
from tiny_artifact import tiny_artifact, tiny_weights
from webnn_compile.bundle import Artifact, write_bundle

VITE = ROOT / "node_modules" / ".bin" / "vite"


def build(folder: Path, artifact: Artifact) -> Path:
    """A page with the bundle, as vite makes it for production."""
    if not VITE.exists() or shutil.which("node") is None:
        message = "no vite: run `npm install` in the repository (needs Node.js 20.19 or later)"
        if os.environ.get("CI") == "true":
            pytest.fail(message)
        pytest.skip(message)
    shutil.copytree(PAGES, folder, dirs_exist_ok=True)
    (folder / "blank.html").rename(folder / "index.html")
    # The second shard is so small that vite turns it into a data: URL.
    write_bundle(artifact, folder / "bundle", shard_bytes=5000)
    done = subprocess.run(
        [VITE, "build", "--base", "./", "--logLevel", "warn"], cwd=folder, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "dist"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("vite"), tiny_artifact())


@pytest.mark.parametrize("worker", [True, False], ids=["worker", "inline"])
def test_production_build(page: Page, built: Path, worker: bool) -> None:
    with serve(built, prefix="app") as site:
        open_page(page, site, "")
        result = outcome(page, RUN, {"options": {"worker": worker}, "values": [1] * 1024})["value"]
        w, b = tiny_weights(1024)
        assert result["output"] == [max(0, value) for value in (w + b).tolist()]
        assert result["info"]["worker"] is worker
        paths = [path for path in site.requests if path != "/favicon.ico"]
        assert all(path.startswith("/app/") for path in paths)
        assert any("weights-" in path for path in paths)


@pytest.fixture(scope="module")
def built_for_devices(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("vite"), tiny_device_artifact("webgpu", "webgl", "wasm"))


@pytest.mark.parametrize("worker", [True, False], ids=["worker", "inline"])
def test_production_build_for_devices(page: Page, built_for_devices: Path, worker: bool) -> None:
    with serve(built_for_devices, prefix="app") as site:
        open_page(page, site, "")
        options = {"worker": worker, "backend": "webgl"}
        result = outcome(page, RUN, {"options": options, "values": [1] * 1024})["value"]
        w, c = tiny_weights(1024)
        assert result["output"] == [max(0, value) for value in (w + 2 * c).tolist()]
        assert result["info"]["backend"] == "webgl"
