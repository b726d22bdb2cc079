"""Calls of functions, branches and loops."""

from __future__ import annotations

from collections.abc import Sequence

import onnx

from ..call import Call, Handler, Missing, Scope, Value, Variable
from ..facts import FactBuilder, Sizes

_BOOL = onnx.TensorProto.BOOL


def _call(call: Call) -> list[Value]:
    """The nodes of the function are added here."""
    scope = call.scope.inner(call.function("f"))
    scope.prefix = f"{call.stem}/"
    return scope.convert(scope, call.operands)


def _truth(scope: Scope, value: Value, stem: str) -> str:
    """A condition: a number is true that is not zero."""
    own = scope.materialised(value, stem)
    builder = scope.builder
    if builder.facts[own].dtype != _BOOL:
        own = builder.node("Cast", [own], stem, to=_BOOL)
    return builder.node("Reshape", [own, builder.integers([])], stem)


def _region(call: Call, name: str) -> Scope:
    scope = call.scope.inner(call.function(name), call.scope.builder.region(f"{call.stem}.{name}"))
    scope.prefix = f"{call.stem}/"
    return scope


def _output(call: Call, scope: Scope, value: Value) -> None:
    """The graph of a region has `value` as its next output."""
    if isinstance(value, Variable | Missing):
        raise call.unsupported("one of its results is not a tensor")
    own = scope.builder.node("Identity", [scope.materialised(value, call.stem)], call.stem)
    scope.builder.output(own, scope.builder.facts[own].dtype, None)


def _if(call: Call) -> Sequence[Value]:
    """A condition that is constant leaves one branch."""
    names = {"then_branch": "then_branch", "else_branch": "else_branch"}
    known = call.known(0)
    if known is not None:
        scope = call.scope.inner(call.function("then_branch" if known.reshape(-1)[0] else "else_branch"))
        scope.prefix = f"{call.stem}/"
        return scope.convert(scope, call.operands[1:])
    branches, facts, count = {}, [], 0
    for name in names:
        scope = _region(call, name)
        results = scope.convert(scope, call.operands[1:])
        if any(isinstance(v, Missing) for v in results):
            return [Missing()]
        for value in results:
            _output(call, scope, value)
        graph = scope.builder.graph()
        branches[name] = graph
        count = len(results)
        facts.append([scope.builder.facts[o.name] for o in graph.output])
    values = call.nodes("If", [_truth(call.scope, call.operand(0), call.stem)], count, **branches)
    for value, a, b in zip(values, *facts, strict=True):
        call.facts[value] = type(a)(a.dtype, _common(a.shape, b.shape))
    return values


def _common(a: Sizes | None, b: Sizes | None) -> Sizes | None:
    """The shape that both are of."""
    if a is None or b is None or len(a) != len(b):
        return None
    return tuple(m if m == n else None for m, n in zip(a, b, strict=True))


def _while(call: Call) -> list[Value]:
    """The condition is a function of what is carried, and is evaluated before each iteration. Variables are not
    carried: they do not change."""
    carried = [i for i, v in enumerate(call.operands) if not isinstance(v, Variable)]
    before = call.scope.inner(call.function("cond"))
    before.prefix = f"{call.stem}/before/"
    first = _truth(before, before.convert(before, call.operands)[0], call.stem)
    region = _region(call, "body")
    body = region.builder
    body.input("round", onnx.TensorProto.INT64, [])
    body.input("goes_on", _BOOL, [])
    shapes = call.shapes("output_shapes")
    arguments: list[Value] = list(call.operands)
    for i in carried:
        own = call.read(i)
        fact = call.facts[own]
        shape = shapes[i] if i < len(shapes) and shapes[i] is not None else None
        shape = (
            shape if shape is not None else fact.shape if "parallel_iterations" in call.graph_node.attributes else None
        )
        arguments[i] = _argument(body, f"{call.stem}.{i}", fact.dtype, shape)
    results = region.convert(region, arguments)
    if any(isinstance(v, Missing) for v in results):
        return [Missing()]
    after = call.scope.inner(call.function("cond"), body)
    after.prefix = f"{call.stem}/after/"
    goes_on = _truth(after, after.convert(after, results)[0], call.stem)
    _output(call, after, goes_on)
    for i in carried:
        _output(call, region, results[i])
    values = call.nodes("Loop", ["", first, *(call.read(i) for i in carried)], len(carried), body=body.graph())
    found: list[Value] = list(call.operands)
    for i, value in zip(carried, values, strict=True):
        argument = arguments[i]
        assert isinstance(argument, str)
        call.facts[value] = call.facts[argument]
        found[i] = value
    return found


def _argument(body: FactBuilder, name: str, dtype: int, shape: Sizes | None) -> str:
    """An input of the body, whose shape is stated to the builder alone."""
    own = body.input(name, dtype, None)
    body.facts[own] = type(body.facts[own])(dtype, shape)
    return own


def _nothing(call: Call) -> list[Value]:
    return []


OPERATORS: dict[str, Handler] = {
    "Assert": _nothing,
    "If": _if,
    "NoOp": _nothing,
    "PartitionedCall": _call,
    "StatefulPartitionedCall": _call,
    "StatelessIf": _if,
    "StatelessWhile": _while,
    "While": _while,
}
