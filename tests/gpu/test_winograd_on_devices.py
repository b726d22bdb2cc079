"""Winograd's algorithm on GPUs: right on both, transforms as written-out code, weights transformed once at load."""

from __future__ import annotations

from math import prod
from pathlib import Path

import numpy as np
import onnx
import pytest
import webnn_compile
from convolutions import CASES, TOLERANCE, Case, always
from drivers import need_driver
from onnx_models import assert_close, model, node, onnxruntime_results, random
from webnn_compile.cli.report import print_report
from webnn_compile.codegen.device_backend import DeviceBackend
from webnn_compile.driver.build import build
from webnn_compile.driver.device_target import DeviceTarget
from webnn_compile.driver.options import Options
from webnn_compile.driver.targets import TARGETS
from webnn_compile.execution.device_model import DeviceModel
from webnn_compile.frontends.onnx import import_model
from webnn_compile.glsl.backend import WebGl
from webnn_compile.gpu.compile_for_device import compile_for_device
from webnn_compile.gpu.lower_for_device import choice_for
from webnn_compile.gpu.plan_for_device import plan_for_device
from webnn_compile.graph.passes import run_graph_passes
from webnn_compile.pipeline.lower_model import lower_model
from webnn_compile.pipeline.lowered import Lowered
from webnn_compile.pipeline.weights import Weights
from webnn_compile.program.device_program import DeviceProgram, Launch
from webnn_compile.tensor.use_winograd import Choice
from webnn_compile.tensor.winograd_matrices import TILES, OutputTile
from webnn_compile.wgsl import WebGpu

BACKENDS: dict[str, DeviceBackend] = {"webgpu": WebGpu(), "webgl": WebGl()}
PARTS = {"winogradinput", "winogradproducts"}


def run_here(program: DeviceProgram, weights: bytes) -> DeviceModel:
    target = TARGETS[program.backend]
    assert isinstance(target, DeviceTarget)
    return target.run(program, weights)


def lower(proto: onnx.ModelProto, backend: str, choose: Choice | None) -> Lowered:
    return lower_model(run_graph_passes(import_model(proto)), policy=BACKENDS[backend].layouts, choose=choose)


def compiled(proto: onnx.ModelProto, backend: str, choose: Choice | None) -> tuple[DeviceProgram, bytes]:
    weights = Weights()
    lowered = lower(proto, backend, choose)
    program = compile_for_device(lowered, plan_for_device(lowered, BACKENDS[backend], weights))
    return program, weights.blob()


def names(program: DeviceProgram) -> list[str]:
    return [s.name for s in program.steps if isinstance(s, Launch)]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("tile", TOLERANCE, ids=str)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_device_computes_by_tiles(case: Case, tile: OutputTile, backend: str) -> None:
    need_driver(backend)
    program, weights = compiled(case.proto, backend, always(tile))
    layers = 2 if "again" in case.tail else 1
    assert [names(program).count(part) for part in sorted(PARTS)] == [layers, layers]
    assert [s.name for s in program.prepare].count("winogradweights") == layers
    made = run_here(program, weights)
    for seed in (5, 6):
        feeds = {"x": random(case.shape, seed)}
        assert_close(made.run(feeds), onnxruntime_results(case.proto, feeds), TOLERANCE[tile])


@pytest.mark.parametrize("backend", BACKENDS)
def test_random_shapes(backend: str) -> None:
    need_driver(backend)
    rng = np.random.default_rng(17)
    for _ in range(4):
        batch, channels, height, width, filters = (int(rng.integers(1, n)) for n in (3, 40, 20, 20, 40))
        top, left, bottom, right = (int(p) for p in rng.integers(0, 3, 4))
        case = Case((batch, channels, max(height, 3), max(width, 3)), filters, (top, left, bottom, right))
        tile = TILES[int(rng.integers(len(TILES)))]
        feeds = {"x": random(case.shape, 5)}
        made = run_here(*compiled(case.proto, backend, always(tile)))
        assert_close(made.run(feeds), onnxruntime_results(case.proto, feeds), TOLERANCE.get(tile, 1e-4))


