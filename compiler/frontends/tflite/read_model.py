"""Reads the flatbuffer of a TFLite model (schema version 3) into plain values.

Accessors of flatbuffers follow offsets without a look at where the file ends, so a damaged file raises whatever reading
outside of a bytes object raises; `read_model` makes one InputError of all that.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import tflite
from flatbuffers.number_types import Int32Flags

from ...errors import InputError
from ..open_file import read_model_file
from ..signatures import chosen_signature
from .expand_sparse import expand_sparse

IDENTIFIER = b"TFL3"
"""Bytes 4 to 7 of every file."""

_VERSION = 3
DAMAGES = (
    *(struct.error, LookupError, ValueError, TypeError, ArithmeticError, AttributeError, MemoryError),
    *(AssertionError, RecursionError),
)
"""Exceptions that flatbuffers and NumPy raise for offsets, lengths and numbers that nothing in the file fits; the last
two are of flexbuffers, the options of custom operators."""

_OPERATORS = {n: name for name, n in vars(tflite.BuiltinOperator).items() if not name.startswith("_")}
_OPTIONS = {n: name for name, n in vars(tflite.BuiltinOptions).items() if not name.startswith("_")}
_TYPES = {n: name.lower() for name, n in vars(tflite.TensorType).items() if not name.startswith("_")}
_NUMPY: Mapping[str, str] = {
    **{name: name for name in ("float16", "float32", "float64", "int8", "int16", "int32", "int64", "bool")},
    **{name: name for name in ("uint8", "uint16", "uint32", "uint64")},
    "int4": "int8",
    "bfloat16": "uint16",
}
_NEWER_CODE = 10
"""The place of the field builtin_code in the table of offsets of an OperatorCode."""


@dataclass(frozen=True, slots=True)
class Quantization:
    """Real values are `scale * (q - zero_point)`; of several scales each is for one index of dimension `axis`."""

    scale: np.ndarray
    zero_point: np.ndarray
    axis: int


@dataclass(frozen=True, slots=True)
class Tensor:
    """`shape` as the file has it, `signature` the same with -1 where a run may decide; `data` of a constant, of
    bfloat16 its bits and of int4 one in each byte."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    signature: tuple[int, ...]
    data: np.ndarray | None
    quantization: Quantization | None
    is_variable: bool = False


@dataclass(frozen=True, slots=True)
class Operator:
    """`kind` is the name in the schema, such as CONV_2D, or that of a custom operator. An index of -1 is an operand
    that is left out. `options` are fields of its table, by their names in the schema's accessors."""

    kind: str
    is_custom: bool
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    options: Any
    custom: bytes = b""


