"""LLVM instructions for expressions. Values are SSA names or literals; equal nodes of one statement share one."""

from __future__ import annotations

from collections.abc import Callable

from ..dtypes import I32, DType
from ..ir.lanes import Ramp, Splat, lanes_of
from ..ir.nodes import Binary, Bitcast, Buffer, Cast, Const, Expr, Load, Scope, Select, Store, Unary, Var
from ..ir.scalar_ops import ADD_SHORTS, DOTS, SHORT_DOTS, SHORTS
from ..ir.unlikely import Unlikely
from ..passes.clamp_conversions import is_clamped
from .llvm_module import LlvmModule
from .llvm_types import literal, llvm_type, memory_type

FLOAT_BINARY = {"+": "fadd", "-": "fsub", "*": "fmul", "/": "fdiv"}
INT_BINARY = {"+": "add", "-": "sub", "*": "mul", "shl": "shl", "and": "and", "or": "or", "xor": "xor"}
ORDERED = {"==": "oeq", "!=": "une", "<": "olt", "<=": "ole"}
SIGNED = {"==": "eq", "!=": "ne", "<": "slt", "<=": "sle"}
UNSIGNED = {"==": "eq", "!=": "ne", "<": "ult", "<=": "ule"}
RELAXED = {"relaxed_max": "llvm.wasm.relaxed.max.v4f32", "relaxed_min": "llvm.wasm.relaxed.min.v4f32"}
ACCUMULATING = {
    "vnni_dot_unsigned_quads": (4, 8, 16),
    "neon_dot_signed_quads": (4,),
    "wasm_dot_signed_quads": (4,),
    "wasm_dot_unsigned_quads": (4,),
}
"""Dots that are one instruction with the addition of what they are added to, and the lanes that it has."""
OF_SHORTS = {
    (SHORT_DOTS, 4): "llvm.wasm.relaxed.dot.i8x16.i7x16.signed",
    ("avx_short_dots", 8): "llvm.x86.avx2.pmadd.ub.sw",
    ("avx_short_dots", 16): "llvm.x86.avx512.pmaddubs.w.512",
}
"""By numbers of lanes. The operand of few bits is the second one in wasm, and the first one on x86."""
INTRINSICS = {
    "sqrt": "sqrt",
    "floor": "floor",
    "ceil": "ceil",
    "trunc": "trunc",
    "round": "nearbyint",
    "abs": "fabs",
}


