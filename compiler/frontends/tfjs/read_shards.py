"""The file of a TensorFlow.js model, and its weights in shards.

The file is JSON of a topology and `weightsManifest`, a list of groups. A group has the `paths` of its shards, whose
bytes in a row are the elements of its `weights`, little-endian, one weight after the other (`WeightsManifestConfig` of
TensorFlow.js, tfjs-core/src/io/types.ts).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import InputError
from ...system.limits import check_elements
from ..beside_model import lies_within, model_folders, resolve_beside
from ..open_file import NotRegular, open_file, read_model_file

Array = np.ndarray

DAMAGES = (LookupError, ValueError, TypeError, ArithmeticError, AttributeError, MemoryError, RuntimeError)
"""Exceptions of json, NumPy and Python for content that TensorFlow.js does not write; RecursionError is among them."""

_DTYPES = {"float32": "<f4", "int32": "<i4", "bool": "?", "complex64": "<c8", "uint8": "u1", "uint16": "<u2"}
_STORED = {"uint8": "u1", "uint16": "<u2", "float16": "<f2"}


@dataclass(frozen=True, slots=True)
class ModelJson:
    """A model's file: its JSON, its name for messages, and the folders that may hold shards (none without a file)."""

    content: Mapping[str, Any]
    name: str
    folders: tuple[Path, ...] = ()


def read_json(model: str | Path | bytes) -> ModelJson:
    """Raises InputError where the file cannot be read, or is not a JSON object."""
    data, name = read_model_file(model, "a model.json of TensorFlow.js", "save or download")
    try:
        content = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"{name} is truncated or damaged: its {len(data)} bytes are not JSON ({error}); save or download it again"
        ) from None
    if not isinstance(content, dict):
        raise InputError(f"{name} is not a TensorFlow.js model: it is JSON of no object; give its model.json")
    return ModelJson(content, name, () if isinstance(model, bytes) else model_folders(Path(model)))


def shard_paths(model: ModelJson) -> list[str]:
    """The locations of all shards, relative to the model's folder. Raises InputError for a damaged manifest."""
    try:
        return list(dict.fromkeys(path for group in _groups(model) for path in _paths(group)))
    except DAMAGES as error:
        raise _damaged(model, error) from None


def read_weights(model: ModelJson) -> dict[str, Array]:
    """The weights by name: float32, int32, bool, uint8, uint16, complex64, or objects of bytes for strings. Quantised
    ones are widened as TensorFlow.js does it. Raises InputError for missing shards, those of another length than the
    weights take, those outside of the model's folder, and a damaged manifest."""
    try:
        seen: set[Path] = set()
        return {name: data for group in _groups(model) for name, data in _read_group(model, group, seen)}
    except DAMAGES as error:
        raise _damaged(model, error) from None


def _damaged(model: ModelJson, error: Exception) -> InputError:
    return InputError(
        f"{model.name} is damaged: its weightsManifest is not one of TensorFlow.js ({type(error).__name__}: {error}); "
        "save or download it again"
    )


def _groups(model: ModelJson) -> list[Mapping[str, Any]]:
    groups = model.content.get("weightsManifest") or []
    if not isinstance(groups, list) or not all(isinstance(g, dict) for g in groups):
        raise ValueError("it is no list of groups")
    return groups


def _paths(group: Mapping[str, Any]) -> list[str]:
    paths = group["paths"]
    if not isinstance(paths, list) or not all(isinstance(p, str) for p in paths):
        raise ValueError("the paths of a group are no list of names")
    return paths


def _read_group(model: ModelJson, group: Mapping[str, Any], seen: set[Path]) -> Iterator[tuple[str, Array]]:
    paths = _paths(group)
    data = memoryview(b"".join(_read_shard(model, path, seen) for path in paths))
    offset = 0
    for spec in group["weights"]:
        name = str(spec["name"])
        array, length = _read_weight(model, spec, name, data[offset:])
        if array is None:
            raise _length(model, paths, len(data), f"the weight {name!r} ends at {offset + length} of them")
        offset += length
        yield name, array
    if offset != len(data):
        raise _length(model, paths, len(data), f"its weights take {offset}")


