"""Checkpoints: a table of entries (`variables.index`), and the elements of all tensors in shards beside it.

Source: tensorflow/core/util/tensor_bundle/tensor_bundle.h, tensorflow/core/protobuf/tensor_bundle.proto.
"""

from __future__ import annotations

from functools import cached_property
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from google.protobuf.message import DecodeError

from ...errors import InputError, UnsupportedError
from ..open_file import NotRegular, open_file, read_file
from .read_table import read_table
from .read_tensor import elements, shape_of
from .schema import CLASSES

Array = np.ndarray

DAMAGES = (LookupError, ValueError, TypeError, ArithmeticError, AttributeError, MemoryError, RuntimeError, DecodeError)
"""Exceptions of protobuf, NumPy and Python for content that TensorFlow does not write; RecursionError is among them."""

_OBJECTS = "_CHECKPOINTABLE_OBJECT_GRAPH"


class Checkpoint:
    """The tensors of `variables/variables.*` in the folder of a SavedModel. Nothing is read before it is used."""

    def __init__(self, folder: Path | None, model: str) -> None:
        self._folder, self._model = folder, model
        self._read: dict[str, Array] = {}

    @cached_property
    def entries(self) -> dict[str, Any]:
        """The entries by name; none where there is no checkpoint. Raises InputError for a damaged one, and for what
        cannot be read."""
        if self._folder is None or not (self._folder / "variables.index").exists():
            return {}
        try:
            return self._entries(read_file(self._folder / "variables.index", "the index of a checkpoint"))
        except DAMAGES as error:
            raise self._damaged("variables.index", error) from None

    def files(self) -> list[Path]:
        """The index, and the shards of its entries once it is there."""
        if self._folder is None:
            return []
        shards = sorted({entry.shard_id for entry in self.entries.values()})
        return [self._folder / "variables.index", *map(self._shard, shards)]

    def _shard(self, number: int) -> Path:
        assert self._folder is not None
        return self._folder / f"variables.data-{number:05d}-of-{max(self._shards.num_shards, 1):05d}"

    def _entries(self, data: bytes) -> dict[str, Any]:
        table = read_table(data)
        self._shards = CLASSES["BundleHeaderProto"].FromString(table.pop(b"", b""))
        if self._shards.endianness:
            raise UnsupportedError(f"{self._model}: its variables are big-endian; save it on another machine")
        parse = CLASSES["BundleEntryProto"].FromString
        return {key.decode(): parse(value) for key, value in table.items()}

    @cached_property
    def by_full_name(self) -> dict[str, str]:
        """Names of entries by those of the variables, as the table of objects has them."""
        if _OBJECTS not in self.entries:
            return {}
        try:
            return self._full_names()
        except DAMAGES as error:
            raise self._damaged("its table of objects", error) from None

    def _damaged(self, what: str, error: Exception) -> InputError:
        return InputError(
            f"{self._model}: {what} is damaged ({type(error).__name__}: {error}); save or copy the whole folder again"
        )

    def _full_names(self) -> dict[str, str]:
        data = self._bytes(_OBJECTS)
        size, at, shift = 0, 0, 0
        while True:  # a string's length stands before it, and a checksum of that
            size |= (data[at] & 127) << shift
            at, shift = at + 1, shift + 7
            if data[at - 1] < 128:
                break
        graph = CLASSES["TrackableObjectGraph"].FromString(data[at + 4 : at + 4 + size])
        return {a.full_name: a.checkpoint_key for node in graph.nodes for a in node.attributes}

    def read(self, name: str, variable: str) -> Array:
        """The tensor of this name, which is the value of `variable`. Raises InputError where there is none."""
        if name not in self._read:
            try:
                self._read[name] = self._tensor(name, variable)
            except DAMAGES as error:
                raise self._damaged(f"its variable {variable!r}", error) from None
        return self._read[name]

    def _tensor(self, name: str, variable: str) -> Array:
        entry = self.entries.get(name)
        if entry is None:
            raise InputError(
                f"{self._model}: its variable {variable!r} has no value in variables/variables.index; save or copy "
                "the whole folder again"
            )
        if entry.slices:
            raise UnsupportedError(f"{self._model}: its variable {variable!r} is saved in slices; save it whole")
        shape = [n for n in shape_of(entry.shape) or () if n is not None]
        if not prod(shape) and not entry.size:
            return elements(b"", entry.dtype, shape)
        return elements(self._bytes(name), entry.dtype, shape)

    def _bytes(self, name: str) -> bytes:
        entry = self.entries[name]
        path = self._shard(entry.shard_id)
        try:
            file, size = open_file(path)
            with file:
                if entry.offset < 0 or entry.size < 0 or entry.offset + entry.size > size:
                    raise InputError(
                        f"{self._model}: the file {path.name} has {size} bytes, and {name!r} would be {entry.size} "
                        f"from {entry.offset} on; save or copy the folder again"
                    )
                file.seek(entry.offset)
                return file.read(entry.size)
        except FileNotFoundError:
            raise InputError(f"{self._model}: there is no variables/{path.name}; copy the whole folder") from None
        except NotRegular:
            raise InputError(f"{self._model}: variables/{path.name} is no file; copy the whole folder") from None
        except OSError as error:
            raise InputError(f"{path} cannot be read: {error.strerror}; check its permissions") from None
