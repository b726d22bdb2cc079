"""Kernels in device types compute what they computed: all operations of all small types, on extremes and at random."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pytest
from vectors import Array
from webnn_compile.dtypes import (
    BOOL,
    F16,
    F32,
    F64,
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    DType,
    from_numpy,
    highest,
    lowest,
)
from webnn_compile.errors import CannotExpress
from webnn_compile.ir.construct import maximum, minimum, select
from webnn_compile.ir.interpret import interpret
from webnn_compile.ir.intervals import Range
from webnn_compile.ir.nodes import Binary, Buffer, Cast, Const, Expr, For, Kernel, Load, Store, Unary, Var
from webnn_compile.ir.rewrite import walk
from webnn_compile.ir.verify import verify_kernel
from webnn_compile.passes.narrow_types import Narrowed, device_dtype, narrow_types, output_range

SMALL = (I8, U8, I16, U16)
WHOLE = (*SMALL, I32, U32, I64)
OPERATIONS = ("+", "-", "*", "/", "//", "%", "fmod", "max", "min", "and", "or", "xor", "==", "!=", "<", "<=")
SIZE = 400


def pointwise(body: Callable[..., Expr], *dtypes: DType) -> Kernel:
    """for i: y[i] = body(x0[i], ...)"""
    i = Var("i", SIZE)
    read = [Buffer(f"x{k}", (SIZE,), dtype) for k, dtype in enumerate(dtypes)]
    value = body(*(Load(b, (i,)) for b in read))
    made = Buffer("y", (SIZE,), value.dtype)
    return Kernel("test", (*read, made), For(i, Store(made, (i,), value)))


def samples(dtype: DType, seed: int = 0, bounds: Range | None = None) -> Array:
    """Every pair of extremes meets where two arrays of different seeds do."""
    generator = np.random.default_rng(seed)
    if dtype == BOOL:
        return generator.integers(0, 2, SIZE).astype(bool)
    if dtype.is_float:
        values = (generator.standard_normal(SIZE) * 10.0 ** generator.integers(-6, 12, SIZE)).astype(np.float32)
        values[:12] = [0, -0.0, 0.5, -0.5, 127.5, 255.5, -128.5, 65535.5, np.inf, -np.inf, np.nan, 2.0**31]
        with np.errstate(over="ignore"):
            return generator.permutation(values).astype(dtype.numpy)
    low, high = bounds or (int(lowest(dtype)), int(highest(dtype)))
    values = generator.integers(low, high, SIZE, dtype=np.int64, endpoint=True)
    near = [v for v in (low, low + 1, -2, -1, 0, 1, 2, 3, 7, high - 1, high) if low <= v <= high]
    values[: len(near) * 16] = near * 16
    return generator.permutation(values).astype(dtype.numpy)


def run(kernel: Kernel, inputs: list[Array]) -> Array:
    out = np.zeros(kernel.params[-1].shape, kernel.params[-1].dtype.numpy)
    interpret(kernel, [*inputs, out])
    return out


def assert_device_types(kernel: Kernel) -> None:
    for n in walk(kernel.body):
        if isinstance(n, Expr):
            assert n.dtype in (F32, I32, U32, BOOL), n
    assert all(b.dtype in (F32, I32, U32) for b in kernel.params)


def check(kernel: Kernel, inputs: list[Array], ranges: Mapping[int, Range] | None = None) -> Narrowed:
    """Narrows `kernel` and asserts that results are equal, and within the interval that is promised."""
    found = narrow_types(kernel, {kernel.params[k]: r for k, r in (ranges or {}).items()})
    verify_kernel(found.kernel, "narrow_types")
    assert_device_types(found.kernel)
    want = run(kernel, inputs)
    got = run(found.kernel, [a.astype(b.dtype.numpy) for a, b in zip(inputs, found.kernel.params[:-1], strict=True)])
    np.testing.assert_array_equal(got.astype(want.dtype), want)
    if want.dtype.kind != "f":
        assert found.range is not None
        np.testing.assert_array_equal(got, want.astype(got.dtype))  # no bits beyond those of the type
        assert found.range[0] <= want.min()
        assert want.max() <= found.range[1]
    return found


HALF_RANGE = (-46340, 46340)
"""Products of these fit int32."""


@pytest.mark.parametrize("op", OPERATIONS)
@pytest.mark.parametrize("dtype", WHOLE, ids=str)
def test_binary_operations(op: str, dtype: DType) -> None:
    bounds = HALF_RANGE if dtype == I64 else None
    x, y = samples(dtype, 1, bounds), samples(dtype, 2, bounds)
    if op in ("/", "//", "%", "fmod"):
        y[y == 0] = 1
    kernel = pointwise(lambda a, b: Binary(op, a, b), dtype, dtype)
    check(kernel, [x, y], {0: HALF_RANGE, 1: HALF_RANGE} if bounds else None)


@pytest.mark.parametrize("op", ["+", "*", "max", "min", "and", "or", "xor", "==", "!=", "<", "<="])
def test_bools(op: str) -> None:
    check(pointwise(lambda a, b: Binary(op, a, b), BOOL, BOOL), [samples(BOOL, 1), samples(BOOL, 2)])


@pytest.mark.parametrize("op", ["neg", "abs", "not", "floor"])
@pytest.mark.parametrize("dtype", [*SMALL, I32, I64], ids=str)
def test_unary_operations(op: str, dtype: DType) -> None:
    bounds = (-(1 << 31) + 1, (1 << 31) - 1) if dtype == I64 else None
    kernel = pointwise(lambda a: Unary(op, a), dtype)
    check(kernel, [samples(dtype, 1, bounds)], {0: bounds} if bounds else None)


@pytest.mark.parametrize("op", ["shl", "shr"])
@pytest.mark.parametrize("dtype", SMALL, ids=str)
def test_shifts_by_any_count(op: str, dtype: DType) -> None:
    counts = np.abs(samples(I8, 3).astype(np.int64) % 64).astype(dtype.numpy)
    check(pointwise(lambda a, b: Binary(op, a, b), dtype, dtype), [samples(dtype), counts])


@pytest.mark.parametrize("dtype", [*SMALL, I32, I64], ids=str)
def test_powers(dtype: DType) -> None:
    exponents = (samples(U8, 3) % 4).astype(dtype.numpy)
    bounds = (-1000, 1000)
    kernel = pointwise(lambda a, b: Binary("pow", a, b), dtype, dtype)
    known = {0: bounds} if dtype == I64 else {}
    check(kernel, [samples(dtype, 1, known.get(0)), exponents], {**known, 1: (0, 3)})


@pytest.mark.parametrize("to", [BOOL, F32, F16, *WHOLE], ids=str)
@pytest.mark.parametrize("source", [BOOL, F32, F16, *WHOLE], ids=str)
def test_casts(source: DType, to: DType) -> None:
    kernel = pointwise(lambda a: Cast(to, a), source)
    if to == I64 and (source.is_float or source == U32):
        with pytest.raises(CannotExpress, match="int64"):
            narrow_types(kernel, {})
        return
    int32 = (-(1 << 31), (1 << 31) - 1)
    x = samples(source, 1, int32 if source == I64 else None)
    if to == F16 and source == F32:
        x[np.isnan(x)] = 0
    check(kernel, [x], {0: int32} if source == I64 else None)


@pytest.mark.parametrize("dtype", SMALL, ids=str)
def test_chains_wrap_at_every_step(dtype: DType) -> None:
    kernel = pointwise(lambda a, b, c: (a * b - c) / 3 + a, dtype, dtype, dtype)
    check(kernel, [samples(dtype, seed) for seed in (1, 2, 3)])


def test_wraps_only_where_the_type_can_be_left() -> None:
    kernel = pointwise(lambda a: (a.cast(I32) + 5).cast(U8), U8)
    inside = pointwise(lambda a: maximum(minimum(a, 100), 3) * 2, U8)
    for k, masks in ((kernel, 1), (inside, 0)):
        found = check(k, [samples(U8)])
        assert sum(isinstance(n, Binary) and n.op == "and" for n in walk(found.kernel.body)) == masks


@pytest.mark.parametrize("op", ["+", "-", "*", "/", "max"])
def test_float16_is_rounded_where_it_is_made(op: str) -> None:
    x, y = (np.random.default_rng(s).standard_normal(SIZE).astype(np.float16) for s in (1, 2))
    check(pointwise(lambda a, b: Binary(op, a, b), F16, F16), [x, y])


def test_halves_their_neighbours_and_what_lies_halfway() -> None:
    finite = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    finite = np.sort(finite[np.isfinite(finite)].astype(np.float32))
    middle = (finite[:-1] + finite[1:]) / 2
    every = np.concatenate([finite, middle, np.nextafter(middle, np.float32(0)), -middle * np.float32(1 + 2.0**-22)])
    rows = np.random.default_rng(0).choice(every, (20, SIZE))
    rows[0, :8] = [65504, 65519.996, 65520, -65520, 2.0**-24, 2.0**-25, 3 * 2.0**-26, 1e30]
    for row in rows:
        check(pointwise(lambda a: Cast(F16, a), F32), [row])


@pytest.mark.parametrize("dtype", ["float64", "uint64"])
def test_types_without_a_device_type(dtype: str) -> None:
    with pytest.raises(CannotExpress, match=dtype):
        narrow_types(pointwise(lambda a: a.ne(0), from_numpy(np.dtype(dtype))), {})
    with pytest.raises(CannotExpress, match=dtype):
        device_dtype(from_numpy(np.dtype(dtype)))


INT32 = (-(1 << 31), (1 << 31) - 1)


def test_negative_indices_count_from_the_end_without_overflow() -> None:
    """A full-range index plus an extent leaves int32, but not where the index is negative."""
    kernel = pointwise(lambda i: select(i < 0, i + 1000, i), I64)
    assert check(kernel, [samples(I64, 1, INT32)], {0: INT32}).range == (-(1 << 31) + 1000, (1 << 31) - 1)
    other = pointwise(lambda i: select(i >= 0, i, 1000 + i), I64)
    check(other, [samples(I64, 1, INT32)], {0: INT32})
    wrong = pointwise(lambda i: select(i < 5, i, i + 1000), I64)
    with pytest.raises(CannotExpress, match="2147484647"):
        narrow_types(wrong, {wrong.params[0]: INT32})


def test_conditions_reach_through_conversions_and_conjunctions() -> None:
    def body(i: Expr, j: Expr) -> Expr:
        both = (i < 0) & (j.cast(I64) < 10)
        return select(
            both & (j > -7),
            maximum(i + 7, 0) + j.cast(I64),
            select(~(i <= 100), i - 100, minimum(i, 0) - Const(-5, I64)),
        )

    kernel = pointwise(body, I64, I32)
    check(kernel, [samples(I64, 1, INT32), samples(I32, 2)], {0: INT32})


@pytest.mark.parametrize(
    "body", [lambda a, b: a + b, lambda a, b: a * b, lambda a, b: -a], ids=["sum", "product", "-a"]
)
def test_what_cannot_be_proven_is_refused(body: Callable[..., Expr]) -> None:
    kernel = pointwise(body, I64, I64)
    with pytest.raises(CannotExpress, match="not known to fit int32"):
        narrow_types(kernel, dict.fromkeys(kernel.params[:2], INT32))


def test_low_bits_are_enough_for_a_narrower_type() -> None:
    """int32(a * b + 7) needs no proof: the low 32 bits of the result come from those of the operands."""
    kernel = pointwise(lambda a, b: (a * b + 7).cast(I32), I64, I64)
    check(kernel, [samples(I64, 1, INT32), samples(I64, 2, INT32)], {0: INT32, 1: INT32})
    unsigned = pointwise(lambda a, b: (a - b).cast(U32), I64, I64)
    check(unsigned, [samples(I64, 1, INT32), samples(I64, 2, INT32)], {0: INT32, 1: INT32})


def test_ranges_of_what_is_read_decide() -> None:
    kernel = pointwise(lambda a, b: a * b + a, I64, I64)
    small = {0: (-1000, 1000), 1: (0, 7)}
    found = check(kernel, [samples(I64, s, r) for s, r in small.items()], small)
    assert found.range == (-8000, 8000)


def test_the_range_of_an_output_is_known_wherever_it_runs() -> None:
    kernel = pointwise(lambda a: select(a.cast(F64) < 2.0, Const(0, I64), 9), F32)
    with pytest.raises(CannotExpress, match="float64"):
        narrow_types(kernel, {})
    assert output_range(kernel, {}) == (0, 9)
    assert output_range(pointwise(lambda a: a, F32), {}) is None


def test_floats_within_bounds_become_int64() -> None:
    kernel = pointwise(lambda a: Unary("round", minimum(maximum(a, -5.5), 1e6)).cast(I64), F32)
    assert check(kernel, [samples(F32)]).range == (-6, 1_000_000)


def test_random_expressions() -> None:
    """Trees of every operation over mixed types; int64 where it happens to be provable."""
    proven = 0
    for seed in range(120):
        generator = np.random.default_rng(seed)
        dtypes = [WHOLE[k] for k in generator.integers(0, len(WHOLE), 3)]

        def body(*leaves: Expr, generator: np.random.Generator = generator) -> Expr:
            pool = list(leaves)
            for _ in range(8):
                a, b = (pool[k] for k in generator.integers(0, len(pool), 2))
                b = b.cast(a.dtype)
                match generator.integers(0, 4):
                    case 0:
                        pool.append(Binary(str(generator.choice(["+", "-", "*", "max", "min", "xor"])), a, b))
                    case 1:
                        pool.append(a.cast(WHOLE[generator.integers(0, len(WHOLE))]))
                    case 2:
                        pool.append(select(a < b, a, b + 3))
                    case 3:
                        pool.append(Unary("not", a) if a.dtype == U32 else Unary("neg", a))
            return pool[-1]

        kernel = pointwise(body, *dtypes)
        bounds = {k: (-5000, 7000) for k, d in enumerate(dtypes) if d == I64}
        try:
            narrow_types(kernel, {kernel.params[k]: r for k, r in bounds.items()})
        except CannotExpress:
            continue
        check(kernel, [samples(d, k, bounds.get(k)) for k, d in enumerate(dtypes)], bounds)
        proven += 1
    assert proven > 80


def test_an_index_on_its_way_to_int32_is_not_clamped() -> None:
    """The range of a sum is wider than int32: a clamp of all its bits would send the kernel to the host."""
    kernel = pointwise(lambda x: minimum(maximum(x + 5, -(2**31)), 2**31 - 1).cast(I32), I64)
    narrowed = narrow_types(kernel, {kernel.params[0]: (-(2**31), 2**31 - 1)}).kernel
    assert_device_types(narrowed)
    assert not [e for e in walk(narrowed.body) if isinstance(e, Binary) and e.op in ("min", "max")]
    x = samples(I64, bounds=(-1000, 1000))
    np.testing.assert_array_equal(run(narrowed, [x.astype(np.int32)]), x + 5)
