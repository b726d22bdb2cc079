"""Renders a lowered kernel as LLVM functions: one for the kernel, one for each outlined region.

Loops advance pointers (one per distinct address form), so that in the innermost loop an access is a pointer plus a
constant, which is what a wasm load or an x86 operand can hold. What is decided here is instruction selection only.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ..ir.addresses import Address, Addresses, Items, address, offset_bias
from ..ir.calls import Call, HoistedConstants, Pointer, UnrolledInOrder
from ..ir.lanes import Ramp, Splat, lanes_of
from ..ir.nodes import (
    Alloc,
    Buffer,
    Expr,
    For,
    Kernel,
    Load,
    LoopKind,
    Seq,
    Stmt,
    Store,
    Var,
)
from ..ir.rewrite import free_vars
from .llvm_expression import ExpressionWriter, Pointers
from .llvm_module import LlvmModule
from .llvm_types import llvm_type, memory_type

PARALLEL_FOR = "parallel_for"
"""`void parallel_for(ptr body, ptr arguments, i32 extent)` of the target calls `body(arguments, begin, end)` for chunks
that make up 0 .. extent, on any threads in any order, and returns when all are done."""


def render_kernel(kernel: Kernel, module: LlvmModule) -> str:
    """Adds the kernel's functions to `module`; returns the name of the one that takes its parameters, as pointers, and
    its scalars, as i32."""
    names = {p: f"%p{i}" for i, p in enumerate(kernel.params)}
    scalars: dict[Var, str] = {v: f"%s{i}" for i, v in enumerate(kernel.scalars)}
    f = FunctionWriter(module, {(p, frozenset()): n for p, n in names.items()}, dict(scalars))
    f.statement(kernel.body)
    return module.add(
        "kernel", f.text([*(f"ptr {n}" for n in names.values()), *(f"i32 {n}" for n in scalars.values())])
    )


class FunctionWriter(ExpressionWriter):
    """One LLVM function in the making. `pointers` maps (buffer, items) to what points there, biased."""

    def __init__(self, module: LlvmModule, pointers: Pointers, variables: dict[Var, str]) -> None:
        super().__init__(module)
        self.pointers = pointers
        self.variables = variables
        self.entry: list[str] = []
        self.addresses = Addresses()
        self.ahead: dict[tuple[Buffer, Items], tuple[str, int]] = {}

    def text(self, params: list[str]) -> str:
        head = f"define internal void @@({', '.join(params)}) noinline #0 {{\nentry:"
        return "\n".join([head, *self.entry, *self.lines, "  ret void", "}"])

    def statement(self, s: Stmt) -> None:
        match s:
            case Seq(stmts):
                for x in stmts:
                    self.statement(x)
            case Store():
                self.values.clear()
                self.store(s)
                self.values.clear()
            case Alloc(buffer, body):
                slot = self.fresh("local")
                kind = memory_type(buffer.dtype)
                self.entry.append(f"  {slot} = alloca [{max(buffer.size, 1)} x {kind}], align 16")
                self.locals[buffer] = slot
                self.statement(body)
            case For(Var(length=None), _, LoopKind.SERIAL, _):
                self.loop(s)
            case For(Var(length=Expr() as length), _, LoopKind.SERIAL, _):
                with self.where_positive(length) as trips:
                    self.loop(s, end=trips)
            case UnrolledInOrder():
                self.in_order(s)
            case Call(For(Var(length=None), _, LoopKind.CORE, _) as loop):
                self.parallel_region(s, loop, str(loop.var.extent))
            case Call(For(Var(length=Expr() as length), _, LoopKind.CORE, _) as loop):
                with self.where_positive(length) as trips:
                    self.parallel_region(s, loop, trips)
            case Call():
                self.tile(s)
            case _:
                raise AssertionError(f"not lowered: {s!r}")

    @contextmanager
    def where_positive(self, length: Expr) -> Iterator[str]:
        """The value of `length`; what is written inside happens where it is more than 0."""
        self.values.clear()
        trips = self.value(length)
        inside, after = self.label("some"), self.label("none")
        positive = self.instruction(f"icmp sgt i32 {trips}, 0")
        self.emit(f"br i1 {positive}, label %{inside}, label %{after}")
        self.lines.append(f"{inside}:")
        self.block = inside
        saved = dict(self.pointers)
        yield trips
        self.pointers = saved
        self.emit(f"br label %{after}")
        self.lines.append(f"{after}:")
        self.block = after
        self.values.clear()

    def loop(self, loop: For, begin: str = "0", end: str = "") -> None:
        """Counts up, from `begin` to `end` where they are given (which are then not equal); the pointers that the loop
        advances are phis beside the counter."""
        head, done, before = self.label("loop"), self.label("done"), self.block
        saved = dict(self.pointers), dict(self.variables), dict(self.constants)
        moving, derived = self._loop_pointers(loop, begin)
        counter = self.fresh("i")
        body = loop.body
        if isinstance(body, HoistedConstants):
            self._hold(body.constants)
            body = body.body
        self.emit(f"br label %{head}")
        self.lines.append(f"{head}:")
        slot = len(self.lines)
        self.lines.append("")
        self.block = head
        self.variables[loop.var] = counter
        for buffer, now, place in derived:
            rest = frozenset(i for i in now if i[0] != loop.var and free_vars(i[0]) & {loop.var})
            self.pointers[buffer, now] = self.offset(place, buffer, rest, 0)
        self.values.clear()
        self.statement(body)
        following = self.instruction(f"add nuw nsw i32 {counter}, 1")
        nexts = [self.instruction(f"getelementptr inbounds i8, ptr {p}, i32 {step}") for p, _, step in moving]
        last = self.instruction(f"icmp eq i32 {following}, {end or loop.var.extent}")
        self.emit(f"br i1 {last}, label %{done}, label %{head}")
        phis = [f"  {counter} = phi i32 [ {begin}, %{before} ], [ {following}, %{self.block} ]"]
        for (p, start, _), n in zip(moving, nexts, strict=True):
            phis.append(f"  {p} = phi ptr [ {start}, %{before} ], [ {n}, %{self.block} ]")
        self.lines[slot] = "\n".join(phis)
        self.lines.append(f"{done}:")
        self.block = done
        self.pointers, self.variables, self.constants = saved
        self.values.clear()

    def _loop_pointers(
        self, loop: For, begin: str
    ) -> tuple[list[tuple[str, str, int]], list[tuple[Buffer, Items, str]]]:
        """The pointers that the loop advances: name, start, step in bytes. And the forms that are known inside and lie
        otherwise: buffer, items, the pointer from which they are reached."""
        bound = frozenset(self.variables)
        inside = bound | {loop.var}
        forms = dict.fromkeys((a.buffer, a.within(inside), a.within(bound)) for a in self.addresses.below(loop.body))
        changing = [(buffer, now, outside) for buffer, now, outside in forms if now != outside]
        starts: dict[tuple[Buffer, Items], str] = {}
        for buffer, _, outside in changing:
            if (buffer, outside) not in starts:
                starts[buffer, outside] = self.pointer(buffer, outside)
        moving: list[tuple[str, str, int]] = []
        derived: list[tuple[Buffer, Items, str]] = []
        for buffer, now, outside in changing:
            place = starts[buffer, outside]
            step = dict(now).get(loop.var, 0)
            advanced = frozenset({*outside, (loop.var, step)}) if step else outside
            if step:
                if (buffer, advanced) not in self.pointers:
                    self.pointers[buffer, advanced] = self.fresh("at")
                    size = step * buffer.dtype.bytes
                    first = self.offset(place, buffer, frozenset(), offset_bias(frozenset({(loop.var, step)})))
                    moving.append((self.pointers[buffer, advanced], self.advance(first, begin, size), size))
                place = self.pointers[buffer, advanced]
            if advanced != now:
                derived.append((buffer, now, place))
        return moving, derived

    def _hold(self, constants: tuple[Splat, ...]) -> None:
        """Makes constants opaque, so that LLVM does not put them back into the loop."""
        for c in constants:
            text = self.value(c)
            self.constants[text] = self._opaque(llvm_type(c.dtype, c.lanes), text, fixed=False)

    def in_order(self, s: UnrolledInOrder) -> None:
        """The iterations. Between them, what they keep in registers passes through an empty instruction that LLVM can
        see nothing of, so that what stands before is computed before."""
        around = dict(self.ahead)
        for i, iteration in enumerate(s.iterations):
            if i:
                for total in s.sums:
                    self._settle(total)
                for advance in s.advances:
                    self._advance(address(advance.pointer), advance.step)
            self.statement(iteration)
        self.ahead = around

    def _advance(self, pointer: Address, step: int) -> None:
        """Moves a pointer, which is opaque from here on."""
        key = pointer.buffer, pointer.items
        at, done = self.ahead.get(key, (self.pointer(*key), 0))
        at = self.offset(at, pointer.buffer, frozenset(), step)
        self.ahead[key] = self._opaque("ptr", at), done + step

    def _settle(self, total: Load) -> None:
        """Makes an element of a local buffer opaque from here on."""
        kind, align = memory_type(total.dtype, lanes_of(total)), total.dtype.bytes
        slot = self._where(total)
        value = self._opaque(kind, self.instruction(f"load {kind}, ptr {slot}, align {align}"))
        self.emit(f"store {kind} {value}, ptr {slot}, align {align}")

    def _opaque(self, kind: str, value: str, *, fixed: bool = True) -> str:
        """`value`, opaque to LLVM's optimiser; where it is `fixed`, not moved to before this point either."""
        register = "r" if kind == "ptr" else "xr"
        effect = " sideeffect" if fixed else ""
        return self.instruction(f'call {kind} asm{effect} "", "={register},0"({kind} {value})')

    def pointer(self, buffer: Buffer, items: Items) -> str:
        """A pointer to buffer + items, all of them known here, biased."""
        found = self.pointers.get((buffer, items))
        if found is None:
            found = self.offset(self.pointers[buffer, frozenset()], buffer, items, 0)
            self.pointers[buffer, items] = found
        return found

    def offset(self, base: str, buffer: Buffer, items: Items, constant: int) -> str:
        """base + items + constant elements, biased by what the items need."""
        size = buffer.dtype.bytes
        if bias := offset_bias(items):
            base = self.offset(base, buffer, frozenset(), bias)
        for atom, c in sorted(items, key=lambda item: self._rank(*item)):
            base = self.advance(base, self.value(atom), c * size)
        if constant:
            nuw = "nuw " if constant > 0 else ""
            base = self.instruction(f"getelementptr inbounds {nuw}i8, ptr {base}, i32 {constant * size}")
        return base

    def advance(self, base: str, count: str, size: int) -> str:
        """base + count * size bytes."""
        if count == "0":
            return base
        scaled = count if size == 1 else self.instruction(f"mul nsw i32 {count}, {size}")
        return self.instruction(f"getelementptr inbounds i8, ptr {base}, i32 {scaled}")

    def _rank(self, atom: Expr, coefficient: int) -> tuple[int, str, list[str]]:
        """An order that does not depend on identities, so that equal input gives equal text."""
        return -coefficient, repr(atom), sorted(self.variables.get(v, "") for v in free_vars(atom))

    def at(self, pointer: Pointer) -> str:
        """A pointer as a value."""
        a = address(pointer)
        return self.offset(self.pointer(a.buffer, a.items), a.buffer, frozenset(), a.constant - offset_bias(a.items))

    def place(self, access: Load | Store) -> str:
        """The pointer of an access to global memory."""
        a = self.addresses.of(access)
        known = a.within(frozenset(self.variables))
        base, done = self.pointer(a.buffer, known), 0
        if not isinstance(access.indices[0], Ramp):
            base, done = self.ahead.get((a.buffer, known), (base, 0))
        return self.offset(base, a.buffer, a.items - known, a.constant - offset_bias(a.items) - done)

    def parallel_region(self, s: Call, loop: For, trips: str) -> None:
        """The loop as a function `(arguments, begin, end)`, which `parallel_for` calls for chunks of the iterations;
        the arguments are the pointers and the numbers, in memory. `trips` is 1 or more."""
        kind = f"{{ {', '.join(['ptr'] * len(s.pointers) + ['i32'] * len(s.numbers))} }}"
        f = FunctionWriter(self.module, {}, {})
        slot = self.fresh("arguments")
        self.entry.append(f"  {slot} = alloca {kind}, align 16")

        def argument(number: int, of: str, value: str) -> str:
            """Stored here, and loaded by the function."""
            place = self.instruction(f"getelementptr inbounds {kind}, ptr {slot}, i32 0, i32 {number}")
            self.emit(f"store {of} {value}, ptr {place}")
            inner = f.instruction(f"getelementptr inbounds {kind}, ptr %arguments, i32 0, i32 {number}")
            return f.instruction(f"load {of}, ptr {inner}")

        for i, (param, pointer) in enumerate(zip(s.params, s.pointers, strict=True)):
            f.pointers[param, frozenset()] = argument(i, "ptr", self.at(pointer))
        for i, v in enumerate(s.numbers, len(s.pointers)):
            f.variables[v] = argument(i, "i32", self.variables[v])
        f.loop(loop, "%begin", "%end")
        self.module.declare(f"void @{PARALLEL_FOR}(ptr, ptr, i32)")
        name = self.module.add("cores", f.text(["ptr %arguments", "i32 %begin", "i32 %end"]))
        self.emit(f"call void @{PARALLEL_FOR}(ptr @{name}, ptr {slot}, i32 {trips})")

    def tile(self, s: Call) -> None:
        """The call of a function of pointers and numbers; equal ones become one."""
        arguments = [f"ptr {self.at(p)}" for p in s.pointers] + [f"i32 {self.variables[v]}" for v in s.numbers]
        pointers: Pointers = {(b, frozenset()): f"%p{i}" for i, b in enumerate(s.params)}
        variables = {v: f"%n{i}" for i, v in enumerate(s.numbers)}
        params = [f"ptr {p}" for p in pointers.values()] + [f"i32 {n}" for n in variables.values()]
        f = FunctionWriter(self.module, pointers, variables)
        f.statement(s.body)
        name = self.module.add("tile", f.text(params))
        self.emit(f"call void @{name}({', '.join(arguments)})")
