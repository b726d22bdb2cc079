"""Removes functions of a model for which the user defines an operator."""

from __future__ import annotations

import onnx

from ...custom.table import CustomOperators


def prefer_custom(model: onnx.ModelProto, custom: CustomOperators) -> onnx.ModelProto:
    """function com.example.Swish(x) {...}, Swish(x)   ->   Swish(x), where `custom` has com.example.Swish.

    The same object where the model has no such function.
    """
    kept = [f for f in model.functions if (f.domain, f.name) not in custom]
    if len(kept) == len(model.functions):
        return model
    changed = onnx.ModelProto()
    changed.CopyFrom(model)
    del changed.functions[:]
    changed.functions.extend(kept)
    return changed
