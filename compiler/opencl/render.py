"""A lowered kernel as one OpenCL C program with the kernel `run`."""

from __future__ import annotations

from ..codegen.source import Writer
from ..compute.whole_vectors import whole_vectors
from ..ir.grid import find_grid
from ..ir.nodes import Kernel, Var
from ..ir.rewrite import walk
from .dialect import OpenClC


def render(kernel: Kernel) -> str:
    """Arguments are the parameters in order, as vectors of four if all accesses are such."""
    grid = find_grid(kernel)
    used = {n for n in walk(kernel.body) if isinstance(n, Var)}
    names = {b: f"b{i}" for i, b in enumerate(kernel.params)}
    vectors = whole_vectors(kernel)
    dialect = OpenClC(names, vectors)
    groups, threads = (enumerate(zip(part, "xyz", strict=False)) for part in (grid.blocks, grid.threads))
    dimensions = {v: (f"group_{axis}", f"get_group_id({i})") for i, (v, axis) in groups}
    dimensions |= {v: (f"thread_{axis}", f"get_local_id({i})") for i, (v, axis) in threads}
    writer = Writer(dialect, {v: name for v, (name, _) in dimensions.items()})
    shared = [(b, *writer.share(b, grid.body)) for b in grid.shared]
    body = writer.write(grid.body)

    outputs = kernel.params[len(kernel.params) - kernel.outputs :]
    types = {b: dialect.type_name(b.dtype, 4 if b in vectors else 1) for b in kernel.params}
    accesses = {b: "" if b in outputs else "const " for b in kernel.params}
    params = ", ".join(f"__global {accesses[b]}{types[b]} *restrict {names[b]}" for b in kernel.params)
    size = ", ".join(map(str, grid.workgroup_size))
    lines = [f"  __local {dialect.type_name(b.dtype, local.lanes)} {name}[{local.parts}];" for b, name, local in shared]
    lines += [f"  const int {name} = {text};" for v, (name, text) in dimensions.items() if v in used]
    head = f"__kernel __attribute__((reqd_work_group_size({size})))\nvoid run({params}) {{"
    return "\n".join([head, *lines, *body, "}", ""])
