"""Tensors computed once, at load: what a model's weights become before the first run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from webnn_compile.cpu.compile_for_cpu import compile_for_cpu
from webnn_compile.dtypes import F32
from webnn_compile.execution.native_model import NativeModel
from webnn_compile.execution.wasm_model import WasmModel
from webnn_compile.ir.nodes import Origin
from webnn_compile.native.jit import host_target
from webnn_compile.pipeline.lower_model import lower_tensors
from webnn_compile.pipeline.lowered import Lowered
from webnn_compile.program.program import Program, Region
from webnn_compile.target import WASM_PLAIN, WASM_RELAXED, Target
from webnn_compile.tensor import Tensor, compute, constant, placeholder, reduce
from webnn_compile.tensor.program import TensorProgram
from webnn_compile.wasm.build_module import build_module

Runner = Callable[[Program], NativeModel | WasmModel]


def _wasm(relaxed: bool) -> Runner:
    return lambda program: WasmModel(program, build_module(program, relaxed=relaxed), relaxed=relaxed)


BACKENDS: dict[str, tuple[Target, Runner]] = {
    "native": (host_target(), NativeModel),
    "wasm": (WASM_PLAIN, _wasm(False)),
    "wasm-relaxed": (WASM_RELAXED, _wasm(True)),
}


def _prepared(name: str, source: Tensor, factor: float) -> Tensor:
    made = compute(name, source.shape, (source,), lambda *i: source.read(list(i)) * factor)
    return replace(made, prepared=True)


def _product(name: str, x: Tensor, w: Tensor) -> Tensor:
    """x (m, k) times the transpose of w (n, k)."""
    shape = (x.shape[0], w.shape[0])
    return compute(name, shape, (x, w), lambda m, n: reduce("sum", [x.shape[1]], lambda k: x[m, k] * w[n, k]))


def _model(weights: np.ndarray) -> Lowered:
    """y = x (2w)', z = y (6w)': the weights of z are prepared from those of y, which are read in two layouts."""
    rows, columns = weights.shape
    x = placeholder("x", (3, columns), F32)
    w = constant("w", weights)
    doubled = _prepared("doubled", w, 2.0)
    tripled = _prepared("tripled", doubled, 3.0)
    y = _product("y", x, doubled)
    z = compute("z", (3, rows), (y, tripled), lambda m, n: y[m, n] + tripled[n, n])
    tensors = (doubled, tripled, y, z)
    origins = {t: Origin((t.name,), ("Test",)) for t in tensors}
    return lower_tensors("prepared", TensorProgram((("x", x),), (("y", y), ("z", z)), tensors, origins))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("shape", [(20, 20), (37, 37), (8, 8)])
def test_weights_prepared_at_load(backend: str, shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(0)
    target, runner = BACKENDS[backend]
    weights = rng.standard_normal(shape).astype(np.float32)
    program = compile_for_cpu(_model(weights), target)
    assert len(program.prepare) >= 2
    assert all(s.arguments[-1].region is Region.PREPARED for s in program.prepare)
    assert all(a.region is not Region.PREPARED for s in program.steps for a in s.arguments[-1:])
    model = runner(program)
    x = rng.standard_normal((3, shape[1])).astype(np.float32)
    for _ in range(2):  # a run leaves what was prepared as it is
        out = model.run({"x": x})
        expected = x @ (2 * weights).T
        np.testing.assert_allclose(out["y"], expected, rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(out["z"], expected + 6 * np.diag(weights), rtol=1e-5, atol=1e-5)


def test_a_program_without_prepared_weights_has_no_such_function() -> None:
    from webnn_compile.codegen.render_host import entries

    x = placeholder("x", (4,), F32)
    y = compute("y", (4,), (x,), lambda i: x[i] + 1.0)
    lowered = lower_tensors("plain", TensorProgram((("x", x),), (("y", y),), (y,), {y: Origin()}))
    program = compile_for_cpu(lowered, WASM_PLAIN)
    assert (program.prepare, program.prepared, entries(program)) == ((), 0, ["run"])
