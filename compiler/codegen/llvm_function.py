"""Renders a lowered kernel as LLVM functions: one for the kernel, one for each outlined region.

Loops advance pointers (one per distinct address form), so that in the innermost loop an access is a pointer plus a
constant, which is what a wasm load or an x86 operand can hold. What is decided here is instruction selection only.
"""

from __future__ import annotations

from ..dtypes import F32
from ..ir.addresses import Addresses, Items, affine_terms, lift
from ..ir.index import Affine
from ..ir.lanes import Ramp, Splat, lanes_of
from ..ir.nodes import (
    Alloc,
    Buffer,
    Const,
    Expr,
    For,
    Kernel,
    Load,
    LoopKind,
    Node,
    Outline,
    Scope,
    Seq,
    Stmt,
    Store,
    Var,
)
from ..ir.rewrite import free_vars, rewrite_top_down, substitute, walk
from .llvm_expression import ExpressionWriter, Pointers
from .llvm_module import LlvmModule
from .llvm_types import llvm_type, memory_type

MANY_CONSTANTS = 8
"""Vectors of constants in a loop from which on they compete for registers: a polynomial's coefficients, say."""

PARALLEL_FOR = "parallel_for"
"""`void parallel_for(ptr body, ptr arguments, i32 extent)` of the target calls `body(arguments, begin, end)` for chunks
that make up 0 .. extent, on any threads in any order, and returns when all are done."""


def render_kernel(kernel: Kernel, module: LlvmModule) -> str:
    """Adds the kernel's functions to `module`; returns the name of the one that takes its parameters, as pointers."""
    names = {p: f"%p{i}" for i, p in enumerate(kernel.params)}
    f = FunctionWriter(module, {(p, frozenset()): n for p, n in names.items()}, {})
    f.statement(kernel.body)
    return module.add("kernel", f.text([f"ptr {n}" for n in names.values()]))


