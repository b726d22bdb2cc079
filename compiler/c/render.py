"""A compiled model as one C file and its header."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ..codegen.c_ports import Ports
from ..codegen.c_sizes import functions, size_text
from ..codegen.c_states import status_macros
from ..codegen.source import Writer
from ..ir.nodes import Expr, Kernel, Scalar, Var
from ..ir.sizes import text_of
from ..program.plan_memory import ALIGNMENT
from ..program.program import Launch, Program, Region, Slot, Step, Steps, TensorSpec
from ..program.steps import Branch, Loop
from ..system.recursion import deep_recursion
from ..text.escape import comment
from .dialect import C
from .prelude import SCALARS, Prelude
from .reordered_sums import reorders_sums
from .self_test import render_self_test, written

COMPILED = ", compiled by webnn-compile."
"""In the first line of a header."""

WORDS = 12
"""In a line of weights."""

HEADERS = (
    *("assert", "complex", "ctype", "errno", "fenv", "float", "inttypes", "iso646", "limits", "locale", "math"),
    *("setjmp", "signal", "stdarg", "stdbool", "stddef", "stdint", "stdio", "stdlib", "string", "tgmath", "time"),
    *("wchar", "wctype"),
)
"""Headers of C99, which a model's header must not shadow."""

KEYWORDS = (
    *(
        "alignas",
        "alignof",
        "and",
        "and_eq",
        "asm",
        "auto",
        "bitand",
        "bitor",
        "bool",
        "break",
        "case",
        "catch",
        "char",
    ),
    *(
        "class",
        "compl",
        "concept",
        "const",
        "continue",
        "decltype",
        "default",
        "delete",
        "do",
        "double",
        "else",
        "enum",
    ),
    *(
        "explicit",
        "export",
        "extern",
        "false",
        "float",
        "for",
        "friend",
        "goto",
        "if",
        "inline",
        "int",
        "long",
        "mutable",
    ),
    *("namespace", "new", "noexcept", "not", "not_eq", "nullptr", "operator", "or", "or_eq", "private", "protected"),
    *(
        "public",
        "register",
        "requires",
        "restrict",
        "return",
        "short",
        "signed",
        "sizeof",
        "static",
        "struct",
        "switch",
    ),
    *("template", "this", "throw", "true", "try", "typedef", "typeid", "typename", "union", "unsigned", "using"),
    *("virtual", "void", "volatile", "wchar_t", "while", "xor", "xor_eq"),
)
"""Keywords of C and C++, where a model is a namespace."""

TAKEN = frozenset((*HEADERS, *KEYWORDS, "linux", "unix", "pthread", "timer"))
"""The last begin names of the C library that a model's functions would have, or are macros."""


@dataclass(frozen=True, slots=True)
class CSource:
    """`name` is the prefix of the functions. `code` and `header` are the files NAME.c and NAME.h; `self_test` is
    NAME_self_test.h where it is requested."""

    name: str
    code: str
    header: str
    self_test: str = ""


def identifier(name: str) -> str:
    """A prefix in C for a model's name."""
    word = re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_").lower()
    return f"model_{word}" if not word or word[0].isdigit() or word in TAKEN else word


@deep_recursion()
def render(program: Program, *, embedded: bool = False, tested: bool = False) -> CSource:
    """The program's kernels as functions, and NAME_prepare and NAME_run around them. `embedded`: `render_weights` makes
    another file, which the header names. `tested`: the source's own test is made, too."""
    prefix, prelude = identifier(program.name), Prelude()
    names = [_kernel_name(i, k) for i, k in enumerate(program.kernels)]
    kernels = [render_kernel(k, n, prelude) for k, n in zip(program.kernels, names, strict=True)]
    ports = Ports.of(program)
    inputs, outputs = (
        [f"{kind}{i}" for i in range(len(specs))] for kind, specs in (("in", program.inputs), ("out", program.outputs))
    )
    body = _Body(program, names)
    run = [*_indented(ports.before("a", inputs)), *body.steps(program.steps, 1), *_indented(ports.after("a", outputs))]
    run += _indented(ports.end("a"))
    prepare = body.steps(program.prepare, 1)
    ends = [
        _function(f"void {prefix}_prepare(const void *weights, void *prepared)", ["weights", "prepared"], prepare),
        _function(_signature(prefix, ports), ["weights", "prepared", "arena"], run),
        *([] if ports.states is None else ports.states.functions(prefix)),
    ]
    head, test = prelude.text(), f'#ifdef MODEL_TEST\n#include "{prefix}_self_test.h"\n#endif\n'
    code = "\n".join([f'#include "{prefix}.h"', head, *functions(ends), *kernels, test, *ends])
    by_name = dict(zip(names, program.kernels, strict=True))
    own = render_self_test(prefix, program, by_name, render_kernel, head) if tested else ""
    return CSource(prefix, code, _header(prefix, program, embedded=embedded), own)


