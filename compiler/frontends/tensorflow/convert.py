"""From a TensorFlow graph to an ONNX model, whose nodes and values keep the names of the graph's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import onnx

from ...errors import InputError, UnsupportedError
from ...system.limits import NODES
from ..images import Images
from ..unsupported import named
from .call import Call, Scope
from .facts import FactBuilder, with_shape
from .operators import OPERATORS
from .read_checkpoint import DAMAGES
from .read_graph import Function, Node, Ref, called_functions
from .read_model import Model, Port
from .read_tensor import onnx_type
from .values import Batched, Missing, Value


def convert(model: Model) -> onnx.ModelProto:
    """Inputs and outputs have the names of the signature, or those of their nodes. Free dimensions are named after
    their input: `x_0`. Raises UnsupportedError, which names all that is not supported, and InputError for a damaged
    graph."""
    builder = FactBuilder(model.name)
    converter = _Converter(model)
    converter.check()
    scope = Scope(model, model.main, builder, Images(builder), converter.convert)
    arguments: list[Value] = [builder.input(p.name, _type(model, p), declared(p)) for p in model.inputs]
    # What is an output keeps that name for itself.
    outputs = [builder.name(p.name) for p in model.outputs]
    for port, value in zip(model.inputs, arguments, strict=True):
        scope.values[port.ref] = value
    results = converter.convert(scope, ())
    converter.check()
    for port, name, value in zip(model.outputs, outputs, results, strict=True):
        if isinstance(value, Batched):
            value = Call(scope, model.main.nodes[port.ref[0]], [value]).read(0)
        if not isinstance(value, str | np.ndarray):
            raise UnsupportedError(f"{model.name}: its output {name!r} is not a tensor")
        own = scope.materialised(value, name)
        builder.node("Identity", [own], name, outputs=[name])
        dtype = builder.facts[own].dtype
        if not dtype:
            raise UnsupportedError(f"{model.name}: the element type of its output {name!r} is not known")
        builder.output(name, dtype, None)
    return builder.model(model.description)


def declared(port: Port) -> tuple[int | str, ...] | None:
    if port.shape is None:
        return None
    return tuple(f"{port.name}_{d}" if n is None else n for d, n in enumerate(port.shape))


def _type(model: Model, port: Port) -> int:
    try:
        return onnx_type(port.dtype)
    except UnsupportedError as error:
        raise UnsupportedError(
            f"{model.name}: its input {port.name!r}: {error}; save the model behind what reads these"
        ) from None


class _Converter:
    """Adds the nodes of functions to builders, and collects what is not supported."""

    def __init__(self, model: Model) -> None:
        self._model, self._count = model, 0
        kinds: dict[str, list[str]] = {}
        for node in reached_nodes(model):
            if node.op not in OPERATORS:
                kinds.setdefault(node.op, []).append(node.name)
        by_count = sorted(kinds.items(), key=lambda item: (-len(item[1]), item[0]))
        self._problems = dict.fromkeys(_line(op, names) for op, names in by_count)

    def check(self) -> None:
        """Raises UnsupportedError with all that is not supported, if anything is."""
        if self._problems:
            listed = "".join(f"\n  {line}" for line in self._problems)
            raise UnsupportedError(
                f"{self._model.name} needs what is not supported, {len(self._problems)} in all:{listed}\n"
                "Replace or remove these in the model, or save the part of it without them."
            )

    def convert(self, scope: Scope, arguments: Sequence[Value]) -> list[Value]:
        """The results of the scope's function."""
        function = scope.function
        if arguments or scope.inside:
            if len(arguments) != len(function.arguments):
                raise ValueError(
                    f"the function {function.name!r} takes {len(function.arguments)} operands, and {len(arguments)} "
                    "are given"
                )
            scope.values.update({(name, 0): v for name, v in zip(function.arguments, arguments, strict=True)})
        for node in self._in_order(scope):
            self._convert_node(scope, node)
        return [self._value(scope, ref) for ref in function.results]

    def _in_order(self, scope: Scope) -> list[Node]:
        """The nodes that the results need, each behind its operands."""
        order: list[Node] = []
        done: dict[str, bool] = {}  # False while its operands are looked at
        given = {name for name, _ in scope.values}
        stack = [ref[0] for ref in reversed(scope.function.results)]
        while stack:
            name = stack[-1]
            if done.get(name) or name in given:
                stack.pop()
                continue
            node = scope.function.nodes.get(name)
            if node is None:
                raise self._damaged(f"there is no node {name!r}")
            waiting = [ref[0] for ref in node.inputs if not done.get(ref[0]) and ref[0] not in given]
            if name in done and waiting:
                raise self._damaged(f"{node.op} ({name!r}) depends on itself")
            done[name] = not waiting
            if waiting:
                stack += waiting
            else:
                order.append(node)
                stack.pop()
        return order

    def _value(self, scope: Scope, ref: Ref) -> Value:
        value = scope.values.get(ref)
        if value is None and isinstance(first := scope.values.get((ref[0], 0)), Missing):
            return first
        if value is None:
            raise self._damaged(f"{ref[0]!r} has no result {ref[1]}")
        return value

    def _convert_node(self, scope: Scope, node: Node) -> None:
        self._count += 1
        if self._count > NODES:
            raise InputError(
                f"{self._model.name} has more than {NODES} nodes, with its functions inlined; give a smaller model"
            )
        operands = [self._value(scope, ref) for ref in node.inputs]
        call = Call(scope, node, operands)
        results: list[Value] = [Missing()]
        if not any(isinstance(v, Missing) for v in operands):
            try:
                results = _listed(OPERATORS[node.op](call))
            except UnsupportedError as error:
                # Other operators can still be checked: the model is refused at the end.
                self._problems[str(error)] = None
            except DAMAGES as error:
                raise self._damaged(f"{node.op} ({call.stem!r}): {type(error).__name__}: {error}") from error
        shapes = call.shapes("_output_shapes")
        for i, value in enumerate(results):
            scope.values[node.name, i] = value
            if isinstance(value, str) and i < len(shapes):
                with_shape(scope.builder, value, shapes[i])

    def _damaged(self, what: str) -> InputError:
        return InputError(
            f"{self._model.name} is not a valid TensorFlow graph: {what}; save it again, or report this with the model"
        )