class ExpressionWriter:
    """Appends instructions to `lines`; `block` is the current basic block's label."""

    def __init__(self, module: LlvmModule) -> None:
        self.module = module
        self.lines: list[str] = []
        self.block = "entry"
        self.values: dict[int, tuple[Expr, str]] = {}
        self.variables: dict[Var, str] = {}
        self.pointers: dict[Buffer, str] = {}
        self.constants: dict[str, str] = {}
        self._count = 0

    def fresh(self, hint: str = "v") -> str:
        self._count += 1
        return f"%{hint}{self._count}"

    def label(self, hint: str) -> str:
        self._count += 1
        return f"{hint}{self._count}"

    def emit(self, line: str) -> None:
        self.lines.append(f"  {line}")

    def instruction(self, text: str) -> str:
        name = self.fresh()
        self.emit(f"{name} = {text}")
        return name

    def value(self, e: Expr) -> str:
        """The SSA name or literal of `e`."""
        if isinstance(e, Const):
            return literal(e.value, e.type)
        if isinstance(e, Var):
            return self.variables[e]
        entry = self.values.get(id(e))
        if entry is not None:
            return entry[1]
        name = self._compute(e)
        self.values[id(e)] = (e, name)
        return name

    def _compute(self, e: Expr) -> str:
        lanes = lanes_of(e)
        kind = llvm_type(e.dtype, lanes)
        match e:
            case Unary(op, a):
                return self._unary(op, a, kind, lanes)
            case Binary(op, a, b):
                return self._binary(op, a, b, llvm_type(a.dtype, lanes))
            case Unlikely(c, a, b):
                return self._unlikely(c, a, b, kind, lanes)
            case Select(c, a, b):
                cond = llvm_type(c.dtype, lanes_of(c))
                return self.instruction(
                    f"select {cond} {self.value(c)}, {kind} {self.value(a)}, {kind} {self.value(b)}"
                )
            case Cast(dtype, a):
                return self._cast(dtype, a, lanes)
            case Bitcast(_, a):
                return self.instruction(f"bitcast {llvm_type(a.dtype, lanes)} {self.value(a)} to {kind}")
            case Splat(a, n):
                return self._splat(a, n)
            case Ramp(base, n):
                steps = f"<{', '.join(f'i32 {i}' for i in range(n))}>"
                if base == Const(0):
                    return steps
                return self.instruction(f"add {kind} {self.value(Splat(base, n))}, {steps}")
            case Load():
                return self._load(e, lanes)
        raise AssertionError(f"not lowered: {e!r}")

    def _splat(self, a: Expr, n: int) -> str:
        if isinstance(a, Const):
            text = f"<{', '.join([f'{llvm_type(a.dtype)} {literal(a.value, a.type)}'] * n)}>"
            return self.constants.get(text, text)
        kind = llvm_type(a.dtype, n)
        one = self.instruction(f"insertelement {kind} poison, {llvm_type(a.dtype)} {self.value(a)}, i32 0")
        return self.instruction(f"shufflevector {kind} {one}, {kind} poison, <{n} x i32> zeroinitializer")

    def _unary(self, op: str, a: Expr, kind: str, lanes: int) -> str:
        x = self.value(a)
        if op == "neg":
            return self.instruction(f"fneg {kind} {x}" if a.dtype.is_float else f"sub {kind} {self._zero(lanes)}, {x}")
        if op == "not":
            ones = "true" if a.dtype.name == "bool" else "-1"
            full = ones if lanes == 1 else f"<{', '.join([f'{llvm_type(a.dtype)} {ones}'] * lanes)}>"
            return self.instruction(f"xor {kind} {x}, {full}")
        if op == "abs" and not a.dtype.is_float:
            if a.dtype.kind != "int":
                return x
            negative = self.instruction(f"icmp slt {kind} {x}, {self._zero(lanes)}")
            minus = self.instruction(f"sub {kind} {self._zero(lanes)}, {x}")
            mask = llvm_type(a.dtype, lanes).replace(llvm_type(a.dtype), "i1")
            return self.instruction(f"select {mask} {negative}, {kind} {minus}, {kind} {x}")
        if not a.dtype.is_float and op in ("floor", "ceil", "trunc", "round"):
            return x
        return self._intrinsic(INTRINSICS[op], kind, [x])

    def _zero(self, lanes: int) -> str:
        return "0" if lanes == 1 else "zeroinitializer"

    def _intrinsic(self, name: str, kind: str, args: list[str]) -> str:
        suffix = _mangle(kind)
        self.module.declare(f"{kind} @llvm.{name}.{suffix}({', '.join([kind] * len(args))})")
        return self.instruction(f"call {kind} @llvm.{name}.{suffix}({', '.join(f'{kind} {a}' for a in args)})")

    def _binary(self, op: str, a: Expr, b: Expr, kind: str) -> str:
        if op == "+" and isinstance(b, Binary) and lanes_of(a) in ACCUMULATING.get(b.op, ()):
            return self._dot_onto(self.value(a), b.op, self.value(b.a), self.value(b.b), lanes_of(a))
        x, y = self.value(a), self.value(b)
        dtype = a.dtype
        if op in ORDERED:
            return self._compare(op, dtype, kind, x, y)
        if op in RELAXED:
            # Its second operand is what stays where one is a NaN.
            name = RELAXED[op]
            self.module.declare(f"{kind} @{name}({kind}, {kind})")
            return self.instruction(f"call {kind} @{name}({kind} {y}, {kind} {x})")
        if op in ("max", "min"):
            less = self._compare("<", dtype, kind, *((x, y) if op == "max" else (y, x)))
            mask = "i1" if not kind.startswith("<") else f"<{kind[1:].split()[0]} x i1>"
            return self.instruction(f"select {mask} {less}, {kind} {y}, {kind} {x}")
        if op in DOTS:
            if lanes_of(a) in ACCUMULATING.get(op, ()):
                return self._dot_onto("zeroinitializer", op, x, y, lanes_of(a))
            return self._dot(op, b.dtype, x, y, lanes_of(a))
        if op in SHORTS:
            return self._shorts(op, x, y, kind, lanes_of(a))
        if dtype.is_float:
            flags = "contract " if op in ("+", "-", "*") else ""
            return self.instruction(f"{FLOAT_BINARY[op]} {flags}{kind} {x}, {y}")
        if op == "/":
            return self.instruction(f"{'sdiv' if dtype.kind == 'int' else 'udiv'} {kind} {x}, {y}")
        if op == "shr":
            return self.instruction(f"{'ashr' if dtype.kind == 'int' else 'lshr'} {kind} {x}, {y}")
        return self.instruction(f"{INT_BINARY[op]} {kind} {x}, {y}")

    def _shorts(self, op: str, x: str, y: str, kind: str, lanes: int) -> str:
        """Words of two int16."""
        shorts, bytes_ = f"<{2 * lanes} x i16>", f"<{4 * lanes} x i8>"
        a, b = (self.instruction(f"bitcast {kind} {z} to {shorts if op == ADD_SHORTS else bytes_}") for z in (x, y))
        if op == ADD_SHORTS:
            result = self.instruction(f"add {shorts} {a}, {b}")
        elif (op, lanes) in OF_SHORTS:
            name = OF_SHORTS[op, lanes]
            first, second = (a, b) if op != SHORT_DOTS else (b, a)
            self.module.declare(f"{shorts} @{name}({bytes_}, {bytes_})")
            result = self.instruction(f"call {shorts} @{name}({bytes_} {first}, {bytes_} {second})")
        else:
            wide = f"<{4 * lanes} x i16>"
            a, b = (self.instruction(f"{e} {bytes_} {z} to {wide}") for e, z in (("zext", a), ("sext", b)))
            products = self.instruction(f"mul {wide} {a}, {b}")
            low, high = (self._every_nth(wide, products, 2 * lanes, 2, first) for first in (0, 1))
            result = self.instruction(f"add {shorts} {low}, {high}")
        return self.instruction(f"bitcast {shorts} {result} to {kind}")

    def _dot(self, op: str, of_b: DType, x: str, y: str, lanes: int) -> str:
        """The sums of products of the elements of words; those of `y` are of the type `of_b`."""
        dot = DOTS[op]
        sums, count = llvm_type(I32, lanes), dot.group * lanes
        wide = f"<{count} x i32>"
        a = self.instruction(f"bitcast {sums} {x} to <{count} x i{dot.a.bits}>")
        b = self.instruction(f"bitcast {llvm_type(of_b, lanes)} {y} to <{count} x i{of_b.bits // dot.group}>")
        if of_b != I32:
            b = self.instruction(f"sext <{count} x i8> {b} to <{count} x i16>")
        if op == "wasm_dot_pairs" and lanes == 4:
            self.module.declare("<4 x i32> @llvm.wasm.dot(<8 x i16>, <8 x i16>)")
            return self.instruction(f"call <4 x i32> @llvm.wasm.dot(<8 x i16> {a}, <8 x i16> {b})")
        extend = "sext" if dot.a.kind == "int" else "zext"
        a = self.instruction(f"{extend} <{count} x i{dot.a.bits}> {a} to {wide}")
        b = self.instruction(f"sext <{count} x i{dot.a.bits}> {b} to {wide}")
        products = self.instruction(f"mul nsw {wide} {a}, {b}")
        total, *others = (self._every_nth(wide, products, lanes, dot.group, first) for first in range(dot.group))
        for other in others:
            total = self.instruction(f"add {sums} {total}, {other}")
        return total

    def _dot_onto(self, total: str, op: str, x: str, y: str, lanes: int) -> str:
        """`total` plus a dot, as one instruction."""
        kind = llvm_type(I32, lanes)
        if op == "vnni_dot_unsigned_quads":
            name = f"llvm.x86.avx512.vpdpbusd.{32 * lanes}"
            self.module.declare(f"{kind} @{name}({kind}, {kind}, {kind})")
            return self.instruction(f"call {kind} @{name}({kind} {total}, {kind} {x}, {kind} {y})")
        a, b = (self.instruction(f"bitcast {kind} {word} to <16 x i8>") for word in (x, y))
        if op == "neon_dot_signed_quads":
            name = "llvm.aarch64.neon.sdot.v4i32.v16i8"
            self.module.declare(f"{kind} @{name}({kind}, <16 x i8>, <16 x i8>)")
            return self.instruction(f"call {kind} @{name}({kind} {total}, <16 x i8> {a}, <16 x i8> {b})")
        # Its second operand has the activations: unsigned on x86, signed on Arm.
        name = "llvm.wasm.relaxed.dot.i8x16.i7x16.add.signed"
        self.module.declare(f"{kind} @{name}(<16 x i8>, <16 x i8>, {kind})")
        return self.instruction(f"call {kind} @{name}(<16 x i8> {b}, <16 x i8> {a}, {kind} {total})")

    def _every_nth(self, kind: str, x: str, lanes: int, n: int, first: int) -> str:
        if lanes == 1:
            return self.instruction(f"extractelement {kind} {x}, i32 {first}")
        mask = ", ".join(f"i32 {n * i + first}" for i in range(lanes))
        return self.instruction(f"shufflevector {kind} {x}, {kind} poison, <{lanes} x i32> <{mask}>")

    def _compare(self, op: str, dtype: DType, kind: str, x: str, y: str) -> str:
        if dtype.is_float:
            return self.instruction(f"fcmp {ORDERED[op]} {kind} {x}, {y}")
        table = SIGNED if dtype.kind == "int" else UNSIGNED
        return self.instruction(f"icmp {table[op]} {kind} {x}, {y}")

    def _cast(self, to: DType, a: Expr, lanes: int) -> str:
        source, x = a.dtype, self.value(a)
        old, new = llvm_type(source, lanes), llvm_type(to, lanes)
        if to.name == "bool":
            zero = self._zero(lanes) if not source.is_float else ("0.0" if lanes == 1 else "zeroinitializer")
            return self.instruction(f"{'fcmp une' if source.is_float else 'icmp ne'} {old} {x}, {zero}")
        if source.is_float and to.is_float:
            return self.instruction(f"{'fpext' if to.bits > source.bits else 'fptrunc'} {old} {x} to {new}")
        if source.is_float and lanes > 1 and to == I32 and is_clamped(a):
            return self.instruction(f"fptosi {old} {x} to {new}")
        if source.is_float:
            name = "fptosi" if to.kind == "int" else "fptoui"
            full = f"{name}.sat.{_mangle(new)}.{_mangle(old)}"
            self.module.declare(f"{new} @llvm.{full}({old})")
            return self.instruction(f"call {new} @llvm.{full}({old} {x})")
        if to.is_float:
            return self.instruction(f"{'sitofp' if source.kind == 'int' else 'uitofp'} {old} {x} to {new}")
        width = 1 if source.name == "bool" else source.bits
        if to.bits == width:
            return x
        if to.bits < width:
            return self.instruction(f"trunc {old} {x} to {new}")
        return self.instruction(f"{'sext' if source.kind == 'int' else 'zext'} {old} {x} to {new}")

    def _load(self, e: Load, lanes: int) -> str:
        if e.guard is None:
            return self._fetch(e, lanes)
        zero = "zeroinitializer" if lanes > 1 else literal(0, e.dtype)
        return self._where_true(self.value(e.guard), lambda: self._fetch(e, lanes), zero, llvm_type(e.dtype, lanes))

    def _unlikely(self, cond: Expr, a: Expr, b: Expr, kind: str, lanes: int) -> str:
        """`a` is computed where some lane needs it."""
        test, other = self.value(cond), self.value(b)
        if lanes == 1:
            return self._where_true(test, lambda: self.value(a), other, kind)
        mask = llvm_type(cond.dtype, lanes)
        self.module.declare(f"i1 @llvm.vector.reduce.or.v{lanes}i1({mask})")
        some = self.instruction(f"call i1 @llvm.vector.reduce.or.v{lanes}i1({mask} {test})")

        def chosen() -> str:
            return self.instruction(f"select {mask} {test}, {kind} {self.value(a)}, {kind} {other}")

        return self._where_true(some, chosen, other, kind)

    def _where_true(self, test: str, compute: Callable[[], str], other: str, kind: str) -> str:
        """The value of `compute` where `test` holds, else `other`; a branch skips its instructions."""
        before, inside, after = self.block, self.label("in"), self.label("out")
        self.emit(f"br i1 {test}, label %{inside}, label %{after}")
        self.lines.append(f"{inside}:")
        self.block = inside
        # Values computed in here do not dominate what follows the branch.
        outer = self.values
        self.values = dict(outer)
        value = compute()
        self.values = outer
        last = self.block
        self.emit(f"br label %{after}")
        self.lines.append(f"{after}:")
        self.block = after
        return self.instruction(f"phi {kind} [ {value}, %{last} ], [ {other}, %{before} ]")

    def _fetch(self, e: Load, lanes: int) -> str:
        kind = memory_type(e.dtype, lanes)
        name = self.instruction(f"load {kind}, ptr {self.where(e)}, align {e.dtype.bytes}")
        if e.dtype.name == "bool":
            return self.instruction(f"icmp ne {kind} {name}, {self._zero(lanes)}")
        return name

    def store(self, s: Store) -> None:
        lanes = lanes_of(s.indices[0])
        value = self.value(s.value)
        kind = memory_type(s.buffer.dtype, lanes)
        if s.buffer.dtype.name == "bool":
            value = self.instruction(f"zext {llvm_type(s.buffer.dtype, lanes)} {value} to {kind}")
        self.emit(f"store {kind} {value}, ptr {self.where(s)}, align {s.buffer.dtype.bytes}")

    def where(self, access: Load | Store) -> str:
        """The pointer of an access."""
        (index,) = access.indices
        base = index.base if isinstance(index, Ramp) else index
        pointer = self.pointers[access.buffer]
        if access.buffer.scope is Scope.GLOBAL:
            return self.moved(pointer, base, access.buffer.dtype.bytes)
        if base == Const(0):
            return pointer
        kind = memory_type(access.buffer.dtype)
        return self.instruction(f"getelementptr inbounds {kind}, ptr {pointer}, {llvm_type(I32)} {self.value(base)}")

    def moved(self, pointer: str, offset: Expr, size: int) -> str:
        """pointer + offset elements of `size` bytes, each term of the sum in turn."""
        match offset:
            case Const(0):
                return pointer
            case Const(value):
                nuw = "nuw " if value > 0 else ""
                return self.instruction(f"getelementptr inbounds {nuw}i8, ptr {pointer}, i32 {int(value) * size}")
            case Binary("+", a, b):
                return self.moved(self.moved(pointer, a, size), b, size)
            case Binary("*", a, Const(c)):
                return self.advanced(pointer, self.value(a), int(c) * size)
        raise AssertionError(f"not lowered: {offset!r}")

    def advanced(self, pointer: str, count: str, size: int) -> str:
        """pointer + count * size bytes."""
        if count == "0":
            return pointer
        scaled = count if size == 1 else self.instruction(f"mul nsw i32 {count}, {size}")
        return self.instruction(f"getelementptr inbounds i8, ptr {pointer}, i32 {scaled}")


def _mangle(kind: str) -> str:
    """The suffix of an overloaded intrinsic: v4f32, i32, ..."""
    names = {"float": "f32", "double": "f64", "half": "f16"}
    if kind.startswith("<"):
        n, _, scalar = kind[1:-1].split()
        return f"v{n}{names.get(scalar, scalar)}"
    return names.get(kind, kind)
