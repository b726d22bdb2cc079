"""Products that a model returns: by WebGL in tiles of rows, which are copied to the texture that is read back."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
import webnn_compile
from drivers import need_driver
from onnx_models import Array, assert_close, model, node, onnxruntime_results, random
from webnn_compile.execution.device_model import DeviceModel


def compiled_for(target: str, proto: onnx.ModelProto, **options: object) -> DeviceModel:
    need_driver(target)
    compiled = webnn_compile.compile(proto, target, **options)  # type: ignore[arg-type]
    assert isinstance(compiled, DeviceModel)
    return compiled


def product(x: list[int | str], depth: int, columns: int) -> onnx.ModelProto:
    nodes = [node("MatMul", ["x", "w"], ["h"]), node("Add", ["h", "b"], ["y"])]
    return model(nodes, {"x": x}, ["y"], {"w": random((depth, columns)) * 0.05, "b": random((columns,))})


def tiles_of(compiled: DeviceModel) -> bool:
    """Whether a product of tiles is followed by a copy; it is one launch else."""
    first, *copies = compiled.program.launches
    kernels = compiled.program.kernels
    if copies:
        (copy,) = copies
        assert copy.arguments[0] == first.arguments[-1]
        assert "acc_0_3" in kernels[first.kernel].source
    return bool(copies)


@pytest.mark.parametrize("columns", [2000, 1001, 1003])
@pytest.mark.parametrize("shape", [[61, 512], [1, 64, 512], [3, 23, 512]], ids=str)
def test_many_rows_share_what_they_load(shape: list[int | str], columns: int) -> None:
    proto, x = product(shape, 512, columns), random(tuple(map(int, shape)))
    compiled = compiled_for("webgl", proto)
    assert_close(compiled.run({"x": x}), onnxruntime_results(proto, {"x": x}), 1e-4)
    assert tiles_of(compiled)


@pytest.mark.parametrize("shape", [[1, 300], [4, 300], [1, 1, 300]], ids=str)
def test_few_rows_are_written_where_they_are_read(shape: list[int | str]) -> None:
    proto, x = product(shape, 300, 1001), random(tuple(map(int, shape)))
    compiled = compiled_for("webgl", proto)
    assert_close(compiled.run({"x": x}), onnxruntime_results(proto, {"x": x}), 1e-4)
    assert not tiles_of(compiled)


@pytest.mark.parametrize(("shape", "columns"), [([64, 48], 50257), ([1, 20, 48], 30522), ([48, 48], 65536)], ids=str)
def test_scores_of_a_vocabulary(shape: list[int | str], columns: int) -> None:
    """Columns are in bands, below each other, of which the last may be shorter."""
    proto, x = product(shape, 48, columns), random(tuple(map(int, shape)))
    compiled = compiled_for("webgl", proto)
    assert_close(compiled.run({"x": x}), onnxruntime_results(proto, {"x": x}), 1e-4)
    assert tiles_of(compiled)


def test_what_fits_in_no_image_is_not_copied() -> None:
    """Several matrices of a vocabulary's scores, and one whose rows vary."""
    proto, x = product([3, 8, 48], 48, 50257), random((3, 8, 48))
    compiled = compiled_for("webgl", proto)
    assert_close(compiled.run({"x": x}), onnxruntime_results(proto, {"x": x}), 1e-4)
    assert not tiles_of(compiled)
    proto = product(["rows", 48], 48, 50257)
    varying = compiled_for("webgl", proto, dims={"rows": (1, 64)})
    assert_close(varying.run({"x": x[0]}), onnxruntime_results(proto, {"x": x[0]}), 1e-4)
    assert not tiles_of(varying)


@pytest.mark.parametrize("rows", [1, 7, 64])
def test_rows_whose_number_varies(rows: int) -> None:
    proto, x = product(["rows", 300], 300, 1001), random((rows, 300))
    compiled = compiled_for("webgl", proto, dims={"rows": (1, 64)})
    assert_close(compiled.run({"x": x}), onnxruntime_results(proto, {"x": x}), 1e-4)
    assert tiles_of(compiled)


def test_weights_by_rows() -> None:
    """Their sum runs along memory, and what is not finite stays in its row."""
    gemm = node("Gemm", ["x", "w", "b"], ["y"], transB=1)
    proto = model([gemm], {"x": [64, 300]}, ["y"], {"w": random((1001, 300)) * 0.05, "b": random((1001,))})
    x: Array = random((64, 300))
    x[5, 7], x[6, 8] = np.inf, np.nan
    compiled = compiled_for("webgl", proto)
    assert_close(compiled.run({"x": x}), onnxruntime_results(proto, {"x": x}), 1e-4)
    assert tiles_of(compiled)


def test_buffers_need_no_copy() -> None:
    proto, x = product([64, 300], 300, 1001), random((64, 300))
    compiled = compiled_for("webgpu", proto)
    assert_close(compiled.run({"x": x}), onnxruntime_results(proto, {"x": x}), 1e-4)
    assert not tiles_of(compiled)
