"""Mutations of a model's parameters: lengths, ranks, elements, dtypes, and where their data lies."""

from __future__ import annotations

from random import Random

import numpy as np
import onnx
from fuzz.base_models import move_to_inputs, move_to_parameters
from fuzz.case import Array
from onnx import TensorProto, helper, numpy_helper

Feeds = dict[str, Array]
ODD_EXTENTS = (0, 1, 2, 3, 5, 17, 64, 20_000, 2**31 - 1, 2**31, 2**32, 2**32 + 1, 2**62, 2**63 - 1, -1, -2, -(2**63))
ODD_FLOATS = (np.nan, np.inf, -np.inf, 0.0, -0.0, -1.0, 0.5, 1e-30, 1e30, 3e38, 2.0**31, 2.0**62)
DTYPES = tuple(np.dtype(c) for c in "efdbBhilqQ?")
LOCATIONS = (
    "weights.bin",
    "./weights.bin",
    "",
    ".",
    "..",
    "folder",
    "link.bin",
    "link/secret.bin",
    "fifo",
    "short.bin",
    "../secret.bin",
    "/etc/hostname",
    "folder/../../secret.bin",
    "missing.bin",
    "a\0b",
    "C:\\x",
    "\\\\host\\x",
    "//x",
    "file:///etc/hostname",
    "/dev/zero",
    "w" * 5000,
    "folder/" * 300 + "x",
    "weights.bin/x",
    "model.onnx",
    "\xe9\ud7ff",
)
"""Locations of external data, within the folder that `prepare_folder` makes and outside of it."""
NUMBERS = ("0", "1", "-1", "64", "4096", "1e3", "0x10", " 8", "", "٣", str(2**31), str(2**63), str(10**20), "1" * 5000)


def parameters(model: onnx.ModelProto) -> list[onnx.TensorProto]:
    """Initialisers, and values of attributes."""
    held = [a.t for n in model.graph.node for a in n.attribute if a.HasField("t")]
    return [*model.graph.initializer, *held]


def replace(tensor: onnx.TensorProto, data: Array) -> None:
    tensor.CopyFrom(numpy_helper.from_array(np.ascontiguousarray(data), tensor.name))


def _pick(model: onnx.ModelProto, draw: Random) -> onnx.TensorProto | None:
    found = [t for t in parameters(model) if t.data_type in (1, 2, 3, 5, 6, 7, 9, 10, 11, 12, 13) and is_whole(t)]
    return draw.choice(found) if found else None


def is_whole(tensor: onnx.TensorProto) -> bool:
    """Whether its elements are in the model, as many as its dims say and of an element type that there is."""
    if tensor.data_location == TensorProto.EXTERNAL:
        return False
    try:
        numpy_helper.to_array(tensor)
    except (ValueError, TypeError, KeyError):  # ONNX's library: KeyError for an element type that there is not
        return False
    return True


