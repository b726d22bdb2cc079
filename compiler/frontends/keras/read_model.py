"""Reads the file of a Keras model: .keras, an archive of a configuration and of weights, and HDF5 files
of whole models."""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...errors import InputError, UnsupportedError
from ..hdf5 import SIGNATURE, Unsupported, open_hdf5
from ..open_file import read_model_file
from .read_config import Network, is_network, read_network
from .read_weights import FileOfWeights, TreeOfWeights, Weights, texts

_ZIP = b"PK\x03\x04"
_CONFIG, _METADATA, _WEIGHTS = "config.json", "metadata.json", "model.weights.h5"
_LONGEST = 64 * 2**20
"""Bytes of a configuration: those of the largest models have a few million."""

DAMAGES = (LookupError, ValueError, TypeError, ArithmeticError, AttributeError, MemoryError, OSError, RuntimeError)
"""Exceptions of json, NumPy and the reader of HDF5 for what is not as Keras writes it; RecursionError is among them."""

EXPORT = (
    "export the model as ONNX (in Keras: model.export('model.onnx', format='onnx')), or as a SavedModel "
    "(model.export('folder')), and give the folder"
)


@dataclass(frozen=True, slots=True)
class Dialect:
    """Layers that compute otherwise elsewhere: the slope of hard_sigmoid, where UpSampling takes pixels (ONNX's
    coordinate_transformation_mode), whether a mean leaves out masked steps, whether sequences of Bidirectional are zero
    at masked steps, and whether masks go as in Keras 3: recurrent layers that are given states ignore that of their
    sequence, MultiHeadAttention leaves its operands without any and gives zeros where a query has no key, and of
    merged values a step counts where it does in any, not in all."""

    hard_sigmoid_slope: float = 1 / 6
    up_sampling: str = "half_pixel"
    masks_means: bool = True
    zeroes_both_directions: bool = True
    masks_of_keras_3: bool = True


KERAS_2 = Dialect(hard_sigmoid_slope=1 / 5, masks_of_keras_3=False)


@dataclass(frozen=True, slots=True)
class Model:
    """A file of this `name`, written by `writer` ("Keras 3.8.0")."""

    name: str
    writer: str
    dialect: Dialect
    network: Network


def read_model(model: str | Path | bytes) -> Model:
    """Raises InputError for what is no Keras model, for weights without one, and for a damaged one."""
    data, name = read_model_file(model, "a Keras file", "save or download")
    try:
        if data.startswith(_ZIP):
            config, version, weights = _of_archive(data, name)
        elif data.startswith(SIGNATURE):
            config, version, weights = _of_hdf5(data, name)
        else:
            raise InputError(f"{name} is not a Keras model: it is neither a .keras archive nor an HDF5 file; {_OTHER}")
        network = network_of(config, weights, name)
        return Model(name, f"Keras {version}", dialect_of(version), network)
    except Unsupported as error:
        raise UnsupportedError(
            f"{name} is an HDF5 file with {error}, which is not supported; load the model in Keras, and save it again"
        ) from None
    except (*DAMAGES, zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise InputError(
            f"{name} is truncated or damaged: its {len(data)} bytes are not a whole Keras model "
            f"({type(error).__name__}: {error}); save or download it again"
        ) from None


_OTHER = "give another file"


def _of_archive(data: bytes, name: str) -> tuple[Any, str, Weights]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        files = set(archive.namelist())
        if _CONFIG not in files or _WEIGHTS not in files:
            missing = _CONFIG if _CONFIG not in files else _WEIGHTS
            raise InputError(f"{name} is not a Keras model: its archive has no {missing}; {_OTHER}")
        if archive.getinfo(_CONFIG).file_size > _LONGEST:
            raise ValueError(f"{_CONFIG} has {archive.getinfo(_CONFIG).file_size} bytes")
        if archive.getinfo(_WEIGHTS).file_size > 1100 * len(data):
            raise ValueError(f"{_WEIGHTS} has {archive.getinfo(_WEIGHTS).file_size} bytes")
        config = json.loads(archive.read(_CONFIG))
        metadata = json.loads(archive.read(_METADATA)) if _METADATA in files else {}
        weights = archive.read(_WEIGHTS)
    return config, str(metadata.get("keras_version", "3")), TreeOfWeights(open_hdf5(weights))


def _of_hdf5(data: bytes, name: str) -> tuple[Any, str, Weights]:
    file = open_hdf5(data)
    if "model_config" not in file.attributes:
        if "layer_names" in file.attributes or not {"layers", "_layer_checkpoint_dependencies"}.isdisjoint(file.names):
            raise InputError(
                f"{name} has weights of a Keras model, without the model: load them into it in Keras, and save the "
                "whole, with model.save('model.keras')"
            )
        raise InputError(f"{name} is an HDF5 file without a Keras model (the attribute model_config); {_OTHER}")
    (config,) = texts(file, "model_config")
    version = next(iter(texts(file, "keras_version")), "2.0")
    return json.loads(config), version, FileOfWeights(file)


def dialect_of(version: str) -> Dialect:
    """The dialect of a version of Keras ("2.15.0")."""
    return KERAS_2 if version.startswith(("1.", "2.")) else Dialect()


def network_of(config: Any, weights: Weights, name: str) -> Network:
    """Raises InputError for a model whose code the file lacks, and what a damaged configuration raises (DAMAGES)."""
    if isinstance(config, Mapping) and "class_name" in config and not is_network(config):
        raise InputError(
            f"{name} is a model of the class {config['class_name']}, whose code is not in the file: only Sequential "
            f"and Functional models can be read without it; {EXPORT}"
        )
    return read_network(config, weights)
