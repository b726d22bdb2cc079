"""Sums of products of words: register tiles, and what is in memory."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import onnx
import pytest
import webnn_compile
from drivers import need_driver
from kernel_checks import check_model, stages_of
from onnx import helper, numpy_helper
from onnx_models import random
from webnn_compile.frontends.model_inputs import Dim, ModelInputs
from webnn_compile.frontends.onnx import import_model
from webnn_compile.graph.passes import run_graph_passes
from webnn_compile.ir.printer import print_kernel
from webnn_compile.pipeline.lower_model import lower_model
from webnn_compile.schedule.schedule_simt import schedule_simt
from webnn_compile.simt.backend import layouts_of
from webnn_compile.target import WASM_PLAIN, WASM_RELAXED, WEBGPU, GpuTarget, Target, layouts_for

K, N, SIZE = 64, 48, 32
BUSY = replace(WEBGPU, minimum_occupancy=1)


def product(rows: int | str, depth: int = K) -> onnx.ModelProto:
    packed = np.random.default_rng(0).integers(0, 256, (N, depth // SIZE, SIZE // 2)).astype(np.uint8)
    scales = (np.abs(random((N, depth // SIZE), 1)) * 0.1).astype(np.float32)
    attributes = {"K": depth, "N": N, "bits": 4, "block_size": SIZE, "accuracy_level": 4}
    graph = helper.make_graph(
        [helper.make_node("MatMulNBits", ["x", "w", "s"], ["y"], domain="com.microsoft", **attributes)],
        "few bits",
        [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [rows, depth])],
        [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [rows, N])],
        [numpy_helper.from_array(packed, "w"), numpy_helper.from_array(scales, "s")],
    )
    imports = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=imports, ir_version=10)


def scheduled(rows: int | str, target: Target) -> str:
    """The kernel that multiplies."""
    inputs = ModelInputs(dims={} if isinstance(rows, int) else {rows: Dim(1, 7)})
    lowered = lower_model(run_graph_passes(import_model(product(rows), inputs)), policy=layouts_for(target))
    texts = [print_kernel(dict(stages)["schedule_cpu"]) for _, stages in stages_of(lowered, target)]
    (text,) = (t for t in texts if "words" in t)
    return text


@pytest.mark.parametrize("target", [WASM_RELAXED, WASM_PLAIN], ids=lambda t: t.name)
@pytest.mark.parametrize("rows", [1, 5])
def test_stages_compute_the_same(target: Target, rows: int) -> None:
    check_model(product(rows), [target], work=400_000)


def test_one_row_has_tiles_of_a_panel() -> None:
    text = scheduled(1, WASM_RELAXED)
    assert "local acc: float32[16]" in text
    # Words stay words, one to eight elements, and sums are those of a span.
    assert f"words: int32[{N // 16}, {K // SIZE}, 1, {SIZE // 8}, 16]" in text
    assert "wasm_short_dots" in text


def test_rows_share_weights() -> None:
    assert "local acc: float32[2, 8]" in scheduled(6, WASM_RELAXED)


def test_rows_that_vary_have_tiles_of_one() -> None:
    assert "local acc: float32[1, 16]" in scheduled("rows", WASM_RELAXED)


@pytest.mark.parametrize(("depth", "target", "shared"), [(512, WEBGPU, True), (64, WEBGPU, False), (512, BUSY, False)])
def test_workgroups_share_deep_columns(depth: int, target: GpuTarget, shared: bool) -> None:
    """Where few invocations would each add the sums of many blocks."""
    lowered = lower_model(run_graph_passes(import_model(product(1, depth))), policy=layouts_of(target))
    (kernel,) = (k for k in lowered.kernels if any(p.name.endswith("words") for p in k.params))
    text = print_kernel(schedule_simt(kernel, target))
    assert ("of workgroup" in text) == shared


def test_fragments_do_not_write_out_several_spans() -> None:
    """One is long already: software takes seconds to compile four of each result."""
    need_driver("webgl")
    kernels = webnn_compile.compile(product(1, 512), "webgl", cache=False).program.kernels
    texels = N // 16
    assert max(k.source.count(">> ivec4(24)") for k in kernels) == texels * SIZE // 4