def _listed(results: Value | Sequence[Value]) -> list[Value]:
    return list(results) if isinstance(results, list | tuple) else [results]  # type: ignore[list-item]


def reached_nodes(model: Model) -> list[Node]:
    """The nodes that the outputs need, and those of the functions that they call, each function once."""
    found: list[Node] = []
    functions: dict[str, Function] = {"": model.main}
    waiting = [model.main]
    inputs = {p.ref[0] for p in model.inputs}
    while waiting:
        function = waiting.pop()
        given = inputs if function is model.main else set(function.arguments)
        seen: set[str] = set()
        stack = [ref[0] for ref in function.results]
        while stack:
            name = stack.pop()
            node = function.nodes.get(name)
            if node is None or name in seen or name in given:
                continue
            seen.add(name)
            found.append(node)
            stack += [ref[0] for ref in node.inputs]
            for called in called_functions(node):
                if called in model.functions and called not in functions:
                    functions[called] = model.functions[called]
                    waiting.append(functions[called])
    return found


def count_operators(model: Model) -> dict[str, int]:
    """Calls, constants and variables aside."""
    aside = ("Const", "VarHandleOp", "ReadVariableOp", "Identity", "NoOp", "PartitionedCall", "StatefulPartitionedCall")
    return dict(Counter(n.op for n in reached_nodes(model) if n.op not in aside).most_common())


def unsupported_kinds(model: Model) -> tuple[str, ...]:
    return tuple(dict.fromkeys(n.op for n in reached_nodes(model) if n.op not in OPERATORS))


_OF_WORDS = ("String", "RegexReplace", "AsString", "HashTableV2", "LookupTable", "Decode", "Parse", "Unicode")
_RANDOM = ("Random", "Multinomial", "TruncatedNormal", "ParameterizedTruncatedNormal", "Stateless")
_OLD_LOOPS = ("Switch", "Merge", "Enter", "Exit", "NextIteration", "LoopCond", "RefSwitch", "RefMerge")


def _advice(op: str) -> str:
    """Advice for an operator that is not supported, where there is any."""
    if op in _OLD_LOOPS:
        return (
            "; it is control flow of TensorFlow 1: save the model with tf.compat.v1.enable_control_flow_v2(), for "
            "TensorFlow.js with tensorflowjs_converter --control_flow_v2=True, or give the SavedModel in place of a "
            "frozen graph"
        )
    if any(word in op for word in _OF_WORDS) or op.startswith("Hash"):
        return "; it works on text or files: save the part of the model behind it, which takes numbers"
    if op.startswith(_RANDOM) and "If" not in op:
        return "; its results are random: save the model for inference (training=False)"
    if op.startswith(("Assign", "Resource", "Queue", "Iterator")):
        return "; it keeps values from one run to the next: save a function that takes and returns them"
    return ""


def _line(op: str, names: list[str]) -> str:
    return f"{op}: {named(names, 'operator')}{_advice(op)}"
