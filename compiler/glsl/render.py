"""A lowered kernel over textures as one fragment shader: its declarations as fields, the rest as text."""

from __future__ import annotations

from dataclasses import dataclass

from ..codegen.source import Writer
from ..errors import InternalError
from ..ir.affine import affine
from ..ir.grid import find_grid
from ..ir.nodes import Expr, If, Kernel, Scope, Store, Var
from ..ir.rewrite import walk
from ..program.device_program import Declarations
from .check_stores import check_stores
from .dialect import HELPERS, SAMPLERS, VECTORS, Glsl


def declare(kernel: Kernel) -> Declarations:
    """Uniforms `p0`, `p1`, ... are the textures read, in the order of parameters, `s0`, `s1`, ... the scalars; output
    `o0`, `o1`, ... is layer 0, 1, ... of the texture written."""
    *reads, out = kernel.params
    return Declarations(tuple(SAMPLERS[b.dtype] for b in reads), VECTORS[out.dtype])


def render(kernel: Kernel, *, partly: bool = False) -> str:
    """The source after the declarations. `partly`: the texture holds more than what the kernel stores, so a fragment
    that stores nothing discards; otherwise it writes zeros, for outputs must not be undefined."""
    grid = find_grid(kernel)
    *reads, out = kernel.params
    names = {b: f"p{i}" for i, b in enumerate(reads)}
    variables = {v: f"{v.name}_f" for v in grid.blocks}
    scalars: dict[Var, str] = {s: f"s{i}" for i, s in enumerate(kernel.scalars)}
    dialect = Glsl(names)
    body = Writer(dialect, variables | scalars).write(grid.body)
    if partly:
        check_stores(kernel)
        body += ["  else discard;"] * isinstance(grid.body, If)
    texel = own_texel(kernel)
    head = [HELPERS[name] for name in HELPERS if name in dialect.used]
    lines = [*_decode("x", texel.column, variables), *_decode("y", texel.row, variables)]
    start = [] if partly else [f"  o{i} = {VECTORS[out.dtype]}(0);" for i in range(out.shape[0])]
    return "\n".join([*head, "void main() {", *lines, *start, *body, "}\n"])


@dataclass(frozen=True, slots=True)
class OwnTexel:
    """A fragment's coordinates in terms of grid variables: (variable, stride), smallest first."""

    column: tuple[tuple[Var, int], ...]
    row: tuple[tuple[Var, int], ...]


def own_texel(kernel: Kernel) -> OwnTexel:
    """The grammar of a fragment: InternalError unless every store is to a constant layer of one texel, whose
    coordinates are a mixed-radix number of the variables of the grid, each used once, so that no two fragments share a
    texel."""
    grid = find_grid(kernel)
    stores = [n for n in walk(kernel.body) if isinstance(n, Store) and n.buffer.scope is Scope.GLOBAL]
    texels = {tuple(_digits(i, kernel) for i in s.indices[1:3]) for s in stores}
    if len(texels) != 1 or grid.threads or grid.shared:
        raise InternalError(f"kernel {kernel.name}: its fragments store at {len(texels)} texels")
    row, column = texels.pop()
    used = [v for v, _ in (*row, *column)]
    if len(set(used)) < len(used) or set(used) != {v for v in grid.blocks if v.extent > 1}:
        raise InternalError(f"kernel {kernel.name}: its fragments share texels")
    return OwnTexel(column, row)


def _digits(index: Expr, kernel: Kernel) -> tuple[tuple[Var, int], ...]:
    """An index as a number in mixed radix, of which the variables are the digits."""
    form = affine(index)
    digits: list[tuple[Var, int]] = []
    size = 1
    for atom, factor in sorted(form.terms, key=lambda term: term[1]):
        if not isinstance(atom, Var) or factor != size:
            raise InternalError(f"kernel {kernel.name}: its fragments store elsewhere than at their own texel")
        digits.append((atom, factor))
        size *= atom.extent
    if form.constant:
        raise InternalError(f"kernel {kernel.name}: its fragments store beside their own texel")
    return tuple(digits)


def _decode(axis: str, digits: tuple[tuple[Var, int], ...], names: dict[Var, str]) -> list[str]:
    lines = []
    for position, (v, factor) in enumerate(digits):
        text = f"int(gl_FragCoord.{axis})"
        if factor > 1:
            text = f"{text} / {factor}"
        if position < len(digits) - 1:
            text = f"{text} % {v.extent}"
        lines.append(f"  int {names[v]} = {text};")
    return lines
