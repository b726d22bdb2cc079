"""The table of targets: the only place that lists them. A new one is a folder with its backend, and a row here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ..target import WASM_BYTES, WASM_PLAIN, WASM_RELAXED, WEBGPU, Target
from .compile_target import PRECISIONS, CompileTarget
from .cpu_target import CpuTarget, run_c, run_native, run_wasm
from .device_target import DeviceTarget, need_package

if TYPE_CHECKING:
    from ..codegen.device_backend import DeviceBackend
    from ..execution.device import Device
    from ..glsl.backend import WebGl
    from ..pipeline.lowered import Lowered
    from ..pipeline.weights import Weights
    from ..program.device_program import DeviceKernel
    from ..system.run_passes import Observer
    from ..wgsl.backend import WebGpu
    from .build_wasm import WasmBuild
    from .options import Options
    from .work import Work
    from .write_alone import Writer

# Backends, and the packages that they require, are imported when a model is compiled for them.


def _host() -> Target:
    from ..native.jit import host_target

    return host_target()


def _processor() -> str:
    from ..native.jit import cpu_name

    return cpu_name()


def _wasmtime() -> str:
    need_package("wasm", "wasmtime", "verify")
    import importlib.metadata

    return f"wasmtime {importlib.metadata.version('wasmtime')}"


def _webgpu_adapter() -> str:
    need_package("webgpu", "wgpu")
    from ..wgsl.device import open_device

    return str(open_device().adapter.info["device"])


def _webgl_renderer() -> str:
    from ..glsl.gles import context

    return context().renderer


def _opencl_device() -> str:
    need_package("opencl", "pyopencl")
    from ..opencl.device import open_device

    return str(open_device().name)


def _cuda_device() -> str:
    need_package("cuda", "cuda.bindings")
    from ..cuda.device import open_device

    return open_device().name


def _c_compiler() -> str:
    from ..system.c_compiler import find_compiler

    return " ".join(find_compiler())


def _c_source() -> Writer:
    from .write_alone import C_SOURCE

    return C_SOURCE


def _library() -> Writer:
    from .write_alone import LIBRARY

    return LIBRARY


def _wasm_part(
    target: str, lowered: Lowered, weights: Weights, work: Work, in_bytes: Mapping[str, Lowered]
) -> WasmBuild:
    from .build_wasm import build_wasm

    return build_wasm(target, lowered, weights, work, in_bytes)


def _wasm_stages() -> tuple[str, ...]:
    from ..cpu.compile_for_cpu import STAGES

    return (*STAGES, "llvm")


def _webgpu(options: Options, observe: Observer) -> WebGpu:
    from ..wgsl.backend import WebGpu

    return WebGpu(target=replace(WEBGPU, shared_tiles=options.gpu_tiles == "shared"), observe=observe)


def _webgpu_stages() -> tuple[str, ...]:
    from ..wgsl.backend import STAGES

    return STAGES


def _webgl(_: Options, observe: Observer) -> WebGl:
    from ..glsl.backend import WebGl

    return WebGl(observe=observe)


def _webgl_stages() -> tuple[str, ...]:
    from ..glsl.backend import STAGES

    return STAGES


def _open_webgpu(kernels: Sequence[DeviceKernel]) -> Device:
    from ..wgsl.device import WgpuDevice

    return WgpuDevice(kernels)


def _open_webgl(kernels: Sequence[DeviceKernel]) -> Device:
    from ..glsl.device import GlesDevice

    return GlesDevice(kernels)


def _opencl(_: Options, observe: Observer) -> DeviceBackend:
    need_package("opencl", "pyopencl")
    from ..opencl.backend import backend_for
    from ..opencl.device import open_device
    from ..opencl.facts import target_of

    return backend_for(target_of(open_device()), observe)


def _opencl_stages() -> tuple[str, ...]:
    from ..opencl.backend import STAGES

    return STAGES


def _open_opencl(kernels: Sequence[DeviceKernel]) -> Device:
    from ..opencl.device import OpenClDevice

    return OpenClDevice(kernels)


def _cuda(options: Options, observe: Observer) -> DeviceBackend:
    need_package("cuda", "cuda.bindings")
    from ..cuda.backend import backend_for
    from ..cuda.device import open_device
    from ..cuda.facts import target_for

    opened = open_device()
    return backend_for(target_for(opened.multiprocessors, opened.capability, options.precision), observe)


def _cuda_stages() -> tuple[str, ...]:
    from ..cuda.backend import STAGES

    return STAGES


def _open_cuda(kernels: Sequence[DeviceKernel]) -> Device:
    from ..cuda.device import CudaDevice

    return CudaDevice(kernels)


_ROWS: tuple[CompileTarget, ...] = (
    CpuTarget(
        name="native",
        run=run_native,
        writer=_library,
        threads=True,
        facts=_host,
        about="this machine's processor, by LLVM",
        probe=_processor,
    ),
    CpuTarget(
        name="c",
        run=run_c,
        writer=_c_source,
        threads=True,
        tuned_as="native",
        about="any processor with a compiler of C99",
        probe=_c_compiler,
    ),
    CpuTarget(
        name="wasm",
        run=lambda lowered, work, choices: run_wasm(lowered, work, choices, WASM_PLAIN, relaxed=False),
        make_part=_wasm_part,
        preference=1,
        webassembly=True,
        package="wasmtime",
        stages=_wasm_stages,
        facts=lambda: WASM_RELAXED,
        about="a page's processor: WebAssembly with SIMD, and threads where the page is cross-origin isolated",
        probe=_wasmtime,
    ),
    CpuTarget(
        name="wasm-relaxed",
        run=lambda lowered, work, choices: run_wasm(lowered, work, choices, WASM_RELAXED, relaxed=True),
        tuned_as="wasm",
        facts=lambda: WASM_RELAXED,
        about="the same for browsers with relaxed SIMD; a part of wasm in a bundle",
        probe=_wasmtime,
    ),
    CpuTarget(
        name="wasm-signed",
        run=lambda lowered, work, choices: run_wasm(
            lowered, work, choices, WASM_BYTES["signed"], relaxed=True, in_bytes="signed"
        ),
        tuned_as="wasm",
        facts=lambda: WASM_BYTES["signed"],
        about="the same where dots of signed bytes are exact; a part of wasm in bundles of models in few bits",
        probe=_wasmtime,
    ),
    DeviceTarget(
        name="webgpu",
        backend=_webgpu,
        open_device=_open_webgpu,
        preference=3,
        halves=True,
        half_arithmetic=True,
        package="wgpu",
        stages=_webgpu_stages,
        about="a page's GPU: compute shaders in WGSL",
        probe=_webgpu_adapter,
    ),
    DeviceTarget(
        name="webgl",
        backend=_webgl,
        open_device=_open_webgl,
        preference=2,
        stages=_webgl_stages,
        about="a page's GPU by WebGL2, or OpenGL ES 3.0: fragment shaders in GLSL ES",
        probe=_webgl_renderer,
    ),
    DeviceTarget(
        name="opencl",
        backend=_opencl,
        open_device=_open_opencl,
        halves=True,
        package="pyopencl",
        stages=_opencl_stages,
        about="processors and GPUs with a driver for OpenCL 1.2 or newer",
        probe=_opencl_device,
    ),
    DeviceTarget(
        name="cuda",
        backend=_cuda,
        open_device=_open_cuda,
        halves=True,
        precisions=(*PRECISIONS, "tf32"),
        package="cuda.bindings",
        stages=_cuda_stages,
        about="NVIDIA's GPUs of compute capability 7.5 or newer: CUDA C++, compiled by NVRTC",
        probe=_cuda_device,
    ),
)

TARGETS: dict[str, CompileTarget] = {t.name: t for t in _ROWS}
"""By name, in the order in which a build makes its parts: the first decides the layouts of constants in the bundle."""


def bundled_targets() -> tuple[str, ...]:
    """The names of targets that a bundle can have, in the runtime's order of preference."""
    ranked = [(t.preference, t.name) for t in TARGETS.values() if t.preference is not None]
    return tuple(name for _, name in sorted(ranked, reverse=True))
