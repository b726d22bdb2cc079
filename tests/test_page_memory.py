"""`--page-memory`: which convolutions keep prepared filters, what a backend then takes, and what cannot be met."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
from click.testing import CliRunner
from onnx_models import model, node
from webnn_compile.bundle.place_memory import PAGE
from webnn_compile.cli.command import main
from webnn_compile.driver.build import Built, build_files
from webnn_compile.driver.limit_memory import ARRIVING
from webnn_compile.driver.options import Options
from webnn_compile.errors import InputError
from webnn_compile.program.count_products import count_products
from webnn_compile.quantization.settings import QuantizeOptions, parse_weights

RANDOM = np.random.default_rng(0)


def weights(filters: int, channels: int) -> np.ndarray:
    return (RANDOM.standard_normal((filters, channels, 3, 3)) / channels).astype(np.float32)


@pytest.fixture(scope="module")
def proto() -> onnx.ModelProto:
    """A convolution of a large image, and three of a small image, with more filters."""
    pads = (1, 1, 1, 1)
    nodes = [
        node("Conv", ["x", "a"], ["y"], pads=pads, name="large_image"),
        node("AveragePool", ["y"], ["b0"], kernel_shape=(4, 4), strides=(2, 2), pads=pads),
        *(node("Conv", [f"b{i}", f"w{i}"], [f"b{i + 1}"], pads=pads, name=f"many_filters{i}") for i in range(3)),
    ]
    constants = {"a": weights(128, 128), **{f"w{i}": weights(128, 128) for i in range(3)}}
    return model(nodes, {"x": [1, 128, 56, 56]}, ["b3"], constants)


@pytest.fixture(scope="module")
def path(proto: onnx.ModelProto, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "two.onnx"
    onnx.save(proto, path)
    return path


def build(path: Path, target: str, most: int | None = None) -> Built:
    return build_files(path, Options(targets=(target,), page_memory=most), lambda _: None)


def prepared(built: Built) -> set[str]:
    """The nodes whose filters are computed at load."""
    part = built.report.wasm or built.report.devices[0]
    return {name for launch in part.program.prepare for name in launch.nodes if launch.ops}


def test_filters_of_large_images_are_kept(path: Path) -> None:
    whole = build(path, "wasm")
    assert prepared(whole) == {"large_image", *(f"many_filters{i}" for i in range(3))}
    less = whole
    while len(prepared(less)) > 1:
        less = build(path, "wasm", less.report.peaks["wasm"] - 1)
    assert prepared(less) == {"large_image"}


@pytest.mark.parametrize("target", ["wasm", "webgl", "webgpu"])
def test_filters_are_left_out_until_the_limit_holds(tmp_path: Path, target: str) -> None:
    names = [f"layer{i}" for i in range(3)]
    nodes = [node("Conv", [f"x{i}", f"w{i}"], [f"x{i + 1}"], pads=(1, 1, 1, 1), name=n) for i, n in enumerate(names)]
    constants = {f"w{i}": weights(128, 128) for i in range(3)}
    path = tmp_path / "layers.onnx"
    onnx.save(model(nodes, {"x0": [1, 128, 56, 56]}, ["x3"], constants), path)
    whole = build(path, target)
    assert prepared(whole) == set(names)
    peak = whole.report.peaks[target]
    assert build(path, target, peak).files == whole.files
    less = build(path, target, peak - 1)
    assert len(prepared(less)) == 2
    assert less.report.peaks[target] < peak
    none = build(path, target, peak - 1)
    while prepared(none):
        none = build(path, target, none.report.peaks[target] - 1)
    with pytest.raises(InputError, match=rf"on {target} the model takes .* with no convolution by Winograd"):
        build(path, target, none.report.peaks[target] - 1)


def test_quantised_layers_whose_filters_have_no_room_compute_in_integers(tmp_path: Path) -> None:
    """Not in float32 without Winograd's algorithm, whose gain was all that float32 had."""
    scales = {"s": np.float32(0.1), "z": np.uint8(128)}
    nodes = [node("QuantizeLinear", ["x", "s", "z"], ["q0"])]
    constants = {name: np.asarray(value) for name, value in scales.items()}
    for i in range(3):
        constants[f"w{i}"] = RANDOM.integers(-9, 9, (128, 128, 3, 3), np.int8)
        nodes += [
            node("DequantizeLinear", [f"q{i}", "s", "z"], [f"d{i}"]),
            node("DequantizeLinear", [f"w{i}", "s"], [f"f{i}"]),
            node("Conv", [f"d{i}", f"f{i}"], [f"c{i}"], pads=(1, 1, 1, 1), name=f"layer{i}"),
            node("QuantizeLinear", [f"c{i}", "s", "z"], [f"q{i + 1}"]),
        ]
    nodes.append(node("DequantizeLinear", ["q3", "s", "z"], ["y"]))
    path = tmp_path / "layers.onnx"
    onnx.save(model(nodes, {"x": [1, 128, 28, 28]}, ["y"], constants), path)

    def in_floats(built: Built) -> int:
        assert built.report.wasm is not None
        counted = count_products(built.report.wasm.program.launches)
        return sum(n for text, n in counted.items() if "float32" in text)

    whole = build(path, "wasm")
    assert in_floats(whole) == 3
    less = whole
    for left in (2, 1, 0):
        less = build(path, "wasm", less.report.peaks["wasm"] - 1)
        assert in_floats(less) == len(prepared(less)) == left