def render_weights(prefix: str, program: Program) -> str:
    """The weights as constants, in words of a little-endian machine."""
    words = np.frombuffer(program.weights, "<u4")
    lines = (",".join(f"0x{w:x}" for w in words[i : i + WORDS]) for i in range(0, len(words), WORDS))
    aligned = f"#ifdef __GNUC__\n__attribute__((aligned({ALIGNMENT})))\n#endif"
    body = ",\n".join(lines) or "0"
    return f'#include "{prefix}.h"\n{aligned}\nconst uint32_t {prefix}_weights[] = {{\n{body}}};\n'


@deep_recursion()
def kernel_source(program: Program, number: int) -> str:
    """The function of one of the program's kernels, as `render` has it."""
    kernel = program.kernels[number]
    return render_kernel(kernel, _kernel_name(number, kernel), Prelude())


def _kernel_name(number: int, kernel: Kernel) -> str:
    return f"k{number}_{identifier(kernel.name)}"


def render_kernel(kernel: Kernel, name: str, prelude: Prelude) -> str:
    """The kernel as a function of its parameters, in order."""
    names = {b: f"b{i}" for i, b in enumerate(kernel.params)}
    scalars: dict[Var, str] = {s: f"s{i}" for i, s in enumerate(kernel.scalars)}
    lines = Writer(C(names, prelude), scalars).write(kernel.body)
    stored = written(kernel)
    params = [f"{'' if b in stored else 'const '}{prelude.memory(b.dtype)} *{n}" for b, n in names.items()]
    params += [f"int {n}" for n in scalars.values()]
    text = "\n".join(lines)
    unused = [f"  (void){n};" for n in names.values() if f"{n}[" not in text]  # of no elements, say
    unused += [f"  (void){n};" for n in scalars.values() if not re.search(rf"\b{n}\b", text)]
    kind = "static SUMS_IN_ORDER void" if reorders_sums(kernel.body) else "static void"
    return "\n".join([f"{kind} {name}({', '.join(params)}) {{", *unused, *lines, "}", ""])


class _Body:
    """Steps as statements. The counters of loops are variables; other scalars are in the arena."""

    def __init__(self, program: Program, names: Sequence[str]) -> None:
        self._program, self._names = program, names
        self._counters: dict[Scalar, str] = {}

    def steps(self, steps: Steps, depth: int) -> list[str]:
        return [line for step in steps for line in self._step(step, depth)]

    def _step(self, step: Step, depth: int) -> list[str]:
        pad = "  " * depth
        match step:
            case Launch():
                arguments = [*map(_place, step.arguments), *(f"(int){self._scalar(s)}" for s in step.scalars)]
                return [f"{pad}{self._names[step.kernel]}({', '.join(arguments)}); {comment(step.name)}"]
            case Loop():
                name = self._counters[step.counter] = f"t{len(self._counters)}"
                holds = "" if step.condition is None else f" && {_holds(step.condition)}"
                trips = size_text(step.trips, self._scalar)
                head = f"for (int64_t {name} = 0, {name}_end = {trips}; {name} < {name}_end{holds}; {name}++) {{"
                return [pad + head, *self.steps(step.body, depth + 1), pad + "}"]
            case Branch():
                return [
                    f"{pad}if ({self._tested(step.condition)}) {{",
                    *self.steps(step.then, depth + 1),
                    f"{pad}}} else {{",
                    *self.steps(step.otherwise, depth + 1),
                    f"{pad}}}",
                ]

    def _tested(self, condition: Slot | Expr) -> str:
        return size_text(condition, self._scalar) if isinstance(condition, Expr) else _holds(condition)

    def _scalar(self, s: Scalar) -> str:
        return self._counters[s] if s in self._counters else f"ScalarAt(a + {self._program.scalars[s]})"


def _holds(condition: Slot) -> str:
    """Whether the bool in a slot is true."""
    return f"*(const unsigned char *){_place(condition)}"


def _indented(lines: Sequence[str]) -> list[str]:
    return [f"  {line}" for line in lines]


_MEMORY = {
    Region.WEIGHTS: "(const void *)(w",
    Region.PREPARED: "(void *)(p",
    Region.ARENA: "(void *)(a",
    Region.STATE: "(void *)((unsigned char *)state",
}


def _place(slot: Slot) -> str:
    """A pointer that any parameter takes."""
    return f"{_MEMORY[slot.region]} + {slot.offset})"


def _function(head: str, memory: Sequence[str], body: Sequence[str]) -> str:
    text = "\n".join(body)
    lines = []
    for name in memory:
        const = "const " if name == "weights" or (name == "prepared" and "_run(" in head) else ""
        kind = f"{const}unsigned char *"
        used = f"({name[0]} + " in text
        lines.append(f"  {kind}{name[0]} = ({kind}){name};" if used else f"  (void){name};")
    return "\n".join([head + " {", *lines, *body, "}", ""])


