"""Describes a TensorFlow graph by what the file says of itself."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from pathlib import Path

import numpy as np

from ...errors import InputError, UnsupportedError
from ..model_card import ModelCard
from ..model_card import Port as CardPort
from .convert import count_operators, declared, reached_nodes, unsupported_kinds
from .read_checkpoint import DAMAGES
from .read_model import Model, Port, read_model
from .schema import type_name

_VARIABLES = ("VarHandleOp", "Variable", "VariableV2")


def files_beside(path: Path) -> list[Path]:
    """The index of the variables that the outputs need, and the shards that it names once it is there; none of a file
    that cannot be read."""
    try:
        read = read_model(path)
        return read.checkpoint.files() if any(n.op in _VARIABLES for n in reached_nodes(read)) else []
    except (InputError, UnsupportedError):
        return []


def describe(model: str | Path | bytes, signature: str = "") -> ModelCard:
    """The card of what a signature computes. Raises InputError for what is no TensorFlow graph, or lacks it."""
    return describe_read(read_model(model, signature))


def describe_read(read: Model) -> ModelCard:
    """The card of a model that is read."""
    sizes: Counter[str] = Counter()
    parameters = 0
    try:
        constants = _constants(read)
    except DAMAGES as error:
        raise InputError(
            f"{read.name} is not a valid TensorFlow graph: {type(error).__name__}: {error}; save or download it again"
        ) from None
    for dtype, count in constants:
        sizes[dtype.name] += count * dtype.itemsize
        parameters += count
    return ModelCard(
        name=read.name,
        producer=read.producer,
        opset=0,
        operators=count_operators(read),
        parameters=parameters,
        inputs=tuple(CardPort(p.name, _dtype(p), declared(p)) for p in read.inputs),
        outputs=tuple(CardPort(p.name, _dtype(p) if p.dtype else "", p.shape) for p in read.outputs),
        weights=dict(sizes.most_common()),
        unsupported=unsupported_kinds(read),
        signatures=read.signatures,
    )


def _dtype(port: Port) -> str:
    name = type_name(port.dtype)
    return {"float": "float32", "double": "float64", "half": "float16"}.get(name, name)


def _constants(read: Model) -> list[tuple[np.dtype, int]]:
    """The types and numbers of elements of variables and constants that the outputs need; scalars aside."""
    found = []
    for node in reached_nodes(read):
        with suppress(UnsupportedError):
            if node.op == "Const":
                data = read.constant(node)
                found.append((data.dtype, data.size))
            elif node.op in _VARIABLES:
                key = read.key_of(node)
                if key in read.checkpoint.entries:
                    data = read.checkpoint.read(key, node.name)
                    found.append((data.dtype, data.size))
    return [(dtype, size) for dtype, size in found if size > 1]