def test_the_peak_is_what_the_page_allocates(path: Path) -> None:
    built = build(path, "wasm")
    (part,) = built.manifest.fields["backends"]
    assert built.report.peaks["wasm"] == part["memory"]["pages"] * PAGE + ARRIVING


def test_each_backend_is_limited_by_itself(path: Path) -> None:
    options = Options(targets=("webgl", "wasm"))
    whole = build_files(path, options, lambda _: None).report
    smaller, larger = sorted(whole.peaks, key=lambda target: whole.peaks[target])
    limited = build_files(
        path, Options(targets=("webgl", "wasm"), page_memory=whole.peaks[larger] - 1), lambda _: None
    ).report
    assert limited.peaks[larger] < whole.peaks[larger]
    assert limited.peaks[smaller] <= whole.peaks[larger] - 1


def test_results_are_the_same_but_for_rounding(path: Path, tmp_path: Path) -> None:
    least = build(path, "wasm", build(path, "wasm").report.peaks["wasm"] - 1).report.peaks["wasm"]
    arguments = [str(path), "--out", str(tmp_path / "out"), "--targets", "wasm", "--verify"]
    ended = CliRunner().invoke(main, [*arguments, "--page-memory", f"{least}B"])
    assert ended.exit_code == 0, ended.output
    assert f"peak       memory in a page while it loads: wasm {least / 1e6:.1f} MB" in ended.stdout
    assert "verified" in ended.stdout


def test_what_cannot_be_met_writes_nothing(path: Path, tmp_path: Path) -> None:
    arguments = [str(path), "--out", str(tmp_path / "out"), "--targets", "wasm"]
    ended = CliRunner().invoke(main, [*arguments, "--page-memory", "1MB"])
    assert ended.exit_code == 2
    assert "error: --page-memory 1.0 MB: on wasm the model takes at least" in ended.stderr
    assert "weights 2.4 MB" in ended.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("target", ["wasm", "webgl", "webgpu"])
def test_what_weights_exceed_is_refused_before_kernels_are_compiled(path: Path, target: str) -> None:
    phases: list[str] = []
    with pytest.raises(InputError, match=rf"--page-memory 2\.0 MB: on {target} the model takes at least"):
        build_files(path, Options(targets=(target,), page_memory=2_000_000), phases.append)
    assert not [phase for phase in phases if not phase.startswith(("import", "optimise"))]


@pytest.mark.parametrize("weights", ["int8", "int4"])
def test_a_model_that_is_quantised_is_not_to_be_quantised(tmp_path: Path, weights: str) -> None:
    constants = {"w": RANDOM.standard_normal((512, 512)).astype(np.float32)}
    path = tmp_path / "dense.onnx"
    onnx.save(model([node("MatMul", ["x", "w"], ["y"])], {"x": [1, 512]}, ["y"], constants), path)
    advice = r"quantise the model \(--quantize int8\), or leave the target out"
    options = Options(targets=("wasm",), page_memory=1000)
    with pytest.raises(InputError, match=advice):
        build_files(path, options, lambda _: None)
    quantize = QuantizeOptions(parse_weights(weights))
    with pytest.raises(InputError, match=r"most` of a --picture's format\), or leave the target out"):
        build_files(path, replace(options, quantize=quantize), lambda _: None)


def test_it_is_for_bundles(path: Path, tmp_path: Path) -> None:
    arguments = [str(path), "--out", str(tmp_path / "out"), "--targets", "c", "--page-memory", "1GB"]
    ended = CliRunner().invoke(main, arguments)
    assert (ended.exit_code, "--page-memory is for bundles" in ended.stderr) == (2, True)


@pytest.mark.parametrize("precision", ["f32", "f16"])
@pytest.mark.parametrize("target", ["wasm", "webgl", "webgpu"])
def test_the_least_memory_is_never_above_what_a_model_takes(path: Path, target: str, precision: str) -> None:
    options = Options(targets=(target,), precision=precision)
    built = build_files(path, options, lambda _: None).report
    with pytest.raises(InputError, match=rf"on {target} the model takes at least ([\d.]+) MB") as refused:
        build_files(path, replace(options, page_memory=1), lambda _: None)
    found = re.search(r"takes at least ([\d.]+) MB", str(refused.value))
    assert found is not None
    least = float(found[1]) * 1e6
    assert 2.3e6 / (2 if precision == "f16" else 1) < least - ARRIVING <= built.peaks[target] - ARRIVING
