"""From a model that is no network (trees, linear models, support vectors, preparation of features) to ONNX nodes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from google.protobuf.descriptor import FieldDescriptor

from ..model_builder import ModelBuilder
from .feature_values import Features
from .models import MODELS, ModelCall
from .read_model import Model
from .read_value import Value


def add_classical(builder: ModelBuilder, model: Model, given: Features) -> Features:
    """The outputs. Raises UnsupportedError for what is not supported, in words that name the model."""
    return MODELS[model.kind](ModelCall(builder, model, given))


def count_models(model: Model) -> dict[str, int]:
    return {model.kind: 1}


def constants(model: Model) -> Iterator[Value]:
    """One value, with as many elements as the model has numbers that are no integers."""
    count = _doubles(model.classical)
    if count:
        yield Value("float64", (count,))


def _doubles(message: Any) -> int:
    count = 0
    for field, value in message.ListFields():
        several = value if field.is_repeated else [value]
        if field.type == FieldDescriptor.TYPE_DOUBLE:
            count += len(several)
        elif field.type == FieldDescriptor.TYPE_MESSAGE:
            count += sum(_doubles(inner) for inner in several)
    return count
