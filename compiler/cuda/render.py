"""A lowered kernel as one CUDA C++ program with the kernel `run`."""

from __future__ import annotations

from math import prod
from typing import TypeGuard

from ..dtypes import F16
from ..ir.all_reduce import AllReduce
from ..ir.grid import find_grid
from ..ir.intrinsic import Tensorized
from ..ir.nodes import Binary, Kernel, Node
from ..ir.rewrite import walk
from ..ir.scalar_ops import SIGNED
from ..simt.whole_vectors import whole_vectors
from ..simt.write_kernel import name_parameters, name_scalars, outputs_of, write_kernel
from .dialect import CudaC
from .prelude import HALVES, QUADS, VECTORS, WARPS, matrices

ALIGNED = "__align__(32) "
"""As instructions for matrices need shared memory."""


def render(kernel: Kernel) -> str:
    """The kernel after the prelude, of which it may not use all."""
    parts = [VECTORS]
    operands = {n.intrinsic.params[1].dtype for n in walk(kernel.body) if _multiplies(n)}
    if operands or any(b.dtype == F16 for b in kernel.params):
        parts.append(HALVES)
    if any(isinstance(n, Binary) and n.op == SIGNED for n in walk(kernel.body)):
        parts.append(QUADS)
    if any(isinstance(n, AllReduce) for n in walk(kernel.body)):
        parts += [f"#define INVOCATIONS {prod(find_grid(kernel).workgroup_size)}\n", WARPS]
    parts += [matrices(dtype) for dtype in operands]
    return "".join((*parts, render_kernel(kernel)))


def _multiplies(n: Node) -> TypeGuard[Tensorized]:
    return isinstance(n, Tensorized) and n.intrinsic.name == "multiply"


def render_kernel(kernel: Kernel) -> str:
    """Arguments are the parameters in order, as vectors of four if all accesses are such, then scalars."""
    names, vectors = name_parameters(kernel), whole_vectors(kernel)
    dialect = CudaC(names, vectors)
    scalars = name_scalars(kernel)
    written = write_kernel(kernel, dialect, scalars)
    outputs = outputs_of(kernel)
    types = {b: dialect.memory_type(b.dtype, 4 if b in vectors else 1) for b in names}
    params = [f"{'' if b in outputs else 'const '}{types[b]} *__restrict__ {n}" for b, n in names.items()]
    params += [f"const int {n}" for n in scalars.values()]
    head = f'extern "C" __global__ void __launch_bounds__({prod(written.workgroup)}) run({", ".join(params)}) {{'
    aligned = ALIGNED if any(isinstance(n, Tensorized) for n in walk(kernel.body)) else ""
    lines = [
        f"  __shared__ {aligned}{dialect.memory_type(s.dtype, s.lanes)} {s.name}[{s.parts}];" for s in written.shared
    ]
    lines += [f"  const int {name} = blockIdx.{'xyz'[axis]};" for axis, name in written.groups.items()]
    lines += [f"  const int {name} = threadIdx.{'xyz'[axis]};" for axis, name in written.threads.items()]
    return "\n".join([head, *lines, *written.lines, "}", ""])
