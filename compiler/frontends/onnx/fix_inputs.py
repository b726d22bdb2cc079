"""Makes constants of inputs: what a model declares as an input may be one that never changes."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import onnx
from onnx import helper, numpy_helper

from ...dtypes import STORAGE_TYPES
from ...errors import InputError
from ..model_inputs import NUMBERS
from .fix_shapes import declared_shape
from .read_model import Source
from .read_tensor import element_type, type_name
from .separate_weights import KEPT_ELEMENTS, Weights


def fix_inputs(
    skeleton: onnx.ModelProto, weights: Weights, constants: Mapping[str, np.ndarray], source: Source
) -> Weights:
    """The weights and `constants`, which are no inputs of `skeleton` any more. Small ones stay in it, as do small
    weights.

    Raises InputError for a constant that is no input, or does not fit it.
    """
    if not constants:
        return weights
    inputs = {v.name: v for v in skeleton.graph.input}
    fixed = dict(weights)
    for name, value in constants.items():
        if name not in inputs or (name in weights and not _is_default(skeleton, name)):
            names = ", ".join(repr(n) for n in inputs if n not in weights) or "none"
            raise InputError(f"--fix {name}: {source.name} has no such input; its inputs are: {names}")
        code, data = inputs[name].type.tensor_type.elem_type, _fitted(inputs[name], value)
        stored = code in STORAGE_TYPES
        tensor = helper.make_tensor(name, code, data.shape, data) if stored else numpy_helper.from_array(data, name)
        fixed[name] = tensor
        if value.size <= KEPT_ELEMENTS:
            skeleton.graph.initializer.append(tensor)
            skeleton.graph.input.remove(inputs[name])
    return fixed


def _is_default(skeleton: onnx.ModelProto, name: str) -> bool:
    """Whether an initialiser is the default value of an input, which may have another."""
    return any(v.name == name for v in skeleton.graph.input)


def _fitted(value: onnx.ValueInfoProto, data: np.ndarray) -> np.ndarray:
    """`data` in the dtype and the shape of an input: one number also for a shape of one element."""
    name, tensor = value.name, value.type.tensor_type
    dtype = element_type(tensor.elem_type)
    if dtype is None:
        raise InputError(f"--fix {name}: it has elements of type {type_name(tensor.elem_type)}, which is not supported")
    array = np.asarray(data)
    if array.dtype.kind not in NUMBERS:
        raise InputError(f"--fix {name}: {array.dtype.name}{list(array.shape)} is no array of numbers")
    with np.errstate(all="ignore"):
        converted = array.astype(dtype.numpy)
    exact = array.dtype.kind == "f" and dtype.is_float
    stored = STORAGE_TYPES.get(tensor.elem_type)
    low, high = (-np.inf, np.inf) if stored is None or dtype.is_float else stored.span
    if not exact and (other := array[(converted != array) | (array < low) | (array > high)]).size:
        named = dtype if stored is None else stored.name
        raise InputError(f"--fix {name}: {other[0].item()} is no {named}, which this input is")
    shape = declared_shape(tensor)
    if shape is None:
        return converted
    if converted.size == 1 and all(d == 1 for d in shape if isinstance(d, int)) and converted.ndim != len(shape):
        converted = converted.reshape((1,) * len(shape))
    fits = converted.ndim == len(shape) and all(
        d == n for d, n in zip(shape, converted.shape, strict=True) if isinstance(d, int)
    )
    if not fits:
        listed = ", ".join("?" if d is None else str(d) for d in shape)
        raise InputError(
            f"--fix {name}: the shape {list(converted.shape)} is given, and the model declares [{listed}]; give an "
            f"array of that shape, --fix {name}=FILE.npy"
        )
    return converted
