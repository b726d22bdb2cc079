"""Branches and loops, whose graphs are subgraphs of the model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import onnx

from ....errors import InputError
from ...images import Images
from ..call import Call, Handler, Scope
from ..read_model import Operator, Tensor
from ..types import onnx_type


def called_by(operator: Operator) -> list[int]:
    """The numbers of the subgraphs that an operator carries out."""
    o = operator.options
    match operator.kind if o is not None else "":
        case "IF":
            return [o.ThenSubgraphIndex(), o.ElseSubgraphIndex()]
        case "WHILE":
            return [o.CondSubgraphIndex(), o.BodySubgraphIndex()]
    return []


def _region(call: Call, index: int, name: str) -> Scope:
    """The subgraph of this number. Raises InputError where there is none, and where it is around the operator."""
    model = call.scope.model
    is_there = 0 <= index < len(model.subgraphs)
    if not is_there or index in call.scope.inside:
        problem = "calls itself" if is_there else "does not exist"
        where = f"{call.operator.kind} ({call.stem!r})"
        raise InputError(
            f"{model.name} is not a valid TFLite model: {where}: subgraph {index} {problem}; convert it again"
        )
    builder = call.builder.region(name)
    own = replace(call.scope, subgraph=model.subgraphs[index], builder=builder, images=Images(builder))
    return replace(own, values={}, real={}, inside=(*call.scope.inside, index))


def _inputs(call: Call, region: Scope, values: Sequence[str]) -> None:
    tensors = region.subgraph.inputs
    if len(tensors) != len(values):
        raise call.unsupported(f"a subgraph takes {len(tensors)} operands, and {len(values)} are given")
    region.values.update(zip(tensors, values, strict=True))


def _outputs(call: Call, region: Scope) -> onnx.GraphProto:
    """The finished graph, whose outputs are the subgraph's."""
    for i in region.subgraph.outputs:
        tensor = region.subgraph.tensors[i]
        value = region.values.get(i)
        if value is None:
            raise call.unsupported(f"nothing computes {tensor.name!r}")
        own = region.builder.node("Identity", [value], tensor.name)
        region.builder.output(own, onnx_type(tensor.dtype), None)
    return region.builder.graph()


def _if(call: Call) -> None:
    branches = {}
    values = [call.raw(i) for i in call.operands][1:]
    for name, index in (("then", call.options.ThenSubgraphIndex()), ("else", call.options.ElseSubgraphIndex())):
        region = _region(call, index, f"{call.stem}.{name}")
        _inputs(call, region, values)
        region.convert(region)
        branches[f"{name}_branch"] = _outputs(call, region)
    condition = call.node("Reshape", [call.raw(0), call.integers([])])
    results = call.nodes("If", [condition], len(call.operator.outputs), **branches)
    for i, value in enumerate(results):
        call.store(value, i)


def _while(call: Call) -> None:
    """The condition is a subgraph of what is carried, and is evaluated before each iteration."""
    carried = [call.raw(i) for i in call.operands]

    def condition(scope: Scope, name: str, values: Sequence[str]) -> str:
        """In the graph of `scope`."""
        region = _region(call, call.options.CondSubgraphIndex(), name)
        region = replace(region, builder=scope.builder, images=Images(scope.builder))
        _inputs(call, region, values)
        region.convert(region)
        value = region.values[region.subgraph.outputs[0]]
        return scope.builder.node("Reshape", [value, scope.builder.integers([])], name)

    first = condition(call.scope, f"{call.stem}.before", carried)
    body = _region(call, call.options.BodySubgraphIndex(), f"{call.stem}.body")
    body.builder.input("round", onnx.TensorProto.INT64, [])
    body.builder.input("goes_on", onnx.TensorProto.BOOL, [])
    tensors: list[Tensor] = [body.subgraph.tensors[i] for i in body.subgraph.inputs]
    _inputs(call, body, [body.builder.input(t.name, onnx_type(t.dtype), None) for t in tensors])
    body.convert(body)
    after = condition(body, f"{call.stem}.after", [body.values[i] for i in body.subgraph.outputs])
    goes_on = body.builder.node("Identity", [after], f"{call.stem}.goes_on")
    body.builder.output(goes_on, onnx.TensorProto.BOOL, None)
    results = call.nodes("Loop", ["", first, *carried], len(call.operator.outputs), body=_outputs(call, body))
    for i, value in enumerate(results):
        call.store(value, i)


OPERATORS: dict[str, Handler] = {"IF": _if, "WHILE": _while}
