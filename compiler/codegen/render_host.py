"""The host program: LLVM functions that run the steps of a Program."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

from ..ir.nodes import Expr, Scalar
from ..ir.sizes import Size, scalars_of
from ..passes.lower_math import lower_functions
from ..program.program import Launch, Program, Region, Slot, Steps, segment_entry
from ..program.steps import Branch, Loop
from ..system.cache import Cache
from ..system.recursion import deep_recursion
from ..text.escape import line_comment
from .join_loops import join_loops, joined
from .llvm_expression import ExpressionWriter
from .llvm_function import render_kernel
from .llvm_module import LlvmModule

CODE = "llvm"
"""The kind of cache entry that a kernel's functions are."""

STEPS = 200
"""Calls in one function: browsers compile large functions late or badly."""

ENTRY = "run"
PREPARE = "prepare"
PROFILE = "profile"
CLOCK = "clock"
"""`void clock()` of the target notes the time."""

CLOCK_LAUNCH = "clock_launch"
"""`void clock_launch(i32)` of the target notes the time at which a launch, by its number, has ended."""


@deep_recursion()
def render_host(
    program: Program,
    module: LlvmModule,
    cache: Cache | None = None,
    *,
    profiled: bool = False,
    apart: bool = False,
    numbered: bool = False,
) -> None:
    """Adds the kernels and `void run(ptr weights, ptr arena)`, which calls them in order (`segment_0`, `segment_1`, ...
    for a program in segments); beside it the function `prepare` of the same signature, where the program has anything
    to prepare.

    Where the program has states, all but `prepare` take their memory as one more pointer, behind that of the arena.
    With `profiled` there is `profile` too, the same as `run` but with a call of `clock()` after each launch, or where
    launches are repeated of `clock_launch(i32)`, with its number. What is prepared follows the weights, whose size is
    aligned (`plan_memory`); with `apart` it lies elsewhere: then the functions are `(ptr weights, ptr prepared, ptr
    arena)`, and hidden from those who load a library. With `numbered`, `void prepare(ptr weights, ptr arena, i32
    number)` carries out one launch, so that it need not wait for the weights of others. Kernels whose code `cache`
    holds are not rendered.
    """
    names = []
    for number in range(len(program.kernels)):
        part = kernel_code(program, number, cache)
        module.merge(part)
        names.append(part.last)
    functions = _functions(program)
    if profiled:
        functions[PROFILE] = program.steps
        module.declare(f"void @{CLOCK_LAUNCH}(i32)" if is_structured(program) else f"void @{CLOCK}()")
    prepared = None if apart else len(program.weights)
    regions = [Region.WEIGHTS, *([Region.PREPARED] if apart else []), Region.ARENA]
    for entry, steps in functions.items():
        memory = [f"ptr %{region.value}" for region in (*regions, *_states(program, entry))]
        f = HostFunction(module, program, names, memory, prepared, profiled=entry == PROFILE)
        if numbered and entry == PREPARE:
            f.one_of(program.prepare)
        else:
            f.steps(steps)
        module.add(entry, f.text("hidden " if apart else ""), internal=False)


def _states(program: Program, entry: str) -> list[Region]:
    return [Region.STATE] if program.state_bytes and entry != PREPARE else []


def is_structured(program: Program) -> bool:
    """Whether launches are repeated or skipped."""
    return not all(isinstance(s, Launch) for s in program.steps)


def entries(program: Program) -> list[str]:
    """The functions that a program's module exports, all called with the addresses of weights and arena."""
    return list(_functions(program))


def _functions(program: Program) -> dict[str, Steps]:
    functions: dict[str, Steps] = {
        segment_entry(i): program.steps[first:last] for i, (first, last) in enumerate(program.segments)
    }
    return (functions or {ENTRY: program.steps}) | ({PREPARE: program.prepare} if program.prepare else {})


def kernel_text(program: Program, number: int, cache: Cache | None) -> str:
    """LLVM's IR of one kernel."""
    return kernel_code(program, number, cache).text("").lstrip()


