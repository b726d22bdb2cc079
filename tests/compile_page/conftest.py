"""A model for the compiler of the page."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest
from cli.command import network


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model whose batch is free."""
    made = tmp_path_factory.mktemp("model") / "net.onnx"
    onnx.save(network(), made)
    return made
