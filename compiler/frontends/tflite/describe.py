"""Describes a TFLite model by what the file says of itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from math import prod
from pathlib import Path

from ..model_card import ModelCard, Port
from ..signatures import signatures_by_use
from .convert import count_operators, declared, kept_states, unsupported_kinds
from .read_model import Tensor, read_model

_OF_CONVERTERS = ("MLIR Converted.", "TOCO Converted.")
"""Descriptions that converters write into every file."""


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
        outputs=tuple(port(i, name, False) for i, name in read.outputs),
        description="" if read.description in _OF_CONVERTERS else read.description,
        weights=_weights(tensors),
        unsupported=unsupported_kinds(read),
        states=kept_states(read),
        signatures=signatures_by_use(read.signatures, read.signature.key) if read.signature else (),
    )