@pytest.mark.parametrize("backend", BACKENDS)
def test_windows_of_a_large_image(backend: str) -> None:
    """On WebGL their rows are more than a texture has: they stand in bands."""
    need_driver(backend)
    case = Case((1, 8, 112, 112), 8)
    program, weights = compiled(case.proto, backend, always((4, 4)))
    (windows,) = (v for v in program.values if v.name.endswith(".windows"))
    place = program.storages[windows.storage].placement
    assert (place is None) if backend == "webgpu" else (place is not None and (place.bands, place.tile) == (3, 6))
    feeds = {"x": random(case.shape, 5)}
    assert_close(run_here(program, weights).run(feeds), onnxruntime_results(case.proto, feeds), TOLERANCE[4, 4])


@pytest.mark.parametrize("backend", BACKENDS)
def test_operations_of_transforms_are_those_of_their_code(backend: str) -> None:
    """Tiles of 4 x 4: the windows take at least 12 products with a matrix, of 6 elements each, and on WebGL, where a
    fragment has a part of a row, some of them several times. Each element as a product with both matrices, from their
    definition, would take 36 x 36 terms of 3 operations."""
    program, _ = compiled(Case((1, 16, 16, 16), 16).proto, backend, always((4, 4)))
    flops = {s.name: program.kernels[s.kernel].flops for s in program.launches}
    windows = 4 * 4 * 16
    assert 12 * 6 * windows < flops["winogradinput"] < 12 * 6 * 10 * windows
    assert flops["winogradproducts"] == 2 * 36 * 16 * windows


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("tile", [(2, 2), (4, 2), (4, 4)], ids=str)
def test_transforms_are_written_out(tile: OutputTile, backend: str) -> None:
    """No loop is left in them, and on WebGL a row of windows or results shares its texels."""
    program, _ = compiled(Case((1, 16, 16, 16), 16, tail="bias relu again").proto, backend, always(tile))
    sources = {s.name: program.kernels[s.kernel].source for s in program.launches}
    transforms = [sources[name] for name in ("winogradinput", "conv_relu")]
    assert not any("for (" in text for text in transforms)
    rows, columns = (edge + 2 for edge in tile)
    elements = rows * columns
    if backend == "webgl":
        assert [text.count("texelFetch") for text in transforms] == [
            elements,
            elements * (8 // tile[1]) + 1,
        ]  # of the bias
        (number,) = {s.kernel for s in program.launches if s.name == "winogradinput"}
        assert program.kernels[number].grid[2] == columns  # outputs
    else:
        windows, results = transforms  # elements of the one are stored, of the other loaded
        assert [windows.count("b1["), results.count("b0[")] == [elements, elements]


@pytest.mark.parametrize("backend", BACKENDS)
def test_weights_are_transformed_at_load_and_then_let_go(backend: str) -> None:
    case = Case((1, 16, 12, 12), 24)
    program, _ = compiled(case.proto, backend, always((4, 4)))
    by_name = {v.name: program.storages[v.storage] for v in program.values}
    filters, shipped = by_name["conv.filters"], by_name["w"]
    assert filters.bytes >= 36 * 16 * 24 * 4
    assert (filters.prepare_only, shipped.prepare_only) == (False, True)
    assert program.bytes == sum(s.bytes for s in program.storages if s is not shipped)
    direct, _ = compiled(case.proto, backend, None)
    assert not any(s.prepare_only for s in direct.storages)
    assert program.bytes > direct.bytes + 36 * 16 * 24 * 4 - prod((24, 16, 3, 3)) * 4 * 2


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_is_prepared_is_the_same_at_every_load(backend: str) -> None:
    need_driver(backend)
    case = Case((1, 16, 14, 14), 16)
    program, weights = compiled(case.proto, backend, always((4, 4)))
    feeds = {"x": random(case.shape, 5)}
    first, second = run_here(program, weights), run_here(program, weights)
    results = [made.run(feeds)["r"].tobytes() for made in (first, second, first)]
    assert results[0] == results[1] == results[2]


@pytest.mark.parametrize(
    ("case", "tile"),
    [
        (Case((1, 64, 56, 56), 64, first=3), (4, 4)),
        (Case((1, 64, 56, 56), 64, first=2), None),
        (Case((1, 128, 28, 28), 128, first=3), (4, 4)),
        (Case((1, 256, 14, 14), 256, first=3), (4, 4)),
        (Case((1, 512, 7, 7), 512, first=7), {"webgpu": (2, 2), "webgl": (2, 3)}),
        (Case((1, 64, 224, 224), 64), (4, 4)),
        (Case((1, 16, 112, 112), 16), None),
        (Case((1, 64, 7, 7), 64), None),
        (Case((1, 3, 224, 224), 64), None),
        (Case((1, 64, 56, 56), 3), None),
    ],
    ids=str,
)
@pytest.mark.parametrize("backend", BACKENDS)
def test_the_choice(case: Case, tile: OutputTile | dict[str, OutputTile] | None, backend: str) -> None:
    """Few layers alike do not earn back, in a hundred runs, the time to compile their shaders."""
    layers = lower(case.proto, backend, choice_for(BACKENDS[backend])).rewritten
    wanted = tile[backend] if isinstance(tile, dict) else tile
    assert [layer.tile for layer in layers] == ([] if wanted is None else [wanted] * (case.first + 1))


def test_what_a_device_cannot_hold_is_computed_otherwise() -> None:
    """Windows of 604 MB, which no buffer holds; and a prime number of them, which textures do not in equal bands."""
    large = Case((1, 64, 1024, 1024), 64).proto
    assert not lower(large, "webgpu", choice_for(BACKENDS["webgpu"])).rewritten
    choice = choice_for(BACKENDS["webgl"])
    even, prime = (lower(Case((1, 64, 4 * n, 4), 64).proto, "webgl", choice).rewritten for n in (2052, 2053))
    assert [[layer.tile for layer in layers] for layers in (even, prime)] == [[(4, 4)], [(3, 4)]]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("attributes", [{"group": 2}, {"strides": (2, 2)}, {"dilations": (2, 2)}], ids=str)
def test_other_convolutions_are_left_alone(attributes: dict[str, object], backend: str) -> None:
    channels = 64 // int(str(attributes.get("group", 1)))
    nodes = [node("Conv", ["x", "w"], ["y"], pads=(1, 1, 1, 1), name="conv", **attributes)]
    proto = model(nodes, {"x": (1, 64, 56, 56)}, ["y"], {"w": random((64, channels, 3, 3))})
    assert not lower(proto, backend, always((4, 4))).rewritten


@pytest.mark.parametrize("backend", BACKENDS)
def test_without_fast_math_nothing_is_rewritten(backend: str, tmp_path: Path) -> None:
    need_driver(backend)
    path, proto = tmp_path / "model.onnx", Case((1, 64, 56, 56), 64, first=3).proto
    onnx.save(proto, path)
    feeds = {"x": random((1, 64, 56, 56), 5)}
    for on in (True, False):
        made = webnn_compile.compile(path, backend, fast_math=on)
        assert (set(names(made.program)) >= PARTS, bool(made.program.prepare)) == (on, on)  # type: ignore[union-attr]
        assert_close(made.run(feeds), onnxruntime_results(proto, feeds), TOLERANCE[4, 4])


def test_a_build_chooses_for_each_target_and_measures_each_tile(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """At 7 x 7 and 512 channels a CPU wants other tiles than WebGPU and WebGL: --verify measures all."""
    proto = Case((1, 512, 7, 7), 512, first=7).proto
    onnx.save(proto, tmp_path / "model.onnx")
    report = build(tmp_path / "model.onnx", tmp_path / "out", Options(verify=True), lambda *_: None, str)
    assert sorted((layer.node, layer.tile) for layer in report.layers if layer.node == "conv") == [
        ("conv", (2, 2)),
        ("conv", (2, 3)),
        ("conv", (3, 4)),
    ]
    assert all(0 < layer.error < 1e-3 for layer in report.layers)
    print_report(report, tmp_path / "out")
    text = " ".join(capsys.readouterr().out.split())
    assert all(f" conv by {tile} " in text for tile in ("2 x 2", "2 x 3", "3 x 4"))
    assert [set(names(d.program)) >= PARTS for d in report.devices] == [True, True]
    exact = build(tmp_path / "model.onnx", tmp_path / "exact", Options(fast_math=False), lambda *_: None, str)
    assert [set(names(d.program)) & PARTS for d in exact.devices] == [set(), set()]
