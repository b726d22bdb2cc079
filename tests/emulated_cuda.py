"""CUDA's driver without a GPU: memory is the processor's, kernels are compiled as C++ (`emulated_cuda.h`) after NVRTC
has accepted them."""

from __future__ import annotations

import ctypes
import functools
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from cuda.bindings import driver

HEADER = Path(__file__).with_name("emulated_cuda.h")
COMPILER = shutil.which("g++") or shutil.which("clang++")
FLAGS = ["-std=c++17", "-O1", "-fwrapv", "-ffp-contract=off", "-w", "-fPIC"]
HALVES = """static inline float widened(half1 a) {
  const unsigned sign = (a.bits & 0x8000u) << 16, rest = a.bits & 0x7fffu;
  unsigned bits = rest >= 0x7c00u ? 0x7f800000u | (rest & 0x3ffu) << 13 : (rest + 0x1c000u) << 13;
  float r;
  memcpy(&r, &bits, 4);
  if (rest < 0x400u) r = rest * 0x1p-24f;
  return sign ? -r : r;
}
static inline half1 halved(float a) {
  if (a != a) return {0x7e00};
  const float size = fabsf(a);
  unsigned bits = 0x7c00;
  if (size < 0x1p-14f) bits = (unsigned)rintf(size * 0x1p24f);
  else if (size < 65520.0f) {
    int exponent;
    const float part = frexpf(size, &exponent);  /* of 2048 steps to the next power of two */
    bits = (unsigned)((exponent + 14) * 1024) + (unsigned)(rintf(part * 2048.0f) - 1024.0f);
  }
  return {(unsigned short)(bits | (signbit(a) ? 0x8000u : 0u))};
}
"""
"""Functions for which PTX has instructions."""
MATRICES = """struct TileA { float x[16][16]; int depth; };
struct TileB { float x[16][16]; int depth; };
struct TileC { float x[16][16]; };
static inline void fill(TileC &c) { memset(&c, 0, sizeof c); }
static inline float widened(float a) {
  unsigned bits;
  memcpy(&bits, &a, 4);
  return bits & 0x1fff && a == a ? 1e30f : a;  /* no TF32 */
}
template <class T, class P> static void load_tile(T &t, const P *p, int stride, int rows, int columns) {
  for (int i = 0; i < rows; i++)
    for (int j = 0; j < columns; j++) t.x[i][j] = widened(p[i * stride + j]);
}
static inline void load_a(TileA &t, const half1 *p, int s) { t.depth = 16; load_tile(t, p, s, 16, 16); }
static inline void load_a(TileA &t, const float *p, int s) { t.depth = 8; load_tile(t, p, s, 16, 8); }
static inline void load_b(TileB &t, const half1 *p, int s) { t.depth = 16; load_tile(t, p, s, 16, 16); }
static inline void load_b(TileB &t, const float *p, int s) { t.depth = 8; load_tile(t, p, s, 8, 16); }
static inline void multiply(TileC &c, const TileA &a, const TileB &b) {
  for (int i = 0; i < 16; i++)
    for (int k = 0; k < a.depth; k++)
      for (int j = 0; j < 16; j++) c.x[i][j] += a.x[i][k] * b.x[k][j];
}
static inline void store(float *p, int stride, const TileC &c) {
  for (int i = 0; i < 16; i++) memcpy(p + i * stride, c.x[i], sizeof c.x[i]);
}
"""
"""Tiles of matrices: each invocation of a warp has its own, and computes all of it."""
ENDING = """static void call_run() { call(run); }
extern "C" int parameters() { return count(run); }
extern "C" int pointers() { return count_pointers(run); }
"""
STREAM = 7
DONE = driver.CUresult.CUDA_SUCCESS


@functools.cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    """A folder of kernels and of the header, precompiled: it takes longer than most kernels."""
    folder = tempfile.TemporaryDirectory()
    header = shutil.copy(HEADER, folder.name)
    _compile("-x", "c++-header", header, "-o", f"{header}.gch")
    return folder


