"""A header with which the generated file checks itself: each kernel against its scalar form.

C compilers have faults in what they make of vectors and of loops: of a kernel and the same kernel without vectors,
compiled without optimisation, one of the two is then wrong."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.resources import files

from ..codegen.c_ports import Ports
from ..ir.nodes import Buffer, Kernel, Store
from ..ir.rewrite import walk
from ..passes.scalarize_vectors import scalarize_vectors
from ..program.program import Program, TensorSpec
from ..text.escape import comment
from .prelude import SCALARS, Prelude

RenderKernel = Callable[[Kernel, str, Prelude], str]


def render_self_test(
    prefix: str, program: Program, names: Mapping[str, Kernel], render: RenderKernel, source: str
) -> str:
    """The text of NAME_self_test.h, which NAME.c includes behind its kernels, of these `names`. `source` is the text of
    the types and functions that are defined there."""
    prelude = Prelude()
    forms = [render(scalarize_vectors(k), f"{n}_scalar", prelude) for n, k in names.items()]
    added = [text for text in prelude.texts() if text not in source]
    return "\n".join(
        [
            comment(
                f"Each kernel of {program.name} beside its scalar form; {prefix}.c includes this for -DMODEL_TEST."
            ),
            files(__package__).joinpath("self_test.c").read_text(),
            *added,
            *(form.replace("static ", "SCALAR_FORM static ", 1) for form in forms),
            *(_checked(n, k) for n, k in names.items()),
            *_function(prefix, program),
            "",
        ]
    )


def written(kernel: Kernel) -> set[Buffer]:
    """The parameters that the kernel stores to."""
    stored = {n.buffer for n in walk(kernel.body) if isinstance(n, Store)}
    return stored & set(kernel.params)


def _checked(name: str, kernel: Kernel) -> str:
    """A function that runs both forms of the kernel on the same memory, in place of the kernel."""
    prelude, stored = Prelude(), written(kernel)
    params = [f"{'' if b in stored else 'const '}{prelude.memory(b.dtype)} *b{i}" for i, b in enumerate(kernel.params)]
    params += [f"int s{i}" for i in range(len(kernel.scalars))]
    arguments = ", ".join(
        [*(f"b{i}" for i in range(len(kernel.params))), *(f"s{i}" for i in range(len(kernel.scalars)))]
    )
    results = [(i, b) for i, b in enumerate(kernel.params) if b in stored]
    lines = [f"static void {name}_checked({', '.join(params)}) {{"]
    lines += [f"  void *start{i} = CopyOf(b{i}, {b.size * b.dtype.bytes});" for i, b in results]
    lines += [f"  {name}_scalar({arguments});"]
    for i, b in results:
        size = b.size * b.dtype.bytes
        lines.append(f"  void *want{i} = CopyOf(b{i}, {size});")
        lines.append(f"  memcpy(b{i}, start{i}, {size});")
    lines.append(f"  {name}({arguments});")
    for i, b in results:
        lines.append(f'  Compare("{name}", b{i}, want{i}, {b.size}, {b.dtype.bytes}, {int(b.dtype.is_float)});')
        lines.append(f"  free(start{i}), free(want{i});")
    return "\n".join([*lines, "}", f"#define {name} {name}_checked", ""])


def _function(prefix: str, program: Program) -> list[str]:
    """NAME_self_test, which makes up inputs for the largest sizes."""
    upper, ports = prefix.upper(), Ports.of(program)
    inputs = [(f"in{i}", t) for i, t in enumerate(program.inputs)]
    outputs = [(f"out{i}", t) for i, t in enumerate(program.outputs)]
    states = ports.states
    arguments = [
        *(["state"] if states else []),
        *(["sizes"] if ports.vary else []),
        *(n for n, _ in (*inputs, *outputs)),
    ]
    memory = ["prepared", "arena", *(["state"] if states else []), *(n for n, _ in (*inputs, *outputs))]
    call = f"{prefix}_run({', '.join(['weights', 'prepared', 'arena', *arguments])})"
    return [
        f"const char *{prefix}_self_test(const void *weights) {{",
        f"  void *prepared = calloc({upper}_PREPARED_BYTES + 1, 1), *arena = calloc({upper}_ARENA_BYTES + 1, 1);",
        *([f"  void *state = calloc({upper}_STATE_BYTES, 1);"] if states else []),
        *(f"  {SCALARS[t.dtype]} *{n} = calloc({t.length + 1}, {t.dtype.bytes});" for n, t in (*inputs, *outputs)),
        *(
            [f"  int64_t sizes[{ports.count}] = {{{', '.join(str(d.most) for d in ports.given) or '0'}}};"]
            if ports.vary
            else []
        ),
        "  FailedKernel = NULL;",
        f"  if ({' && '.join(memory)}) {{",
        *(f"    {line}" for n, t in inputs for line in _fill(n, t, program)),
        f"    {prefix}_prepare(weights, prepared);",
        *(f"    {line}" for line in _runs(call, upper, ports)),
        "  } else {",
        '    FailedKernel = "none: there is no memory";',
        "  }",
        *(f"  free({n});" for n in memory),
        "  return FailedKernel;",
        "}",
    ]


def _runs(call: str, upper: str, ports: Ports) -> list[str]:
    """Calls of a run for the largest sizes; of states one for the least goes before it, so that it finds rows."""
    if ports.states is None:
        return [f"{call};"]
    chosen = {i: d for i, d in enumerate(ports.given) if d not in ports.states.shared and d.value_of is None}
    return [
        *(f"sizes[{i}] = {max(d.least, d.multiple)};" for i, d in chosen.items()),
        f"(void){call};",
        *(f"sizes[{i}] = {d.most};" for i, d in chosen.items()),
        f"if ({call}) {{",
        f"  memset(state, 0, {upper}_STATE_BYTES);",
        f"  (void){call};",
        "}",
    ]


def _fill(name: str, t: TensorSpec, program: Program) -> list[str]:
    """Small floats; of integers 0 and 1, since they may be indices; a size where the input is one."""
    sizes = [d.most for d in program.dimensions if d.value_of == t.name]
    if sizes:
        return [f"{name}[0] = {sizes[0]};"]
    value = "0x3800 + NextRandom() % 0x400" if t.dtype.name == "float16" else "NextRandom() % 2"
    if t.dtype.is_float and t.dtype.name != "float16":
        value = f"({SCALARS[t.dtype]})(NextRandom() % 256) / 128 - 1"
    return [f"for (int i = 0; i < {t.length}; i++) {name}[i] = {value};"]
