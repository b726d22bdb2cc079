"""While: as Loop of ONNX. What a loop does not change is read from outside of it, a counter that is compared with a
bound gives the number of iterations, and a list that each iteration adds an element to becomes rows of the loop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import onnx

from ..call import Call, Handler, Scope
from ..facts import FactBuilder, Sizes
from ..read_graph import Function, origin
from ..read_model import Model
from ..values import Array, Missing, Reserved, Value, Written
from .control_flow import output, region_of, truth
from .tensor_lists import ListIsRead, reserved_tensor

_BOOL, _INT64 = onnx.TensorProto.BOOL, onnx.TensorProto.INT64


@dataclass(frozen=True, slots=True)
class _Plan:
    """By the numbers of operands: those that the body changes, those that it adds 1 to, and pairs of a counter and the
    bound that it stays below, an operand or a number, which are all of the condition; None where that is another
    one."""

    changed: tuple[int, ...]
    counters: tuple[int, ...]
    bounds: tuple[tuple[int, int | Array], ...] | None


def _plan(model: Model, condition: Function, body: Function) -> _Plan:
    places = {name: i for i, name in enumerate(body.arguments)}
    changed, counters = [], []
    for i, ref in enumerate(body.results):
        name, result = origin(body.nodes, ref)
        if name == body.arguments[i] and not result:
            continue
        changed.append(i)
        node = body.nodes.get(name)
        if node is not None and node.op in ("Add", "AddV2"):
            sources = [origin(body.nodes, r)[0] for r in node.inputs]
            if sorted(places.get(s, -1) for s in sources) == [-1, i] and any(_is_one(model, body, s) for s in sources):
                counters.append(i)
    return _Plan(tuple(changed), tuple(counters), _bounds(model, condition, changed, counters))


def _is_one(model: Model, function: Function, name: str) -> bool:
    node = function.nodes.get(name)
    if node is None or node.op != "Const":
        return False
    data = model.constant(node)
    return data.size == 1 and data.dtype.kind == "i" and int(data.reshape(-1)[0]) == 1


def _bounds(
    model: Model, condition: Function, changed: Sequence[int], counters: Sequence[int]
) -> tuple[tuple[int, int | Array], ...] | None:
    places = {name: i for i, name in enumerate(condition.arguments)}
    waiting = [condition.results[0]]
    found: list[tuple[int, int | Array]] = []
    while waiting:
        name, _ = origin(condition.nodes, waiting.pop())
        node = condition.nodes.get(name)
        if node is None or len(node.inputs) != 2:
            return None
        if node.op == "LogicalAnd":
            waiting += node.inputs
            continue
        names = [origin(condition.nodes, r)[0] for r in node.inputs]
        counter, bound = (places.get(n, -1) for n in names)
        constant = condition.nodes.get(names[1])
        if node.op != "Less" or counter not in counters or bound in changed:
            return None
        if bound >= 0:
            found.append((counter, bound))
        elif constant is not None and constant.op == "Const":
            found.append((counter, model.constant(constant)))
        else:
            return None
    return tuple(found)


def _while(call: Call) -> list[Value]:
    model, functions = call.scope.model, call.scope.model.functions
    plan = _plan(model, functions[call.function("cond")], functions[call.function("body")])
    try:
        return _loop(call, plan)
    except ListIsRead:
        # Lists that a body reads, or writes in another order, are tensors that it carries.
        call.operands = [reserved_tensor(call, v) if isinstance(v, Reserved) else v for v in call.operands]
        return _loop(call, plan)


def _loop(call: Call, plan: _Plan) -> list[Value]:
    carried = [i for i in plan.changed if not isinstance(call.operands[i], Reserved)]
    rows = [i for i in plan.changed if isinstance(call.operands[i], Reserved)]
    region = region_of(call, "body")
    body = region.builder
    region.in_loop = True
    body.input("round", _INT64, [])
    goes_on = body.input("goes_on", _BOOL, [])
    arguments: list[Value] = list(call.operands)
    shapes = call.shapes("output_shapes")
    for i in carried:
        fact = call.facts[call.read(i)]
        shape = shapes[i] if i < len(shapes) and shapes[i] is not None else _merged(fact.shape, i in plan.counters)
        arguments[i] = _argument(body, f"{call.stem}.{i}", fact.dtype, shape)
    results = region.convert(region, arguments)
    if any(isinstance(v, Missing) for v in results):
        return [Missing()]
    trips, first = _iterations(call, plan), ""
    if not trips:
        first = _condition(call, call.scope.inner(call.function("cond")), call.operands, "before")
        after = _condition(call, call.scope.inner(call.function("cond"), body), results, "after")
        output(call, region, after)
    else:
        output(call, region, goes_on)
    for i in carried:
        output(call, region, results[i])
    for i in rows:
        _row(call, plan, region, arguments, results[i])
    values = call.nodes(
        "Loop", [trips, first, *(call.read(i) for i in carried)], len(carried) + len(rows), body=body.graph()
    )
    found: list[Value] = list(call.operands)
    for i, value in zip((*carried, *rows), values, strict=True):
        argument, result = arguments[i], results[i]
        if isinstance(result, Written):
            item = call.facts[result.item]
            call.facts[value] = type(item)(item.dtype, None if item.shape is None else (None, *item.shape))
            if _is_only(call, result):
                value = call.node("Slice", [value, *map(call.integers, ([-1], [2**31 - 1], [0]))])
        else:
            assert isinstance(argument, str)
            call.facts[value] = call.facts[argument]
        found[i] = value
    return found


def _merged(shape: Sizes | None, counts: bool) -> Sizes | None:
    """The shape of what is carried, where the file does not state it: as it enters the loop."""
    return () if counts else shape


def _row(call: Call, plan: _Plan, region: Scope, arguments: Sequence[Value], result: Value) -> None:
    """The graph of the body has the element that an iteration sets as its next output. Raises ListIsRead where that is
    neither the element of its number nor the only one."""
    if not isinstance(result, Written) or plan.bounds is None:
        raise ListIsRead
    places = [i for i in plan.counters if arguments[i] == result.index]
    start = call.known(places[0]) if places else None
    if not _is_only(call, result) and (start is None or np.any(start != 0)):
        raise ListIsRead
    output(call, region, result.item)


def _is_only(call: Call, result: Written) -> bool:
    """Whether each iteration sets the only element of a list."""
    return call.facts[result.index].numbers == (0,) and call.facts[result.reserved.count].numbers == (1,)


def _iterations(call: Call, plan: _Plan) -> str:
    """The number of iterations, the smallest distance of a counter to its bound; empty where another condition ends
    the loop."""
    if not plan.bounds:
        return ""
    left = []
    for counter, bound in plan.bounds:
        end = call.scalar(bound, _INT64) if isinstance(bound, int) else call.integers(int(bound.reshape(-1)[0]))
        left.append(call.node("Sub", [end, call.scalar(counter, _INT64)]))
    least = left[0] if len(left) == 1 else call.node("Min", left)
    return call.node("Max", [least, call.integers(0)])


def _condition(call: Call, scope: Scope, values: Sequence[Value], where: str) -> str:
    scope.prefix = f"{call.stem}/{where}/"
    (result, *_) = scope.convert(scope, values)
    if isinstance(result, Missing):
        raise call.unsupported("its condition needs what is not supported")
    return truth(scope, result, call.stem)


def _argument(body: FactBuilder, name: str, dtype: int, shape: Sizes | None) -> str:
    """An input of the body, whose shape is stated to the builder alone."""
    own = body.input(name, dtype, None)
    body.facts[own] = type(body.facts[own])(dtype, shape)
    return own


OPERATORS: dict[str, Handler] = {"StatelessWhile": _while, "While": _while}
