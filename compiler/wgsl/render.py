"""A lowered kernel as one WGSL module with the entry point `main`."""

from __future__ import annotations

from ..ir.nodes import Kernel, Var
from ..simt.whole_vectors import whole_vectors
from ..simt.write_kernel import name_parameters, outputs_of, write_kernel
from .dialect import QUADS_FUNCTION, Wgsl
from .features import ENABLE, find_features


def render(kernel: Kernel) -> str:
    """Bindings 0, 1, ... of group 0 are the parameters in order; `array<vec4f>` if all accesses are vectors. Scalars
    are in a uniform buffer, binding 0 of group 1."""
    names, vectors = name_parameters(kernel), whole_vectors(kernel)
    dialect = Wgsl(names, vectors)
    scalars: dict[Var, str] = {s: f"scalars[{i // 4}].{'xyzw'[i % 4]}" for i, s in enumerate(kernel.scalars)}
    written = write_kernel(kernel, dialect, scalars)
    head = [ENABLE[feature] for feature in find_features(kernel)]
    outputs = outputs_of(kernel)
    for i, (b, name) in enumerate(names.items()):
        access = "read_write" if b in outputs else "read"
        element = dialect.type_name(b.dtype, 4 if b in vectors else 1)
        head.append(f"@group(0) @binding({i}) var<storage, {access}> {name}: array<{element}>;")
    if scalars:
        head.append(f"@group(1) @binding(0) var<uniform> scalars: array<vec4i, {-(-len(scalars) // 4)}>;")
    for s in written.shared:
        head.append(f"var<workgroup> {s.name}: array<{dialect.type_name(s.dtype, s.lanes)}, {s.parts}>;")
    head += [f"var<private> {name}: u32 = {bits};" for name, bits in dialect.specials.items()]
    if dialect.has_quads:
        head.append(QUADS_FUNCTION)
    head.append(f"@compute @workgroup_size({', '.join(map(str, written.workgroup))})")
    arguments = "@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_id) thread: vec3u"
    lines = [f"  let {name} = i32(group.{'xyz'[axis]});" for axis, name in written.groups.items()]
    lines += [f"  let {name} = i32(thread.{'xyz'[axis]});" for axis, name in written.threads.items()]
    return "\n".join([*head, f"fn main({arguments}) {{", *lines, *written.lines, "}", ""])
