"""Sizes that have to be equal in each run: messages name ranges of sizes with which they are."""

from __future__ import annotations

import re

import numpy as np
import onnx
import pytest
import webnn_compile
from onnx_models import assert_close, model, node, onnxruntime_results, random
from webnn_compile.errors import UnsupportedError
from webnn_compile.frontends.importers import import_model
from webnn_compile.frontends.model_inputs import DimLike, model_inputs


def network(*joined: onnx.NodeProto) -> onnx.ModelProto:
    """Convolutions that halve their input three times, and a Resize that doubles it again."""
    nodes = [node("Conv", [x, w], [y], pads=[1] * 4, strides=[2, 2]) for x, w, y in ("xwa", "avb", "bvc")]
    nodes.append(node("Resize", ["c", "", "twice"], ["d"], mode="nearest", coordinate_transformation_mode="asymmetric"))
    sevens = {"seven": np.int64([7]), "1": np.int64([1, 3])}
    weights = sevens | {"w": random((4, 3, 3, 3)), "v": random((4, 4, 3, 3), 1), "twice": np.float32([1, 1, 2, 2])}
    return model([*nodes, *joined], {"x": (1, 3, "height", "width")}, ["y"], weights, opset=18)


CONCAT = node("Concat", ["b", "d"], ["y"], axis=1)
ADD = node("Add", ["b", "d"], ["y"])
WINDOWS = [
    node("Shape", ["x"], ["n"], start=2),
    node("Div", ["n", "seven"], ["windows"]),
    node("Split", ["windows"], ["rows", "columns"], num_outputs=2, axis=0),
    node("Concat", ["1", "rows", "seven", "columns", "seven"], ["shape"], axis=0),
    node("Reshape", ["x", "shape"], ["y"]),
]
"""Nodes that cut an input into windows of 7 x 7 elements."""
EINSUM = node("Einsum", ["b", "d"], ["y"], equation="bchw,bcqw->bhq")
PRODUCT = node("MatMul", ["b", "t"], ["y"])
TRANSPOSE = node("Transpose", ["d"], ["t"], perm=[0, 1, 3, 2])

CASES: dict[str, tuple[tuple[onnx.NodeProto, ...], DimLike, str]] = {
    "Concat": ((CONCAT,), (5, 40), r"differ in more than axis 1 in some runs; .*height=8\.\.40,multiple=8 .*width.*"),
    "of multiples": ((CONCAT,), (4, 60, 4), r".*; give a range of multiples alone: --dim height=8\.\.56,multiple=8 .*"),
    "Add": ((ADD,), (1, 40), r"broadcast only where .*; give a range of multiples alone: --dim height=8\.\.40,.*"),
    "MatMul": ((TRANSPOSE, PRODUCT), (1, 40), r".*; .*: --dim width=8\.\.40,multiple=8"),
    "Einsum": ((EINSUM,), (1, 40), r"label 'w' stands for .*; .*: --dim width=8\.\.40,multiple=8"),
    "Reshape": ((*WINDOWS,), (1, 60), r"cannot become .*; .*: --dim height=7\.\.56,multiple=7 --dim width=7\.\.56,.*"),
}


@pytest.mark.parametrize("name", CASES)
def test_what_a_message_says_compiles(name: str) -> None:
    """Each error names what the next try needs; there are two sizes."""
    joined, given, expected = CASES[name]
    proto = network(*joined)
    dims: dict[str, DimLike] = {"height": given, "width": given}
    messages = []
    for _ in range(3):
        try:
            compiled = webnn_compile.compile(proto, dims=dims)
            break
        except UnsupportedError as error:
            messages.append(str(error))
            dims |= dict(re.findall(r"--dim (\w+)=([\d.]+,multiple=\d+)", str(error)))
    assert re.search(expected, messages[0]), messages
    for height, width in ((7, 56), (14, 7)) if name == "Reshape" else ((8, 24), (40, 8)):
        feeds = {"x": random((1, 3, height, height if name == "MatMul" else width), 2)}
        assert_close(compiled.run(feeds), onnxruntime_results(proto, feeds))


def test_what_multiples_do_not_mend() -> None:
    proto = model([node("Add", ["a", "b"], ["y"])], {"a": (1, 3, "n"), "b": (1, 3, "m")}, ["y"], {})
    with pytest.raises(UnsupportedError, match="fix these sizes by --dim, or give both one name"):
        import_model(proto, model_inputs(dims={"n": (1, 9), "m": (1, 9)}))
    longer = model([CONCAT], {"b": (1, 3, "n"), "d": (1, 3, 7)}, ["y"], {})
    with pytest.raises(UnsupportedError, match="differ in more than axis 1 in some runs; fix these sizes by --dim"):
        import_model(longer, model_inputs(dims={"n": (1, 9)}))
    with pytest.raises(UnsupportedError, match="differ in more than axis 1; check the input shapes"):
        import_model(longer, model_inputs(dims={"n": (8, 9)}))
