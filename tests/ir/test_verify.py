"""The verifier of kernels: each fault is found, and told with the pass and the kernel."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from nests import matrix_product, padded_sum, pointwise
from webnn_compile.dtypes import BOOL, F16, F32, F64, I8, I32, I64, U8
from webnn_compile.errors import InternalError
from webnn_compile.ir.calls import Call, HoistedConstants, Pointer, UnrolledInOrder
from webnn_compile.ir.lanes import Extract, Lanes, Ramp, Splat
from webnn_compile.ir.layout import Layout
from webnn_compile.ir.nodes import (
    Alloc,
    Binary,
    Bitcast,
    Buffer,
    Cast,
    Const,
    Expr,
    For,
    If,
    Kernel,
    Load,
    LoopKind,
    Outline,
    Scope,
    Select,
    Seq,
    Stmt,
    Store,
    Unary,
    Var,
)
from webnn_compile.ir.pointers import Advancing, LoopPointer, Opaque, PointTo
from webnn_compile.ir.reduction import Reduce
from webnn_compile.ir.verify import verify_kernel

X, Y = Buffer("x", (8,), F32), Buffer("y", (8,), F32)
N, B = Buffer("n", (8,), I32), Buffer("b", (8,), BOOL)
POSITIONS = Buffer("positions", (8,), I32, constant=True, values=(0, 7))
LOCAL = Buffer("acc", (), F32, Scope.LOCAL)
BYTE = Buffer("byte", (), U8, Scope.LOCAL)
I, J, K = Var("i", 8), Var("j", 4), Var("k", 2)
XI = Load(X, (I,))
ONE = Const(1.0, F32)


def kernel(body: Stmt) -> Kernel:
    return Kernel("k", (X, N, B, POSITIONS, Y), body)


def of(value: Expr) -> Stmt:
    """y[i] = value"""
    return For(I, Store(Y, (I,), value))


def wide(value: Expr) -> Stmt:
    """y[0..+4] = value"""
    return Store(Y, (Ramp(Const(0), 4),), value)


def at(index: Expr, guard: Expr | None = None) -> Stmt:
    """y[i] = x[index]"""
    return of(Load(X, (index,), guard))


@pytest.mark.parametrize("good", [pointwise(3, 4), matrix_product(2, 3, 4), padded_sum(5, 3, 1)])
def test_good_kernels_pass(good: object) -> None:
    verify_kernel(good.kernel, "build_kernel")  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "body",
    [
        at(7 - I),
        at(I + 4, I < 4),
        at(Load(POSITIONS, (I + 4,)), I < 4),
        at(I % 3 + 5),
        at(Binary("min", Binary("max", Load(N, (I,)), Const(0)), Const(7))),
        at(Load(POSITIONS, (I,))),
        For(J, If(J < 3, Store(Y, (J * 3,), ONE))),
        For(J, Store(Y, (Ramp(J * 2, 2),), Load(X, (Ramp(J * 2, 2),)) + Splat(ONE, 2))),
        For(J, Store(Y, (J,), ONE), LoopKind.VECTOR),
        For(J, For(K, Store(Y, (J,), ONE), LoopKind.UNROLL), LoopKind.IN_ORDER),
        For(J, Seq((Store(Y, (J,), ONE), Store(Y, (J + 4,), ONE))), LoopKind.VECTOR),
        For(Var("none", 0), Store(Y, (Const(99),), ONE)),
        of(Select(XI < 0.0, -XI, XI)),
        of(Cast(F32, Load(B, (I,)))),
        of(Bitcast(F32, Load(N, (I,)))),
        Outline(Alloc(LOCAL, Seq((Store(LOCAL, (), ONE), Store(Y, (Const(0),), Load(LOCAL, ())))))),
    ],
)
def test_what_is_allowed(body: Stmt) -> None:
    verify_kernel(kernel(body), "schedule_cpu")


def test_a_shared_load_is_proved_under_each_guard() -> None:
    table = Load(Buffer("table", (4, 1), I32, constant=True, values=(0, 7)), (I, Const(0)))
    both = Load(X, (table,), I < 4) + Load(X, (table,), I < 7)
    body = of(both)
    params = (table.buffer, X, Y)
    with pytest.raises(InternalError, match=r"an index may leave Buffer\(table"):
        verify_kernel(Kernel("k", params, body), "schedule_cpu")
    verify_kernel(Kernel("k", params, of(Load(X, (table,), I < 4))), "schedule_cpu")


def test_flat_indices_are_rejected_only_where_known_to_be_out_of_range() -> None:
    body = at(Load(N, (I,)))
    verify_kernel(kernel(body), "flatten_indices")
    with pytest.raises(InternalError, match="an index may leave"):
        verify_kernel(kernel(at(I + 1)), "flatten_indices")


FAULTS: dict[str, tuple[Callable[[], Stmt], str]] = {
    "free variable": (lambda: Store(Y, (I,), ONE), "variable i is used outside its loop"),
    "loop in itself": (lambda: For(I, of(XI)), "a loop over i stands inside a loop over i"),
    "unknown buffer": (lambda: of(Load(Buffer("z", (8,), F32), (I,))), "loads from Buffer(z"),
    "local not allocated": (lambda: of(Load(LOCAL, ())), "not allocated here"),
    "store to an input": (lambda: For(I, Store(X, (I,), ONE)), "stores to Buffer(x"),
    "store to what is allocated elsewhere": (lambda: Store(LOCAL, (), ONE), "no local buffer"),
    "allocation of a global": (lambda: Alloc(Buffer("g", (), F32), of(ONE)), "allocated but global"),
    "allocation twice": (lambda: Alloc(LOCAL, Alloc(LOCAL, of(ONE))), "allocated twice"),
    "rank": (lambda: of(Load(X, (I, I))), "2 indices for Buffer(x"),
    "rank of a store": (lambda: For(I, Store(Y, (), ONE)), "0 indices for Buffer(y"),
    "index too large": (lambda: at(I + 1), "an index may leave Buffer(x"),
    "index too small": (lambda: at(I - 1), "an index may leave Buffer(x"),
    "index from memory": (lambda: at(Load(N, (I,))), "an index may leave Buffer(x"),
    "index of a guard too wide": (lambda: at(I + 4, I < 5), "an index may leave Buffer(x"),
    "store under a condition too wide": (
        lambda: For(J, If(J < 4, Store(Y, (J * 3,), ONE))),
        "an index may leave Buffer(y",
    ),
    "index far away": (lambda: at(I % 3 + 8), "an index may leave Buffer(x"),
    "store out of range": (lambda: For(I, Store(Y, (I + 1,), ONE)), "an index may leave Buffer(y"),
    "vector out of range": (
        lambda: For(J, Store(Y, (Ramp(J * 2, 4),), Splat(ONE, 4))),
        "an index may leave Buffer(y",
    ),
    "index of another type": (lambda: at(Cast(I64, I)), "an index is int64"),
    "loop that stays in a loop in order": (
        lambda: For(J, For(K, Store(Y, (J,), ONE)), LoopKind.IN_ORDER),
        "a loop in order holds loops that stay",
    ),
    "bytes in a loop in order": (
        lambda: Alloc(BYTE, For(J, Store(BYTE, (), Const(1, U8)), LoopKind.IN_ORDER)),
        "locals of other types than float32",
    ),
    "dtypes of operands": (lambda: of(Binary("+", XI, Const(1))), "operands of + are float32 and int32"),
    "dtypes of arms": (lambda: of(Select(XI < 0.0, XI, Const(0))), "a selection by bool of float32 or int32"),
    "dtype of a condition": (lambda: of(Select(I, XI, XI)), "a selection by int32"),
    "dtype of a branch": (lambda: For(I, If(I + 0, Store(Y, (I,), ONE))), "a condition is no scalar bool"),
    "dtype of a store": (lambda: of(Const(1)), "stores int32 to Buffer(y"),
    "dtype of a guard": (lambda: at(I, I), "a guard is no scalar bool"),
    "size of a bitcast": (lambda: of(Cast(F32, Bitcast(F64, Load(N, (I,))))), "int32 read as the bits of float64"),
    "not of a float": (lambda: of(Unary("not", XI)), "not of float32"),
    "shift of a float": (lambda: of(Binary("shl", XI, XI)), "shl of float32"),
    "constant of a signed type": (lambda: of(Cast(F32, Const(128, I8))), "128 is no int8"),
    "constant of an unsigned type": (lambda: of(Cast(F32, Const(-1, U8))), "-1 is no uint8"),
    "constant of 33 bits": (lambda: of(Cast(F32, Const(1 << 31))), "2147483648 is no int32"),
    "lanes of operands": (lambda: wide(Binary("+", Splat(ONE, 4), ONE)), "the lanes of operands differ"),
    "lanes of a store": (lambda: of(Splat(XI, 4)), "the lanes of index and value differ"),
    "lanes of two types": (lambda: wide(Lanes((ONE, ONE, ONE, Const(1)))), "no scalars of one type"),
    "vector of vectors": (lambda: wide(Splat(Splat(ONE, 4), 4)), "a vector of vectors"),
    "reduction": (lambda: of(Reduce("sum", (J,), XI, ONE)), "a reduction that is no loop"),
    "vector of a reduction": (
        lambda: For(J, Store(Y, (J,), ONE), LoopKind.VECTOR, parallel=False),
        "a vector loop is a reduction",
    ),
    "vector around a loop": (lambda: For(J, of(XI), LoopKind.VECTOR), "or holds more than stores"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_fault(fault: str) -> None:
    make, message = FAULTS[fault]
    with pytest.raises(InternalError) as caught:
        verify_kernel(kernel(make()), "schedule_cpu")
    assert str(caught.value).startswith("after schedule_cpu: kernel k: ")
    assert message in str(caught.value)
    assert "please report this" in str(caught.value)


@pytest.mark.parametrize(
    ("params", "outputs", "message"),
    [
        ((X, X, Y), 1, "3 parameters"),
        ((X, Y), 0, "0 of them outputs"),
        ((X, Y), 3, "3 of them outputs"),
        ((X, LOCAL, Y), 1, "is local"),
    ],
)
def test_parameters(params: tuple[Buffer, ...], outputs: int, message: str) -> None:
    with pytest.raises(InternalError, match=message):
        verify_kernel(Kernel("k", params, of(XI), outputs=outputs), "build_kernel")


def test_a_parameter_has_the_shape_of_its_layout() -> None:
    bordered = Layout((2, 4), (0, 1), ((0, 0), (1, 1)), (1, 1))
    x = Buffer("x", (2, 4), F32, layout=bordered)
    with pytest.raises(InternalError, match=r"is not of its layout's shape \[2, 6\]"):
        verify_kernel(Kernel("k", (x, Y), of(ONE)), "build_kernel")


def test_constants_are_not_written() -> None:
    weights = Buffer("w", (8,), F32, constant=True)
    with pytest.raises(InternalError, match="which is no output"):
        verify_kernel(Kernel("k", (X, weights), For(I, Store(weights, (I,), XI))), "schedule_cpu")


STAGES: dict[str, tuple[Stmt, str]] = {
    "flatten_indices": (For(I, Store(LOCAL, (), XI)), "an access by several indices is left"),
    "vectorize_loops": (For(J, Store(Y, (J,), ONE), LoopKind.VECTOR), "a vector loop is left"),
    "unroll_loops": (For(J, Store(Y, (J,), ONE), LoopKind.UNROLL), "an unroll loop is left"),
    "lower_math": (of(Unary("exp", XI)), "a function without an instruction is left: exp"),
    "lower_float16": (of(Cast(F32, Cast(F16, XI))), "a float16 conversion is left"),
    "outline_tiles": (Outline(of(XI)), "an outlined region is left"),
    "outline_cores": (For(I, Store(Y, (I,), XI), LoopKind.CORE), "a core loop in no function is left"),
    "unroll_in_order": (For(I, Store(Y, (I,), XI), LoopKind.IN_ORDER), "a loop in order is left"),
    "lower_addresses": (of(ONE), r"what the last stage lacks is left: y\[i\]"),
}


@pytest.mark.parametrize("stage", STAGES)
def test_what_a_pass_does_away_with_is_gone_from_then_on(stage: str) -> None:
    body, message = STAGES[stage]
    if stage == "flatten_indices":
        body = Alloc(LOCAL, body)
    verify_kernel(kernel(body), "schedule_cpu")
    for later in list(STAGES)[list(STAGES).index(stage) :]:
        with pytest.raises(InternalError, match=message):
            verify_kernel(kernel(body), later)
    for earlier in list(STAGES)[: list(STAGES).index(stage)]:
        verify_kernel(kernel(body), earlier)


@pytest.mark.parametrize(
    "body",
    [
        If(Const(1) < 2, Store(Y, (Const(0),), ONE)),
        UnrolledInOrder((Store(Y, (Const(0),), ONE),), (), ()),
        Store(Y, (Ramp(Const(0), 4),), Cast(F32, Cast(F64, Load(X, (Ramp(Const(0), 4),))))),
        Store(Y, (Const(0),), Extract(Load(X, (Ramp(Const(0), 4),)), 1)),
    ],
)
def test_the_last_stage_has_no_other_nodes_and_no_wide_vectors(body: Stmt) -> None:
    verify_kernel(kernel(body), "simplify")
    with pytest.raises(InternalError, match="what the last stage lacks is left"):
        verify_kernel(kernel(body), "lower_addresses")


START = Const(0)
P, Q = Buffer("p", (8,), F32), Buffer("q", (8,), F32)


def call(body: Stmt, *numbers: Var, to: Expr = START, write: Buffer = Y) -> Stmt:
    """A function of p, which is x from `to` on, and q, which is `write`."""
    return Call(body, (P, Q), (Pointer(X, to), Pointer(write, Const(0))), numbers)


def copy_in_function(at: Expr = START) -> Stmt:
    return Store(Q, (Const(0),), Load(P, (at,)))


def in_order(*sums: Load, body: Stmt | None = None) -> Stmt:
    return Alloc(BYTE, Alloc(LOCAL, UnrolledInOrder((body or Store(Y, (Const(0),), ONE),), sums, ())))


def copy_from(pointer: Buffer) -> Stmt:
    return Store(Y, (START,), Load(pointer, (START,)))


def point(pointer: Buffer, to: Buffer, offset: Expr = START, inside: Stmt | None = None) -> Stmt:
    """By default its element 0 is read."""
    return PointTo(pointer, Pointer(to, offset), inside or copy_from(pointer))


def advance(pointer: Buffer, to: Buffer, step: int) -> Stmt:
    """Element 0 of a loop's pointer is read."""
    return Advancing((LoopPointer(pointer, Pointer(to, START), step),), copy_from(pointer))


