"""`parallel_for` on the host CPU: a team of threads takes a loop's chunks one by one."""

from __future__ import annotations

import ctypes
import ctypes.util
from concurrent.futures import ThreadPoolExecutor, wait
from functools import cache

from ..codegen.llvm import llvm
from ..codegen.llvm_module import LlvmModule
from ..codegen.whole_loop import PARALLEL_FOR

CHUNKS_PER_THREAD = 16
_FORK = "webnn_compile_fork"
_TEAM = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_Fork = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint32)

_SERIAL = """define internal void @@(ptr %body, ptr %arguments, i32 %extent) #0 {
entry:
  call void %body(ptr %arguments, i32 0, i32 %extent)
  ret void
}"""

# A loop: body, arguments, extent, chunks, first chunk that is not taken.
_LOOP = "{ ptr, ptr, i64, i64, i64 }"

_TEAMWORK = f"""define internal void @@(ptr %loop) #0 {{
entry:
  %body = load ptr, ptr %loop
  %at1 = getelementptr inbounds {_LOOP}, ptr %loop, i32 0, i32 1
  %arguments = load ptr, ptr %at1
  %at2 = getelementptr inbounds {_LOOP}, ptr %loop, i32 0, i32 2
  %extent = load i64, ptr %at2
  %at3 = getelementptr inbounds {_LOOP}, ptr %loop, i32 0, i32 3
  %chunks = load i64, ptr %at3
  %free = getelementptr inbounds {_LOOP}, ptr %loop, i32 0, i32 4
  br label %take
take:
  %chunk = atomicrmw add ptr %free, i64 1 seq_cst
  %left = icmp ult i64 %chunk, %chunks
  br i1 %left, label %work, label %done
work:
  %scaled = mul i64 %chunk, %extent
  %next = add i64 %scaled, %extent
  %from = udiv i64 %scaled, %chunks
  %to = udiv i64 %next, %chunks
  %begin = trunc i64 %from to i32
  %end = trunc i64 %to to i32
  call void %body(ptr %arguments, i32 %begin, i32 %end)
  br label %take
done:
  ret void
}}"""


def define_parallel_for(module: LlvmModule, threads: int) -> None:
    """Adds `parallel_for` for so many threads: those of OpenMP's runtime where the system has it, else Python's."""
    if threads == 1:
        module.add(PARALLEL_FOR, _SERIAL, internal=False)
        return
    _bind_fork()
    team = module.add("team", _TEAMWORK)
    most = threads * CHUNKS_PER_THREAD
    module.declare(f"void @{_FORK}(ptr, ptr, i32, i32)")
    stores = "\n".join(
        f"  %at{i} = getelementptr inbounds {_LOOP}, ptr %loop, i32 0, i32 {i}\n  store {kind} {value}, ptr %at{i}"
        for i, (kind, value) in enumerate(
            [("ptr", "%body"), ("ptr", "%arguments"), ("i64", "%iterations"), ("i64", "%chunks"), ("i64", "0")]
        )
    )
    text = f"""define internal void @@(ptr %body, ptr %arguments, i32 %extent) #0 {{
entry:
  %loop = alloca {_LOOP}, align 16
  %iterations = zext i32 %extent to i64
  %few = icmp ult i64 %iterations, {most}
  %chunks = select i1 %few, i64 %iterations, i64 {most}
{stores}
  call void @{_FORK}(ptr @{team}, ptr %loop, i32 {threads}, i32 0)
  ret void
}}"""
    module.add(PARALLEL_FOR, text, internal=False)


@cache
def _bind_fork() -> None:
    """Binds the symbol to OpenMP's `GOMP_parallel(function, data, threads, flags)`, or to one that does the same."""
    llvm.add_symbol(_FORK, _openmp() or _python())


def _openmp() -> int | None:
    """The address of GOMP_parallel, None where there is no libgomp."""
    name = ctypes.util.find_library("gomp")
    if name is None:
        return None
    try:
        function = ctypes.CDLL(name).GOMP_parallel
    except (OSError, AttributeError):
        return None
    return ctypes.cast(function, ctypes.c_void_p).value


def _python() -> int | None:
    """The address of a fork on a pool of Python's threads: foreign functions run without the interpreter's lock."""
    return ctypes.cast(_FORK_IN_PYTHON, ctypes.c_void_p).value


_pools: dict[int, ThreadPoolExecutor] = {}


def _fork_in_python(function: int, data: int, threads: int, _: int) -> None:
    team = _TEAM(function)
    pool = _pools.get(threads)
    if pool is None:
        pool = _pools[threads] = ThreadPoolExecutor(threads - 1, "webnn-compile")
    others = [pool.submit(team, data) for _ in range(threads - 1)]
    team(data)
    wait(others)


_FORK_IN_PYTHON = _Fork(_fork_in_python)
