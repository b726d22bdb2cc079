"""From a Core ML model to an ONNX model."""

from __future__ import annotations

import onnx

from ..model_builder import ModelBuilder
from .classes import Labels, add_labels
from .feature_values import FeatureValue
from .forms import form_of
from .problems import collect
from .read_model import Model, valid
from .types import onnx_type


def convert(model: Model) -> onnx.ModelProto:
    """Inputs and outputs have the names of the model's description. Raises UnsupportedError, which names all that is
    not supported, and InputError for what no converter writes."""
    with valid(model.name):
        form = form_of(model)
        collect(model.name, form.unsupported(model), form.noun).check()
        builder = ModelBuilder(model.name)
        given = {}
        for feature in form.inputs(model):
            name = builder.input(feature.name, onnx_type(feature.dtype), feature.shape)
            shape = tuple(n if isinstance(n, int) else None for n in feature.shape)
            given[feature.name] = FeatureValue(name, feature.dtype, shape)
        # What is an output keeps that name for itself.
        reserved = {name: builder.name(name) for name in form.outputs(model)}
        for name, result in form.add(builder, model, given).items():
            if isinstance(result, Labels):
                add_labels(builder, reserved[name], result)
            else:
                builder.node("Identity", [result.name], name, outputs=[reserved[name]])
                builder.output(reserved[name], onnx_type(result.dtype), None)
        return builder.model(model.proto.description.metadata.shortDescription)