def _length(model: ModelJson, paths: list[str], length: int, found: str) -> InputError:
    return InputError(
        f"{model.name}: the shards {', '.join(paths)} have {length} bytes together, and {found}; save or download the "
        "model with its shards again"
    )


def _read_weight(model: ModelJson, spec: Mapping[str, Any], name: str, data: memoryview) -> tuple[Array | None, int]:
    """A weight from the beginning of `data`, and the bytes that it takes; None where `data` has fewer."""
    shape, dtype, quantised = spec["shape"], spec["dtype"], spec.get("quantization")
    if not isinstance(shape, list) or not all(type(n) is int and n >= 0 for n in shape):
        raise ValueError(f"the weight {name!r} has the shape {shape!r}")
    check_elements(shape, f"{model.name}: the weight {name!r}")
    if dtype == "string":
        return _read_texts(shape, data)
    stored = np.dtype(_DTYPES[dtype] if quantised is None else _STORED[quantised["dtype"]])
    length = prod(shape) * stored.itemsize
    if length > len(data):
        return None, length
    array = np.frombuffer(data[:length], stored).reshape(shape)
    if quantised is not None:
        array = _widened(array, quantised, dtype)
    return np.asarray(array, array.dtype.newbyteorder("=")), length


def _widened(array: Array, quantised: Mapping[str, Any], dtype: str) -> Array:
    """Real numbers of a quantised weight: value * scale + min in float64, integers rounded half up."""
    if dtype not in ("float32", "int32"):
        raise ValueError(f"a quantised weight is of type {dtype}")
    if array.dtype.kind == "f":
        return array.astype(dtype)
    table = np.arange(2 ** (8 * array.itemsize)) * float(quantised.get("scale", 1)) + float(quantised.get("min", 0))
    if not np.all(np.abs(table) < (2**31 if dtype == "int32" else np.finfo(np.float32).max)):
        raise ValueError(f"the quantization {dict(quantised)!r} has values that {dtype} lacks")
    return np.asarray((np.floor(table + 0.5) if dtype == "int32" else table).astype(dtype)[array])


def _read_texts(shape: list[int], data: memoryview) -> tuple[Array | None, int]:
    """Each is its length in 4 bytes, then its bytes."""
    count, offset = prod(shape), 0
    if 4 * count > len(data):
        return None, 4 * count
    texts = np.empty(count, object)
    for i in range(count):
        end = offset + 4 + int.from_bytes(data[offset : offset + 4], "little")
        if offset + 4 > len(data) or end > len(data):
            return None, end
        texts[i] = bytes(data[offset + 4 : end])
        offset = end
    return texts.reshape(shape), offset


def _read_shard(model: ModelJson, location: str, seen: set[Path]) -> bytes:
    """The bytes of a shard, which is not yet among those that were `seen`."""
    path = resolve_beside(location, model.folders, model.name, "its weightsManifest")
    if path in seen:
        raise ValueError(f"the shard {location!r} stands in it twice")
    seen.add(path)
    try:
        file, _ = open_file(path)
        with file:
            if lies_within(file, path, model.folders):
                return file.read()
        raise InputError(f"{model.name}: its shard {path} changed meanwhile; try again")
    except FileNotFoundError:
        raise InputError(f"{model.name}: its shard {path} is missing; put it beside the model") from None
    except NotRegular:
        raise InputError(
            f"{model.name}: its shard {path} cannot be read: it is a folder, a pipe or a device; put the file itself "
            "there"
        ) from None
    except (OSError, ValueError) as error:
        raise InputError(f"{model.name}: its shard {path} cannot be read: {error}") from None