@deep_recursion()
def kernel_code(program: Program, number: int, cache: Cache | None) -> LlvmModule:
    """The functions of one kernel; the last is the one to call."""
    key = program.keys[number] if program.keys and cache is not None else None
    cached = cache.get(CODE, key) if cache is not None and key is not None else None
    if cached is not None:
        return LlvmModule.from_json(cached.decode())
    part = LlvmModule()
    render_kernel(program.kernels[number], part)
    if cache is not None and key is not None:
        cache.put(CODE, key, part.to_json().encode())
    return part


class HostFunction(ExpressionWriter):
    """A function that runs steps: calls of the kernels `names`, loops and branches around them. Its parameters are
    `memory`, and the counters of loops around a part of a long function."""

    def __init__(
        self,
        module: LlvmModule,
        program: Program,
        names: Sequence[str],
        memory: Sequence[str],
        prepared: int | None,
        *,
        profiled: bool,
    ) -> None:
        super().__init__(module)
        self.program, self.names, self.memory, self.prepared = program, names, memory, prepared
        self.profiled = profiled
        self.counters: list[str] = []
        self._loops = {i: module.loops[name] for i, name in enumerate(names) if name in module.loops}

    def text(self, linkage: str) -> str:
        params = ", ".join([*self.memory, *(f"i32 {name}" for name in self.counters)])
        body = "\n".join(self.lines)
        return f"define {linkage}void @@({params}) noinline #0 {{\nentry:\n{body}\n  ret void\n}}"

    def steps(self, steps: Steps) -> None:
        for calls, group in groupby(steps, lambda s: isinstance(s, Launch)):
            if calls:
                self.launches([s for s in group if isinstance(s, Launch)])
                continue
            for step in group:
                if isinstance(step, Loop):
                    self.loop(step)
                elif isinstance(step, Branch):
                    self.branch(step)

    def launches(self, launches: Sequence[Launch]) -> None:
        """Many of them in functions of their own."""
        if len(launches) <= STEPS:
            for group in self._groups(launches):
                if len(group) > 1:
                    self.joined_launches(group)
                else:
                    self.launch(group[0])
            return
        counters = [name for name in self.variables.values() if name.startswith("%")]
        for i in range(0, len(launches), STEPS):
            part = HostFunction(
                self.module, self.program, self.names, self.memory, self.prepared, profiled=self.profiled
            )
            part.variables, part.counters = dict(self.variables), counters
            part.launches(launches[i : i + STEPS])
            name = self.module.add("steps", part.text("internal "))
            self.emit(f"call void @{name}({', '.join([*self.memory, *(f'i32 {c}' for c in counters)])})")

    def _groups(self, launches: Sequence[Launch]) -> Iterable[Sequence[Launch]]:
        """Launches that share a call of `parallel_for` together; each by itself where it is timed."""
        if self.profiled:
            return [[launch] for launch in launches]
        return joined(launches, self._loops, self.program.scalars)

    def joined_launches(self, launches: Sequence[Launch]) -> None:
        """One call for several launches."""
        loops = [self._loops[launch.kernel] for launch in launches]
        arguments = []
        for launch, loop in zip(launches, loops, strict=True):
            passed = self.arguments(launch)
            arguments += [passed[field] for field in loop.fields]
        names, name = ", ".join(launch.name for launch in launches), join_loops(loops, self.module)
        self.emit(f"call void @{name}({', '.join(arguments)})  ; {line_comment(names)}")

    def one_of(self, launches: Sequence[Launch]) -> None:
        """The launch with the number that is passed."""
        self.counters = ["%number"]
        labels, done = [self.label("launch") for _ in launches], self.label("done")
        cases = " ".join(f"i32 {i}, label %{label}" for i, label in enumerate(labels))
        self.emit(f"switch i32 %number, label %{done} [{cases}]")
        for label, launch in zip(labels, launches, strict=True):
            self._begin(label)
            self.launch(launch)
            self.emit(f"br label %{done}")
        self._begin(done)

    def arguments(self, launch: Launch) -> list[str]:
        """The arguments of its kernel's function."""
        return [
            *(f"ptr {self.address(slot)}" for slot in launch.arguments),
            *(f"i32 {self.scalar(s)}" for s in launch.scalars),
        ]

    def launch(self, launch: Launch) -> None:
        arguments = ", ".join(self.arguments(launch))
        self.emit(f"call void @{self.names[launch.kernel]}({arguments})  ; {line_comment(launch.name)}")
        if self.profiled and is_structured(self.program):
            self.emit(f"call void @{CLOCK_LAUNCH}(i32 {self._number(launch)})")
        elif self.profiled:
            self.emit(f"call void @{CLOCK}()")

    def _number(self, launch: Launch) -> int:
        return next(i for i, other in enumerate(self.program.launches) if other is launch)

    def address(self, slot: Slot) -> str:
        """A pointer to memory; what is prepared lies so many bytes from the weights, or has its own pointer."""
        pointer = f"%a{len(self.lines)}"
        if slot.region == Region.PREPARED and self.prepared is not None:
            place = f"%{Region.WEIGHTS.value}, i64 {self.prepared + slot.offset}"
        else:
            place = f"%{slot.region.value}, i64 {slot.offset}"
        self.emit(f"{pointer} = getelementptr inbounds i8, ptr {place}")
        return pointer

    def scalar(self, s: Scalar) -> str:
        """A counter's value, or what the arena holds."""
        if s in self.variables:
            return self.variables[s]
        pointer = self.address(Slot(Region.ARENA, self.program.scalars[s]))
        return self.instruction(f"load i32, ptr {pointer}, align 4")

    def size(self, n: Size) -> str:
        """The value of a size at this moment."""
        return str(n) if isinstance(n, int) else self.of_scalars(n)

    def of_scalars(self, n: Expr) -> str:
        """The value of an expression of scalars at this moment."""
        counters = dict(self.variables)
        self.variables.update((s, self.scalar(s)) for s in scalars_of(n))
        self.values.clear()
        value = self.value(lower_functions(n, "run"))
        self.variables = counters
        return value

    def holds(self, condition: Slot | Expr) -> str:
        """Whether the bool in a slot, or of scalars, is true."""
        if isinstance(condition, Expr):
            return self.of_scalars(condition)
        loaded = self.instruction(f"load i8, ptr {self.address(condition)}, align 1")
        return self.instruction(f"icmp ne i8 {loaded}, 0")

    def loop(self, step: Loop[Launch, Slot]) -> None:
        trips, before = self.size(step.trips), self.block
        head, body, done = self.label("loop"), self.label("body"), self.label("done")
        counter, following = self.fresh("t"), self.fresh("t")
        self.emit(f"br label %{head}")
        slot = self._begin(head)
        more = self.instruction(f"icmp slt i32 {counter}, {trips}")
        if step.condition is not None:
            # The condition of a loop without iterations may lie in memory that nothing has written.
            test = self.label("condition")
            self.emit(f"br i1 {more}, label %{test}, label %{done}")
            self._begin(test)
            more = self.holds(step.condition)
        self.emit(f"br i1 {more}, label %{body}, label %{done}")
        self._begin(body)
        around = dict(self.variables)
        self.variables[step.counter] = counter
        self.steps(step.body)
        self.variables = around
        self.emit(f"{following} = add nuw nsw i32 {counter}, 1")
        self.emit(f"br label %{head}")
        self.lines[slot] += f"\n  {counter} = phi i32 [ 0, %{before} ], [ {following}, %{self.block} ]"
        self._begin(done)

    def branch(self, step: Branch[Launch, Slot]) -> None:
        then, otherwise, done = self.label("then"), self.label("else"), self.label("done")
        self.emit(f"br i1 {self.holds(step.condition)}, label %{then}, label %{otherwise}")
        for label, steps in ((then, step.then), (otherwise, step.otherwise)):
            self._begin(label)
            self.steps(steps)
            self.emit(f"br label %{done}")
        self._begin(done)

    def _begin(self, label: str) -> int:
        """Begins a block; returns the line of its label."""
        self.lines.append(f"{label}:")
        self.block = label
        return len(self.lines) - 1
