"""Branches and loops, whose networks read and write values by their names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import onnx

from ...model_builder import ModelBuilder
from ..network_call import Array, Layer, LayerHandler, NetworkScope


def _inside(scope: NetworkScope, builder: ModelBuilder, network: Any) -> NetworkScope:
    """The scope of a converted network, which reads the values of `scope`."""
    own = replace(scope, builder=builder, values=dict(scope.values))
    own.convert(own, network)
    return own


def _written(network: Any) -> list[str]:
    return [name for layer in network.layers for name in layer.output]


def _truth(scope: NetworkScope, value: str) -> str:
    """A value of one element as a condition."""
    flag = scope.builder.node("Cast", [value], "condition", to=onnx.TensorProto.BOOL)
    return scope.builder.node("Reshape", [flag, scope.builder.integers([])], "condition")


def _outputs(scope: NetworkScope, values: Sequence[Array]) -> onnx.GraphProto:
    """The finished graph."""
    for value in values:
        own = scope.builder.node("Identity", [value.name], "result")
        scope.builder.output(own, onnx.TensorProto.FLOAT, None)
    return scope.builder.graph()


def _branch(layer: Layer) -> list[Array]:
    """Values that both networks have, and that one of them writes, are those of the one that is carried out."""
    scope, networks = layer.scope, (layer.params.ifBranch, layer.params.elseBranch)
    inner = [_inside(scope, scope.builder.region(f"{layer.stem}.{i}"), n) for i, n in enumerate(networks)]
    names = [n for n in dict.fromkeys(n for w in networks for n in _written(w)) if all(n in s.values for s in inner)]
    if not names:
        raise layer.unsupported("its networks write no value in common")
    graphs = [_outputs(s, [s.values[n] for n in names]) for s in inner]
    results = layer.nodes("If", [_truth(scope, layer.x.name)], len(names), then_branch=graphs[0], else_branch=graphs[1])
    _assign(scope, names, results, inner[0])
    return []


def _loop(layer: Layer) -> list[Array]:
    """As long as the condition's network gives 1, which is carried out before each round, and at most so many times.
    Values from before the loop that its network writes are carried on."""
    scope, p = layer.scope, layer.params
    names = [n for n in dict.fromkeys(_written(p.bodyNetwork)) if n in scope.values]
    if not names:
        raise layer.unsupported("it writes no value from before")

    def condition(now: NetworkScope) -> str:
        if not p.conditionVar:
            return now.builder.node("Identity", [now.builder.constant(np.array(True))], "condition")
        inner = _inside(now, now.builder, p.conditionNetwork)
        if p.conditionVar not in inner.values:
            raise layer.unsupported(f"nothing computes its condition {p.conditionVar!r}")
        return _truth(now, inner.values[p.conditionVar].name)

    first = condition(scope)
    builder = scope.builder.region(f"{layer.stem}.body")
    builder.input("round", onnx.TensorProto.INT64, [])
    builder.input("before", onnx.TensorProto.BOOL, [])
    carried = {n: Array(builder.input(n, onnx.TensorProto.FLOAT, None), scope.values[n].rank) for n in names}
    body = _inside(replace(scope, values={**scope.values, **carried}), builder, p.bodyNetwork)
    builder.output(condition(body), onnx.TensorProto.BOOL, None)
    graph = _outputs(body, [body.values[n] for n in names])
    most = layer.integers(int(p.maxLoopIterations)) if p.maxLoopIterations else ""
    starts = [scope.values[n].name for n in names]
    _assign(scope, names, layer.nodes("Loop", [most, first, *starts], len(names), body=graph), body)
    return []


def _assign(scope: NetworkScope, names: Sequence[str], results: Sequence[str], inner: NetworkScope) -> None:
    for name, result in zip(names, results, strict=True):
        scope.values[name] = Array(result, inner.values[name].rank)


LAYERS: dict[str, LayerHandler] = {"branch": _branch, "loop": _loop}
