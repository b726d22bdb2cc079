"""Requests to the compiler as its page makes them, in ordinary Python."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from cli.command import run
from onnx_models import model, node
from webnn_compile.compile_page.answer import answer

SHAPES = {"x": [1, 3, 8, 8]}
"""Shapes of the model that tests/compile_page/conftest.py has."""

SHADERS = ("--host", "js", "--targets", "webgpu,webgl")
"""The targets of the page, for the command line."""


def boxes_and_scores() -> onnx.ModelProto:
    """A model of two boxes, of which a detector's file says which of its outputs they are."""
    nodes = [
        node("Flatten", ["x"], ["flat"]),
        node("Reshape", ["flat", "shape"], ["boxes"]),
        node("Relu", ["boxes"], ["scores"]),
    ]
    return model(nodes, {"x": [1, 1, 2, 4]}, ["boxes", "scores"], {"shape": np.array([1, 2, 4])})


def asked(
    operation: str, page: Any = None, say: Callable[[str], None] = lambda _: None, heap: Any = None, **request: Any
) -> Any:
    """The answer, which has no files."""
    text, files = answer(operation, json.dumps(request, default=str), say, page, heap)
    assert files == []
    return json.loads(text)


def compiled(path: Path, say: Callable[[str], None] = lambda _: None, **request: Any) -> tuple[Any, dict[str, bytes]]:
    text, files = answer("compile", json.dumps({"model": str(path), "shapes": SHAPES, **request}), say)
    found = json.loads(text)
    assert "error" not in found, found
    assert len({name for name, _ in files}) == len(files)
    return found, dict(files)


def message_of(*arguments: str | Path) -> str:
    """The message of the command line for a mistake."""
    result = run(*arguments)
    assert result.exit_code == 2, result.output
    return re.split("[Ee]rror: ", result.output, maxsplit=1)[1].strip()
