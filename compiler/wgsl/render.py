"""A lowered kernel as one WGSL module with the entry point `main`."""

from __future__ import annotations

from ..codegen.source import Writer
from ..compute.whole_vectors import whole_vectors
from ..ir.grid import find_grid
from ..ir.nodes import Kernel, Var
from ..ir.rewrite import walk
from .dialect import SCALARS, VECTORS, Wgsl
from .features import ENABLE, find_features


def render(kernel: Kernel) -> str:
    """Bindings 0, 1, ... of group 0 are the parameters in order; `array<vec4f>` if all accesses are vectors."""
    grid = find_grid(kernel)
    used = {n for n in walk(kernel.body) if isinstance(n, Var)}
    names = {b: f"b{i}" for i, b in enumerate(kernel.params)}
    vectors = whole_vectors(kernel)
    dialect = Wgsl(names, vectors)
    dimensions = {v: f"group.{axis}" for v, axis in zip(grid.blocks, "xyz", strict=False)}
    dimensions |= {v: f"thread.{axis}" for v, axis in zip(grid.threads, "xyz", strict=False)}
    variables = {v: text.replace(".", "_") for v, text in dimensions.items()}
    writer = Writer(dialect, variables)
    shared = [(b, *writer.share(b, grid.body)) for b in grid.shared]
    body = writer.write(grid.body)

    head = [ENABLE[feature] for feature in find_features(kernel)]
    outputs = kernel.params[len(kernel.params) - kernel.outputs :]
    for b in kernel.params:
        access = "read_write" if b in outputs else "read"
        element = (VECTORS if b in vectors else SCALARS)[b.dtype]
        head.append(f"@group(0) @binding({names[b][1:]}) var<storage, {access}> {names[b]}: array<{element}>;")
    for b, name, local in shared:
        element = (SCALARS if local.lanes == 1 else VECTORS)[b.dtype]
        head.append(f"var<workgroup> {name}: array<{element}, {local.parts}>;")
    head += [f"var<private> {name}: u32 = {bits};" for name, bits in dialect.specials.items()]
    size = ", ".join(map(str, grid.workgroup_size))
    arguments = "@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_id) thread: vec3u"
    lines = [f"  let {variables[v]} = i32({text});" for v, text in dimensions.items() if v in used]
    return "\n".join([*head, f"@compute @workgroup_size({size})", f"fn main({arguments}) {{", *lines, *body, "}", ""])
