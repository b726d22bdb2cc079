"""Launches whose loops threads are handed as one: which they are, and that results do not change."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
from kernel_checks import with_costs
from onnx_models import assert_close, model, node, onnxruntime_results, random
from parallel_model import parallel_model
from webnn_compile.codegen.join_loops import joined
from webnn_compile.codegen.llvm_module import LlvmModule
from webnn_compile.codegen.render_host import ENTRY, PROFILE, render_host
from webnn_compile.codegen.whole_loop import WholeLoop
from webnn_compile.cpu.compile_for_cpu import compile_for_cpu
from webnn_compile.execution.native_model import NativeModel
from webnn_compile.execution.wasm_model import WasmModel
from webnn_compile.frontends.model_inputs import Dim, ModelInputs
from webnn_compile.frontends.onnx import import_model
from webnn_compile.graph.passes import run_graph_passes
from webnn_compile.ir.nodes import Scalar
from webnn_compile.native.jit import host_target
from webnn_compile.pipeline.lower_model import lower_model
from webnn_compile.program.program import Launch, Program, Region, Slot
from webnn_compile.system.cache import Cache
from webnn_compile.target import WASM_RELAXED, Target
from webnn_compile.wasm.build_module import build_module

from benchmarks.decoder_model import DecoderSize, decoder_model

NATIVE = replace(host_target(), lanes=4)
"""This machine's processor, with panels as narrow on each."""

HEADS = {"q": 96, "k": 64, "v": 64}
"""Columns of queries, which have more heads than keys and values."""


def projections(widths: Mapping[str, int], rows: int | str = 1) -> onnx.ModelProto:
    """Products of one x, of 70 columns, with a constant each."""
    nodes = [node("MatMul", ["x", f"w.{name}"], [name]) for name in widths]
    weights = {f"w.{name}": random((70, n), n) for name, n in widths.items()}
    return model(nodes, {"x": [rows, 70]}, list(widths), weights)


def program_of(proto: onnx.ModelProto, target: Target, inputs: ModelInputs | None = None) -> Program:
    """The program, every loop of which threads share."""
    lowered = lower_model(run_graph_passes(import_model(proto, inputs)))
    return compile_for_cpu(lowered, with_costs(target, parallel_worth=0.0))


def calls(program: Program, entry: str = ENTRY) -> list[str]:
    """The kinds of functions that a function of the program calls: `kernel` for one launch, `kernels` for several."""
    module = LlvmModule()
    render_host(program, module, Cache(None), profiled=entry == PROFILE)
    text = module.text("").split(f"define void @{entry}(")[1].split("\n}")[0]
    return re.findall(r"call void @([a-z]+)_", text)


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize(
    ("widths", "joined_as"),
    [
        (HEADS, ["kernels"]),
        ({"a": 96, "k": 64, "q": 83}, ["kernels", "kernel"]),  # the last has a tail, another loop
        ({"a": 83, "k": 83}, ["kernel", "kernel"]),
    ],
)
def test_each_result_is_that_of_the_product_by_itself(
    threads: int, widths: Mapping[str, int], joined_as: list[str]
) -> None:
    program = program_of(projections(widths), NATIVE)
    feeds = {"x": random((1, 70), 9)}
    assert calls(program) == joined_as
    together = NativeModel(program, threads=threads)
    assert_close(together.run(feeds), onnxruntime_results(projections(widths), feeds), 1e-4)
    for name, width in widths.items():
        alone = NativeModel(program_of(projections({name: width}), NATIVE), threads=1).run(feeds)
        for _ in range(20):
            np.testing.assert_array_equal(together.run(feeds)[name], alone[name])


@pytest.mark.parametrize("rows", [1, 2, 7, 13])
def test_lengths_that_a_run_decides(rows: int) -> None:
    """The function of each loop takes the number of rows, too."""
    proto = projections({"k": 64, "v": 64}, "rows")
    program = program_of(proto, NATIVE, ModelInputs(dims={"rows": Dim(1, 13)}))
    assert calls(program) == ["kernels"]
    feeds = {"x": random((rows, 70), rows)}
    assert_close(NativeModel(program, threads=3).run(feeds), onnxruntime_results(proto, feeds), 1e-4)


