"""The node tests of the onnx package: models of one node with stored inputs and outputs, on this machine's targets."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import webnn_compile
from effort import effort_of, row_runs
from onnx import numpy_helper
from onnx_models import assert_close
from webnn_compile.errors import UnsupportedError
from webnn_compile.frontends.onnx.read_tensor import element_type
from webnn_compile.ops import OPERATORS

Array = np.ndarray[Any, np.dtype[Any]]

FOLDER = Path(onnx.__file__).parent / "backend" / "test" / "data" / "node"

KNOWN_AT_COMPILE_TIME: Mapping[str, tuple[int, ...]] = {
    **{op: (1,) for _, op in OPERATORS if op.startswith("Reduce")},
    **dict.fromkeys(("CumProd", "CumSum", "Expand", "OneHot", "Reshape", "Split", "Squeeze", "Tile", "Trilu"), (1,)),
    **dict.fromkeys(("Unsqueeze", "Upsample"), (1,)),
    "ConstantOfShape": (0,),
    "Dropout": (1, 2),
    "Pad": (1, 3),
    "Range": (0, 1, 2),
    "Resize": (1, 2, 3),
    "Slice": (1, 2, 3, 4),
}
"""Inputs, by operator, that fix the shape of the result or choose an algorithm: they become constants of the model."""

EXCLUDED: Mapping[str, tuple[str, ...]] = {
    "it trains": (
        "test_batchnorm_epsilon_training_mode",
        "test_batchnorm_example_training_mode",
        "test_training_dropout",
        "test_training_dropout_default",
        "test_training_dropout_default_mask",
        "test_training_dropout_mask",
        "test_training_dropout_zero_ratio",
        "test_training_dropout_zero_ratio_mask",
    ),
    "its opset is 1, and 7 is the oldest supported": ("test_not_2d", "test_not_3d", "test_not_4d"),
    "exp and pow compute in float32 only": (
        "test_pow_types_int32_float32",
        "test_pow_types_int64_float32",
        "test_reduce_log_sum_exp_default_axes_keepdims_example",
        "test_reduce_log_sum_exp_default_axes_keepdims_random",
        "test_reduce_log_sum_exp_do_not_keepdims_example",
        "test_reduce_log_sum_exp_do_not_keepdims_random",
        "test_reduce_log_sum_exp_keepdims_example",
        "test_reduce_log_sum_exp_keepdims_random",
        "test_reduce_log_sum_exp_negative_axes_keepdims_example",
        "test_reduce_log_sum_exp_negative_axes_keepdims_random",
    ),
    "its data divides by the length of the result before that is rounded; the specification and onnxruntime after": (
        "test_resize_downsample_scales_cubic_align_corners",
        "test_resize_downsample_scales_linear_align_corners",
    ),
}
"""Reason -> tests."""

TARGETS = ("native", "c", "opencl", "cuda")

TOLERANCES = {"test_averagepool_2d_ceil_last_window_starts_on_pad": 1e-4}  # its data has four digits


@cache
def load(name: str) -> onnx.ModelProto:
    return onnx.load(FOLDER / name / "model.onnx")


def is_candidate(name: str) -> bool:
    """One node of an operator that is supported, and tensors of dtypes that are."""
    proto = load(name)
    if len(proto.graph.node) != 1:
        return False
    (node,) = proto.graph.node
    types = [v.type.tensor_type.elem_type for v in (*proto.graph.input, *proto.graph.output)]
    return (node.domain, node.op_type) in OPERATORS and all(element_type(t) for t in types)


CANDIDATES = [p.name for p in sorted(FOLDER.glob("test_*")) if is_candidate(p.name)]
ALL_EXCLUDED = [name for names in EXCLUDED.values() for name in names]


def tensors(name: str, kind: str, count: int) -> list[Array]:
    folder = FOLDER / name / "test_data_set_0"
    return [numpy_helper.to_array(onnx.load_tensor(str(folder / f"{kind}_{i}.pb"))) for i in range(count)]


def run(name: str, target: str = "native") -> None:
    """Compiles and runs one test, and compares."""
    proto = onnx.ModelProto()
    proto.CopyFrom(load(name))
    (node,) = proto.graph.node
    given = dict(zip((v.name for v in proto.graph.input), tensors(name, "input", len(proto.graph.input)), strict=True))
    for i in KNOWN_AT_COMPILE_TIME.get(node.op_type, ()):
        if i < len(node.input) and node.input[i] in given:
            proto.graph.initializer.append(numpy_helper.from_array(given.pop(node.input[i]), node.input[i]))
    names = [v.name for v in proto.graph.output]
    expected = dict(zip(names, tensors(name, "output", len(names)), strict=True))
    compiled = webnn_compile.compile(proto, target, shapes={n: a.shape for n, a in given.items()})
    half = any(a.dtype == np.float16 for a in (*given.values(), *expected.values()))
    assert_close(compiled.run(given), expected, TOLERANCES.get(name, 1e-3 if half else 1e-5))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if metafunc.function is test_node:
        effort = effort_of(metafunc.config)
        named = [(n, t) for t in TARGETS for n in CANDIDATES if n not in ALL_EXCLUDED and row_runs(n, t, effort)]
        metafunc.parametrize(("name", "target"), named, ids=[f"{n}-{t}" for n, t in named])


@pytest.mark.every_row
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # NumPy's, where infinities and NaN are compared
def test_node(name: str, target: str) -> None:
    run(name, target)


@pytest.mark.parametrize("name", ALL_EXCLUDED)
def test_excluded_still_fails(name: str) -> None:
    with pytest.raises((UnsupportedError, AssertionError)):
        run(name)


def test_excluded_tests_exist_and_every_operator_is_tested() -> None:
    assert set(ALL_EXCLUDED) <= set(CANDIDATES)
    tested = {load(name).graph.node[0].op_type for name in CANDIDATES}
    assert sorted({op for _, op in OPERATORS} - tested) == ["GlobalLpPool"]  # for which onnx has no test
