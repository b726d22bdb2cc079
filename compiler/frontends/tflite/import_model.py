"""From a TFLite model to a Graph, by way of an ONNX model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from math import prod
from pathlib import Path

from ...graph.ir import Graph
from ...system.limits import CompileMemory
from ..model_card import ModelCard, Port
from ..model_inputs import ModelInputs
from ..signatures import signatures_by_use
from ..usual_sizes import import_at_usual_sizes
from .convert import convert, count_operators, declared, unsupported_kinds, usual_sizes
from .read_model import Tensor, read_model

_OF_CONVERTERS = ("MLIR Converted.", "TOCO Converted.")
"""Descriptions that converters write into every file."""


def import_model(
    model: str | Path | bytes, inputs: ModelInputs | None = None, memory: CompileMemory | None = None
) -> Graph:
    """The graph of a TFLite model. Free dimensions that `inputs` leave open have the sizes that the file has for them.

    Raises InputError for what is no such file or does not fit `inputs`, and one UnsupportedError that names everything
    that is not supported.
    """
    read = read_model(model, inputs.signature if inputs else "")
    return import_at_usual_sizes(lambda: convert(read), usual_sizes(read), inputs, memory)


def _weights(tensors: Iterable[Tensor]) -> dict[str, int]:
    """Bytes in the file by the type of elements, most first."""
    found: Counter[str] = Counter()
    for t in tensors:
        if t.data is not None:
            found[t.dtype] += t.data.nbytes // (2 if t.dtype == "int4" else 1)
    return dict(found.most_common())


def describe(model: str | Path | bytes, signature: str = "") -> ModelCard:
    """The card of what a signature computes. Raises InputError for what is no TFLite model, or lacks the signature."""
    read = read_model(model, signature)
    main = read.subgraphs[read.main]
    tensors = [t for s in read.subgraphs for t in s.tensors if t.data is not None]

    def port(i: int, name: str, is_input: bool) -> Port:
        t = main.tensors[i]
        shape = declared(t, name) if is_input else tuple(None if n < 0 else n for n in t.signature)
        return Port(name, t.dtype, shape)

    return ModelCard(
        name=read.name,
        producer="TensorFlow Lite",
        opset=0,
        operators=count_operators(read),
        parameters=sum(prod(t.shape) for t in tensors if t.dtype.startswith(("float", "int4", "int8", "uint8"))),
        inputs=tuple(port(i, read.input_name(n), True) for n, i in enumerate(main.inputs)),
        outputs=tuple(port(i, read.output_name(n), False) for n, i in enumerate(main.outputs)),
        description="" if read.description in _OF_CONVERTERS else read.description,
        weights=_weights(tensors),
        unsupported=unsupported_kinds(read),
        signatures=signatures_by_use(read.signatures, read.signature.key) if read.signature else (),
    )
