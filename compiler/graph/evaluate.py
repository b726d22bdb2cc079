"""The reference executor: a graph's outputs by the operators' definitions and NumPy, one node at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np

from ..errors import InputError
from ..ir.sizes import shown
from ..program.program import TensorSpec
from ..program.states import check_room
from ..tensor.computed_sizes import definition
from ..tensor.evaluate import evaluate
from ..values.bind_sizes import bind_sizes
from .define import define, tensor_of
from .ir import Array, Graph, Value


def evaluate_graph(graph: Graph, feeds: Mapping[str, Array]) -> dict[str, Array]:
    """The outputs by name, given the inputs by name. Slow and exact: no pass, no schedule, no code generation.

    Values that no later node reads are dropped on the way. Raises InputError where an array does not fit its input,
    StateFullError where states have more rows than a run may find.
    """
    values: dict[Value, Array] = {v: _checked(v, feeds) for v in graph.inputs}
    specs = [TensorSpec(v.name, v.dtype, v.shape, 0) for v in graph.inputs]
    scalars = dict(bind_sizes(graph.dimensions, specs, list(values.values())))
    check_room(graph.dimensions, scalars)
    left = Counter(v for node in graph.nodes for v in node.reads)
    left.update(graph.outputs)
    for node in graph.nodes:
        tensors = {v: tensor_of(v, graph.constants.get(v)) for v in node.reads}
        inputs = {t: values[v] for v, t in tensors.items() if t.data is None}
        with definition(node.name, node.sizes) as defined:
            results = define(node, tensors, begun=True)
        for v, t in zip(node.outputs, results, strict=False):
            if v is not None:
                values[v] = evaluate(t, inputs, scalars, defined.sizes)
        scalars.update((s, int(evaluate(t, inputs, scalars, defined.sizes)[0])) for s, t in defined.with_sources())
        left.subtract(node.reads)
        for v in node.reads:
            if not left[v]:
                values.pop(v, None)
    return {v.name: values[v] if v in values else graph.constants[v] for v in graph.outputs}


def _checked(value: Value, feeds: Mapping[str, Array]) -> Array:
    if value.name not in feeds:
        raise InputError(f"no array is given for input {value.name!r}; it takes {value.dtype}{shown(value.shape)}")
    array = np.asarray(feeds[value.name])
    fits = array.ndim == len(value.shape) and all(
        n == extent for n, extent in zip(value.shape, array.shape, strict=True) if isinstance(n, int)
    )
    if not fits or array.dtype != value.dtype.numpy:
        raise InputError(
            f"input {value.name!r} takes {value.dtype}{shown(value.shape)}, "
            f"not {array.dtype}{list(array.shape)}; convert the array"
        )
    return array
