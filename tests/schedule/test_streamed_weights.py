"""Few rows meet weights that come from memory: long sums in blocks, which go on from what the result holds."""

from __future__ import annotations

import onnx
import pytest
from convolutions import Case, always
from kernel_checks import NARROW, WIDE, check_model, stages_of
from onnx_models import assert_close, model, node, onnxruntime_results, random
from webnn_compile.frontends.onnx import import_model
from webnn_compile.graph.passes import run_graph_passes
from webnn_compile.ir.layout import Block
from webnn_compile.ir.nodes import For, Kernel
from webnn_compile.ir.rewrite import walk
from webnn_compile.native.jit import host_target
from webnn_compile.native.model import NativeModel
from webnn_compile.pipeline import Lowered, compile_for, lower_model
from webnn_compile.schedule.rules import contraction
from webnn_compile.target import WASM_PLAIN, WASM_RELAXED, Target
from webnn_compile.wasm.model import WasmModel, build_module

ENDS = {
    "plain": [],
    "bias": [node("Add", ["p", "b"], ["y"])],
    "bias relu": [node("Add", ["p", "b"], ["s"]), node("Relu", ["s"], ["y"])],
    "bias erf": [node("Add", ["p", "b"], ["s"]), node("Erf", ["s"], ["y"])],
    "residual": [node("Add", ["p", "r"], ["s"]), node("Sigmoid", ["s"], ["t"]), node("Mul", ["s", "t"], ["y"])],
}
"""What follows the product p of `rows` rows."""


def product(rows: int, depth: int, columns: int, end: str = "plain") -> onnx.ModelProto:
    weights = {"w": random((depth, columns), 1), "b": random((columns,), 2)}
    nodes = [node("MatMul", ["x", "w"], ["p" if ENDS[end] else "y"]), *ENDS[end]]
    inputs = {"x": [rows, depth], **({"r": [rows, columns]} if end == "residual" else {})}
    return model(nodes, inputs, ["y"], {k: v for k, v in weights.items() if any(k in n.input for n in nodes)})


def lower(proto: onnx.ModelProto) -> Lowered:
    return lower_model(run_graph_passes(import_model(proto)))


def scheduled(proto: onnx.ModelProto) -> Kernel:
    ((_, stages),) = stages_of(lower(proto), NARROW)
    return dict(stages)["schedule_cpu"]


def blocks(kernel: Kernel) -> tuple[Block, ...]:
    """Of the packed weights."""
    return next(b.layout.blocks for b in kernel.params if b.constant and b.layout and len(b.layout.shape) > 1)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Panels of 8 columns and 8 steps."""
    monkeypatch.setattr(contraction, "PANEL", 256)


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize(("rows", "depth", "columns"), [(4, 24, 64), (5, 40, 72), (6, 16, 8)])
def test_products_in_blocks(rows: int, depth: int, columns: int, end: str, small: None) -> None:
    proto = product(rows, depth, columns, end)
    assert blocks(scheduled(proto)) == ((0, 8, 8), (1, 8, 8))
    check_model(proto, [NARROW, WIDE], work=10**6)


@pytest.mark.parametrize(
    ("rows", "depth", "columns"),
    [(3, 24, 64), (7, 24, 64), (5, 22, 64), (5, 24, 60), (5, 8, 64)],
    ids=["few rows", "two tiles", "no even blocks", "part of a panel", "short"],
)
def test_other_products_are_made_at_once(rows: int, depth: int, columns: int, small: None) -> None:
    proto = product(rows, depth, columns)
    assert len(blocks(scheduled(proto))) == 1
    check_model(proto, [NARROW], work=10**6)


def test_columns_are_cut_for_cores(small: None) -> None:
    """Around the blocks of the sum, so that these meet at no barrier; inside stand all panels of a chunk."""
    kernel = scheduled(product(4, 16, 8 * 96))
    found = [n.var.extent for n in walk(kernel.body) if isinstance(n, For)]
    assert found[:3] == [32, 2, 3]


@pytest.mark.parametrize("target", [host_target(), WASM_PLAIN, WASM_RELAXED], ids=lambda t: t.name)
def test_filters_in_blocks(target: Target) -> None:
    """Products of Winograd's algorithm: 30 matrices of 512 x 64, whose panels lie a little apart."""
    case = Case((1, 512, 4, 5), 64, tail="bias relu")
    lowered = lower_model(run_graph_passes(import_model(case.proto)), choose=always((3, 4)))
    program = compile_for(lowered, target)
    products = next(k for k in program.kernels if k.name == "winogradproducts")
    steps, columns = blocks(products)
    assert steps.size * 2 * target.lanes * 4 == contraction.PANEL
    assert steps.room > steps.size
    assert columns.size == 2 * target.lanes
    feeds = {"x": random(case.shape, 5)}
    want = onnxruntime_results(case.proto, feeds)
    if target.name.startswith("wasm"):
        relaxed = target is WASM_RELAXED
        made = WasmModel(program, build_module(program, relaxed=relaxed), relaxed=relaxed)
        assert_close(made.run(feeds), want, 1e-4)
    else:
        one, two = (NativeModel(program, threads=n).run(feeds) for n in (1, 2))
        assert_close(one, want, 1e-4)
        assert one["r"].tobytes() == two["r"].tobytes()


def test_both_wasm_variants_share_blocks() -> None:
    lowered = lower(product(6, 1024, 64, "bias"))
    plain, relaxed = (compile_for(lowered, target) for target in (WASM_PLAIN, WASM_RELAXED))
    assert blocks(plain.kernels[0]) == blocks(relaxed.kernels[0]) == ((0, 256, 256), (1, 8, 8))
    assert plain.weights == relaxed.weights
