"""The tensor and loop IR. Its whole grammar:

    Kernel = (name, params: Buffer*, body: Stmt, origin: Origin, scalars: Scalar*, forms: Form*)
    Form   = Map | Reduction | Contraction | Transform         (forms.py: until a schedule, of each result)
    Buffer = (name, shape, dtype, scope)              scope = GLOBAL | SHARED | LOCAL | TILE     (identity equality)
    Stmt   = For(var, body, kind, parallel) | Store(buffer, indices, value)
           | Alloc(buffer, body) | Seq(stmts) | Outline(body) | If(cond, body) | Barrier()
           | Call(body, params, pointers, numbers) | UnrolledInOrder(iterations, sums, advances)
           | HoistedConstants(constants, body)               (calls.py: these three after lowering, for CPUs)
           | PointTo(pointer, address, body, opaque) | Advancing(pointers, body) | Opaque(elements)
                                                             (pointers.py: in the last stage for CPUs)
           | Tensorized(intrinsic, body)                     (intrinsic.py: one instruction of the target)
    Expr   = Const(value, dtype) | Var(name, extent, length) | Scalar(name, extent, length, low)
           | Unary(op, a) | Binary(op, a, b) | Select(cond, a, b)
           | Unlikely(cond, a, b)                            (unlikely.py: a selection of which `a` is seldom needed)
           | Cast(dtype, a) | Bitcast(dtype, a) | Load(buffer, indices, guard)
           | Ramp(base, lanes) | Splat(a, lanes) | Lanes(parts) | Extract(a, lane)
                                                             (lanes.py: after vectorisation)
           | AllReduce(op, a, among)                         (all_reduce.py: for GPUs only)
           | Entry(matrix, row, column)                      (entry.py: until a schedule unrolls its loops)
           | Reduce(op, axes, value)                         (reduction.py: in the body of a Tensor only)
    kind   = SERIAL | UNROLL | IN_ORDER | VECTOR | CORE | BLOCK | THREAD

Semantics worth knowing:
- A `Var` is a loop variable: int32, 0 <= var < extent. Variables and buffers compare by identity and print by name.
- A `Scalar` is an int32 of at least `low` and less than `extent` that is the same for a whole launch: a size that is
  known at run time only, or the iteration of a loop around launches, which has a `length` where the loop is dynamic.
  No loop of the kernel binds it; a launch passes the kernel's `scalars` as arguments.
- A dynamic loop has a trip count that is known at run time: the `length` of its variable, an expression of scalars;
  `extent` is the capacity, its largest value, by which memory is laid out. A length that is negative counts as zero.
  Loops of the kinds SERIAL, CORE and BLOCK may be dynamic. An access is proved to stay in bounds for all values of the
  scalars; elements beyond a length have no particular value, and no result depends on them.
- `For.parallel` is False for a reduction loop: its iterations may not be reordered against each other.
- `Select` is strict: both arms are evaluated. Only a `Load` with a guard may skip memory; where its guard is false
  it yields zero and does not touch the buffer.
- Indices stay multi-dimensional until code is generated; the last index is contiguous.
- `Outline(body)` means body; it marks a region worth a function of its own where calls are cheap (a browser's
  optimising compiler takes over between calls, not inside a long loop).
- An IN_ORDER loop is written out like an UNROLL loop, but nothing of an iteration may wait for the next one: LLVM
  for wasm would first load what all of them need, in more registers than there are. What it leaves in local buffers is
  float32, at places that depend on no loop inside but UNROLL and VECTOR ones. `UnrolledInOrder` is such a loop written
  out.
- A CORE loop stands in no other statement but a `Seq` or a serial loop that is not parallel: the cores of a CPU share
  its iterations.
- `Call(body, ...)` is what an outlined region or a CORE loop becomes: `body` as a function of no more than its
  parameters.
- BLOCK and THREAD loops stand outermost, perfectly nested, blocks before threads, all parallel: on a GPU their
  iterations are workgroups and the invocations of one. The innermost of each kind is dimension x. `ir/grid.py` reads
  them. A SHARED buffer is allocated between the two and belongs to a workgroup.
- `Tensorized(intrinsic, body)` means body, which one instruction of the target does. A TILE buffer is in registers of
  the hardware that such instructions work on, and only they access it. On a GPU a subgroup's invocations do the same
  with such a tile, each as if it were its own, and the hardware does it once.
- `Barrier` waits for every invocation of the workgroup; it stands under no `If` and in no loop whose extent differs
  from thread to thread.
- `max(a, b)` is `b if a < b else a` and `min(a, b)` is `b if b < a else a`: one instruction on SIMD targets, and a NaN
  in `a` stays. `relaxed_max` and `relaxed_min` are the same, by the instructions of relaxed SIMD. `max_nan` and
  `min_nan`, of floats, are NaN where either operand is (`maximum` and `minimum` of IEEE 754-2019).
- `//` and `%` round down; `/` on integers truncates.

The last stage of a kernel for CPUs, after `lower_addresses`, is loops over pointers. A printer of code decides nothing
and needs nothing else (`verify/stages.py` holds kernels to it):
- Statements are Seq, Store, Alloc, For, Call, PointTo, Advancing, HoistedConstants and Opaque. A loop is SERIAL, or a
  CORE loop: that is the body of a Call, or stands there in what PointTo makes, and is called for ranges of its
  iterations. A loop with a length runs where that is positive.
- A pointer is a flat global buffer: a parameter, of the kernel or of a Call's function, or what PointTo and Advancing
  make. Advancing is the body of a loop, or around its HoistedConstants. An address, or the place of an access, is a
  pointer plus a constant number of elements; or plus a sum, to be added from left to right, of constants and of
  products `atom * constant`. An atom of an access loads something; others are in PointTo. A vector, at a Ramp, is
  aligned as one of its elements is.
- Local buffers are arrays of the function, with any index: a register for each element, or vector, where all are
  constant.
- Values are scalars and vectors of at most the target's lanes. Elements of vectors are bools or have 8 or 32 bits
  (`schedule/access.py`), so that no vector is wider than a register: of 128 bits in wasm.
- Operations are those of `verify.LOWERED_UNARY` and `LOWERED_BINARY`, Select, Unlikely, Cast, Bitcast, Splat, Ramp and
  Load. A node that a statement has several times is computed once for it, and anew for the next one.
- A bool in memory is a byte, 0 or 1.
- Opaque, `opaque` and HoistedConstants say what a compiler behind this one must not rearrange. They mean nothing to a
  printer of final code, which keeps the order of statements.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from numbers import Integral, Real
from typing import TYPE_CHECKING

from ..dtypes import BOOL, F32, I32, DType
from .frozen import frozen

if TYPE_CHECKING:
    from .forms import Form
    from .layout import Layout


class Scope(Enum):
    GLOBAL = "global"
    SHARED = "shared"
    LOCAL = "local"
    TILE = "tile"


class LoopKind(Enum):
    SERIAL = "for"
    UNROLL = "unroll"
    IN_ORDER = "in order"
    VECTOR = "vector"
    CORE = "core"
    BLOCK = "block"
    THREAD = "thread"


@dataclass(frozen=True, eq=False, slots=True)
class Buffer:
    """Memory of a kernel. Compares by identity. `shape` is in elements, outermost first.

    `constant` marks weights, whose `layout` a schedule may choose; a tensor stored otherwise than row-major says so in
    `layout`, and `shape` is then its physical shape. `values` is the interval of its elements where they are known
    integers, such as a table of positions: proofs that accesses stay in bounds rely on it, generated code does not.
    """

    name: str
    shape: tuple[int, ...]
    dtype: DType
    scope: Scope = Scope.GLOBAL
    constant: bool = False
    layout: Layout | None = None
    values: tuple[int, int] | None = None

    def __repr__(self) -> str:
        return f"Buffer({self.name}: {self.dtype}{list(self.shape)})"

    @property
    def size(self) -> int:
        """Number of elements."""
        n = 1
        for extent in self.shape:
            n *= extent
        return n


class Expr:
    """A scalar (or, after vectorisation, a short vector). Operators build new expressions.

    `==` stays structural equality of the tree; the IR's comparison is `a.eq(b)`.
    """

    __slots__ = ()

    @property
    def dtype(self) -> DType:
        raise AssertionError("abstract")

    def __add__(self, other: ExprLike) -> Expr:
        return binary("+", self, other)

    def __radd__(self, other: ExprLike) -> Expr:
        return binary("+", other, self)

    def __sub__(self, other: ExprLike) -> Expr:
        return binary("-", self, other)

    def __rsub__(self, other: ExprLike) -> Expr:
        return binary("-", other, self)

    def __mul__(self, other: ExprLike) -> Expr:
        return binary("*", self, other)

    def __rmul__(self, other: ExprLike) -> Expr:
        return binary("*", other, self)

    def __truediv__(self, other: ExprLike) -> Expr:
        return binary("/", self, other)

    def __rtruediv__(self, other: ExprLike) -> Expr:
        return binary("/", other, self)

    def __floordiv__(self, other: ExprLike) -> Expr:
        return binary("//", self, other)

    def __mod__(self, other: ExprLike) -> Expr:
        return binary("%", self, other)

    def __neg__(self) -> Expr:
        return Unary("neg", self)

    def __lt__(self, other: ExprLike) -> Expr:
        return binary("<", self, other)

    def __le__(self, other: ExprLike) -> Expr:
        return binary("<=", self, other)

    def __gt__(self, other: ExprLike) -> Expr:
        return binary("<", other, self)

    def __ge__(self, other: ExprLike) -> Expr:
        return binary("<=", other, self)

    def eq(self, other: ExprLike) -> Expr:
        return binary("==", self, other)

    def ne(self, other: ExprLike) -> Expr:
        return binary("!=", self, other)

    def __and__(self, other: ExprLike) -> Expr:
        """Logical and of bools, bitwise and of integers."""
        return binary("and", self, other)

    def __or__(self, other: ExprLike) -> Expr:
        return binary("or", self, other)

    def __xor__(self, other: ExprLike) -> Expr:
        return binary("xor", self, other)

    def __invert__(self) -> Expr:
        """Logical not of a bool, bitwise not of an integer."""
        return Unary("not", self)

    def cast(self, dtype: DType) -> Expr:
        """The value in another dtype. Raises TypeError for what is no DType, such as a dtype of NumPy."""
        if not isinstance(dtype, DType):
            raise TypeError(f"{dtype!r} is no type to cast to: give a DType, such as F32 or x.dtype")
        return self if self.dtype == dtype else Cast(dtype, self)

    def __bool__(self) -> bool:
        raise TypeError("an IR expression has no truth value; use &, |, ~, eq() and select()")


ExprLike = Expr | int | float | bool


@frozen
class Const(Expr):
    """A number: of an integer type an int, of a float type a float, else a bool."""

    value: int | float | bool
    type: DType = I32

    @property
    def dtype(self) -> DType:
        return self.type


@dataclass(frozen=True, slots=True, eq=False)
class Var(Expr):
    """A loop variable: int32, 0 <= var < extent. The loop is dynamic where it has a `length`, an int32 expression of
    scalars of at most `extent`: then var < length."""

    name: str
    extent: int
    length: Expr | None = None

    @property
    def dtype(self) -> DType:
        return I32

    def __repr__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True, eq=False)
class Scalar(Var):
    """An argument of a launch: int32, low <= scalar < extent. `computed`: a run computes it, by tensors or of other
    scalars."""

    low: int = field(default=0, kw_only=True)
    computed: bool = field(default=False, kw_only=True, repr=False)


@frozen
class Unary(Expr):
    """An operation on one operand, by name: arithmetic, rounding, a mathematical function, a test of a float."""

    op: str
    a: Expr

    @property
    def dtype(self) -> DType:
        return BOOL if self.op in PREDICATES else self.a.dtype


@frozen
class Binary(Expr):
    """An operation on two operands of one type, by symbol or name; comparisons are bool."""

    op: str
    a: Expr
    b: Expr

    @property
    def dtype(self) -> DType:
        e: Expr = self
        while isinstance(e, Binary):  # a loop: sums are as deep as they have operands
            if e.op in COMPARISONS:
                return BOOL
            e = e.a
        return e.dtype


@frozen
class Select(Expr):
    """`a` where `cond` holds, else `b`; both are defined."""

    cond: Expr
    a: Expr
    b: Expr

    @property
    def dtype(self) -> DType:
        return self.a.dtype


@frozen
class Cast(Expr):
    """Value conversion. Float to integer truncates and saturates; anything to bool is `!= 0`."""

    type: DType
    a: Expr

    @property
    def dtype(self) -> DType:
        return self.type


@frozen
class Bitcast(Expr):
    """Bits read as another type of the same size."""

    type: DType
    a: Expr

    @property
    def dtype(self) -> DType:
        return self.type


@frozen
class Load(Expr):
    """buffer[indices]; where `guard` is false: zero, and memory is not touched."""

    buffer: Buffer
    indices: tuple[Expr, ...]
    guard: Expr | None = None

    @property
    def dtype(self) -> DType:
        return self.buffer.dtype


COMPARISONS = frozenset({"==", "!=", "<", "<="})
PREDICATES = frozenset({"isnan", "isinf"})


class Stmt:
    """A statement: one of those below, and of `calls.py` and `intrinsic.py`."""

    __slots__ = ()


@frozen
class For(Stmt):
    """A loop of `var` from 0 to below its extent, or its length where it has one; `kind` says how it runs."""

    var: Var
    body: Stmt
    kind: LoopKind = LoopKind.SERIAL
    parallel: bool = True


@frozen
class Store(Stmt):
    """`value` is written to the element of `buffer` at `indices`."""

    buffer: Buffer
    indices: tuple[Expr, ...]
    value: Expr


@frozen
class Alloc(Stmt):
    """`buffer` exists in `body`, its elements undefined until they are stored."""

    buffer: Buffer
    body: Stmt


@frozen
class Seq(Stmt):
    """Statements one after the other."""

    stmts: tuple[Stmt, ...]


@frozen
class Outline(Stmt):
    """A region worth a function of its own."""

    body: Stmt


@frozen
class If(Stmt):
    """`body` where `cond`, a scalar bool, holds."""

    cond: Expr
    body: Stmt


@dataclass(frozen=True, slots=True)
class Barrier(Stmt):
    """Every invocation of a workgroup arrives here before any continues; their stores are then visible to all."""


Node = Expr | Stmt


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a kernel came from: the ONNX node names it computes, for reports, profiles and messages."""

    nodes: tuple[str, ...] = ()
    ops: tuple[str, ...] = ()

    def __add__(self, other: Origin) -> Origin:
        new = [(n, o) for n, o in zip(other.nodes, other.ops, strict=True) if n not in self.nodes]
        return Origin(self.nodes + tuple(n for n, _ in new), self.ops + tuple(o for _, o in new))


