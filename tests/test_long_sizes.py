"""Sizes that are made of several copies of others, over and over: readers of a tensor know them by name."""

from __future__ import annotations

import onnx
import pytest
import webnn_compile
from drivers import need_driver
from growing_models import CONSTANTS, GROWING
from onnx import helper, numpy_helper
from onnx_models import assert_close, node, onnxruntime_results, random
from webnn_compile.ir.construct import minimum
from webnn_compile.ir.memo import forgetting
from webnn_compile.ir.name_size import LONGEST, name_size
from webnn_compile.ir.nodes import Expr, Scalar
from webnn_compile.ir.sizes import Size, capacity, least, number, size


def model(name: str, n: int) -> onnx.ModelProto:
    """Two tensors of the last size, which fit together, and results whose size it is."""
    made = GROWING[name].model(n)
    made.graph.node.extend(
        [
            node("Neg", [f"v{n}"], ["w"]),
            node("Add", ["w", f"v{n}"], ["sum"]),
            node("MatMul", [f"v{n}", "square"], ["product"]),
            node("ReduceSum", [f"v{n}"], ["total"], keepdims=0),
        ]
    )
    made.graph.initializer.append(numpy_helper.from_array(CONSTANTS["square"], "square"))
    del made.graph.output[:]
    made.graph.output.extend([helper.make_empty_tensor_value_info(o) for o in ("sum", "product", "total")])
    return made


@pytest.mark.parametrize("target", ["native", "c", "webgl"])
@pytest.mark.parametrize("name", ["remainders", "minima of sizes"])
def test_agrees_with_onnxruntime(name: str, target: str) -> None:
    """On a GPU the host computes each from the one before."""
    need_driver(target)
    made = model(name, 5)
    compiled = webnn_compile.compile(made, target, dims=GROWING[name].sizes(5))
    for n in (300, 1, 7, 100, 299):
        feeds = {"v0": random((n, 4), n)}
        assert_close(compiled.run(feeds), onnxruntime_results(made, feeds), 1e-4)


def repeated(n: Size, times: int) -> Size:
    for _ in range(times):
        n = size(minimum(number(n) % 7 + number(n) // 3, n))
    return n


def test_a_long_size_has_one_name() -> None:
    rows, others = Scalar("rows", 300, low=1), Scalar("others", 300, low=1)
    long = repeated(rows, 3)
    named = name_size(long)
    assert isinstance(named, Scalar)
    assert named is name_size(repeated(rows, 3))
    assert named is not name_size(repeated(others, 3))
    assert (least(named), capacity(named)) == (least(long), capacity(long))


def test_sizes_of_equal_checksums_have_names_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("webnn_compile.ir.name_size.crc32", lambda _: 7)
    with forgetting():
        named = [name_size(repeated(Scalar(name, 300, low=1), 3)) for name in ("a", "b", "c")]
        assert [n.name for n in named if isinstance(n, Scalar)] == [
            "size_00000007",
            "size_00000007_2",
            "size_00000007_3",
        ]


def test_a_short_size_is_itself() -> None:
    short = repeated(Scalar("rows", 300, low=1), 1)
    assert name_size(short) is short
    assert name_size(7) == 7
    assert LONGEST > 16


def test_what_may_be_negative_is_named_from_its_least_value_on() -> None:
    rows = Scalar("rows", 300, low=1)
    long = number(repeated(rows, 3)) - 500
    named = name_size(long)
    assert isinstance(named, Expr)
    assert not isinstance(named, Scalar)
    assert len(str(named)) < len(str(long))
