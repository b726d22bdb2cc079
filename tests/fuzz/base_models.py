"""Small valid models with inputs that suit them: what mutations start from."""

from __future__ import annotations

import functools
import zlib
from random import Random

import numpy as np
import onnx
from fuzz.case import Array
from onnx import helper, numpy_helper
from op_table import Case, all_cases, feeds, make_model
from random_graphs import random_graph
from random_models import random_model


@functools.cache
def rows() -> tuple[Case, ...]:
    """The rows of the operator table that are small, and in which onnxruntime is right."""
    small = (c for c in all_cases() if sum(a.size for a in c.inputs if a is not None) <= 20_000)
    return tuple(c for c in small if c.expected is None)


def base_model(draw: Random) -> tuple[onnx.ModelProto, dict[str, Array]]:
    """A row of the operator table, or more rarely a graph of several operators. In one of four, parameters are inputs;
    in another, inputs are parameters."""
    choice = draw.random()
    if choice < 0.1:
        graph = random_graph(draw.randrange(10_000))
        return graph.model(), dict(graph.inputs)
    model = onnx.ModelProto()
    if choice < 0.2:
        model.CopyFrom(random_model(draw.randrange(10_000)))
        shape = [d.dim_value for d in model.graph.input[0].type.tensor_type.shape.dim]
        given = {"x": np.random.default_rng(draw.randrange(10_000)).standard_normal(shape).astype(np.float32)}
    else:
        case = pick_row(draw)
        model.CopyFrom(make_model(case))
        given = dict(feeds(case))
    match draw.randrange(4):
        case 0:
            for tensor in list(model.graph.initializer):
                move_to_inputs(model, given, tensor)
        case 1:
            for value in list(model.graph.input)[1:]:
                move_to_parameters(model, given, value)
    return model, given


def pick_row(draw: Random) -> Case:
    """A row by a hash of its name: what a seed gives does not change with every row that the table gains."""
    number = draw.randrange(2**32)
    return min(rows(), key=lambda c: zlib.crc32(f"{number} {c.id}".encode()))


def move_to_inputs(model: onnx.ModelProto, given: dict[str, Array], tensor: onnx.TensorProto) -> None:
    """A parameter becomes an input that is fed with the same elements."""
    data = numpy_helper.to_array(tensor)
    given[tensor.name] = data
    if all(v.name != tensor.name for v in model.graph.input):
        model.graph.input.append(helper.make_tensor_value_info(tensor.name, tensor.data_type, data.shape))
    model.graph.initializer.remove(tensor)


def move_to_parameters(model: onnx.ModelProto, given: dict[str, Array], value: onnx.ValueInfoProto) -> None:
    """An input becomes a parameter."""
    if value.name in given:
        model.graph.initializer.append(numpy_helper.from_array(given.pop(value.name), value.name))
        model.graph.input.remove(value)
