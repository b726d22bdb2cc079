"""Branches and loops, whose blocks read values around them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import onnx

from ....errors import UnsupportedError
from ..call import Call, Handler, Scope
from ..read_value import Value, type_of
from ..types import onnx_type, real_type


def _inside(scope: Scope, builder: Any, block: Any, values: Sequence[Value]) -> Scope:
    """The scope of a converted block, whose inputs are `values`."""
    own = replace(scope, builder=builder, values=dict(scope.values))
    own.values.update((i.name, v) for i, v in zip(block.inputs, values, strict=True))
    own.convert(own, block)
    return own


def _results(scope: Scope, block: Any) -> list[Value]:
    missing = [name for name in block.outputs if name not in scope.values]
    if missing:
        raise UnsupportedError(f"nothing computes {missing[0]!r}, the result of a block")
    return [scope.values[name] for name in block.outputs]


def _outputs(scope: Scope, values: Sequence[Value]) -> onnx.GraphProto:
    """The finished graph."""
    for value in values:
        own = scope.builder.node("Identity", [scope.add(value)], "result")
        scope.builder.output(own, onnx_type(real_type(value.dtype)), None)
    return scope.builder.graph()


def _cond(call: Call) -> list[str]:
    branches = {}
    for name, block in zip(("then", "else"), call.operation.blocks, strict=True):
        scope = _inside(call.scope, call.builder.region(f"{call.stem}.{name}"), block, [])
        branches[f"{name}_branch"] = _outputs(scope, _results(scope, block))
    condition = call.node("Reshape", [call.read("pred"), call.integers([])])
    return call.nodes("If", [condition], len(call.operation.outputs), **branches)


def _while_loop(call: Call) -> list[str]:
    """The first block is the condition, evaluated before each round; the second one is the body."""
    test, body = call.operation.blocks
    carried = call.values("loop_vars")

    def condition(scope: Scope, values: Sequence[Value]) -> str:
        inner = _inside(scope, scope.builder, test, values)
        return scope.builder.node(
            "Reshape", [inner.add(_results(inner, test)[0]), scope.builder.integers([])], "goes_on"
        )

    first = condition(call.scope, carried)
    builder = call.builder.region(f"{call.stem}.body")
    builder.input("round", onnx.TensorProto.INT64, [])
    builder.input("before", onnx.TensorProto.BOOL, [])
    values = []
    for named in body.inputs:
        value = type_of(named.type)
        value.name = builder.input(named.name, onnx_type(real_type(value.dtype)), None)
        values.append(value)
    scope = _inside(call.scope, builder, body, values)
    results = _results(scope, body)
    again = condition(scope, results)
    builder.output(again, onnx.TensorProto.BOOL, None)
    graph = _outputs(scope, results)
    starts = [call.add(v) for v in carried]
    return call.nodes("Loop", ["", first, *starts], len(call.operation.outputs), body=graph)


OPERATORS: dict[str, Handler] = {"cond": _cond, "while_loop": _while_loop}