def _signature(prefix: str, ports: Ports) -> str:
    inputs = [f"const {SCALARS[t.dtype]} *in{i}" for i, t in enumerate(ports.program.inputs)]
    outputs = [f"{SCALARS[t.dtype]} *out{i}" for i, t in enumerate(ports.program.outputs)]
    state, sizes = ["void *state"] if ports.states else [], ["int64_t *sizes"] if ports.vary else []
    params = ["const void *weights", "const void *prepared", "void *arena", *state, *sizes, *inputs, *outputs]
    return f"{'int' if ports.returns else 'void'} {prefix}_run({', '.join(params)})"


def _header(prefix: str, program: Program, *, embedded: bool) -> str:
    upper = prefix.upper()
    sizes = {"WEIGHTS": len(program.weights), "PREPARED": program.prepared, "ARENA": program.arena}
    ports = Ports.of(program)
    states = ports.states
    sizes |= {} if states is None else {"STATE": states.size}
    tensors = [("in", i, t) for i, t in enumerate(program.inputs)]
    tensors += [("out", i, t) for i, t in enumerate(program.outputs)]
    return "\n".join(
        [
            comment(
                f"{program.name}{COMPILED} C99; no allocation, no global state.",
                "",
                f"Weights are the bytes of {prefix}.weights. {prefix}_prepare fills the prepared memory once. Weights",
                "and prepared memory may then be shared by threads; each needs an arena of its own. All memory is best",
                f"aligned to {ALIGNMENT} bytes. -DMODEL_THREADS=4 -fopenmp: a run uses so many threads.",
                f"For programs that allocate memory there is {prefix}_library.h.",
                "",
                f"With -DMODEL_TEST there is {prefix}_self_test, which finds faults of C compilers: it runs the model",
                "on made-up inputs, and each kernel beside its scalar form, compiled without optimisation. It returns",
                "the name of the first kernel that differs, or NULL. Builds for use are made without -DMODEL_TEST.",
            ),
            f"#ifndef {upper}_H",
            f"#define {upper}_H",
            "#include <stdint.h>",
            "",
            *(f"#define {upper}_{kind}_BYTES {size}" for kind, size in sizes.items()),
            *(f"#define {upper}_{_upper(kind, i)}_LENGTH {t.length}" for kind, i, t in tensors),
            *([f"#define {upper}_SIZES {ports.count}"] if ports.vary else []),
            *([] if states is None else ["", *status_macros(upper)]),
            "",
            "#ifdef __cplusplus",
            'extern "C" {',
            "#endif",
            *([f"extern const uint32_t {prefix}_weights[]; {comment(f'of {prefix}_weights.c')}"] if embedded else []),
            f"void {prefix}_prepare(const void *weights, void *prepared);",
            comment(
                *(_tensor(kind, i, t) for kind, i, t in tensors),
                *_states(upper, ports),
                *_sizes(ports),
                *_returns(upper, ports),
            ),
            f"{_signature(prefix, ports)};",
            *([] if states is None else states.declarations(prefix)),
            "#ifdef MODEL_TEST",
            f"const char *{prefix}_self_test(const void *weights);",
            "#endif",
            "#ifdef __cplusplus",
            "}",
            "#endif",
            "#endif",
            "",
        ]
    )


def _upper(kind: str, number: int) -> str:
    return f"{kind}{number}".upper()


def _tensor(kind: str, number: int, t: TensorSpec) -> str:
    shape = "x".join(map(text_of, t.shape)) or "a scalar"
    return f"{kind}{number}: {t.name}, {t.dtype} {shape}"


def _returns(upper: str, ports: Ports) -> Iterator[str]:
    """Return codes of a run that may fail."""
    for number, refusal in enumerate(ports.program.refusals, 1):
        yield f"Returns {number}, with outputs of no meaning, where: {refusal.text}"
    if ports.states is not None:
        yield f"Returns {upper}_STATE_FULL, {upper}_STATE_OTHER or {upper}_STATE_LOST where nothing was run."


def _states(upper: str, ports: Ports) -> Iterator[str]:
    """Descriptions of what outlives a run."""
    if ports.states is None:
        return
    yield f"state: {upper}_STATE_BYTES of memory that the next run of the sequence finds again: all zero before the"
    yield "first, aligned to 8 bytes. Each sequence has its own; a copy of the bytes goes on from the same rows."


def _sizes(ports: Ports) -> Iterator[str]:
    """Descriptions of the entries of `sizes`."""
    for i, d in enumerate(ports.dimensions):
        steps = "" if d.multiple == 1 else f", a multiple of {d.multiple}"
        if d.after is None:
            yield f"sizes[{i}]: {d.name}, given: {d.least} to {d.most}{steps}"
        else:
            yield f"sizes[{i}]: {d.name}, as the state has it, set by the run"
    for n in ports.others:
        yield f"sizes[{ports.number(n)}]: {text_of(n)}, set by the run"