LOWERED_FAULTS: dict[str, tuple[Stmt, str]] = {
    "buffer from outside": (call(Store(Q, (Const(0),), Load(X, (Const(0),)))), "loads from Buffer(x"),
    "variable from outside": (For(J, call(copy_in_function(J))), "variable j is used outside its loop"),
    "variable of no loop": (call(copy_in_function(J), J), "variables that are used outside their loops"),
    "pointer of no loop": (call(copy_in_function(), to=J), "variable j is used outside its loop"),
    "store through a pointer to an input": (call(copy_in_function(), write=X), "stores to Buffer(q"),
    "index beyond": (call(copy_in_function(Const(8))), "an index may leave Buffer(p"),
    "argument of another dtype": (call(copy_in_function(), write=N), "parameters and arguments differ"),
    "pointer to no parameter": (
        Alloc(LOCAL, Call(copy_in_function(), (P, Q), (Pointer(LOCAL, Const(0)), Pointer(Y, Const(0))), ())),
        "no place in a parameter",
    ),
    "loop among iterations in order": (in_order(body=For(J, Store(Y, (J,), ONE))), "iterations in order hold loops"),
    "sum of bytes": (in_order(Load(BYTE, ())), "no local float32"),
    "constant that is none": (
        For(J, HoistedConstants((Splat(Load(X, (J,)), 4),), Store(Y, (J,), ONE))),
        "no vector of a constant",
    ),
    "body of a loop with constants": (For(J, HoistedConstants((), Store(X, (J,), ONE))), "stores to Buffer(x"),
    "sum in memory": (in_order(Load(X, (Const(0),))), "no local float32"),
    "pointer to a local buffer": (Alloc(LOCAL, point(P, LOCAL)), "a pointer to no place in memory"),
    "pointer of a loop that is none": (point(P, X, J), "variable j is used outside its loop"),
    "pointer to another dtype": (point(P, N), "is no new pointer to Buffer(n"),
    "pointer that is made twice": (point(P, X, inside=point(P, X)), "is no new pointer to Buffer(x"),
    "pointer outside its statement": (Seq((point(P, X), copy_from(P))), "loads from Buffer(p"),
    "store through a pointer that is made to an input": (
        point(Q, X, inside=Store(Q, (START,), ONE)),
        "stores to Buffer(q",
    ),
    "index beyond what a pointer reaches": (point(P, X, Const(8)), "an index may leave Buffer(p"),
    "index beyond what a loop's pointer reaches": (For(J, advance(P, X, 3)), "an index may leave Buffer(p"),
    "index before what a loop's pointer reaches": (For(J, advance(P, X, -1)), "an index may leave Buffer(p"),
    "pointers of a loop outside one": (advance(P, X, 1), "stands outside one"),
    "memory that is opaque": (Opaque((Load(X, (START,)),)), "no local float32"),
}


