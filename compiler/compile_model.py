"""The Python interface: a model in, something that runs out."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from .build.options import PRECISIONS, graph_passes
from .build.run_here import run_here
from .costs import CPU_COSTS
from .errors import InputError
from .frontends.onnx import import_model
from .graph.passes import run_graph_passes
from .pipeline.compile_for import compile_for
from .pipeline.lower_model import lower_model
from .system.cache import Cache, open_cache
from .system.limits import CompileMemory
from .tensor.choose_tile import choose_tile

if TYPE_CHECKING:
    import onnx

    from .device.device_model import DeviceModel
    from .graph.ir import Graph
    from .native.model import NativeModel
    from .wasm.model import WasmModel

TARGETS = ("native", "wasm", "wasm-relaxed", "webgpu", "webgl")


def compile(
    model: str | Path | bytes | onnx.ModelProto,
    target: str = "native",
    shapes: Mapping[str, tuple[int, ...]] | None = None,
    *,
    threads: int = 1,
    fast_math: bool = True,
    precision: str = "f32",
    cache: bool = True,
    compile_memory: int | None = None,
) -> NativeModel | WasmModel | DeviceModel:
    """A model that runs in this process: `compile(...).run({name: array}) -> {name: array}`.

    `target`: "native" (this CPU), "wasm" and "wasm-relaxed" (through wasmtime, extra `[verify]`), "webgpu" (through
    wgpu, extra `[webgpu]`) and "webgl" (through the system's OpenGL ES). `shapes` fixes free dimensions. The target
    "native" runs on so many `threads`, with the same results. `fast_math` allows algorithms that round otherwise than
    the model's own operators, for convolutions up to 1e-3 of the largest result. `precision` "f16" rounds
    large constants to float16, and on "webgpu" what lies in memory between kernels; sums are float32 everywhere. With
    `cache`, kernels of earlier calls come from the user's cache folder. `compile_memory`, in bytes, is what compiling
    may take, by estimate; by default three quarters of the machine's memory. Raises InputError and UnsupportedError.
    """
    if target not in TARGETS:
        raise InputError(f"target {target!r} is not known; choose one of {', '.join(TARGETS)}")
    if threads < 1 or (threads > 1 and target != "native"):
        raise InputError(f"threads={threads}: give 1 or more for the target native, 1 for the others")
    if precision not in PRECISIONS:
        raise InputError(f"precision {precision!r} is not known; choose one of {', '.join(PRECISIONS)}")
    graph = run_graph_passes(
        import_model(model, shapes, CompileMemory(compile_memory)), graph_passes(precision=precision)
    )
    known = open_cache(enabled=cache)
    if target in ("webgpu", "webgl"):
        halves = precision == "f16" and target == "webgpu"
        return _on_device(graph, target, known, fast_math=fast_math, halves=halves)
    lowered = lower_model(graph, choose=choose_tile(CPU_COSTS) if fast_math else None)
    if target == "native":
        from .native.jit import host_target
        from .native.model import NativeModel

        program = compile_for(lowered, host_target(), known=known)
        made: NativeModel | WasmModel = NativeModel(program, threads, known)
    else:
        from .target import WASM_PLAIN, WASM_RELAXED
        from .wasm.model import WasmModel, build_module

        relaxed = target == "wasm-relaxed"
        program = compile_for(lowered, WASM_RELAXED if relaxed else WASM_PLAIN, known=known)
        made = WasmModel(program, build_module(program, relaxed=relaxed, known=known), relaxed=relaxed)
    known.trim()
    return made


def _on_device(graph: Graph, target: str, known: Cache, *, fast_math: bool, halves: bool) -> DeviceModel:
    from .device.cached_backend import CachedBackend
    from .device.compile_for_device import choice_for, compile_for_device
    from .glsl.backend import WebGl
    from .native.jit import host_target
    from .pipeline.weights import Weights
    from .wgsl.backend import WebGpu

    backend = CachedBackend(WebGl() if target == "webgl" else WebGpu(), known)
    weights = Weights()
    choose = choice_for(backend) if fast_math else None
    lowered = lower_model(graph, policy=backend.layouts, choose=choose)
    program = compile_for_device(lowered, backend, weights, cpu=host_target(), halves=halves)
    known.trim()
    return run_here(program, weights.blob())
