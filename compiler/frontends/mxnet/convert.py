"""From an MXNet model to an ONNX model, whose nodes and values have the names of MXNet's nodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np
import onnx

from ...errors import InputError, UnsupportedError
from ..model_builder import ModelBuilder
from ..ranked_call import Value
from ..unsupported import Unsupported, named
from .call import Call
from .operators import OPERATORS
from .read_model import DAMAGES, Model, Node

_WEIGHTED = frozenset(
    {"BatchNorm", "BatchNorm_v1", "Convolution", "Convolution_v1", "Deconvolution", "Embedding", "FullyConnected"}
    | {"InstanceNorm", "LayerNorm"}
)
"""Operators whose operands are parameters, but for the first."""

_IMAGE = 4
"""The rank of an input of which nothing says another one."""


def convert(model: Model, ranks: Mapping[str, int] | None = None) -> onnx.ModelProto:
    """Inputs are variables that are no parameters; `ranks` are those given by name. Raises UnsupportedError, which
    names all that is not supported, and InputError for a damaged model or one without its parameters."""
    _check_parameters(model)
    unsupported = Unsupported(model.name, "node", "Replace or remove these operators, or export the model as ONNX.")
    unsupported.add_kinds(unsupported_kinds(model))
    builder = ModelBuilder(model.name)
    values: dict[int, list[Value] | None] = {}
    """By node; None where an operator that is not supported would compute it."""
    for i, shape in declared_inputs(model, ranks or {}).items():
        name = model.nodes[i].name
        values[i] = [Value(builder.input(name, onnx.TensorProto.FLOAT, shape), len(shape))]
    names = output_names(model)
    outputs = [builder.name(name) for name in names]  # what is an output keeps that name for itself
    for i, node in model.nodes.items():
        if i in values:
            continue
        if node.op is None:
            data = model.parameters[node.name]
            values[i] = [Value(builder.constant(data, node.name), data.ndim)]
            continue
        operands = [None if (v := values[n]) is None else v[r] if r < len(v) else None for n, r in node.inputs]
        known = [v for v in operands if v is not None]
        values[i] = None
        if len(known) == len(operands) and node.op in OPERATORS:
            weights = [_parameter(model, n) for n, _ in node.inputs]
            values[i] = _converted(model, Call(builder, node, known, weights, model.parameters), unsupported)
    unsupported.check()
    for (i, result), name, own in zip(model.heads, names, outputs, strict=True):
        found = values[i]
        if found is None or result >= len(found):
            raise InputError(f"{model.name}: {model.nodes[i].name!r} has no result {result}; export the model again")
        builder.node("Identity", [found[result].name], name, outputs=[own])
        builder.output(own, onnx.TensorProto.FLOAT, None)
    return builder.model()


def _converted(model: Model, call: Call, unsupported: Unsupported) -> list[Value] | None:
    """The results of an operator; None where it needs what is not supported."""
    node = call.source
    try:
        found = OPERATORS[str(node.op)](call)
    except UnsupportedError as error:
        unsupported.add(str(error))
        return None
    except DAMAGES as error:
        raise InputError(
            f"{model.name} is not a valid MXNet model, or {model.file or 'its parameters'} are not its parameters: "
            f"{node.op} ({node.name!r}): {type(error).__name__}: {error}; export it again"
        ) from error
    return [found] if isinstance(found, Value) else list(found)


def _parameter(model: Model, number: int) -> np.ndarray | None:
    node = model.nodes[number]
    return model.parameters.get(node.name) if node.op is None else None


def inputs_of(model: Model) -> list[int]:
    """The variables that are no parameters, by number."""
    return [i for i, node in model.nodes.items() if node.op is None and node.name not in model.parameters]


def declared_inputs(model: Model, ranks: Mapping[str, int]) -> dict[int, tuple[int | str, ...]]:
    """The shape of each input, by its number: channels are fixed where weights say so, other dimensions are free and
    named after the input."""
    found = {}
    for i in inputs_of(model):
        name, stated = model.nodes[i].name, stated_shape(model.nodes[i])
        needed, channels = _rank_and_channels(model, i)
        rank = ranks.get(name) or len(stated) or needed
        channels = (stated[1] if len(stated) > 1 else 0) or (channels if rank == needed else 0)
        free = [f"{name}_{d}" for d in range(rank)]
        found[i] = tuple(channels if d == 1 and channels else n for d, n in enumerate(free))
    return found


def stated_shape(node: Node) -> tuple[int, ...]:
    """The shape that a variable was made with; 0 is a free extent, () where there is none."""
    stated = node.attribute("__shape__", ())
    return tuple(int(n) for n in stated) if isinstance(stated, tuple | list) else ()


def usual_sizes(model: Model) -> dict[str, int]:
    """The size that the file has for each free dimension, by its name."""
    declared = declared_inputs(model, {})
    return {
        name: n
        for i, shape in declared.items()
        for name, n in zip(shape, stated_shape(model.nodes[i]), strict=False)
        if isinstance(name, str) and n > 0
    }


def _rank_and_channels(model: Model, number: int) -> tuple[int, int]:
    """The rank of an input by the first operator that has one, through those that keep it, and its channels, 0 where
    nothing says them."""
    same = {number}
    for i, node in model.nodes.items():
        if node.op is None or not node.inputs or node.inputs[0][0] not in same:
            continue
        kernel = node.attribute("kernel")
        weights = _parameter(model, node.inputs[1][0]) if len(node.inputs) > 1 else None
        direct = node.inputs[0][0] == number and weights is not None and weights.ndim > 1
        if isinstance(kernel, tuple) and kernel and not (node.op or "").startswith("Deconvolution"):
            channels = weights.shape[1] * int(node.attribute("num_group", 1)) if direct and weights is not None else 0
            return len(kernel) + 2, channels
        if node.op == "FullyConnected":
            return 2, weights.shape[1] if direct and weights is not None else 0
        if node.op == "Embedding":
            return 2, 0
        same.add(i)
    return _IMAGE, 0


def output_names(model: Model) -> list[str]:
    """The names of nodes; of several results of one, with a number from the second on."""
    used: Counter[int] = Counter()
    names = []
    for i, _ in model.heads:
        name = model.nodes[i].name
        names.append(f"{name}_{used[i]}" if used[i] else name)
        used[i] += 1
    return names


def unsupported_kinds(model: Model) -> dict[str, list[str]]:
    """The operators that are not taken, with the names of their nodes."""
    found: dict[str, list[str]] = {}
    for node in model.nodes.values():
        if node.op is not None and node.op not in OPERATORS:
            found.setdefault(node.op, []).append(node.name)
    return found


def count_operators(model: Model) -> dict[str, int]:
    return dict(Counter(node.op for node in model.nodes.values() if node.op is not None).most_common())


def _check_parameters(model: Model) -> None:
    inputs = set(inputs_of(model))
    weights = {n: None for node in model.nodes.values() if node.op in _WEIGHTED for n, _ in node.inputs[1:]}
    lacking = [model.nodes[n].name for n in weights if n in inputs]
    if not lacking:
        return
    if not model.file:
        stem = model.name.removesuffix(".json").removesuffix("-symbol")
        raise InputError(
            f"{model.name} is the symbol of an MXNet model, and its parameters are in another file: put "
            f"{stem}-0000.params beside it, and give the path of {model.name}"
        )
    raise InputError(
        f"{model.file} lacks {named(lacking, 'parameter')} of {model.name}; give the file that belongs to this symbol"
    )
