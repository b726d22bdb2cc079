"""Inputs that are sequences or optionals, as an input for each of their tensors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import onnx
from onnx import helper

from ...errors import InputError
from ...graph.names import Names
from ..model_inputs import Dim, ModelInputs
from .fix_shapes import symbol_of
from .read_model import Source
from .read_tensor import element_type, type_name

_MOST = 1024
"""Tensors of one input."""


def list_inputs(model: onnx.ModelProto, inputs: ModelInputs, source: Source) -> ModelInputs:
    """Replaces each input of `model` that is a sequence of tensors by inputs of the names NAME.0, NAME.1 and so on, and
    one that is optional by NAME.0 or by none. How many there are is the size of its name in `inputs.dims`. Returns
    `inputs` without these sizes.

    Raises InputError where a size is missing, a range, or does not fit. Inputs of types that have no tensors of numbers
    stay.
    """
    graph = model.graph
    listed = {v.name: t for v in graph.input if (t := _tensor_of(v.type)) is not None}
    if not listed:
        return inputs
    names = Names((*(v.name for v in graph.input), *_defined(graph)))
    ports: list[onnx.ValueInfoProto] = []
    nodes: list[onnx.NodeProto] = []
    for value in graph.input:
        if value.name not in listed:
            ports.append(value)
            continue
        count = _count(value, listed[value.name], inputs.dims.get(value.name), source)
        own = [names.fresh(f"{value.name}.{i}") for i in range(count)]
        ports += [_port(n, listed[value.name]) for n in own]
        nodes += _joined(value, own, names)
    del graph.input[:]
    graph.input.extend(ports)
    rest = list(graph.node)
    del graph.node[:]
    graph.node.extend([*nodes, *rest])
    return replace(inputs, dims={name: d for name, d in inputs.dims.items() if name not in listed})


def _tensor_of(type: onnx.TypeProto) -> onnx.TypeProto.Tensor | None:
    """The type of the tensors of a sequence or an optional; None for other types, and for elements that are no
    numbers."""
    inner = type.optional_type.elem_type if type.HasField("optional_type") else type
    inner = inner.sequence_type.elem_type if inner.HasField("sequence_type") else inner
    if inner is type or not inner.HasField("tensor_type"):
        return None
    return None if element_type(inner.tensor_type.elem_type) is None else inner.tensor_type


def _port(name: str, tensor: onnx.TypeProto.Tensor) -> onnx.ValueInfoProto:
    """An input of this name. Tensors of a sequence differ in sizes, so each has names of its own for them."""
    port = onnx.ValueInfoProto(name=name, type=onnx.TypeProto(tensor_type=tensor))
    for dim in port.type.tensor_type.shape.dim:
        if symbol_of(dim):
            dim.dim_param = f"{name}.{dim.dim_param}"
    return port


def _count(value: onnx.ValueInfoProto, tensor: onnx.TypeProto.Tensor, dim: Dim | None, source: Source) -> int:
    name, type = value.name, value.type
    is_optional = type.HasField("optional_type")
    of_one = is_optional and not type.optional_type.elem_type.HasField("sequence_type")
    what = "optional" if of_one else "an optional sequence" if is_optional else "a sequence"
    advice = (
        f"--dim {name}=1 makes it the input {name}.0, --dim {name}=0 leaves it out"
        if of_one
        else f"say how many tensors it has: --dim {name}=2 makes it the inputs {name}.0 and {name}.1"
    )
    said = f"{source.name}: input {name!r} is {what}, of {type_name(tensor.elem_type)}"
    if dim is None:
        raise InputError(f"{said}; {advice}")
    most = 1 if of_one else _MOST
    if dim.least != dim.most or dim.most > most:
        raise InputError(f"{said}, and --dim {name}={dim} is no number up to {most}; {advice}")
    return dim.least


def _joined(value: onnx.ValueInfoProto, own: list[str], names: Names) -> Iterator[onnx.NodeProto]:
    """The nodes that make the input of its tensors."""
    name, type = value.name, value.type
    is_optional = type.HasField("optional_type")
    inner = type.optional_type.elem_type if is_optional else type
    if is_optional and not own:
        yield helper.make_node("Optional", [], [name], name, type=inner)
        return
    made = names.fresh(f"{name}.tensors") if is_optional else name
    if not inner.HasField("sequence_type"):
        made = own[0]
    elif own:
        yield helper.make_node("SequenceConstruct", own, [made], made)
    else:
        dtype = inner.sequence_type.elem_type.tensor_type.elem_type
        yield helper.make_node("SequenceEmpty", [], [made], made, dtype=dtype)
    if is_optional:
        yield helper.make_node("Optional", [made], [name], name)


def _defined(graph: onnx.GraphProto) -> Iterator[str]:
    """The names of values that the graph makes or stores."""
    yield from (t.name for t in graph.initializer)
    yield from (output for node in graph.node for output in node.output)