def test_each_is_timed_by_itself() -> None:
    proto = projections(HEADS)
    program = program_of(proto, WASM_RELAXED)
    assert (calls(program), calls(program, PROFILE)) == (["kernels"], ["kernel"] * 3)
    made = WasmModel(program, build_module(program, relaxed=True), relaxed=True)
    feeds = {"x": random((1, 70), 5)}
    assert_close(made.run(feeds), onnxruntime_results(proto, feeds), 1e-4)
    assert len(made.profile(feeds)) == 3


def test_a_decoder_hands_out_its_projections_at_once() -> None:
    """Queries, keys and values of each layer."""
    proto = decoder_model(DecoderSize(layers=2, heads=2, size=32, words=37, positions=16))
    dims = {"batch_size": Dim(1, 1), "past_sequence_length": Dim(0, 9), "sequence_length": Dim(1, 1)}
    assert calls(program_of(proto, WASM_RELAXED, ModelInputs(dims=dims))).count("kernels") == 2


def test_products_that_follow_each_other_are_not() -> None:
    """The second reads what the first writes."""
    nodes = [node("MatMul", ["x", "w"], ["y"]), node("MatMul", ["y", "w"], ["z"])]
    proto = model(nodes, {"x": [1, 64]}, ["y", "z"], {"w": random((64, 64)) * 0.1})
    program = program_of(proto, NATIVE)
    assert calls(program) == ["kernel", "kernel"]
    feeds = {"x": random((1, 64), 3)}
    assert_close(NativeModel(program, threads=2).run(feeds), onnxruntime_results(proto, feeds), 1e-4)


def test_a_model_without_such_products_is_as_it_was() -> None:
    assert set(calls(program_of(parallel_model(), WASM_RELAXED))) == {"kernel"}


def test_code_from_the_cache_is_joined_too(tmp_path: Path) -> None:
    program = program_of(projections(HEADS), WASM_RELAXED)
    cache, texts = Cache(tmp_path), []
    for _ in range(2):
        module = LlvmModule()
        render_host(program, module, cache)
        texts.append(module.text(""))
    assert texts[0] == texts[1]
    assert "@kernels_" in texts[0]


def launch(kernel: int, *slots: int, scalars: tuple[Scalar, ...] = ()) -> Launch:
    return Launch(kernel, str(slots), tuple(Slot(Region.ARENA, s) for s in slots), (), (), scalars)


def sizes_of(groups: Sequence[Sequence[Launch]]) -> list[int]:
    return [len(group) for group in groups]


LOOP = WholeLoop("body", ("ptr", "ptr"), (0, 1), 4, (64, 32), 1)
"""A kernel that reads 64 bytes and writes 32."""

N = Scalar("n", 9)


@pytest.mark.parametrize(
    ("second", "sizes"),
    [
        (launch(0, 0, 96), [2]),  # both read the same
        (launch(0, 64, 128), [1, 1]),  # reads what the first writes
        (launch(0, 128, 32), [1, 1]),  # writes what the first reads
        (launch(0, 128, 95), [1, 1]),  # writes its last byte
        (launch(0, 128, 192), [2]),
        (launch(1, 0, 128), [1, 1]),  # another body
        (launch(2, 0, 128), [1, 1]),  # no such loop
        (launch(3, 0, 128), [2]),  # of another length
        (launch(0, 0, 128, scalars=(N,)), [1, 1]),  # a number that the first computes
    ],
)
def test_what_is_independent(second: Launch, sizes: list[int]) -> None:
    loops = {0: LOOP, 1: WholeLoop("other", LOOP.types, LOOP.fields, 4, LOOP.sizes, 1)}
    loops[3] = WholeLoop("body", LOOP.types, LOOP.fields, 9, LOOP.sizes, 1)
    groups = list(joined([launch(0, 0, 64), second], loops, {N: 92}))
    assert sizes_of(groups) == sizes


def test_each_of_a_group_is_independent_of_all() -> None:
    """The third writes what the first reads."""
    launches = [launch(0, 0, 64), launch(0, 128, 192), launch(0, 256, 0), launch(0, 256, 320)]
    assert sizes_of(list(joined(launches, {0: LOOP}, {}))) == [2, 2]
