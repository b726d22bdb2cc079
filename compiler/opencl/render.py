"""A lowered kernel as one OpenCL C program with the kernel `run`."""

from __future__ import annotations

from ..ir.all_reduce import AllReduce
from ..ir.lanes import lanes_of
from ..ir.nodes import Binary, Kernel
from ..ir.rewrite import walk
from ..ir.scalar_ops import SIGNED
from ..simt.whole_vectors import whole_vectors
from ..simt.write_kernel import name_parameters, name_scalars, outputs_of, write_kernel
from .dialect import OpenClC, quads, vector_collective, vector_quads

SUBGROUPS = "#pragma OPENCL EXTENSION cl_khr_subgroups : enable"
"""The first line of a kernel that needs them."""


def needs_newer(source: str) -> bool:
    """Whether a kernel needs a newer OpenCL C than others."""
    return source.startswith(SUBGROUPS) or quads(1) in source


def render(kernel: Kernel) -> str:
    """The kernel, after the functions that it needs."""
    together = [n for n in walk(kernel.body) if isinstance(n, AllReduce)]
    vectors = {vector_collective(n.op, n.among, n.dtype, lanes_of(n)) for n in together if lanes_of(n) > 1}
    dots = {lanes_of(n) for n in walk(kernel.body) if isinstance(n, Binary) and n.op == SIGNED}
    vectors |= {vector_quads(lanes) for lanes in dots if lanes > 1}
    return "\n".join([*([SUBGROUPS] if together else []), *sorted(vectors), render_kernel(kernel)])


def render_kernel(kernel: Kernel) -> str:
    """Arguments are the parameters in order, as vectors of four if all accesses are such, then scalars."""
    names, vectors = name_parameters(kernel), whole_vectors(kernel)
    dialect = OpenClC(names, vectors)
    scalars = name_scalars(kernel)
    written = write_kernel(kernel, dialect, scalars)
    outputs = outputs_of(kernel)
    params = [
        f"__global {'' if b in outputs else 'const '}{dialect.memory_type(b.dtype, 4 if b in vectors else 1)} "
        f"*restrict {name}"
        for b, name in names.items()
    ]
    params += [f"const int {name}" for name in scalars.values()]
    head = f"__kernel __attribute__((reqd_work_group_size({', '.join(map(str, written.workgroup))})))"
    lines = [f"  __local {dialect.type_name(s.dtype, s.lanes)} {s.name}[{s.parts}];" for s in written.shared]
    lines += [f"  const int {name} = get_group_id({axis});" for axis, name in written.groups.items()]
    lines += [f"  const int {name} = get_local_id({axis});" for axis, name in written.threads.items()]
    return "\n".join([head, f"void run({', '.join(params)}) {{", *lines, *written.lines, "}", ""])