@pytest.mark.parametrize("fault", LOWERED_FAULTS)
def test_fault_of_a_lowered_kernel(fault: str) -> None:
    body, message = LOWERED_FAULTS[fault]
    with pytest.raises(InternalError, match=re.escape(message)):
        verify_kernel(kernel(body), "simplify")


def test_functions_and_iterations_in_order_pass() -> None:
    guarded = Store(Q, (Const(0),), Load(P, (J,), J < 2))
    held = For(J, HoistedConstants((Splat(ONE, 4),), Store(Y, (J,), ONE)))
    for body in (held, For(J, call(copy_in_function(J), J)), For(J, call(guarded, J, to=J - 4)), in_order()):
        verify_kernel(kernel(body), "simplify")


def test_pointers_pass() -> None:
    stored = point(P, X, Const(7), point(Q, Y, inside=Store(Q, (START,), Load(P, (START,)))))
    guarded = point(P, X, Const(8), Store(Y, (START,), Load(P, (START,), Const(1) < 0)))
    for body in (stored, guarded, For(J, advance(P, X, 2)), Alloc(BYTE, Alloc(LOCAL, Opaque((Load(LOCAL, ()),))))):
        verify_kernel(kernel(body), "simplify")


def test_a_shared_expression_is_checked_once() -> None:
    e: Expr = XI
    for _ in range(80):
        e = e * e
    verify_kernel(kernel(of(e)), "lower_math")
