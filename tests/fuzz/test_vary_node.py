"""Every small change to a node compiles, or is refused by one plain error: importing and lowering raise no other.

A crash of the process is a failure, too: pytest's worker then names the test.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import onnx
import pytest
from effort import VARIANTS_OF_NODES, effort_of, every_nth_row
from fuzz.vary_node import vary_node
from op_table import all_cases, untyped_model
from webnn_compile.errors import WebnnCompileError
from webnn_compile.frontends.onnx import import_model
from webnn_compile.frontends.onnx.read_tensor import element_type
from webnn_compile.graph.lower_graph import lower_graph
from webnn_compile.graph.passes import run_graph_passes
from webnn_compile.system.recursion import deep_recursion

NODE_TESTS = Path(onnx.__file__).parent / "backend" / "test" / "data" / "node"


def rows() -> dict[str, list[onnx.ModelProto]]:
    """By operator one row of the operator table for each set of ranks, attributes and constants."""
    found: dict[object, tuple[str, onnx.ModelProto]] = {}
    for c in all_cases():
        ranks = tuple(None if a is None else (a.ndim, a.dtype.kind) for a in c.inputs)
        found.setdefault((c.op, ranks, c.opset, tuple(sorted(c.attributes)), c.constants), (c.op, untyped_model(c)))
    return grouped(found.values())


def node_tests() -> dict[str, list[onnx.ModelProto]]:
    """By operator, of ONNX's own tests, one for each number of operands and set of attributes: of operators that this
    compiler does not support, too."""
    found: dict[object, tuple[str, onnx.ModelProto]] = {}
    for path in sorted(NODE_TESTS.glob("test_*/model.onnx")):
        m = onnx.load(path)
        plain = all(element_type(v.type.tensor_type.elem_type) for v in m.graph.input)
        if len(m.graph.node) == 1 and not m.graph.node[0].domain and plain:
            (n,) = m.graph.node
            key = n.op_type, len(n.input), tuple(sorted(a.name for a in n.attribute)), m.opset_import[0].version
            found.setdefault(key, (n.op_type, m))
    return grouped(found.values())


def grouped(models: Iterable[tuple[str, onnx.ModelProto]]) -> dict[str, list[onnx.ModelProto]]:
    by_op: dict[str, list[onnx.ModelProto]] = defaultdict(list)
    for op, m in models:
        by_op[op].append(m)
    return by_op


ROWS, NODE = rows(), node_tests()


def check(models: list[onnx.ModelProto], one_of: int) -> None:
    for number, m in enumerate(models):
        for what, variant in vary_node(m):
            if not every_nth_row(f"{number}: {what}", one_of):
                continue
            try:
                with deep_recursion():
                    lower_graph(run_graph_passes(import_model(variant)))
            except Exception as error:
                if not isinstance(error, WebnnCompileError) or error.exit_code != 2:
                    raise AssertionError(f"{what}\n{m.graph.node[0]}") from error


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # NumPy's, of folded constants
@pytest.mark.parametrize("op", ROWS)
def test_rows_of_the_operator_table(op: str, request: pytest.FixtureRequest) -> None:
    check(ROWS[op], VARIANTS_OF_NODES[effort_of(request.config)])


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("op", NODE)
def test_node_tests_of_onnx(op: str, request: pytest.FixtureRequest) -> None:
    check(NODE[op], VARIANTS_OF_NODES[effort_of(request.config)])


def test_variants_are_many_and_differ() -> None:
    (m, *_) = ROWS["GatherND"]
    variants = dict(vary_node(m))
    texts = {v.SerializeToString() for v in variants.values()}
    assert len(texts) > 50
    assert len(texts) > 0.8 * len(variants)
    shapes = [v.graph.input[0].type.tensor_type.shape.dim for w, v in variants.items() if w == "x0 is [2, 3]"]
    assert np.prod([d.dim_value for d in shapes[0]]) == 6
