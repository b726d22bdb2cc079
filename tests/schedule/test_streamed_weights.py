"""Few rows meet weights that come from memory: long sums in blocks, which go on from what the result holds."""

from __future__ import annotations

from typing import Any

import onnx
import pytest
from convolutions import Case, always
from kernel_checks import NARROW, WIDE, check_model, stages_of, with_costs
from onnx_models import assert_close, model, node, onnxruntime_results, random
from webnn_compile.costs import CPU_COSTS
from webnn_compile.cpu.compile_for_cpu import compile_for_cpu
from webnn_compile.execution.native_model import NativeModel
from webnn_compile.execution.wasm_model import WasmModel
from webnn_compile.frontends.onnx import import_model
from webnn_compile.graph.passes import run_graph_passes
from webnn_compile.ir.layout import Block
from webnn_compile.ir.nodes import For, Kernel
from webnn_compile.ir.rewrite import walk
from webnn_compile.native.jit import host_target
from webnn_compile.pipeline.lower_model import lower_model
from webnn_compile.pipeline.lowered import Lowered
from webnn_compile.program.program import Program
from webnn_compile.target import WASM_PLAIN, WASM_RELAXED
from webnn_compile.tensor.choose_tile import choose_tile
from webnn_compile.wasm.build_module import build_module

TARGETS = {"native": host_target(), "wasm": WASM_PLAIN, "wasm-relaxed": WASM_RELAXED}

BIAS = [node("Add", ["p", "b"], ["y"])]
RELU = [node("Add", ["p", "b"], ["s"]), node("Relu", ["s"], ["y"])]


def product(
    rows: int, depth: int, columns: int, end: list[onnx.NodeProto] = BIAS, *, constant: bool = True
) -> onnx.ModelProto:
    """y of rows x columns: x (rows x depth) times w, and what follows that."""
    weights = {"w": random((depth, columns), 1), "b": random((columns,), 2)}
    inputs = {"x": [rows, depth]} if constant else {"x": [rows, depth], "w": [depth, columns]}
    return model(
        [node("MatMul", ["x", "w"], ["p"]), *end], inputs, ["y"], {k: weights[k] for k in weights.keys() - inputs}
    )


def lower(proto: onnx.ModelProto) -> Lowered:
    return lower_model(run_graph_passes(import_model(proto)))


def run(program: Program, target: str, feeds: dict[str, Any]) -> dict[str, Any]:
    if target == "native":
        return NativeModel(program).run(feeds)
    relaxed = target == "wasm-relaxed"
    return WasmModel(program, build_module(program, relaxed=relaxed), relaxed=relaxed).run(feeds)


def scheduled(proto: onnx.ModelProto) -> Kernel:
    ((_, stages),) = stages_of(lower(proto), with_costs(NARROW, **SMALL))
    return dict(stages)["schedule_cpu"]


def blocks(kernel: Kernel) -> tuple[Block, ...]:
    """The blocks of the packed weights."""
    return next(b.layout.blocks for b in kernel.params if b.constant and b.layout and len(b.layout.shape) > 1)


SMALL = {"streamed_panel": 256, "fewest_steps": 4, "streamed_weights": 0}
"""Panels of 8 columns and 8 steps."""


@pytest.mark.parametrize("end", [[node("Identity", ["p"], ["y"])], BIAS], ids=["plain", "bias"])
@pytest.mark.parametrize(("rows", "depth", "columns"), [(4, 24, 64), (5, 40, 72), (6, 16, 8)])
def test_products_in_blocks(rows: int, depth: int, columns: int, end: list[onnx.NodeProto]) -> None:
    proto = product(rows, depth, columns, end)
    assert blocks(scheduled(proto)) == ((0, 8, 8), (1, 8, 8))
    check_model(proto, [with_costs(t, **SMALL) for t in (NARROW, WIDE)], work=10**6)


OTHERS = {
    "few rows": product(3, 24, 64),
    "more tiles": product(7, 24, 64),
    "no even blocks": product(5, 22, 64),
    "part of a panel": product(5, 24, 60),
    "short": product(5, 8, 64),
    "more is made of the sum": product(5, 24, 64, RELU),
    "no weights": product(5, 24, 64, constant=False),
}


@pytest.mark.parametrize("case", OTHERS)
def test_other_products_are_made_at_once(case: str) -> None:
    kernel = scheduled(OTHERS[case])
    assert not any(b.layout and len(b.layout.blocks) > 1 for b in kernel.params)
    check_model(OTHERS[case], [with_costs(NARROW, **SMALL)], work=10**6)


