"""Describes an MXNet model by what the file says of itself."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from ..model_card import ModelCard, Port
from .convert import count_operators, declared_inputs, output_names, unsupported_kinds
from .read_model import read_model


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
