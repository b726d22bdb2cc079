"""One thread and several: the same results bit for bit, by OpenMP's threads and by Python's."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import webnn_compile
from kernel_checks import with_costs
from onnx_models import assert_close, onnxruntime_results, random
from parallel_model import parallel_model
from random_models import random_model
from webnn_compile import InputError
from webnn_compile.codegen.llvm_module import LlvmModule
from webnn_compile.cpu.compile_for_cpu import compile_for_cpu
from webnn_compile.execution.native_model import NativeModel
from webnn_compile.frontends.onnx import import_model
from webnn_compile.graph.passes import run_graph_passes
from webnn_compile.ir.nodes import For, LoopKind
from webnn_compile.ir.rewrite import walk
from webnn_compile.native import threads as native_threads
from webnn_compile.native.emit import header, host
from webnn_compile.native.jit import JitModule, host_target
from webnn_compile.pipeline.lower_model import lower_model

TESTS = Path(__file__).resolve().parent.parent


@pytest.mark.parametrize("threads", [2, 3, 8])
def test_results_are_the_same_bit_for_bit(threads: int) -> None:
    proto = parallel_model()
    feeds = {"x": random((1, 3, 64, 64))}
    alone = webnn_compile.compile(proto).run(feeds)
    assert_close(alone, onnxruntime_results(proto, feeds), 1e-3)
    shared = webnn_compile.compile(proto, threads=threads)
    for _ in range(20):
        again = shared.run(feeds)
        assert all(np.array_equal(alone[name], again[name]) for name in alone)


def test_python_threads_do_the_same() -> None:
    """In a process of its own, which has no OpenMP: symbols are bound once."""
    script = (
        "import ctypes.util; ctypes.util.find_library = lambda name: None\n"
        "import numpy as np, webnn_compile\n"
        "from onnx_models import random\n"
        "from parallel_model import parallel_model\n"
        "from webnn_compile.native import threads\n"
        "feeds = {'x': random((1, 3, 64, 64))}\n"
        "alone, shared = (webnn_compile.compile(parallel_model(), threads=n).run(feeds) for n in (1, 3))\n"
        "assert all(np.array_equal(alone[name], shared[name]) for name in alone)\n"
        "assert list(threads._pools) == [3]\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(TESTS)}
    subprocess.run([sys.executable, "-c", script], env=environment, check=True, timeout=120)


@pytest.mark.parametrize("extent", [1, 2, 7, 8, 9, 100])
def test_every_iteration_is_done_once(extent: int) -> None:
    """The body adds one to each of its elements."""
    module = LlvmModule()
    body = """define internal void @@(ptr %counts, i32 %begin, i32 %end) #0 {
entry:
  br label %loop
loop:
  %i = phi i32 [ %begin, %entry ], [ %next, %loop ]
  %at = getelementptr inbounds i32, ptr %counts, i32 %i
  %old = load i32, ptr %at
  %new = add i32 %old, 1
  store i32 %new, ptr %at
  %next = add i32 %i, 1
  %done = icmp eq i32 %next, %end
  br i1 %done, label %out, label %loop
out:
  ret void
}"""
    name = module.add("body", body)
    native_threads.define_parallel_for(module, 3)
    call = f"  call void @parallel_for(ptr @{name}, ptr %weights, i32 {extent})"
    module.add("run", f"define void @@(ptr %weights, ptr %arena) #0 {{\n{call}\n  ret void\n}}", internal=False)
    code = JitModule(module.text(header(host(), jit=True)))
    counts = (ctypes.c_int32 * (extent + 1))()
    for _ in range(50):
        code.call("run", ctypes.addressof(counts), 0)
    assert list(counts) == [50] * extent + [0]


@pytest.mark.parametrize("seed", range(12))
def test_random_models_with_every_loop_shared(seed: int) -> None:
    lowered = lower_model(run_graph_passes(import_model(random_model(seed))))
    target = host_target()
    alone = NativeModel(compile_for_cpu(lowered, target))
    shared = NativeModel(compile_for_cpu(lowered, with_costs(target, parallel_worth=0.0)), threads=3)
    assert any(isinstance(n, For) and n.kind is LoopKind.CORE for k in shared.program.kernels for n in walk(k.body))
    feeds = {t.name: random(t.shape) for t in alone.program.inputs}
    for _ in range(5):
        again = shared.run(feeds)
        assert all(np.array_equal(a, again[name], equal_nan=True) for name, a in alone.run(feeds).items())


@pytest.mark.parametrize(("target", "threads"), [("native", 0), ("wasm", 2), ("native", -1)])
def test_wrong_numbers_of_threads(target: str, threads: int) -> None:
    with pytest.raises(
        InputError, match=f"threads={threads}: give 1 or more for the target native, c, 1 for the others"
    ):
        webnn_compile.compile(parallel_model(), target, threads=threads)
