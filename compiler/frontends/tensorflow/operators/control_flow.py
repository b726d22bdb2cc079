"""Calls of functions, and branches."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx

from ..call import Call, Handler, Scope
from ..facts import Sizes
from ..values import Missing, Value

_BOOL = onnx.TensorProto.BOOL


def _call(call: Call) -> list[Value]:
    """The nodes of the function are added here."""
    scope = call.scope.inner(call.function("f"))
    scope.prefix = f"{call.stem}/"
    return scope.convert(scope, call.operands)


def truth(scope: Scope, value: Value, stem: str) -> str:
    """A condition: a number is true that is not zero."""
    own = scope.materialised(value, stem)
    builder = scope.builder
    if builder.facts[own].dtype != _BOOL:
        own = builder.node("Cast", [own], stem, to=_BOOL)
    return builder.node("Reshape", [own, builder.integers([])], stem)


def region_of(call: Call, name: str) -> Scope:
    scope = call.scope.inner(call.function(name), call.scope.builder.region(f"{call.stem}.{name}"))
    scope.prefix = f"{call.stem}/"
    return scope


def output(call: Call, scope: Scope, value: Value) -> None:
    """The graph of a region has `value` as its next output."""
    if not isinstance(value, str | np.ndarray):
        raise call.unsupported("one of its results is not a tensor")
    own = scope.builder.node("Identity", [scope.materialised(value, call.stem)], call.stem)
    scope.builder.output(own, scope.builder.facts[own].dtype, None)


def _if(call: Call) -> Sequence[Value]:
    """A condition that is constant leaves one branch."""
    known = call.known(0)
    if known is not None:
        scope = call.scope.inner(call.function("then_branch" if known.reshape(-1)[0] else "else_branch"))
        scope.prefix = f"{call.stem}/"
        return scope.convert(scope, call.operands[1:])
    branches, facts, count = {}, [], 0
    for name in ("then_branch", "else_branch"):
        scope = region_of(call, name)
        results = scope.convert(scope, call.operands[1:])
        if any(isinstance(v, Missing) for v in results):
            return [Missing()]
        for value in results:
            output(call, scope, value)
        graph = scope.builder.graph()
        branches[name] = graph
        count = len(results)
        facts.append([scope.builder.facts[o.name] for o in graph.output])
    values = call.nodes("If", [truth(call.scope, call.operand(0), call.stem)], count, **branches)
    for value, a, b in zip(values, *facts, strict=True):
        call.facts[value] = type(a)(a.dtype, _common(a.shape, b.shape))
    return values


def _common(a: Sizes | None, b: Sizes | None) -> Sizes | None:
    """The shape that both are of."""
    if a is None or b is None or len(a) != len(b):
        return None
    return tuple(m if m == n else None for m, n in zip(a, b, strict=True))


def _nothing(call: Call) -> list[Value]:
    return []


OPERATORS: dict[str, Handler] = {
    "Assert": _nothing,
    "If": _if,
    "NoOp": _nothing,
    "PartitionedCall": _call,
    "StatefulPartitionedCall": _call,
    "StatelessIf": _if,
}
