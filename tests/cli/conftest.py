"""A model for the command line."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest
from cli.command import network


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A model whose batch is free."""
    made = tmp_path / "net.onnx"
    onnx.save(network(), made)
    return made