class FunctionWriter(ExpressionWriter):
    """One LLVM function in the making. `pointers` maps (buffer, items) to what points there, lifted."""

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
            case For(_, _, LoopKind.SERIAL, _):
                self.loop(s)
            case For(_, _, LoopKind.IN_ORDER, _):
                self.in_order(s)
            case For(_, _, LoopKind.CORE, _):
                self.share(s)
            case Outline(body):
                self.call(body)
            case _:
                raise AssertionError(f"not lowered: {s!r}")

    def loop(self, loop: For, begin: str = "0", end: str = "") -> None:
        """Counts up, from `begin` to `end` where they are given (which are then not equal); the pointers that the loop
        advances are phis beside the counter."""
        bound = frozenset(self.variables)
        inside = bound | {loop.var}
        forms = dict.fromkeys((a.buffer, a.within(inside), a.within(bound)) for a in self.addresses.below(loop.body))
        head, done, before = self.label("loop"), self.label("done"), self.block
        saved_pointers, saved_variables = dict(self.pointers), dict(self.variables)
        moving: list[tuple[str, str, int]] = []
        late: list[tuple[Buffer, Items, str]] = []
        starts: dict[tuple[Buffer, Items], str] = {}
        for buffer, now, outside in forms:
            if now != outside and (buffer, outside) not in starts:
                starts[buffer, outside] = self.pointer(buffer, outside)
        for buffer, now, outside in forms:
            if now == outside:
                continue
            start = starts[buffer, outside]
            step = dict(now).get(loop.var, 0)
            place = start
            if step:
                advanced = frozenset({*outside, (loop.var, step)})
                if (buffer, advanced) not in self.pointers:
                    self.pointers[buffer, advanced] = self.fresh("at")
                    size = step * buffer.dtype.bytes
                    first = self.offset(start, buffer, frozenset(), lift(frozenset({(loop.var, step)})))
                    moving.append((self.pointers[buffer, advanced], self.advance(first, begin, size), size))
                place = self.pointers[buffer, advanced]
                if advanced != now:
                    late.append((buffer, now, place))
            else:
                late.append((buffer, now, place))
        counter = self.fresh("i")
        saved_constants = dict(self.constants)
        self._keep_constants(loop.body)
        self.emit(f"br label %{head}")
        self.lines.append(f"{head}:")
        slot = len(self.lines)
        self.lines.append("")
        self.block = head
        self.variables[loop.var] = counter
        for buffer, now, place in late:
            rest = frozenset(i for i in now if i[0] != loop.var and free_vars(i[0]) & {loop.var})
            self.pointers[buffer, now] = self.offset(place, buffer, rest, 0)
        self.values.clear()
        self.statement(loop.body)
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
        self.pointers, self.variables = saved_pointers, saved_variables
        self.constants = saved_constants
        self.values.clear()

    def _keep_constants(self, body: Stmt) -> None:
        """Makes the vectors of constants of an innermost loop opaque, where they are many: LLVM for wasm puts what it
        counts no registers for back into the loop, and V8 takes three instructions for each of them, each time."""
        found: dict[str, str] = {}
        for n in walk(body):
            if isinstance(n, For):
                return
            if isinstance(n, Splat) and isinstance(n.a, Const) and n.a.dtype == F32 and n.a.value != 0:
                found[self.value(n)] = llvm_type(n.a.dtype, n.lanes)
        if len(found) >= MANY_CONSTANTS:
            self.constants.update({text: self._opaque(kind, text, fixed=False) for text, kind in found.items()})

    def in_order(self, loop: For) -> None:
        """The iterations one behind the other. Between them, what they keep in registers passes through an empty
        instruction that LLVM knows nothing of, so that what stands before is computed before.

        Single elements are read through pointers that advance likewise: V8 takes an instruction to add a constant to
        the address of a load that fills a vector with one element, and another one for each constant.
        """
        sums = {(n.buffer, n.indices): n for n in walk(loop.body) if isinstance(n, Store) and n.buffer in self.locals}
        walks = self._walks(loop)
        around = dict(self.ahead)
        for i in range(loop.var.extent):
            if i:
                for store in sums.values():
                    self._settle(store)
                for (buffer, items), step in walks.items():
                    at, done = self.ahead.get((buffer, items), (self.pointer(buffer, items), 0))
                    at = self.offset(at, buffer, frozenset(), step)
                    self.ahead[buffer, items] = self._opaque("ptr", at), done + step
            self.statement(substitute(loop.body, {loop.var: Const(i)}))
        self.ahead = around

    def _walks(self, loop: For) -> dict[tuple[Buffer, Items], int]:
        """The pointers through which single elements are read, with how far the loop moves each, in elements. What it
        moves down stays: on the way it might leave the memory, where what a load adds does not wrap around."""
        bound = frozenset(self.variables)
        found: dict[tuple[Buffer, Items], int] = {}
        for n in walk(loop.body):
            if isinstance(n, Load) and n.buffer.scope is Scope.GLOBAL and not isinstance(n.indices[0], Ramp):
                a = self.addresses.of(n)
                known = a.within(bound)
                moved = dict(a.items - known)
                if moved.keys() == {loop.var} and moved[loop.var] > 0:
                    found.setdefault((a.buffer, known), moved[loop.var])
        return found

    def _settle(self, store: Store) -> None:
        """What `store` has left in a local buffer is opaque from here on."""
        kind, align = memory_type(store.buffer.dtype, lanes_of(store.indices[0])), store.buffer.dtype.bytes
        slot = self._where(store)
        value = self._opaque(kind, self.instruction(f"load {kind}, ptr {slot}, align {align}"))
        self.emit(f"store {kind} {value}, ptr {slot}, align {align}")

    def _opaque(self, kind: str, value: str, *, fixed: bool = True) -> str:
        """`value`, of which LLVM knows no more; where it is `fixed`, computed by now and not earlier either."""
        register = "r" if kind == "ptr" else "xr"
        effect = " sideeffect" if fixed else ""
        return self.instruction(f'call {kind} asm{effect} "", "={register},0"({kind} {value})')

    def pointer(self, buffer: Buffer, items: Items) -> str:
        """A pointer to buffer + items, all of them known here, lifted."""
        found = self.pointers.get((buffer, items))
        if found is None:
            found = self.offset(self.pointers[buffer, frozenset()], buffer, items, 0)
            self.pointers[buffer, items] = found
        return found

    def offset(self, base: str, buffer: Buffer, items: Items, constant: int) -> str:
        """base + items + constant elements, lifted by what the items need."""
        size = buffer.dtype.bytes
        if above := lift(items):
            base = self.offset(base, buffer, frozenset(), above)
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

    def place(self, access: Load | Store) -> str:
        """The pointer of an access to global memory."""
        a = self.addresses.of(access)
        known = a.within(frozenset(self.variables))
        base, done = self.pointer(a.buffer, known), 0
        if not isinstance(access.indices[0], Ramp):
            base, done = self.ahead.get((a.buffer, known), (base, 0))
        return self.offset(base, a.buffer, a.items - known, a.constant - lift(a.items) - done)

    def share(self, loop: For) -> None:
        """The loop as a function `(arguments, begin, end)`, which `parallel_for` calls for chunks of the iterations;
        the arguments are pointers to the buffers and the variables of loops around this one, in memory."""
        buffers = list(dict.fromkeys(a.buffer for a in self.addresses.below(loop.body)))
        needed = free_vars(loop)
        around = [v for v in self.variables if v in needed]
        kind = f"{{ {', '.join(['ptr'] * len(buffers) + ['i32'] * len(around))} }}"
        f = FunctionWriter(self.module, {}, {})
        slot = self.fresh("arguments")
        self.entry.append(f"  {slot} = alloca {kind}, align 16")

        def argument(number: int, of: str, value: str) -> str:
            """Stored here, and loaded by the function."""
            place = self.instruction(f"getelementptr inbounds {kind}, ptr {slot}, i32 0, i32 {number}")
            self.emit(f"store {of} {value}, ptr {place}")
            inner = f.instruction(f"getelementptr inbounds {kind}, ptr %arguments, i32 0, i32 {number}")
            return f.instruction(f"load {of}, ptr {inner}")

        for i, b in enumerate(buffers):
            f.pointers[b, frozenset()] = argument(i, "ptr", self.pointers[b, frozenset()])
        for i, v in enumerate(around, len(buffers)):
            f.variables[v] = argument(i, "i32", self.variables[v])
        f.loop(loop, "%begin", "%end")
        self.module.declare(f"void @{PARALLEL_FOR}(ptr, ptr, i32)")
        name = self.module.add("cores", f.text(["ptr %arguments", "i32 %begin", "i32 %end"]))
        self.emit(f"call void @{PARALLEL_FOR}(ptr @{name}, ptr {slot}, i32 {loop.var.extent})")

    def call(self, body: Stmt) -> None:
        """The region as a function of pointers to what it touches (outer variables and least constants already added)
        and of the outer variables that it needs as numbers; equal regions become one function."""
        bound = frozenset(self.variables)
        groups: dict[tuple[Buffer, Items, Items], int] = {}
        for a in self.addresses.below(body):
            outer = a.within(bound)
            key = (a.buffer, outer, a.items - outer)
            least = a.constant - lift(a.items - outer)
            groups[key] = min(groups.get(key, least), least)
        arguments: list[str] = []
        stand_ins: dict[tuple[Buffer, Items], tuple[Buffer, Items, int]] = {}
        pointers: Pointers = {}
        for (buffer, outer, inner), least in groups.items():
            stand_in = Buffer(buffer.name, buffer.shape, buffer.dtype)
            pointers[stand_in, frozenset()] = f"%p{len(arguments)}"
            argument = self.offset(self.pointer(buffer, outer), buffer, frozenset(), least - lift(outer))
            arguments.append(f"ptr {argument}")
            stand_ins[buffer, outer | inner] = (stand_in, inner, least)
        region = _rebase(body, stand_ins, self.addresses)
        needed = free_vars(region)
        variables: dict[Var, str] = {}
        for v, name in self.variables.items():
            if v in needed:
                variables[v] = f"%n{len(variables)}"
                arguments.append(f"i32 {name}")
        params = [f"ptr {p}" for p in pointers.values()] + [f"i32 {n}" for n in variables.values()]
        f = FunctionWriter(self.module, pointers, variables)
        f.statement(region)
        name = self.module.add("tile", f.text(params))
        self.emit(f"call void @{name}({', '.join(arguments)})")


def _rebase(body: Stmt, stand_ins: dict[tuple[Buffer, Items], tuple[Buffer, Items, int]], addresses: Addresses) -> Stmt:
    """The region with its accesses relative to the pointers that it is called with."""

    def index(access: Load | Store) -> tuple[Buffer, Expr]:
        a = addresses.of(access)
        stand_in, inner, least = stand_ins[a.buffer, a.items]
        terms = tuple(t for t in affine_terms(access) if t in inner)
        flat = _swap(Affine(terms, a.constant - least).to_expr())
        at = access.indices[0]
        return stand_in, Ramp(flat, at.lanes) if isinstance(at, Ramp) else flat

    def rule(n: Node) -> Node | None:
        match n:
            case Load(buffer, _, guard) if buffer.scope is Scope.GLOBAL:
                stand_in, at = index(n)
                return Load(stand_in, (at,), None if guard is None else _swap(guard))
            case Store(buffer, _, value) if buffer.scope is Scope.GLOBAL:
                stand_in, at = index(n)
                return Store(stand_in, (at,), _swap(value))
        return None

    def _swap(e: Expr) -> Expr:
        return rewrite_top_down(e, rule)

    return rewrite_top_down(body, rule)
