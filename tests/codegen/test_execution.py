"""Rendered kernels, compiled for this machine and run: the same results as the interpreter's."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from constructs import CONSTRUCTS
from kernel_checks import Array, assert_close, random_array
from webnn_compile.codegen.llvm_expression import FLOAT_BINARY, INT_BINARY, INTRINSICS, ORDERED, RELAXED
from webnn_compile.cpu.compile_for_cpu import lower_kernel
from webnn_compile.dtypes import BOOL, DTYPES, F16, F32, F64, I16, I32, I64, U8, DType
from webnn_compile.execution.native_model import NativeModel
from webnn_compile.ir.interpret import interpret
from webnn_compile.ir.nodes import (
    Binary,
    Buffer,
    Cast,
    Const,
    Expr,
    For,
    Kernel,
    Load,
    LoopKind,
    Seq,
    Store,
    Unary,
    Var,
)
from webnn_compile.ir.scalar_ops import ADD_SHORTS, BINARY, DOTS, QUADS, SHORTS, UNARY
from webnn_compile.ir.verify import LOWERED_BINARY, LOWERED_UNARY
from webnn_compile.native.jit import host_target
from webnn_compile.passes.lower_math import FLOAT_FUNCTIONS
from webnn_compile.program.program import Launch, Program, Region, Slot, TensorSpec


def run_natively(kernel: Kernel, arrays: list[Array]) -> list[Array]:
    """The outputs, given arrays of physical shape for the inputs. Outputs are filled with ones before, bit for bit."""
    specs, slots, end = [], [], 0
    for n, b in enumerate(kernel.params):
        specs.append(TensorSpec(f"p{n}", b.dtype, b.shape, end))
        slots.append(Slot(Region.ARENA, end))
        end += -(-b.size * b.dtype.bytes // 64) * 64
    count = len(kernel.params) - kernel.outputs
    step = Launch(0, kernel.name, tuple(slots), (), ())
    program = Program("test", (lower_kernel(kernel),), (step,), tuple(specs[:count]), tuple(specs[count:]), b"", end)
    results = NativeModel(program).run({s.name: a for s, a in zip(specs[:count], arrays, strict=True)})
    return [results[s.name] for s in specs[count:]]


def run_by_interpreter(kernel: Kernel, arrays: list[Array]) -> list[Array]:
    made = [np.zeros(b.shape, b.dtype.numpy) for b in kernel.params[len(arrays) :]]
    interpret(kernel, [*arrays, *made])
    return made


@pytest.mark.parametrize("construct", CONSTRUCTS)
def test_construct(construct: str) -> None:
    kernel = CONSTRUCTS[construct]()
    generator = np.random.default_rng(0)
    arrays = [random_array(generator, b.shape, b.dtype) for b in kernel.params[: len(kernel.params) - kernel.outputs]]
    assert_close(run_by_interpreter(kernel, arrays), run_natively(kernel, arrays), 1e-6)


def elementwise(dtype: DType, values: list[Expr], reads: list[Buffer], i: Var, kind: LoopKind) -> Kernel:
    """All of `values` in one loop, each to a buffer of its own."""
    outs = [Buffer(f"y{n}", (i.extent,), v.dtype) for n, v in enumerate(values)]
    stores = tuple(Store(b, (i,), v) for b, v in zip(outs, values, strict=True))
    return Kernel(f"ops_{dtype}", (*reads, *outs), For(i, Seq(stores), kind), outputs=len(outs))


def arithmetic(dtype: DType) -> list[str]:
    """The binary operations that the dtype has."""
    logic = ["and", "or", "xor"]
    if dtype == BOOL:
        return ["==", "!=", *logic]
    if dtype.is_float:
        return ["+", "-", "*", "/", "max", "min", "==", "!=", "<", "<=", *(["pow", "fmod"] if dtype == F32 else [])]
    return [op for op in BINARY if op not in ("pow", "shl", "shr") and op not in {*RELAXED, *DOTS, *SHORTS}]


def unary_ops(dtype: DType) -> list[str]:
    if dtype == BOOL:
        return ["not"]
    exact = ["neg", "abs", "floor", "ceil", "round", "trunc"]
    if dtype.is_float:
        return [*exact, "sqrt", "isnan", "isinf", *(FLOAT_FUNCTIONS if dtype == F32 else [])]
    return [*exact, "not"]


def edges(dtype: DType, n: int, seed: int) -> Array:
    """Random elements, and the ends of the type."""
    generator = np.random.default_rng(seed)
    if dtype.is_float:
        x = (generator.standard_normal(n) * 3).astype(dtype.numpy)
        x[:6] = [np.nan, np.inf, -np.inf, 0.0, -0.5, 2.5]
    elif dtype == BOOL:
        x = generator.integers(0, 2, n).astype(bool)
    else:
        info = np.iinfo(dtype.name)
        x = generator.integers(info.min, info.max, n, dtype=dtype.numpy.type, endpoint=True)
        x[:3] = [info.min, info.max, 0]
    return generator.permutation(x)


@functools.cache
def operations(dtype: DType, kind: LoopKind, n: int) -> tuple[Kernel, list[str]]:
    i = Var("i", n)
    x, z = Buffer("x", (n,), dtype), Buffer("z", (n,), dtype)
    a, b = Load(x, (i,)), Load(z, (i,))
    values: dict[str, Expr] = {op: Unary(op, a) for op in unary_ops(dtype)}
    values |= {op: Binary(op, a, b) for op in arithmetic(dtype)}
    if dtype.is_int:
        values |= {op: Binary(op, a, Const(3, dtype)) for op in ("shl", "shr")}
    return elementwise(dtype, list(values.values()), [x, z], i, kind), list(values)


@pytest.mark.parametrize(
    ("dtype", "kind"),
    [*((d, LoopKind.SERIAL) for d in DTYPES.values() if d != F16), (F32, LoopKind.VECTOR), (I32, LoopKind.VECTOR)],
    ids=str,
)
def test_operations(dtype: DType, kind: LoopKind) -> None:
    n = 32
    kernel, names = operations(dtype, kind, n)
    arrays = [edges(dtype, n, 1), edges(dtype, n, 2)]
    want, got = run_by_interpreter(kernel, arrays), run_natively(kernel, arrays)
    for op, a, b in zip(names, want, got, strict=True):
        exact = op not in FLOAT_FUNCTIONS and op not in ("pow", "fmod")
        if op in ("pow", "fmod"):  # those leave some powers and remainders of infinities open
            finite = np.isfinite(arrays[0]) & np.isfinite(arrays[1])
            a, b = a[finite], b[finite]
        np.testing.assert_allclose(b, a, rtol=0 if exact else 1e-5, atol=0 if exact else 1e-6, err_msg=op)


@pytest.mark.parametrize("lanes", [1, 4, 8, 16])
@pytest.mark.parametrize("words", [I16, I32], ids=str)
def test_products_of_pairs(words: DType, lanes: int) -> None:
    i = Var("i", lanes)
    x, z = Buffer("x", (lanes,), I32), Buffer("z", (lanes,), words)
    dots: list[Expr] = [Binary("dot_pairs", Load(x, (i,)), Load(z, (i,)))]
    kernel = elementwise(words, dots, [x, z], i, LoopKind.VECTOR if lanes > 1 else LoopKind.SERIAL)
    generator = np.random.default_rng(lanes)
    halves = (np.int8, np.int16)[words == I32]
    a, b = (
        generator.integers(np.iinfo(t).min, np.iinfo(t).max, (lanes, 2), t, endpoint=True) for t in (np.int16, halves)
    )
    a[0], b[0] = [-(2**15), 2**15 - 1], [np.iinfo(halves).min, np.iinfo(halves).max]
    want = (a.astype(np.int32) * b).sum(1, dtype=np.int32)
    arrays = [a.reshape(-1).view(np.int32), b.reshape(-1).view(words.numpy)]
    np.testing.assert_array_equal(run_by_interpreter(kernel, arrays)[0], want)
    np.testing.assert_array_equal(run_natively(kernel, arrays)[0], want)


@pytest.mark.parametrize("op", [op for op, dot in DOTS.items() if dot.group == 4])
@pytest.mark.parametrize("lanes", [1, 4, 8, 16, 32])
def test_products_of_four_bytes(op: str, lanes: int) -> None:
    """Alone, and added to a sum, as accumulators are; as far as this machine has the instruction."""
    i = Var("i", lanes)
    x, y, z = (Buffer(name, (lanes,), I32) for name in "xyz")
    dot = Binary(op, Load(x, (i,)), Load(y, (i,)))
    kernel = elementwise(
        I32, [dot, Load(z, (i,)) + dot], [x, y, z], i, LoopKind.VECTOR if lanes > 1 else LoopKind.SERIAL
    )
    generator = np.random.default_rng(lanes)
    first = np.uint8 if DOTS[op].a == U8 else np.int8
    a, b = (
        generator.integers(np.iinfo(t).min, np.iinfo(t).max, (lanes, 4), t, endpoint=True) for t in (first, np.int8)
    )
    a[0], b[0] = np.iinfo(first).max, -128
    c = generator.integers(-(2**31), 2**31, lanes, np.int32)
    want = (a.astype(np.int32) * b).sum(1, dtype=np.int32)
    arrays = [a.reshape(-1).view(np.int32), b.reshape(-1).view(np.int32), c]
    for result in run_by_interpreter(kernel, arrays), run_natively(kernel, arrays) if runs(op) else None:
        if result is not None:
            np.testing.assert_array_equal(result[0], want)
            np.testing.assert_array_equal(result[1], want + c)


def runs(op: str) -> bool:
    """Whether this machine has the instruction that an operation is named for, if any."""
    return op == QUADS or op in host_target().dots


@pytest.mark.parametrize("lanes", [1, 4, 8, 16])
def test_words_of_two_sums(lanes: int) -> None:
    if not host_target().short_dots:
        pytest.skip("this machine has no instruction for sums of two products of bytes")
    if lanes > host_target().lanes:
        pytest.skip(f"vectors of this machine have {host_target().lanes} lanes")
    i = Var("i", lanes)
    x, y, z = (Buffer(name, (lanes,), I32) for name in "xyz")
    dots = Binary("avx_short_dots", Load(x, (i,)), Load(y, (i,)))
    total = Binary(ADD_SHORTS, dots, Load(z, (i,)))
    kernel = elementwise(I32, [dots, total], [x, y, z], i, LoopKind.VECTOR if lanes > 1 else LoopKind.SERIAL)
    generator = np.random.default_rng(lanes)
    a, b = (generator.integers(low, 128, (lanes, 4)) for low in (0, -128))
    a[0], b[0] = 127, -128
    c = generator.integers(-100, 100, (lanes, 2)).astype(np.int16)
    want = (a * b).reshape(lanes, 2, 2).sum(2).astype(np.int16)
    arrays = [a.astype(np.uint8), b.astype(np.int8), c]
    words = [w.reshape(-1).view(np.int32) for w in arrays]
    for result in run_by_interpreter(kernel, words), run_natively(kernel, words):
        np.testing.assert_array_equal(result[0].view(np.int16).reshape(lanes, 2), want)
        np.testing.assert_array_equal(result[1].view(np.int16).reshape(lanes, 2), want + c)


@pytest.mark.parametrize("source", DTYPES.values(), ids=str)
def test_casts(source: DType) -> None:
    n = 24
    i = Var("i", n)
    x = Buffer("x", (n,), source)
    targets = [d for d in DTYPES.values() if d != source and (d != F16 or source in (F32, F64, BOOL, I32))]
    kernel = elementwise(source, [Cast(d, Load(x, (i,))) for d in targets], [x], i, LoopKind.SERIAL)
    array = edges(source, n, 3)
    for target, a, b in zip(targets, run_by_interpreter(kernel, [array]), run_natively(kernel, [array]), strict=True):
        np.testing.assert_array_equal(b, a, err_msg=str(target))


def test_the_verifier_knows_what_the_renderer_does() -> None:
    assert {"neg", "not", *INTRINSICS} == LOWERED_UNARY
    assert {*FLOAT_BINARY, *INT_BINARY, *ORDERED, *RELAXED, *DOTS, *SHORTS, "max", "min", "shr"} == LOWERED_BINARY
    assert set(UNARY) >= LOWERED_UNARY
    assert set(BINARY) >= LOWERED_BINARY


def test_nested_functions_stay_small() -> None:
    """As trees, functions of functions of functions would have millions of nodes."""
    i = Var("i", 64)
    x, y = Buffer("x", (64,), F32), Buffer("y", (64,), F32)
    e: Expr = Load(x, (i,))
    for op in ("exp", "log", "tanh", "sin", "erf", "atan", "asinh", "exp"):
        e = Unary(op, e)
    kernel = Kernel("nested", (x, y), For(i, Store(y, (i,), e)))
    arrays = [np.linspace(-2, 2, 64).astype(np.float32)]
    assert_close(run_by_interpreter(kernel, arrays), run_natively(kernel, arrays), 1e-5)


def test_an_index_may_be_loaded_under_a_guard() -> None:
    """Where the guard is false, neither the element nor its index is read."""
    i = Var("i", 6)
    x, at, y = Buffer("x", (4,), F32), Buffer("at", (4,), I64), Buffer("y", (6,), F32)
    inside = (Const(1) <= i) & (i < 5)
    value = Load(x, (Load(at, (i - 1,)).cast(I32),), inside)
    kernel = Kernel("guarded_index", (x, at, y), For(i, Store(y, (i,), value)))
    arrays = [np.arange(4, dtype=np.float32) + 1, np.asarray([3, 1, 0, 2])]
    (got,) = run_natively(kernel, arrays)
    np.testing.assert_array_equal(got, [0, 4, 2, 1, 3, 0])
    assert_close([got], run_by_interpreter(kernel, arrays), 0)
