"""How a kernel is spread over a GPU: the BLOCK and THREAD loops around its body."""

from __future__ import annotations

from dataclasses import dataclass

from .nodes import Alloc, Buffer, For, Kernel, LoopKind, Scope, Stmt, Var
from .sizes import Size, size

Extents = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Grid:
    """`blocks` and `threads` are loop variables, x first, at most three each; `shared` what a workgroup allocates;
    `body` is what one invocation does."""

    blocks: tuple[Var, ...]
    threads: tuple[Var, ...]
    shared: tuple[Buffer, ...]
    body: Stmt

    @property
    def workgroups(self) -> Extents:
        return _extents(self.blocks)

    @property
    def sizes(self) -> tuple[Size, Size, Size]:
        """The workgroups of a launch, where their number is known at run time only."""
        x, y, z = (*(v.extent if v.length is None else size(v.length) for v in self.blocks), 1, 1, 1)[:3]
        return x, y, z

    @property
    def workgroup_size(self) -> Extents:
        return _extents(self.threads)


def find_grid(kernel: Kernel) -> Grid:
    """The grid of a kernel; a kernel without such loops is one invocation."""
    variables: dict[LoopKind, list[Var]] = {LoopKind.BLOCK: [], LoopKind.THREAD: []}
    shared: list[Buffer] = []
    s = kernel.body
    while True:
        match s:
            case For(var, body, LoopKind.BLOCK | LoopKind.THREAD):
                variables[s.kind].insert(0, var)
            case Alloc(buffer, body) if buffer.scope is Scope.SHARED:
                shared.append(buffer)
            case _:
                break
        s = body
    return Grid(tuple(variables[LoopKind.BLOCK]), tuple(variables[LoopKind.THREAD]), tuple(shared), s)


def _extents(variables: tuple[Var, ...]) -> Extents:
    x, y, z = (*(v.extent for v in variables), 1, 1, 1)[:3]
    return x, y, z