@dataclass(frozen=True, slots=True)
class Subgraph:
    name: str
    tensors: tuple[Tensor, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    operators: tuple[Operator, ...]


@dataclass(frozen=True, slots=True)
class Signature:
    """The names that its caller has for the inputs of a subgraph, by tensor, and its outputs, each a tensor and a
    name."""

    key: str
    subgraph: int
    inputs: Mapping[int, str]
    outputs: tuple[tuple[int, str], ...]


@dataclass(frozen=True, slots=True)
class Model:
    """A file of this `name`. A run computes the subgraph of number `main`, whose inputs and outputs have the names of
    the `signature`, where there is one; `signatures` are the names of all."""

    name: str
    description: str
    subgraphs: tuple[Subgraph, ...]
    signature: Signature | None = None
    signatures: tuple[str, ...] = field(default=())

    @property
    def main(self) -> int:
        return 0 if self.signature is None else self.signature.subgraph

    def input_name(self, number: int) -> str:
        i = self.subgraphs[self.main].inputs[number]
        return self._named(i, {} if self.signature is None else self.signature.inputs) or f"input_{number}"

    @property
    def outputs(self) -> tuple[tuple[int, str], ...]:
        """The tensor and the name of each output of a run. LiteRT reads the tensors that a signature names, whether or
        not the subgraph has them among its outputs: those that it has not take the places of outputs without names."""
        own = self.subgraphs[self.main].outputs
        waiting = [] if self.signature is None else list(self.signature.outputs)
        places: list[tuple[int, str] | None] = []
        for i in own:
            places.append(next((named for named in waiting if named[0] == i), None))
            waiting = [named for named in waiting if named is not places[-1]]
        others = iter(waiting)
        filled = [place or next(others, (i, "")) for i, place in zip(own, places, strict=True)]
        return tuple((i, name or self._named(i, {}) or f"output_{n}") for n, (i, name) in enumerate((*filled, *others)))

    def _named(self, i: int, names: Mapping[int, str]) -> str:
        return names.get(i) or self.subgraphs[self.main].tensors[i].name


def read_model(model: str | Path | bytes, signature: str = "") -> Model:
    """A model, of which runs compute the signature of this name; by default the first of the first subgraph. Raises
    InputError for what is no TFLite model, a damaged one, and one without the signature."""
    data, name = read_model_file(model, "a TFLite file", "convert or download")
    if data[4:8] != IDENTIFIER:
        raise InputError(f"{name} is not a TFLite model: its bytes 4 to 7 are not TFL3; give another file")
    try:
        return _Reader(data, name).model(signature)
    except DAMAGES as error:
        raise InputError(
            f"{name} is truncated or damaged: its {len(data)} bytes are not a whole TFLite model ({error}); convert or "
            "download it again"
        ) from None


class _Reader:
    def __init__(self, data: bytes, name: str) -> None:
        self._data = data
        self._name = name
        self._root = tflite.Model.GetRootAs(data, 0)

    def model(self, signature: str) -> Model:
        root = self._root
        if root.Version() != _VERSION:
            raise ValueError(f"version {root.Version()} of the schema")
        subgraphs = tuple(map(self._subgraph, self._all(root.SubgraphsLength(), root.Subgraphs)))
        if not subgraphs:
            raise ValueError("no subgraph")
        signatures = tuple(map(self._signature, self._all(root.SignatureDefsLength(), root.SignatureDefs)))
        for s in signatures:
            tensors = subgraphs[s.subgraph].tensors
            for i in (*s.inputs, *(tensor for tensor, _ in s.outputs)):
                _ = tensors[i]
        chosen = chosen_signature({s.key: s for s in signatures}, signature, self._name)
        if not signature:
            chosen = next((s for s in signatures if s.subgraph == 0), None)
        keys = tuple(dict.fromkeys(s.key for s in signatures))
        return Model(self._name, _text(root.Description()), subgraphs, chosen, keys)

    def _all(self, count: int, get: Callable[[int], Any]) -> list[Any]:
        """The elements of a vector. Each takes bytes of the file, so a damaged length ends here."""
        if count > len(self._data) // 4:
            raise ValueError(f"a vector of {count} elements")
        found = [get(i) for i in range(count)]
        if any(f is None for f in found):
            raise ValueError("an element is missing")
        return found

    def _numbers(self, count: int, whole: Callable[[], Any]) -> tuple[int, ...]:
        if count * 4 > len(self._data):
            raise ValueError(f"a vector of {count} elements")
        return tuple(int(n) for n in whole()) if count else ()

    def _subgraph(self, s: Any) -> Subgraph:
        tensors = tuple(map(self._tensor, self._all(s.TensorsLength(), s.Tensors)))
        inputs = self._numbers(s.InputsLength(), s.InputsAsNumpy)
        outputs = self._numbers(s.OutputsLength(), s.OutputsAsNumpy)
        operators = tuple(map(self._operator, self._all(s.OperatorsLength(), s.Operators)))
        known = range(len(tensors))
        used = {i for o in operators for i in (*o.inputs, *o.outputs)}
        for i in {*inputs, *outputs, *used} - {-1}:
            if i not in known:
                raise ValueError(f"there is no tensor {i}")
        computed = {i for o in operators for i in o.outputs} | {*inputs}
        whole = tuple(t if i in computed else _or_empty(t) for i, t in enumerate(tensors))
        return Subgraph(_text(s.Name()), whole, inputs, outputs, operators)

    def _tensor(self, t: Any) -> Tensor:
        shape = self._numbers(t.ShapeLength(), t.ShapeAsNumpy)
        signature = self._numbers(t.ShapeSignatureLength(), t.ShapeSignatureAsNumpy)
        dtype = _TYPES[t.Type()]
        if any(n < 0 for n in shape) or (signature and len(signature) != len(shape)):
            raise ValueError(f"the shape {list(shape)} with the signature {list(signature)}")
        data = self._constant(t, dtype, shape)
        name = _text(t.Name())
        return Tensor(name, dtype, shape, signature or shape, data, self._quantization(t, shape), bool(t.IsVariable()))

    def _constant(self, t: Any, dtype: str, shape: tuple[int, ...]) -> np.ndarray | None:
        buffer = self._root.Buffers(t.Buffer()) if t.Buffer() < self._root.BuffersLength() else None
        if buffer is None:
            raise ValueError(f"there is no buffer {t.Buffer()}")
        if buffer.Size() > 1:  # of models above 2 GB: at the end of the file
            start = buffer.Offset()
            raw = np.frombuffer(self._data, np.uint8, buffer.Size(), start)
        elif buffer.DataLength():
            raw = buffer.DataAsNumpy()
        else:
            return None
        if dtype not in _NUMPY:
            return raw
        if (sparsity := t.Sparsity()) is not None:
            return expand_sparse(sparsity, raw, np.dtype(_NUMPY[dtype]), shape)
        if dtype == "int4":
            halves = np.stack([raw << 4, raw], axis=-1).view(np.int8) >> 4  # the first is in the low bits
            raw = halves.view(np.uint8).reshape(-1)[: int(np.prod(shape))]
        return np.ascontiguousarray(raw).view(_NUMPY[dtype]).reshape(shape)

    def _quantization(self, t: Any, shape: Sequence[int]) -> Quantization | None:
        q = t.Quantization()
        if q is None or not q.ScaleLength():
            return None
        self._numbers(q.ScaleLength(), tuple)
        scale = np.array(q.ScaleAsNumpy(), np.float32)
        zero = np.array(q.ZeroPointAsNumpy(), np.int64) if q.ZeroPointLength() else np.zeros(len(scale), np.int64)
        axis = q.QuantizedDimension()
        if len(zero) == 1:
            zero = np.repeat(zero, len(scale))
        if len(zero) != len(scale) or (len(scale) > 1 and len(scale) != shape[axis]):
            raise ValueError(f"{len(scale)} scales and {len(zero)} zero points of the shape {list(shape)}")
        return Quantization(scale, zero, axis)

    def _operator(self, o: Any) -> Operator:
        code = self._root.OperatorCodes(o.OpcodeIndex()) if o.OpcodeIndex() < self._root.OperatorCodesLength() else None
        if code is None:
            raise ValueError(f"there is no operator code {o.OpcodeIndex()}")
        number = _operator_number(code)
        is_custom = number == tflite.BuiltinOperator.CUSTOM
        kind = _text(code.CustomCode()) if is_custom else _OPERATORS.get(number, f"operator {number}")
        inputs = self._numbers(o.InputsLength(), o.InputsAsNumpy)
        outputs = self._numbers(o.OutputsLength(), o.OutputsAsNumpy)
        custom = o.CustomOptionsAsNumpy().tobytes() if o.CustomOptionsLength() else b""
        return Operator(kind, is_custom, inputs, outputs, _options(o), custom)

    def _signature(self, s: Any) -> Signature:
        def names(count: int, get: Callable[[int], Any]) -> list[tuple[int, str]]:
            return [(m.TensorIndex(), _text(m.Name())) for m in self._all(count, get)]

        inputs, outputs = names(s.InputsLength(), s.Inputs), names(s.OutputsLength(), s.Outputs)
        return Signature(_text(s.SignatureKey()), s.SubgraphIndex(), dict(inputs), tuple(outputs))


def _operator_number(code: Any) -> int:
    """The larger of the code's two fields, as LiteRT has it: writers set the newer one, the older one (below 127), or
    both. The newer one is read as it is in the file, since its accessor returns the older one for numbers below 127."""
    newer = int(code._tab.GetSlot(_NEWER_CODE, 0, Int32Flags))
    return max(newer, int(code.DeprecatedBuiltinCode()))


def _or_empty(t: Tensor) -> Tensor:
    """A constant without elements has no bytes, as what is computed has none."""
    if t.data is not None or 0 not in t.shape or t.dtype not in _NUMPY:
        return t
    return replace(t, data=np.zeros(t.shape, _NUMPY[t.dtype]))


def _options(o: Any) -> Any:
    """The accessors of the operator's own table; None where it has none."""
    table, name = o.BuiltinOptions(), _OPTIONS.get(o.BuiltinOptionsType(), "NONE")
    if table is None or name == "NONE":
        return None
    options = getattr(tflite, name)()
    options.Init(table.Bytes, table.Pos)
    return options


def _text(raw: bytes | None) -> str:
    return "" if raw is None else raw.decode(errors="replace")