@pytest.mark.parametrize(("columns", "count"), [(2048, 2), (2040, 1)])
def test_weights_that_stay_in_a_cache_are_met_at_once(columns: int, count: int) -> None:
    (kernel,) = compile_for_cpu(lower(product(4, 512, columns)), WASM_RELAXED).kernels
    assert len(blocks(kernel)) == count


@pytest.mark.parametrize("target", TARGETS)
def test_a_residual_in_the_memory_of_the_result(target: str) -> None:
    """It is read here last and its memory may become the result's, which must then hold no partial sums."""
    weights = {"u": random((64, 64), 1), "v": random((64, 512), 2) / 20, "w": random((512, 64), 3) / 20}
    nodes = [
        node("MatMul", ["x", "u"], ["r"]),
        node("MatMul", ["r", "v"], ["h"]),
        node("Relu", ["h"], ["g"]),
        node("MatMul", ["g", "w"], ["p"]),
        node("Add", ["p", "r"], ["y"]),
    ]
    proto, feeds = model(nodes, {"x": [5, 64]}, ["y"], weights), {"x": random((5, 64), 9)}
    got = run(compile_for_cpu(lower(proto), with_costs(TARGETS[target], **SMALL)), target, feeds)
    assert_close(got, onnxruntime_results(proto, feeds), 1e-5)


def test_columns_are_cut_for_cores() -> None:
    """Around the blocks of the sum, so that these meet at no barrier; inside stand all panels of a chunk."""
    kernel = scheduled(product(4, 16, 8 * 96))
    found = [n.var.extent for n in walk(kernel.body) if isinstance(n, For)]
    assert found[:3] == [32, 2, 3]


@pytest.mark.parametrize("target", TARGETS)
def test_filters_in_blocks(target: str) -> None:
    """Products of Winograd's algorithm: 30 matrices of 512 x 128, whose panels lie a little apart. Vectors of sixteen
    would make blocks of 64 steps, which are too few."""
    case = Case((1, 512, 4, 5), 128, tail="bias relu")
    lowered = lower_model(run_graph_passes(import_model(case.proto)), choose=always((3, 4)))
    program = compile_for_cpu(lowered, TARGETS[target])
    inner = blocks(next(k for k in program.kernels if k.name == "winogradproducts"))
    if target.startswith("wasm"):
        assert inner == ((3, 256, 257), (2, 8, 8))
    assert (len(inner) == 2) == (TARGETS[target].lanes <= 8)
    feeds = {"x": random(case.shape, 5)}
    got = run(program, target, feeds)
    assert_close(got, onnxruntime_results(case.proto, feeds), 1e-4)
    if target == "native":
        assert NativeModel(program, threads=2).run(feeds)["r"].tobytes() == got["r"].tobytes()


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    ("shape", "filters"), [((1, 512, 28, 8), 8), ((1, 320, 28, 8), 16), ((1, 512, 444, 4), 12)], ids=str
)
def test_bands_and_their_rest_read_the_same_filters(
    shape: tuple[int, int, int, int], filters: int, target: str
) -> None:
    """The rest has tiles so few that alone it would want the filters in blocks, or in wider panels."""
    case = Case(shape, filters)
    lowered = lower_model(run_graph_passes(import_model(case.proto)), choose=choose_tile(CPU_COSTS))
    assert any(g.scratch for g in lowered.groups)
    feeds = {"x": random(shape, 5)}
    got = run(compile_for_cpu(lowered, with_costs(TARGETS[target], streamed_weights=0)), target, feeds)
    assert_close(got, onnxruntime_results(case.proto, feeds), 1e-4)


@pytest.mark.parametrize(
    "nodes",
    [
        [node("MatMul", ["x", "w"], ["y"])],
        [node("Transpose", ["x"], ["z"], perm=[1, 0, 2]), node("MatMul", ["z", "w"], ["y"])],
    ],
    ids=["one line of rows", "lines that are none"],
)
def test_both_wasm_variants_share_blocks(nodes: list[onnx.NodeProto]) -> None:
    weights = {"w": random((1024, 1024))}
    lowered = lower(model(nodes, {"x": [2, 3, 1024]}, ["y"], weights))
    plain, relaxed = (compile_for_cpu(lowered, target) for target in (WASM_PLAIN, WASM_RELAXED))
    assert blocks(plain.kernels[-1]) == blocks(relaxed.kernels[-1]) == ((0, 256, 256), (1, 8, 8))
    assert plain.weights == relaxed.weights
