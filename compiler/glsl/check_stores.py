"""Proves that a fragment writes only what its kernel stores, where launches write a texture in parts."""

from __future__ import annotations

from ..errors import InternalError
from ..ir.grid import find_grid
from ..ir.lanes import Ramp
from ..ir.nodes import Alloc, Const, For, If, Kernel, Scope, Seq, Stmt, Store

Components = frozenset[tuple[int, int]]
"""Components of a fragment's texels: (layer, component)."""


def check_stores(kernel: Kernel) -> None:
    """InternalError unless each path through a fragment stores every component of every layer, but the one on which the
    condition around all of it is false, where the shader discards."""
    layers, _, _, components = kernel.params[-1].shape
    body = find_grid(kernel).body
    missing = {(i, c) for i in range(layers) for c in range(components)}
    missing -= _stored(body.body if isinstance(body, If) else body)
    if missing:
        layer, component = min(missing)
        raise InternalError(
            f"kernel {kernel.name}: a fragment may overwrite component {component} of layer {layer}, which it does not "
            "store; please report this with the model"
        )


def _stored(stmt: Stmt) -> Components:
    """Components that are stored on every path through the statement."""
    match stmt:
        case Store(buffer, (Const(layer), _, _, component), _) if buffer.scope is Scope.GLOBAL:
            if isinstance(component, Const):
                return frozenset({(int(layer), int(component.value))})
            if isinstance(component, Ramp) and isinstance(component.base, Const):
                first = int(component.base.value)
                return frozenset((int(layer), first + lane) for lane in range(component.lanes))
        case Seq(stmts):
            return frozenset().union(*map(_stored, stmts))
        case Alloc(_, body):
            return _stored(body)
        case For(var, body) if var.length is None and var.extent > 0:
            return _stored(body)
    return frozenset()
