"""Writes the scores of docs/operators.md: how many of ONNX's node tests pass on each target, and why others do not.

    python tests/node_scores.py [TARGET ...]

runs every test on these targets, by default on all that this machine can run; other rows stay. That takes minutes for
a target. `tests/docs/test_operators.py` holds the page against the reasons in `tests/test_onnx_node_data.py`.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import onnx
from scores import Counts, reason_rows, rows, write_scores
from test_onnx_node_data import EXCLUDED, NAMES, OPERATOR, REASONS, TYPES, operators, run

HEADING = "## ONNX's node tests"

TEXT = """{heading}

The package onnx {version} has {total} node tests: models of one node, or of the nodes that define an operator, with
inputs and outputs. `python tests/node_scores.py` runs all of them and writes these tables. Of operators that draw
random numbers, shapes and types are compared.

| target | passed | not supported | wrong |
| --- | --- | --- | --- |
{rows}
Those that do not pass on any target:

| why | tests | operators |
| --- | --- | --- |
{reasons}
"""


def section(counts: Counts) -> str:
    """The text of the scores."""

    def first(name: str) -> list[str]:
        return [min(operators(name) - {"Cast", "Constant", "Equal", "Identity"} or operators(name))]

    made = TEXT.format(
        heading=HEADING,
        version=onnx.__version__,
        total=f"{len(NAMES):,}",
        rows=rows(counts),
        reasons=reason_rows(REASONS, (OPERATOR, TYPES, *EXCLUDED), first),
    )
    return made.rstrip("\n") + "\n\n"


if __name__ == "__main__":
    write_scores(HEADING, section, run, NAMES, REASONS, sys.argv[1:])
