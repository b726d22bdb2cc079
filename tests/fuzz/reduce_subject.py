"""Smaller subjects in place of one: fewer nodes, outputs, attributes, smaller extents; or fewer bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import onnx
from fuzz.case import Array, Subject
from fuzz.draw_subject import fit_feeds
from google.protobuf.message import DecodeError, EncodeError
from onnx import numpy_helper


def smaller(subject: Subject) -> Iterator[Subject]:
    """Subjects that are smaller by one step each, the largest steps first. Many are no valid models."""
    model = onnx.ModelProto()
    try:
        model.ParseFromString(subject.model)
    except DecodeError:
        yield from (_with(subject, data, {}) for data in _fewer_bytes(subject.model))
        return
    # A damaged model could crash ONNX.
    shapes = _inferred(model) if subject.strict else {}
    size = _size(model)
    for change in _changes(model, shapes):
        copy = onnx.ModelProto()
        copy.CopyFrom(model)
        given = dict(subject.feeds)
        try:
            change(copy, given)
            _drop_unused(copy)
            data = copy.SerializeToString()
        except (IndexError, ValueError, TypeError, EncodeError):
            continue
        if _size(copy) < size:
            yield _with(subject, data, fit_feeds(data, given))


def _size(model: onnx.ModelProto) -> tuple[int, int]:
    """Bytes, then extents of inputs."""
    dims = (d.dim_value for v in model.graph.input for d in v.type.tensor_type.shape.dim)
    return model.ByteSize(), sum(dims)


def _with(subject: Subject, data: bytes, given: dict[str, Array]) -> Subject:
    return Subject(data, given, subject.target, subject.strict, subject.edits)


def _fewer_bytes(data: bytes) -> Iterator[bytes]:
    size = len(data) // 2
    while size:
        yield from (data[:at] + data[at + size :] for at in range(0, len(data), size))
        size //= 2


Change = Callable[[onnx.ModelProto, dict[str, Array]], None]


def _changes(model: onnx.ModelProto, shapes: dict[str, onnx.ValueInfoProto]) -> Iterator[Change]:
    graph = model.graph
    for i in reversed(range(len(graph.node))):
        yield lambda m, _, i=i: _cut_behind(m, i)
    for i in range(len(graph.node)):
        yield lambda m, g, i=i: _cut_before(m, g, i, shapes)
    for i in range(len(graph.node)):
        yield lambda m, g, i=i: _bypass(m, i)
    if len(graph.output) > 1:
        for i in range(len(graph.output)):
            yield lambda m, _, i=i: _keep(m.graph.output, i)
    for field in ("value_info", "doc_string", "sparse_initializer"):
        yield lambda m, _, field=field: m.graph.ClearField(field)
    for field in ("functions", "metadata_props", "training_info", "producer_name"):
        yield lambda m, _, field=field: m.ClearField(field)
    for i, n in enumerate(graph.node):
        for j in range(len(n.attribute)):
            yield lambda m, _, i=i, j=j: m.graph.node[i].attribute.pop(j)
        if len(n.input) > 8:
            yield lambda m, _, i=i: _halve_inputs(m.graph.node[i])
    extents = {d for t in graph.initializer for d in t.dims}
    extents |= {d.dim_value for v in graph.input for d in v.type.tensor_type.shape.dim}
    for extent in sorted((e for e in extents if e > 1), reverse=True):
        for less in dict.fromkeys((1, extent // 2, extent - 1)):
            yield lambda m, g, extent=extent, less=less: _resize(m, g, extent, less)


def _inferred(model: onnx.ModelProto) -> dict[str, onnx.ValueInfoProto]:
    inferred = onnx.shape_inference.infer_shapes(model).graph
    return {v.name: v for v in (*inferred.value_info, *inferred.output)}


def _keep(held: object, i: int) -> None:
    kept = held[i]  # type: ignore[index]
    copy = type(kept).FromString(kept.SerializeToString())
    del held[:]  # type: ignore[attr-defined]
    held.append(copy)  # type: ignore[attr-defined]


def _cut_behind(model: onnx.ModelProto, last: int) -> None:
    """The nodes end with `last`, whose outputs are the model's."""
    made = [o for o in model.graph.node[last].output if o]
    del model.graph.node[last + 1 :]
    del model.graph.output[:]
    model.graph.output.extend(onnx.helper.make_empty_tensor_value_info(o) for o in made)


def _cut_before(
    model: onnx.ModelProto, given: dict[str, Array], i: int, shapes: dict[str, onnx.ValueInfoProto]
) -> None:
    """Outputs of a node become inputs."""
    for name in model.graph.node[i].output:
        if name:
            model.graph.input.append(shapes[name] if name in shapes else onnx.helper.make_empty_tensor_value_info(name))
            dims = [d.dim_value for d in model.graph.input[-1].type.tensor_type.shape.dim]
            given[name] = np.random.default_rng(i).standard_normal(dims)
    del model.graph.node[i]


def _bypass(model: onnx.ModelProto, i: int) -> None:
    """Who reads a node's output reads its first input."""
    node = model.graph.node[i]
    old, new = node.output[0], node.input[0]
    for other in model.graph.node:
        other.input[:] = [new if n == old else n for n in other.input]
    del model.graph.node[i]


def _halve_inputs(node: onnx.NodeProto) -> None:
    node.input[:] = node.input[: len(node.input) // 2]


def _resize(model: onnx.ModelProto, given: dict[str, Array], extent: int, less: int) -> None:
    """One extent, wherever it occurs."""
    for tensor in model.graph.initializer:
        if extent in tensor.dims and tensor.data_location != onnx.TensorProto.EXTERNAL:
            data = numpy_helper.to_array(tensor)
            shape = [less if d == extent else d for d in tensor.dims]
            tensor.CopyFrom(numpy_helper.from_array(np.resize(data, shape), tensor.name))
    for value in (*model.graph.input, *model.graph.output):
        for d in value.type.tensor_type.shape.dim:
            if d.dim_value == extent:
                d.dim_value = less


def _drop_unused(model: onnx.ModelProto) -> None:
    """Inputs and parameters that nothing reads."""
    read = {n for node in model.graph.node for n in node.input} | {v.name for v in model.graph.output}
    for field in (model.graph.initializer, model.graph.input):
        for held in [h for h in field if h.name not in read]:
            field.remove(held)
