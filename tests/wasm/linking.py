"""The programs that the linker tests link and run: LLVM IR in programs/*.ll, and what running them has to give."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from webnn_compile.errors import InternalError
from webnn_compile.wasm import binary
from webnn_compile.wasm.emit import emit_object
from webnn_compile.wasm.execute import WasmInstance
from webnn_compile.wasm.finalise import Linked
from webnn_compile.wasm.triple import HEADER

PROGRAMS = Path(__file__).parent / "programs"
# What has no wasm-ld or emcc skips the tests of it, and says so.
INSTALLED = {
    "builtin": True,
    "wasm-ld": shutil.which("wasm-ld") is not None or find_spec("ziglang") is not None,
    "emcc": shutil.which("emcc") is not None,
}


def need(linker: str) -> None:
    if not INSTALLED[linker]:
        pytest.skip(f"{linker} is not installed")


@cache
def object_of(program: str, *, relaxed: bool = False, threads: bool = False) -> bytes:
    ir = HEADER + (PROGRAMS / f"{program}.ll").read_text()
    return emit_object(ir, relaxed=relaxed, threads=threads)


def memory_and_exports(module: bytes) -> tuple[bytes, list[str]]:
    """The limits of the imported env.memory as encoded, and the names of the exports; there is nothing custom."""
    sections = {s.number: s.body for s in binary.sections(module, "test")}
    assert binary.CUSTOM not in sections
    assert binary.MEMORY not in sections
    _, found, after = sections[binary.IMPORT].partition(binary.name("env") + binary.name("memory") + b"\2")
    assert found
    limits = binary.Reader(after, "test")
    limits.limits()
    reader = binary.Reader(sections[binary.EXPORT], "test")
    names = []
    for _ in range(reader.uleb()):
        names.append(reader.name())
        reader.byte()
        reader.uleb()
    return after[: limits.position], names


@dataclass(frozen=True)
class Case:
    """A program, what it exports, and a run that checks its results."""

    program: str
    exports: tuple[str, ...]
    check: Callable[[WasmInstance, Linked], None]
    imports: dict[str, Callable[..., int | float | None]] = field(default_factory=dict)
    relaxed: bool = False

    def instantiate(self, linked: Linked) -> WasmInstance:
        pages = -(-linked.heap_base // 65536) + 1
        return WasmInstance(linked.module, pages=pages, relaxed=self.relaxed, imports=self.imports)


def check_simd(instance: WasmInstance, linked: Linked) -> None:
    vectors = instance.memory[linked.heap_base :][: 2 * 64 * 4].view(np.float32).reshape(2, 64)
    vectors[:] = np.random.default_rng(7).standard_normal((2, 64), np.float32)
    expected = np.float32(1.5) * vectors[0] + vectors[1]
    instance.call("axpy", linked.heap_base, linked.heap_base + 64 * 4, 1.5, 16)
    np.testing.assert_allclose(vectors[1], expected, rtol=1e-6, atol=1e-6)


def check_calls(instance: WasmInstance, linked: Linked) -> None:
    assert instance.call("sum_of_squares", 10) == 385
    assert instance.call("on_stack", 20) == 210
    # The stack lies below everything else, so that too deep a recursion traps and overwrites nothing.
    with pytest.raises(InternalError, match=r"'on_stack' stopped: (?s:.*)out of bounds"):
        instance.call("on_stack", 65536)


def check_static_data(instance: WasmInstance, linked: Linked) -> None:
    assert [instance.call("lookup", i) for i in range(4)] == [10, 20, 30, 40]
    assert instance.call("through_pointer") == 30
    assert [instance.call("count") for _ in range(2)] == [108, 109]
    address = instance.call("address_of_aligned")
    assert isinstance(address, int)
    assert (address + 2) % 64 == 0
    assert [instance.call("zero_cell", 299) for _ in range(2)] == [0, 299]
    base = instance.call("heap_base")
    assert isinstance(base, int)
    assert 0 <= linked.heap_base - base < 64
    assert address + 2 < base


def check_function_pointers(instance: WasmInstance, linked: Linked) -> None:
    assert [instance.call("apply", i, 21) for i in (0, 2, 3)] == [42, -21, 1021]
    assert instance.call("quarter", 6.0) == 1.5
    with pytest.raises(InternalError, match=r"'apply' stopped: (?s:.*)uninitialized element"):
        instance.call("apply", 1, 21)


def check_bulk_memory(instance: WasmInstance, linked: Linked) -> None:
    base = linked.heap_base
    heap = instance.memory[base:]
    heap[:100] = np.arange(100)
    instance.call("copy", base + 200, base, 100)
    instance.call("move", base + 10, base, 90)
    instance.call("fill", base + 301, 0xAB, 7)
    np.testing.assert_array_equal(heap[200:300], np.arange(100))
    np.testing.assert_array_equal(heap[10:100], np.arange(90))
    np.testing.assert_array_equal(heap[300:310], [0, *[0xAB] * 7, 0, 0])


TOLD: list[tuple[int, float]] = []


def check_imports(instance: WasmInstance, linked: Linked) -> None:
    TOLD.clear()
    assert instance.call("talk", 5) == 18
    assert TOLD == [(18, 2.5)]


def check_globals(instance: WasmInstance, linked: Linked) -> None:
    assert instance.call("get_state") == 0
    instance.call("set_state", -5)
    assert instance.call("get_state") == -5


CASES = (
    Case("simd", ("axpy",), check_simd),
    Case("simd", ("axpy",), check_simd, relaxed=True),
    Case("calls", ("sum_of_squares", "on_stack"), check_calls),
    Case(
        "static_data",
        ("lookup", "through_pointer", "count", "address_of_aligned", "zero_cell", "heap_base"),
        check_static_data,
    ),
    Case("function_pointers", ("apply", "quarter"), check_function_pointers, {"host_add": lambda x: x + 1000}),
    Case("bulk_memory", ("copy", "move", "fill"), check_bulk_memory),
    Case(
        "imports",
        ("talk",),
        check_imports,
        {"ask": lambda x: x + 1, "tell": lambda x, y: TOLD.append((x, y)), "triple": lambda x: 3 * x},
    ),
    Case("globals", ("set_state", "get_state"), check_globals),
)