def parameter_length(model: onnx.ModelProto, given: Feeds, draw: Random) -> None:
    tensor = _pick(model, draw)
    if tensor is None or not tensor.dims:
        return
    data = numpy_helper.to_array(tensor)
    shape, axis = list(data.shape), draw.randrange(data.ndim)
    n = shape[axis]
    shape[axis] = draw.choice(
        [0, 1, max(0, n - 1), n + 1, 2 * n, 3, min(20_000, 200_000 // max(1, data.size // max(1, n)))]
    )
    replace(tensor, np.resize(data, shape))


def parameter_rank(model: onnx.ModelProto, given: Feeds, draw: Random) -> None:
    tensor = _pick(model, draw)
    if tensor is None:
        return
    data = numpy_helper.to_array(tensor)
    shape = list(data.shape)
    match draw.randrange(5):
        case 0:
            shape.insert(draw.randrange(len(shape) + 1), 1)
        case 1:
            shape = [data.size]
        case 2:
            shape = [1] * draw.choice((1, 4, 8, 12)) + shape
        case 3 if data.size:
            data, shape = data.reshape(-1)[:1], []
        case 4 if shape:
            shape.reverse()
    replace(tensor, data.reshape(shape))


def parameter_elements(model: onnx.ModelProto, given: Feeds, draw: Random) -> None:
    tensor = _pick(model, draw)
    if tensor is None:
        return
    data = numpy_helper.to_array(tensor).copy()
    if data.size:
        odd = draw.choice(ODD_FLOATS if data.dtype.kind == "f" else ODD_EXTENTS)
        at = draw.randrange(data.size) if draw.random() < 0.7 else slice(None)
        with np.errstate(all="ignore"):
            data.reshape(-1)[at] = np.asarray(odd).astype(data.dtype)
        replace(tensor, data)


def parameter_dtype(model: onnx.ModelProto, given: Feeds, draw: Random) -> None:
    tensor = _pick(model, draw)
    if tensor is not None:
        with np.errstate(all="ignore"):
            replace(tensor, numpy_helper.to_array(tensor).astype(draw.choice(DTYPES)))


def claimed_type(model: onnx.ModelProto, given: Feeds, draw: Random) -> None:
    tensor = _pick(model, draw)
    if tensor is not None:
        tensor.data_type = draw.choice((0, 1, 6, 7, 8, 9, 11, 14, 16, 17, 21, 22, 23, 99, -1))


def claimed_dims(model: onnx.ModelProto, given: Feeds, draw: Random) -> None:
    """The elements stay as many as they are."""
    tensor = _pick(model, draw)
    if tensor is not None and tensor.dims:
        tensor.dims[draw.randrange(len(tensor.dims))] = draw.choice(ODD_EXTENTS)
    elif tensor is not None:
        tensor.dims.extend(draw.choices(ODD_EXTENTS, k=draw.choice((1, 2))))


def cut_data(model: onnx.ModelProto, given: Feeds, draw: Random) -> None:
    tensor = _pick(model, draw)
    if tensor is not None:
        tensor.raw_data = tensor.raw_data[: draw.randrange(len(tensor.raw_data) + 1)] + b"\0" * draw.choice(
            (0, 0, 1, 4)
        )


def typed_data(model: onnx.ModelProto, given: Feeds, draw: Random) -> None:
    """Elements in a typed field, perhaps in one of another type, perhaps in two."""
    tensor = _pick(model, draw)
    if tensor is None:
        return
    values = numpy_helper.to_array(tensor).reshape(-1)[:50]
    match draw.randrange(3):
        case 0:
            tensor.float_data.extend(float(v) for v in values)
        case 1:
            tensor.int32_data.extend(int(v) % 2**31 if np.isfinite(v) else 0 for v in values)
        case _:
            tensor.int64_data.extend(int(v) % 2**62 if np.isfinite(v) else 0 for v in values)
    if draw.random() < 0.7:
        tensor.ClearField("raw_data")


def external_data(model: onnx.ModelProto, given: Feeds, draw: Random) -> None:
    tensor = _pick(model, draw)
    if tensor is None:
        return
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    entries = {"location": draw.choice(LOCATIONS)}
    for key in ("offset", "length"):
        if draw.random() < 0.4:
            entries[key] = draw.choice(NUMBERS)
    if draw.random() < 0.05:
        del entries["location"]
    for key, value in entries.items():
        tensor.external_data.add(key=key, value=value)


def sparse(model: onnx.ModelProto, given: Feeds, draw: Random) -> None:
    """A parameter in its sparse form, with indices that may lie outside."""
    tensor = _pick(model, draw)
    if tensor is None or tensor not in model.graph.initializer or not tensor.dims:
        return
    data = numpy_helper.to_array(tensor).reshape(-1)[:4]
    size = int(np.prod(tensor.dims))
    indices = [draw.choice((i, i, i, size, -1, 2**40)) for i in range(len(data))]
    held = helper.make_sparse_tensor(
        numpy_helper.from_array(data, tensor.name),
        numpy_helper.from_array(np.array(indices, np.int64), "i"),
        tensor.dims,
    )
    model.graph.sparse_initializer.append(held)
    model.graph.initializer.remove(tensor)


def repeat_parameter(model: onnx.ModelProto, given: Feeds, draw: Random) -> None:
    if model.graph.initializer:
        copy = model.graph.initializer.add()
        copy.CopyFrom(draw.choice(model.graph.initializer))


def to_input(model: onnx.ModelProto, given: Feeds, draw: Random) -> None:
    whole = [t for t in model.graph.initializer if is_whole(t)]
    if whole:
        move_to_inputs(model, given, draw.choice(whole))


def to_parameter(model: onnx.ModelProto, given: Feeds, draw: Random) -> None:
    if model.graph.input:
        move_to_parameters(model, given, draw.choice(model.graph.input))


MUTATIONS = (
    *(parameter_length, parameter_length, parameter_length, parameter_rank, parameter_rank, parameter_elements),
    *(parameter_elements, parameter_dtype, claimed_type, claimed_dims, cut_data, typed_data, external_data),
    *(external_data, sparse, repeat_parameter, to_input, to_parameter),
)