@dataclass(frozen=True, slots=True)
class Kernel:
    """`params` are the global buffers, inputs first; `outputs` says how many of them, at the end, are written.
    `scalars` are the integers that a launch passes, all that occur in the body. With `row` a launch writes some rows of
    its result, where scalars say, and leaves the others as they are: one of a stack, or those behind others. `forms`
    say what each of its outputs is; a kernel that a schedule has made has none."""

    name: str
    params: tuple[Buffer, ...]
    body: Stmt
    origin: Origin = field(default_factory=Origin)
    outputs: int = 1
    scalars: tuple[Scalar, ...] = ()
    row: bool = False
    forms: tuple[Form, ...] = ()


def expr(value: ExprLike, like: DType = I32) -> Expr:
    """An Expr from a Python number, of dtype `like` (a float given for an integer dtype becomes float32). Raises
    TypeError for what is neither."""
    if isinstance(value, Expr):
        return value
    if not isinstance(value, int | float):
        if not isinstance(value, Real):  # scalars of NumPy are
            raise TypeError(f"an operand is a {type(value).__name__}: give an expression, such as x[i], or a number")
        value = int(value) if isinstance(value, Integral) else float(value)
    if isinstance(value, bool):
        return Const(value, BOOL if like == BOOL else like)
    if isinstance(value, float) and not like.is_float:
        return Const(value, F32)
    return Const(float(value) if like.is_float else value, like)


def binary(op: str, a: ExprLike, b: ExprLike) -> Expr:
    """A Binary of two operands of one dtype; a Python number takes the other operand's dtype. Raises TypeError for
    operands of two dtypes."""
    x, y = operands(a, b)
    if x.dtype != y.dtype:
        raise TypeError(f"{op}: operands of different dtypes: {x.dtype} and {y.dtype}; cast one of them")
    return Binary(op, x, y)


def operands(a: ExprLike, b: ExprLike) -> tuple[Expr, Expr]:
    """Both as expressions: a number takes the other one's dtype, and of two numbers the second that of the first."""
    if not isinstance(a, Expr):
        a = expr(a, b.dtype) if isinstance(b, Expr) else expr(a)
    return a, expr(b, a.dtype)
