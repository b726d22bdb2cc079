"""Prints a lowered kernel as LLVM functions: one for the kernel, one for each outlined region. Nothing is decided here:
`lower_addresses` made the pointers that loops advance."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ..ir.calls import Call, HoistedConstants, Pointer
from ..ir.lanes import Splat, lanes_of
from ..ir.nodes import (
    Alloc,
    Buffer,
    Const,
    Expr,
    For,
    Kernel,
    Load,
    LoopKind,
    Scalar,
    Seq,
    Stmt,
    Store,
    Var,
)
from ..ir.pointers import Advancing, Opaque, PointTo, shared_loop
from .llvm_expression import ExpressionWriter
from .llvm_module import LlvmModule
from .llvm_types import llvm_type, memory_type
from .whole_loop import PARALLEL_FOR, WholeLoop, structure

BEGIN, END = "%begin", "%end"
"""The range of iterations that a loop's function is given."""


def render_kernel(kernel: Kernel, module: LlvmModule) -> str:
    """Adds the kernel's functions to `module`; returns the name of the one that takes its parameters, as pointers, and
    its scalars, as i32."""
    pointers = {p: f"%p{i}" for i, p in enumerate(kernel.params)}
    scalars: dict[Var, str] = {v: f"%s{i}" for i, v in enumerate(kernel.scalars)}
    params = [*(f"ptr {n}" for n in pointers.values()), *(f"i32 {n}" for n in scalars.values())]
    f = FunctionWriter(module, pointers, scalars)
    f.statement(kernel.body)
    name = module.add("kernel", f.text(params))
    if isinstance(kernel.body, Call) and (loop := _whole_loop(kernel, kernel.body, f.shared)):
        module.loops[name] = loop
    return name


def _whole_loop(kernel: Kernel, call: Call, body: str) -> WholeLoop | None:
    """The loop that the kernel is, of the function `body`; None where its body is none, or its length no constant."""
    loop = shared_loop(call)
    if loop is None or loop.var.length is not None or any(p.offset != Const(0) for p in call.pointers):
        return None
    fields = [kernel.params.index(p.buffer) for p in call.pointers]
    fields += [len(kernel.params) + kernel.scalars.index(v) for v in call.numbers if isinstance(v, Scalar)]
    sizes = [p.size * p.dtype.bytes for p in kernel.params]
    return WholeLoop(body, _types(call), fields, loop.var.extent, sizes, kernel.outputs)


def _types(call: Call) -> list[str]:
    """The types of the arguments of a loop's function: pointers, and numbers."""
    return ["ptr"] * len(call.pointers) + ["i32"] * len(call.numbers)


