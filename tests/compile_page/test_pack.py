"""Modules of the compile page are bytecode without what no run reads."""

from __future__ import annotations

import marshal
from typing import Any

import pytest
from webnn_compile.compile_page.pack import bytecode

SOURCE = b'''"""What it is."""
from dataclasses import dataclass

@dataclass
class Pair:
    """Two numbers."""
    first: int
    second: int = 2

    def total(self, times: int = 1) -> int:
        """The sum."""
        assert times
        return times * (self.first + self.second)
'''


@pytest.mark.parametrize(
    ("name", "annotations"), [("webnn_compile/pair.py", set()), ("onnx/pair.py", {"times", "return"})]
)
def test_docstrings_go_and_annotations_of_our_functions(name: str, annotations: set[str]) -> None:
    made: dict[str, Any] = {"__name__": "pair"}
    exec(marshal.loads(bytecode(name, SOURCE)[16:]), made)
    pair = made["Pair"]
    assert pair(1).total(2) == 6
    assert made.get("__doc__") is pair.total.__doc__ is None
    assert set(pair.total.__annotations__) == annotations
    assert set(pair.__annotations__) == {"first", "second"}
