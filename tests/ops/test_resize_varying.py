"""Resize along dimensions that each run decides, against onnxruntime and the build for these sizes."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import onnx
import pytest
import webnn_compile
from drivers import need_driver
from onnx_models import Array, assert_close, model, node, onnxruntime_results
from webnn_compile.errors import UnsupportedError
from webnn_compile.execution.device_model import DeviceModel

COORDINATES = (
    "align_corners",
    "asymmetric",
    "half_pixel",
    "half_pixel_symmetric",
    "pytorch_half_pixel",
    "tf_half_pixel_for_nn",
)
NEAREST = ("floor", "ceil", "round_prefer_floor", "round_prefer_ceil")
KINDS: Mapping[str, Mapping[str, object]] = {
    "linear": {"mode": "linear"},
    "cubic": {"mode": "cubic"},
    "cubic_inside": {"mode": "cubic", "cubic_coeff_a": -0.5, "exclude_outside": 1},
} | {f"nearest_{m}": {"mode": "nearest", "nearest_mode": m} for m in NEAREST}
SIZES = ((9, 14, 31, 7), (20, 3, 5, 40), (2, 5, 2, 5), (12, 20, 24, 40), (7, 1, 1, 13))
"""Sizes of the input, and of the result."""


def by_sizes(**attributes: object) -> onnx.ModelProto:
    """To height and width of another input."""
    nodes = [
        node("Shape", ["x"], ["of_x"], start=0, end=2),
        node("Shape", ["like"], ["of_like"], start=2, end=4),
        node("Concat", ["of_x", "of_like"], ["sizes"], axis=0),
        node("Resize", ["x", "", "", "sizes"], ["y"], **attributes),
    ]
    return model(nodes, {"x": [1, 3, "h", "w"], "like": [1, 1, "p", "q"]}, ["y"], opset=18)


def by_scales(scales: tuple[float, float], **attributes: object) -> onnx.ModelProto:
    nodes = [node("Resize", ["x", "", "scales"], ["y"], **attributes)]
    return model(nodes, {"x": [1, 3, "h", "w"]}, ["y"], {"scales": np.float32([1, 1, *scales])}, opset=18)


def feeds(sizes: tuple[int, int, int, int]) -> dict[str, Array]:
    h, w, p, q = sizes
    x = np.random.default_rng(h).standard_normal((1, 3, h, w)).astype(np.float32)
    return {"x": x, "like": np.zeros((1, 1, p, q), np.float32)}


@pytest.mark.parametrize("target", ["native", "wasm", "opencl", "webgpu", "webgl"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("coordinates", COORDINATES)
def test_to_sizes_of_a_run(coordinates: str, kind: str, target: str) -> None:
    """Nearest elements on GPUs, too, are those of the build in which all sizes are known."""
    need_driver(target)
    made = by_sizes(coordinate_transformation_mode=coordinates, **KINDS[kind])
    varying = webnn_compile.compile(made, target, dims={"h": (1, 20), "w": (1, 20), "p": (1, 40), "q": (1, 40)})
    for sizes in SIZES if target == "native" else SIZES[:2]:
        fixed = webnn_compile.compile(made, dims=dict(zip("hwpq", sizes, strict=True)))
        given = feeds(sizes)
        assert_close(varying.run(given), fixed.run(given), 1e-5)
        if coordinates != "tf_half_pixel_for_nn" and not kind.endswith("ceil"):
            assert_close(varying.run(given), onnxruntime_results(made, given), 1e-4)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("coordinates", COORDINATES)
@pytest.mark.parametrize("scales", [(2.0, 2.0), (1.5, 0.75), (3.0, 1.0)])
def test_by_scales(coordinates: str, kind: str, scales: tuple[float, float]) -> None:
    """Nearest elements that are beyond the end of a short input, too."""
    made = by_scales(scales, coordinate_transformation_mode=coordinates, **KINDS[kind])
    varying = webnn_compile.compile(made, dims={"h": (2, 20), "w": (2, 20)})
    whole = feeds((20, 20, 1, 1))["x"]
    varying.run({"x": np.full_like(whole, np.nan)})
    for h, w in ((5, 3), (20, 20), (11, 8)):
        fixed = webnn_compile.compile(made, dims={"h": h, "w": w})
        given = {"x": whole[:, :, :h, :w].copy()}
        assert_close(varying.run(given), fixed.run(given), 1e-5)


def test_integers_are_truncated() -> None:
    made = by_sizes(mode="linear")
    made.graph.input[0].type.tensor_type.elem_type = onnx.TensorProto.INT32
    given = feeds(SIZES[0])
    given["x"] = (given["x"] * 100).astype(np.int32)
    varying = webnn_compile.compile(made, dims={"h": (1, 20), "w": (1, 20), "p": (1, 40), "q": (1, 40)})
    fixed = webnn_compile.compile(made, dims=dict(zip("hwpq", SIZES[0], strict=True)))
    assert np.abs(varying.run(given)["y"] - fixed.run(given)["y"]).max() <= 1


def test_coordinates_are_computed_on_the_host() -> None:
    """Where the driver may not round a quotient to the nearest number; nothing is read back for them."""
    need_driver("webgl")
    made = by_sizes(mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor")
    compiled = webnn_compile.compile(made, "webgl", dims={"h": (1, 20), "w": (1, 20), "p": (1, 40), "q": (1, 40)})
    assert isinstance(compiled, DeviceModel)
    assert all("GPUs round quotients otherwise" in c.reason for c in compiled.program.calls)
    assert compiled.program.calls
    assert compiled.program.readbacks == 0


@pytest.mark.parametrize(("most", "calls"), [(100, 1), (40_000, 0)])
def test_large_tables_of_quotients_stay_on_the_device(most: int, calls: int) -> None:
    need_driver("webgl")
    nodes = [
        node("Shape", ["x"], ["whole"]),
        node("Squeeze", ["whole"], ["n"]),
        node("Range", ["zero", "n", "one"], ["i"]),
        node("Cast", ["n"], ["length"], to=onnx.TensorProto.FLOAT),
        node("Cast", ["i"], ["place"], to=onnx.TensorProto.FLOAT),
        node("Div", ["place", "length"], ["share"]),
        node("CumSum", ["share", "zero"], ["y"]),
    ]
    made = model(nodes, {"x": ["n"]}, ["y"], {"zero": np.int64(0), "one": np.int64(1)}, opset=18)
    compiled = webnn_compile.compile(made, "webgl", dims={"n": (1, most)})
    assert isinstance(compiled, DeviceModel)
    assert len(compiled.program.calls) == calls
    given = {"x": np.zeros(77, np.float32)}
    assert_close(compiled.run(given), onnxruntime_results(made, given), 1e-5)


def test_nearest_elements_need_no_antialias() -> None:
    made = by_sizes(mode="nearest", antialias=1)
    given = feeds(SIZES[0])
    varying = webnn_compile.compile(made, dims={"h": (1, 20), "w": (1, 20), "p": (1, 40), "q": (1, 40)})
    fixed = webnn_compile.compile(made, dims=dict(zip("hwpq", SIZES[0], strict=True)))
    assert_close(varying.run(given), fixed.run(given), 0)


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (by_sizes(mode="linear", antialias=1), "it needs a fixed size along axis 2, and h is known at run time only"),
        (by_scales((1.1, 1.0), mode="linear"), "it needs a fixed size of 'x'"),
    ],
)
def test_what_needs_sizes_that_are_known(made: onnx.ModelProto, message: str) -> None:
    dims = {"h": (1, 20), "w": (1, 20)} | ({"p": (1, 4), "q": (1, 4)} if len(made.graph.input) > 1 else {})
    with pytest.raises(UnsupportedError, match=message):
        webnn_compile.compile(made, dims=dims)