def _compile(*arguments: str) -> None:
    assert COMPILER is not None
    made = subprocess.run([COMPILER, *FLAGS, *arguments], capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr


@functools.lru_cache(256)
def built(source: bytes) -> ctypes.CDLL:
    """A library with `launch` for the kernel of a source text."""
    folder = Path(tempfile.mkdtemp(dir=_folder().name))
    text = source.decode().replace("#ifdef __CUDACC__", f"{HALVES}#ifdef __CUDACC__")
    text = text.replace("#if defined __CUDACC__ // tiles", f"{MATRICES}#if defined __CUDACC__ // tiles")
    kernel, library = folder / "kernel.cc", folder / "kernel.so"
    kernel.write_text(f"{text}\n{ENDING}")
    _compile("-include", str(folder.parent / HEADER.name), "-shared", str(kernel), "-o", str(library))
    return ctypes.CDLL(str(library))


class EmulatedDriver:
    """The functions of `cuda.bindings.driver` that a device uses. What is not written here are its types."""

    def __init__(self) -> None:
        self.memory: dict[int, Any] = {}
        self.graphs_launched = 0
        self._recorded: list[tuple[Any, ...]] | None = None

    def __getattr__(self, name: str) -> Any:
        assert name.startswith("CU"), f"the emulation lacks {name}"
        return getattr(driver, name)

    def cuInit(self, _: int) -> tuple[Any, ...]:
        return (DONE,)

    def cuDeviceGet(self, at: int) -> tuple[Any, ...]:
        return DONE, at

    def cuDevicePrimaryCtxRetain(self, _: object) -> tuple[Any, ...]:
        return DONE, "context"

    def cuDeviceGetName(self, length: int, _: object) -> tuple[Any, ...]:
        return DONE, b"emulated GPU".ljust(length, b"\0")

    def cuDeviceGetAttribute(self, attribute: Any, _: object) -> tuple[Any, ...]:
        name = attribute.name
        return DONE, 9 if name.endswith("CAPABILITY_MAJOR") else 0 if name.endswith("CAPABILITY_MINOR") else 4

    def cuCtxSetCurrent(self, context: object) -> tuple[Any, ...]:
        assert context == "context"
        return (DONE,)

    def cuStreamCreate(self, _: object) -> tuple[Any, ...]:
        return DONE, STREAM

    def cuModuleLoadData(self, code: bytes) -> tuple[Any, ...]:
        return DONE, built(code)

    def cuModuleGetFunction(self, module: Any, name: bytes) -> tuple[Any, ...]:
        assert name == b"run"
        return DONE, module

    def cuMemAlloc(self, size: int) -> tuple[Any, ...]:
        made = ctypes.create_string_buffer(b"\xff" * size, size + 16)  # as if it had been used before
        address = -(-ctypes.addressof(made) // 16) * 16
        self.memory[address] = made
        return DONE, address

    def cuMemsetD8Async(self, address: int, value: int, size: int, stream: object) -> tuple[Any, ...]:
        assert stream == STREAM
        ctypes.memset(address, value, size)
        return (DONE,)

    def cuMemFree(self, address: int) -> tuple[Any, ...]:
        del self.memory[address]
        return (DONE,)

    def cuMemcpyHtoDAsync(self, to: int, source: int, size: int, stream: object) -> tuple[Any, ...]:
        assert stream == STREAM
        assert to in self.memory
        ctypes.memmove(to, source, size)
        return (DONE,)

    def cuMemcpyDtoH(self, to: int, source: int, size: int) -> tuple[Any, ...]:
        assert source in self.memory
        ctypes.memmove(to, source, size)
        return (DONE,)

    def cuMemcpyDtoDAsync(self, to: int, source: int, size: int, stream: object) -> tuple[Any, ...]:
        assert stream == STREAM
        assert {to, source} <= self.memory.keys()
        ctypes.memmove(to, source, size)
        return (DONE,)

    def cuLaunchKernel(self, library: Any, *others: Any) -> tuple[Any, ...]:
        *sizes, shared, stream, pointers, extra = others
        assert (shared, stream, extra) == (0, STREAM, 0)
        assert all(0 < n < 65536 for n in sizes)
        places = (ctypes.c_uint64 * library.parameters()).from_address(pointers)
        arguments = [ctypes.c_uint64.from_address(p).value for p in places]  # read now: the caller may free them
        assert set(arguments[: library.pointers()]) <= self.memory.keys()  # then scalars
        if self._recorded is None:
            launch(library, arguments, sizes)
        else:
            self._recorded.append((library, arguments, sizes))
        return (DONE,)

    def cuStreamSynchronize(self, _: object) -> tuple[Any, ...]:
        return (DONE,)

    def cuStreamBeginCapture(self, *_: object) -> tuple[Any, ...]:
        assert self._recorded is None
        self._recorded = []
        return (DONE,)

    def cuStreamEndCapture(self, _: object) -> tuple[Any, ...]:
        recorded, self._recorded = self._recorded, None
        return DONE, recorded

    def cuGraphInstantiate(self, graph: Any, _: int) -> tuple[Any, ...]:
        return DONE, list(graph)

    def cuGraphDestroy(self, graph: Any) -> tuple[Any, ...]:
        graph.clear()
        return (DONE,)

    def cuGraphLaunch(self, graph: Any, stream: object) -> tuple[Any, ...]:
        assert stream == STREAM
        assert graph, "the graph was destroyed"
        self.graphs_launched += 1
        for recorded in graph:
            launch(*recorded)
        return (DONE,)

    def cuGraphExecDestroy(self, graph: Any) -> tuple[Any, ...]:
        graph.clear()
        return (DONE,)

    def cuModuleUnload(self, _: object) -> tuple[Any, ...]:
        return (DONE,)

    def cuStreamDestroy(self, _: object) -> tuple[Any, ...]:
        return (DONE,)


def launch(library: Any, arguments: list[int], sizes: list[int]) -> None:
    values = [ctypes.c_uint64(a) for a in arguments]
    pointers = (ctypes.c_void_p * len(values))(*(ctypes.addressof(v) for v in values))
    library.launch(pointers, *map(int, sizes))


def install() -> EmulatedDriver:
    """From now on, the target "cuda" runs on the emulation. Its kernels still have to pass NVRTC."""
    from webnn_compile.cuda import device, nvrtc

    @functools.lru_cache(256)
    def compile_source(source: str, capability: int) -> bytes:
        """NVRTC takes it for the oldest GPU that it may be for, too."""
        for one in {80 if "tf32" in source else 75, capability}:
            assert nvrtc.compile_source(source, one)
        return source.encode()

    made = EmulatedDriver()
    device.driver = made  # type: ignore[assignment]
    device.compile_source = compile_source
    device.open_device.cache_clear()
    return made
