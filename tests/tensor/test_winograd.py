"""Winograd's algorithm: its matrices, which convolutions it takes, and that every target computes the same by it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import webnn_compile
from convolutions import CASES, TOLERANCE, Case, always
from kernel_checks import Verifier
from onnx_models import assert_close, model, node, onnxruntime_results, random
from webnn_compile.costs import CPU_COSTS, CpuCosts
from webnn_compile.cpu.compile_for_cpu import compile_for_cpu
from webnn_compile.driver.build import build
from webnn_compile.driver.measure_layer import convolve, measure_layer
from webnn_compile.driver.options import Options
from webnn_compile.execution.native_model import NativeModel
from webnn_compile.execution.wasm_model import WasmModel
from webnn_compile.frontends.onnx import import_model
from webnn_compile.graph.lower_graph import lower_graph
from webnn_compile.graph.passes import run_graph_passes
from webnn_compile.native.jit import host_target
from webnn_compile.pipeline.lower_model import lower_model
from webnn_compile.pipeline.lowered import Lowered
from webnn_compile.target import WASM_PLAIN, WASM_RELAXED
from webnn_compile.tensor.choose_tile import choose_tile
from webnn_compile.tensor.evaluate import evaluate
from webnn_compile.tensor.match_convolution import match_convolution
from webnn_compile.tensor.use_winograd import Choice, use_winograd
from webnn_compile.tensor.winograd_matrices import POINTS, TILES, OutputTile, winograd
from webnn_compile.wasm.build_module import build_module

TARGETS = {"native": host_target(), "wasm": WASM_PLAIN, "wasm-relaxed": WASM_RELAXED}


def lower(proto: onnx.ModelProto, choose: Choice | None, costs: CpuCosts = CPU_COSTS) -> Lowered:
    return lower_model(run_graph_passes(import_model(proto)), Verifier(), choose=choose, costs=costs)


def run(lowered: Lowered, target: str, feeds: dict[str, Any]) -> dict[str, Any]:
    program = compile_for_cpu(lowered, TARGETS[target], Verifier())
    if target == "native":
        return NativeModel(program).run(feeds)
    relaxed = target == "wasm-relaxed"
    return WasmModel(program, build_module(program, relaxed=relaxed), relaxed=relaxed).run(feeds)


def only_convolution(proto: onnx.ModelProto) -> object:
    """The convolution that is matched in a model of one node."""
    tensors = lower_graph(import_model(proto)).tensors
    return next((found for t in tensors if (found := match_convolution(t)) is not None), None)


@pytest.mark.parametrize("m", POINTS)
def test_the_matrices_compute_a_correlation(m: int) -> None:
    rng = np.random.default_rng(m)
    matrices = winograd(m)
    filter_, data = rng.standard_normal(3), rng.standard_normal(m + 2)
    result = matrices.output @ ((matrices.weights @ filter_) * (matrices.input @ data))
    np.testing.assert_allclose(result, np.correlate(data, filter_, "valid"), rtol=0, atol=1e-12)


@pytest.mark.parametrize("m", POINTS)
def test_input_and_output_matrices_are_exact_in_float32(m: int) -> None:
    for matrix in (winograd(m).input, winograd(m).output):
        np.testing.assert_array_equal(matrix, matrix.astype(np.float32))


@pytest.mark.parametrize("tile", TILES, ids=str)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_tensors_mean_the_same(case: Case, tile: OutputTile) -> None:
    program = lower_graph(import_model(case.proto))
    rewritten = use_winograd(program, always(tile))
    assert len(rewritten.rewritten) == (2 if "again" in case.tail else 1)
    feeds = {program.inputs[0][1]: random(case.shape, 5)}
    for (_, before), (_, after) in zip(program.outputs, rewritten.outputs, strict=True):
        want = evaluate(before, feeds)
        np.testing.assert_allclose(evaluate(after, feeds), want, rtol=0, atol=1e-4 * max(1.0, np.abs(want).max()))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("tile", TOLERANCE, ids=str)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_every_target_computes_by_tiles(case: Case, tile: OutputTile, target: str) -> None:
    lowered = lower(case.proto, always(tile))
    assert {layer.tile for layer in lowered.rewritten} == {tile}
    feeds = {"x": random(case.shape, 5)}
    assert_close(run(lowered, target, feeds), onnxruntime_results(case.proto, feeds), TOLERANCE[tile])


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("tile", TOLERANCE, ids=str)
@pytest.mark.parametrize("case", [c for c in CASES if c.shape[2] > 6], ids=str)
def test_in_bands(case: Case, tile: OutputTile, target: str) -> None:
    """Small bands: of one row of tiles and of several, with a rest and without, with and without full tiles in it."""
    costs = replace(CPU_COSTS, band=5_000 if max(tile) == 2 else 10_000, fewest_tiles=1)
    lowered = lower(case.proto, always(tile), costs)
    banded = [g for g in lowered.groups if g.scratch]
    assert banded
    assert not {t for g in banded for t in g.reads} & {t for layer in lowered.rewritten for t in layer.tensors[0:3:2]}
    feeds = {"x": random(case.shape, 5)}
    assert_close(run(lowered, target, feeds), onnxruntime_results(case.proto, feeds), TOLERANCE[tile])


def test_what_lies_between_takes_the_memory_of_a_band() -> None:
    proto = Case((1, 16, 256, 256), 16).proto
    lowered = lower(proto, always((4, 4)))
    image = 4 * 16 * 256 * 256
    assert lower(proto, None).stored.peak < lowered.stored.peak < lower(proto, None).stored.peak + image // 2
    feeds = {"x": random((1, 16, 256, 256), 5)}
    assert_close(run(lowered, "native", feeds), onnxruntime_results(proto, feeds), TOLERANCE[4, 4])


def test_bands_are_taken_where_filters_stay_in_the_cache_or_are_smaller() -> None:
    """All windows and products: 3.6 MB of 56 x 56, of filters of 590 kB; 1.2 MB of 14 x 14, of filters of 9.4 MB, which
    each band would read; 29 MB of 112 x 112, of filters of 2.4 MB: bands of twice as much."""
    for case, rows in (
        (Case((1, 64, 56, 56), 64), 2),
        (Case((1, 256, 14, 14), 256), None),
        (Case((1, 128, 112, 112), 128), 4),
    ):
        lowered = lower(case.proto, always((4, 4)))
        scratch = [g.scratch[0].shape[3] for g in lowered.groups if g.scratch]
        assert scratch == ([] if rows is None else [rows])


def test_threads_share_the_loops_of_a_band() -> None:
    proto = Case((1, 32, 96, 96), 32).proto
    program = compile_for_cpu(lower(proto, always((4, 4))), host_target())
    feeds = {"x": random((1, 32, 96, 96), 5)}
    one, two = (NativeModel(program, threads=n).run(feeds)["r"] for n in (1, 2))
    assert one.tobytes() == two.tobytes()
    assert_close({"r": two}, onnxruntime_results(proto, feeds), TOLERANCE[4, 4])


@pytest.mark.parametrize("target", TARGETS)
def test_random_shapes(target: str) -> None:
    rng = np.random.default_rng(11)
    for _ in range(4):
        batch, channels, height, width, filters = (int(rng.integers(1, n)) for n in (3, 40, 20, 20, 40))
        pads = tuple(int(p) for p in rng.integers(0, 3, 4))
        shape = (batch, channels, max(height, 3), max(width, 3))
        case = Case(shape, filters, (pads[0], pads[1], pads[2], pads[3]))
        tile = TILES[int(rng.integers(len(TILES)))]
        feeds = {"x": random(shape, 5)}
        got = run(lower(case.proto, always(tile)), target, feeds)
        assert_close(got, onnxruntime_results(case.proto, feeds), TOLERANCE.get(tile, 1e-4))


@pytest.mark.parametrize(
    ("attributes", "weights"),
    [
        ({"strides": (2, 2)}, (8, 8, 3, 3)),
        ({"dilations": (2, 2)}, (8, 8, 3, 3)),
        ({"group": 2}, (8, 4, 3, 3)),
        ({"group": 8}, (8, 1, 3, 3)),
        ({"strides": (1, 2)}, (8, 8, 3, 3)),
    ],
)
def test_other_convolutions_are_left_alone(attributes: dict[str, Any], weights: tuple[int, ...]) -> None:
    nodes = [node("Conv", ["x", "w"], ["y"], name="conv", **attributes)]
    assert only_convolution(model(nodes, {"x": [1, 8, 12, 12]}, ["y"], {"w": random(weights)})) is None


def test_weights_that_are_computed_are_left_alone() -> None:
    nodes = [node("Conv", ["x", "w"], ["y"], name="conv")]
    assert only_convolution(model(nodes, {"x": [1, 8, 12, 12], "w": [8, 8, 3, 3]}, ["y"])) is None


@pytest.mark.parametrize(
    ("case", "tile"),
    [
        (Case((1, 64, 56, 56), 64), (4, 4)),
        (Case((1, 128, 28, 28), 128), (4, 4)),
        (Case((1, 256, 14, 14), 256), (4, 4)),
        (Case((1, 512, 7, 7), 512), (3, 4)),
        (Case((1, 64, 4, 10), 64), (4, 2)),
        (Case((1, 64, 2, 2), 64), None),
        (Case((1, 3, 56, 56), 64), None),
        (Case((1, 64, 56, 56), 3), None),
        (Case((1, 64, 1, 1), 64), None),
    ],
    ids=str,
)
def test_the_choice(case: Case, tile: OutputTile | None) -> None:
    lowered = lower(case.proto, choose_tile(CPU_COSTS))
    assert [layer.tile for layer in lowered.rewritten] == ([] if tile is None else [tile])


def test_filters_of_another_size_are_computed_directly() -> None:
    nodes = [node("Conv", ["x", "w"], ["y"], pads=(2, 2, 2, 2), name="conv")]
    proto = model(nodes, {"x": [1, 64, 28, 28]}, ["y"], {"w": random((64, 64, 5, 5))})
    assert lower(proto, choose_tile(CPU_COSTS)).rewritten == ()


def test_without_fast_math_nothing_is_rewritten(tmp_path: Path) -> None:
    proto = Case((1, 64, 28, 28), 64).proto
    path = tmp_path / "model.onnx"
    onnx.save(proto, path)
    feeds = {"x": random((1, 64, 28, 28), 5)}
    fast, exact = (webnn_compile.compile(path, fast_math=on) for on in (True, False))
    assert fast.program.prepare
    assert not exact.program.prepare
    assert not np.array_equal(fast.run(feeds)["r"], exact.run(feeds)["r"])
    built = {on: build(path, tmp_path / str(on), Options(fast_math=on), str, str) for on in (True, False)}
    assert {on: bool(r.wasm and r.wasm.program.prepare) for on, r in built.items()} == {True: True, False: False}


def test_what_is_prepared_is_the_same_at_every_load() -> None:
    proto = Case((1, 16, 14, 14), 16).proto
    program = compile_for_cpu(lower(proto, always((4, 4))), host_target())
    feeds = {"x": random((1, 16, 14, 14), 5)}
    first, second = (NativeModel(program) for _ in range(2))
    results = [m.run(feeds)["r"] for m in (first, second, first)]
    assert results[0].tobytes() == results[1].tobytes() == results[2].tobytes()
    relaxed = compile_for_cpu(lower(proto, always((4, 4))), WASM_RELAXED)
    plain = compile_for_cpu(lower(proto, always((4, 4))), WASM_PLAIN)
    assert (relaxed.prepared, relaxed.weights) == (plain.prepared, plain.weights)


def test_the_error_of_a_layer() -> None:
    lowered = lower(Case((1, 64, 14, 14), 64).proto, always((4, 4)))
    (layer,) = lowered.rewritten
    found = measure_layer(layer)
    assert (found.node, found.tile) == ("conv", (4, 4))
    assert 0 < found.direct < found.error < 1e-5


def test_the_reference_of_an_error_is_the_convolution() -> None:
    case = Case((2, 5, 6, 7), 4, pads=(0, 1, 2, 0), tail="")
    t = next(t for t in lower_graph(import_model(case.proto)).tensors if match_convolution(t))
    found = match_convolution(t)
    assert found is not None
    x = random(case.shape, 5)
    want = onnxruntime_results(case.proto, {"x": x})["c"]
    np.testing.assert_allclose(convolve(x, found, t.shape), want, rtol=0, atol=1e-5)


def test_results_that_no_band_can_make_keep_their_kernels_apart() -> None:
    """One channel and one column of tiles: the rows of the products are read without a loop over them."""
    case = Case((1, 2, 9, 3), 1)
    lowered = lower(case.proto, always((3, 4)), replace(CPU_COSTS, band=1, fewest_tiles=1))
    assert lowered.rewritten
    feeds = {"x": random(case.shape, 5)}
    assert_close(run(lowered, "native", feeds), onnxruntime_results(case.proto, feeds), TOLERANCE[3, 4])
