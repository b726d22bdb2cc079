"""From an MXNet model to a Graph, by way of an ONNX model."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from ...graph.ir import Graph
from ...system.limits import CompileMemory
from ..model_card import ModelCard, Port
from ..model_inputs import ModelInputs
from ..usual_sizes import import_at_usual_sizes
from .convert import convert, count_operators, declared_inputs, output_names, unsupported_kinds, usual_sizes
from .read_model import read_model


def import_model(
    model: str | Path | bytes, inputs: ModelInputs | None = None, memory: CompileMemory | None = None
) -> Graph:
    """The graph of an MXNet model. The ranks of inputs are those that `inputs` give, or as its operators need them.

    Raises InputError for what is no such file or does not fit `inputs`, and one UnsupportedError that names everything
    that is not supported.
    """
    read = read_model(model)
    ranks = {name: len(shape) for name, shape in (inputs.shapes if inputs else {}).items()}
    return import_at_usual_sizes(lambda: convert(read, ranks), usual_sizes(read), inputs, memory)


def describe(model: str | Path | bytes) -> ModelCard:
    """Raises InputError for what is no MXNet model."""
    read = read_model(model)
    names = {node.name for node in read.nodes.values() if node.op is None}
    arrays = [a for name, a in read.parameters.items() if name in names]
    sizes: Counter[str] = Counter()
    for a in arrays:
        sizes[a.dtype.name] += a.nbytes
    return ModelCard(
        name=read.name,
        producer=f"MXNet {read.version}".strip(),
        opset=0,
        operators=count_operators(read),
        parameters=sum(a.size for a in arrays),
        inputs=tuple(Port(read.nodes[i].name, "float32", s) for i, s in declared_inputs(read, {}).items()),
        outputs=tuple(Port(name, "float32", None) for name in output_names(read)),
        weights=dict(sizes.most_common()),
        unsupported=tuple(unsupported_kinds(read)),
    )