class FunctionWriter(ExpressionWriter):
    """One LLVM function in the making."""

    def __init__(self, module: LlvmModule, pointers: dict[Buffer, str], variables: dict[Var, str]) -> None:
        super().__init__(module)
        self.pointers = pointers
        self.variables = variables
        self.entry: list[str] = []
        self.shared = ""
        """The function of a loop that threads share, the last one."""

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
                self.pointers[buffer] = slot
                self.statement(body)
            case PointTo(pointer, at, body, opaque):
                place = self.address(at)
                self.pointers[pointer] = self._opaque("ptr", place) if opaque else place
                self.statement(body)
            case For(Var(length=None), _, LoopKind.SERIAL, _):
                self.loop(s, "0", str(s.var.extent))
            case For(Var(length=Expr() as length), _, LoopKind.SERIAL, _):
                with self.where_positive(length) as trips:
                    self.loop(s, "0", trips)
            case For(_, _, LoopKind.CORE, _):
                self.loop(s, BEGIN, END)
            case Opaque(elements):
                for element in elements:
                    self._make_opaque(element)
            case Call():
                self.call(s)
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
        yield trips
        self.emit(f"br label %{after}")
        self.lines.append(f"{after}:")
        self.block = after
        self.values.clear()

    def loop(self, loop: For, begin: str, end: str) -> None:
        """Counts up, from `begin` to `end`, which are not equal; the pointers that the loop advances are phis beside
        the counter."""
        head, done, before = self.label("loop"), self.label("done"), self.block
        constants = self.constants
        body = loop.body
        moving: list[tuple[str, str, int]] = []
        if isinstance(body, Advancing):
            for p in body.pointers:
                name, step = self.fresh("at"), p.step * p.pointer.dtype.bytes
                moving.append((name, self.advanced(self.address(p.start), begin, step), step))
                self.pointers[p.pointer] = name
            body = body.body
        counter = self.variables[loop.var] = self.fresh("i")
        if isinstance(body, HoistedConstants):
            self.constants = constants | self._held(body.constants)
            body = body.body
        self.emit(f"br label %{head}")
        self.lines.append(f"{head}:")
        slot = len(self.lines)
        self.lines.append("")
        self.block = head
        self.values.clear()
        self.statement(body)
        following = self.instruction(f"add nuw nsw i32 {counter}, 1")
        nexts = [self.instruction(f"getelementptr inbounds i8, ptr {at}, i32 {step}") for at, _, step in moving]
        last = self.instruction(f"icmp eq i32 {following}, {end}")
        self.emit(f"br i1 {last}, label %{done}, label %{head}")
        phis = [f"  {counter} = phi i32 [ {begin}, %{before} ], [ {following}, %{self.block} ]"]
        for (at, start, _), n in zip(moving, nexts, strict=True):
            phis.append(f"  {at} = phi ptr [ {start}, %{before} ], [ {n}, %{self.block} ]")
        self.lines[slot] = "\n".join(phis)
        self.lines.append(f"{done}:")
        self.block = done
        self.constants = constants
        self.values.clear()

    def address(self, p: Pointer) -> str:
        """An address as a value."""
        return self.moved(self.pointers[p.buffer], p.offset, p.buffer.dtype.bytes)

    def _held(self, constants: tuple[Splat, ...]) -> dict[str, str]:
        """Opaque constants, by what they are: LLVM does not put them back into the loop."""
        texts = {self.value(c): llvm_type(c.dtype, c.lanes) for c in constants}
        return {text: self._opaque(kind, text, fixed=False) for text, kind in texts.items()}

    def _make_opaque(self, element: Load) -> None:
        """Passes an element of a local buffer through an empty instruction that is opaque to LLVM."""
        kind, align = memory_type(element.dtype, lanes_of(element)), element.dtype.bytes
        slot = self.where(element)
        value = self._opaque(kind, self.instruction(f"load {kind}, ptr {slot}, align {align}"))
        self.emit(f"store {kind} {value}, ptr {slot}, align {align}")

    def _opaque(self, kind: str, value: str, *, fixed: bool = True) -> str:
        """`value`, opaque to LLVM's optimiser; where it is `fixed`, not moved to before this point either."""
        register = "r" if kind == "ptr" else "xr"
        effect = " sideeffect" if fixed else ""
        return self.instruction(f'call {kind} asm{effect} "", "={register},0"({kind} {value})')

    def call(self, s: Call) -> None:
        """A function of pointers and numbers, or of a range of a loop's iterations; equal functions become one."""
        loop = shared_loop(s)
        if loop is None:
            self.tile(s)
        elif loop.var.length is None:
            self.parallel_region(s, str(loop.var.extent))
        else:
            with self.where_positive(loop.var.length) as trips:
                self.parallel_region(s, trips)

    def parallel_region(self, s: Call, trips: str) -> None:
        """The loop as a function `(arguments, begin, end)`, which `parallel_for` calls for chunks of the iterations;
        the arguments are the pointers and the numbers, in memory. `trips` is 1 or more."""
        kind = structure(_types(s))
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
            f.pointers[param] = argument(i, "ptr", self.address(pointer))
        for i, v in enumerate(s.numbers, len(s.pointers)):
            f.variables[v] = argument(i, "i32", self.variables[v])
        f.statement(s.body)
        self.module.declare(f"void @{PARALLEL_FOR}(ptr, ptr, i32)")
        self.shared = self.module.add("cores", f.text(["ptr %arguments", f"i32 {BEGIN}", f"i32 {END}"]))
        self.emit(f"call void @{PARALLEL_FOR}(ptr @{self.shared}, ptr {slot}, i32 {trips})")

    def tile(self, s: Call) -> None:
        """The call of a function of pointers and numbers."""
        arguments = [f"ptr {self.address(p)}" for p in s.pointers] + [f"i32 {self.variables[v]}" for v in s.numbers]
        pointers = {b: f"%p{i}" for i, b in enumerate(s.params)}
        variables = {v: f"%n{i}" for i, v in enumerate(s.numbers)}
        params = [f"ptr {p}" for p in pointers.values()] + [f"i32 {n}" for n in variables.values()]
        f = FunctionWriter(self.module, pointers, variables)
        f.statement(s.body)
        name = self.module.add("tile", f.text(params))
        self.emit(f"call void @{name}({', '.join(arguments)})")
