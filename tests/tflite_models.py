"""TFLite files of a few operators, written by the schema of ai-edge-litert, and what its interpreter computes."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

litert = pytest.importorskip("ai_edge_litert.interpreter", reason="ai-edge-litert is not installed")
schema: Any = pytest.importorskip("ai_edge_litert.schema_py_generated")

Array = np.ndarray
Quanta = tuple[float | Sequence[float], int | Sequence[int]] | tuple[Sequence[float], Sequence[int], int]
"""Scale and zero point, of several ones the axis, too."""


@dataclass(frozen=True, eq=False)
class Operand:
    """`data` of an input that a run is given, of a constant, or of a variable, which is zero. Of int4 it is int8."""

    data: Array
    is_constant: bool = False
    quanta: Quanta | None = None
    is_variable: bool = False
    is_int4: bool = False

    @property
    def dtype(self) -> str:
        return "int4" if self.is_int4 else self.data.dtype.name


@dataclass(frozen=True)
class Result:
    """`shape` is stated where the interpreter wants to know it beforehand."""

    dtype: str = "float32"
    quanta: Quanta | None = None
    shape: tuple[int, ...] = (1,)


@dataclass(frozen=True)
class Row:
    """An operator of this `kind`, with the fields of its options. `options` names their table where that is not the
    operator's own name. `tolerance` is absolute, in real numbers or quanta."""

    kind: str
    case: str
    operands: tuple[Operand | None, ...]
    fields: Mapping[str, Any] = field(default_factory=dict)
    options: str = ""
    results: tuple[Result, ...] = (Result(),)
    custom: bytes = b""
    version: int = 1
    tolerance: float = 1e-5

    @property
    def id(self) -> str:
        return f"{self.kind}-{self.case}"

    @property
    def named(self) -> dict[str, Array]:
        """The arrays that a run is given, by the names of inputs."""
        given = ((i, o) for i, o in enumerate(self.operands) if o is not None)
        return {f"operand_{i}": o.data for i, o in given if not o.is_constant and not o.is_variable}

    @property
    def feeds(self) -> list[Array]:
        return list(self.named.values())


def seeded(name: str) -> np.random.Generator:
    return np.random.default_rng(zlib.crc32(name.encode()))


class Writer:
    """Collects tensors and operators: of the model's first subgraph, then of others."""

    def __init__(self) -> None:
        self._model = schema.ModelT()
        self._model.version = 3
        self._model.description = b"made by a test"
        self._model.buffers = [schema.BufferT()]
        self._model.operatorCodes = []
        self._model.subgraphs = []
        self.subgraph("main")

    def subgraph(self, name: str) -> int:
        """The number of a subgraph that what is added from now on is part of."""
        self._graph = schema.SubGraphT()
        self._graph.name = name.encode()
        self._graph.tensors, self._graph.operators = [], []
        self._graph.inputs, self._graph.outputs = [], []
        self._model.subgraphs.append(self._graph)
        return len(self._model.subgraphs) - 1

    @property
    def tensors(self) -> list[Any]:
        found: list[Any] = self._graph.tensors
        return found

    def tensor(
        self,
        name: str,
        dtype: str,
        shape: Sequence[int],
        data: Array | None = None,
        quanta: Quanta | None = None,
        signature: Sequence[int] | None = None,
        is_variable: bool = False,
    ) -> int:
        t = schema.TensorT()
        t.isVariable = is_variable
        t.name, t.shape = name.encode(), [int(n) for n in shape]
        t.type = getattr(schema.TensorType, dtype.upper())
        t.shapeSignature = None if signature is None else list(signature)
        t.buffer = 0
        if data is not None:
            buffer = schema.BufferT()
            data = packed(data) if dtype == "int4" else data
            buffer.data = np.frombuffer(np.ascontiguousarray(data).tobytes(), np.uint8)
            t.buffer = len(self._model.buffers)
            self._model.buffers.append(buffer)
        if quanta is not None:
            q = schema.QuantizationParametersT()
            q.scale, q.zeroPoint = (
                [float(s) for s in np.atleast_1d(quanta[0])],
                [int(z) for z in np.atleast_1d(quanta[1])],
            )
            q.quantizedDimension = quanta[2] if len(quanta) == 3 else 0
            t.quantization = q
        self._graph.tensors.append(t)
        return len(self._graph.tensors) - 1

    def input(self, name: str, dtype: str, shape: Sequence[int], quanta: Quanta | None = None, **more: Any) -> int:
        i = self.tensor(name, dtype, shape, quanta=quanta, **more)
        self._graph.inputs.append(i)
        return i

    def output(self, tensor: int) -> None:
        self._graph.outputs.append(tensor)

    def operator(
        self,
        kind: str,
        inputs: Sequence[int],
        outputs: Sequence[int],
        options: str = "",
        fields: Mapping[str, Any] | None = None,
        custom: bytes = b"",
        version: int = 1,
    ) -> None:
        code = schema.OperatorCodeT()
        number = getattr(schema.BuiltinOperator, kind, schema.BuiltinOperator.CUSTOM)
        code.builtinCode, code.deprecatedBuiltinCode, code.version = number, min(number, 127), version
        if number == schema.BuiltinOperator.CUSTOM:
            code.customCode = kind.encode()
        self._model.operatorCodes.append(code)
        o = schema.OperatorT()
        o.opcodeIndex = len(self._model.operatorCodes) - 1
        o.inputs, o.outputs = list(inputs), list(outputs)
        if options:
            o.builtinOptionsType = getattr(schema.BuiltinOptions, options)
            o.builtinOptions = getattr(schema, f"{options}T")()
            for name, value in (fields or {}).items():
                assert hasattr(o.builtinOptions, name), name
                setattr(o.builtinOptions, name, value)
        if not options and number != schema.BuiltinOperator.CUSTOM and (own := own_options(kind)):
            o.builtinOptionsType = getattr(schema.BuiltinOptions, own)
            o.builtinOptions = getattr(schema, f"{own}T")()
        if custom:
            o.customOptions = list(custom)
        self._graph.operators.append(o)

    def signature(self, key: str, inputs: Mapping[str, int], outputs: Mapping[str, int]) -> None:
        """Adds a signature of the subgraph that was added last."""

        def maps(names: Mapping[str, int]) -> list[Any]:
            made = []
            for name, i in names.items():
                m = schema.TensorMapT()
                m.name, m.tensorIndex = name.encode(), i
                made.append(m)
            return made

        s = schema.SignatureDefT()
        s.signatureKey, s.subgraphIndex = key.encode(), len(self._model.subgraphs) - 1
        s.inputs, s.outputs = maps(inputs), maps(outputs)
        self._model.signatureDefs = [*(self._model.signatureDefs or []), s]

    def bytes(self) -> bytes:
        import flatbuffers

        builder = flatbuffers.Builder(1024)
        builder.Finish(self._model.Pack(builder), b"TFL3")
        return bytes(builder.Output())


def with_newer_codes(file: bytes) -> bytes:
    """The file with each operator's number in the newer field of its code alone, as ai-edge-quantizer writes them."""
    import flatbuffers

    model = schema.ModelT.InitFromPackedBuf(file, 0)
    for code in model.operatorCodes:
        code.deprecatedBuiltinCode = 0
    builder = flatbuffers.Builder(1024)
    builder.Finish(model.Pack(builder), b"TFL3")
    return bytes(builder.Output())


def packed(data: Array) -> Array:
    """Two elements of four bits in a byte, the first in the low ones."""
    flat = np.append(data.reshape(-1), [0] * (data.size % 2)).astype(np.uint8) & 15
    return (flat[::2] | flat[1::2] << 4).astype(np.uint8)


def file_of(row: Row) -> bytes:
    """A model of the row alone, whose results have the shapes that the interpreter finds."""
    draft = written(row, [r.shape for r in row.results])
    return written(row, [found.shape for found in interpreted(draft, row.feeds)])


def written(row: Row, shapes: Sequence[Sequence[int]]) -> bytes:
    """A model of the row alone, whose results have these shapes."""
    writer = Writer()
    inputs = []
    for i, o in enumerate(row.operands):
        if o is None:
            inputs.append(-1)
        elif o.is_variable:
            inputs.append(writer.tensor(f"operand_{i}", o.data.dtype.name, o.data.shape, is_variable=True))
        elif o.is_constant:
            inputs.append(writer.tensor(f"operand_{i}", o.dtype, o.data.shape, o.data, o.quanta))
        else:
            inputs.append(writer.input(f"operand_{i}", o.data.dtype.name, o.data.shape, o.quanta))
    outputs = [
        writer.tensor(f"result_{i}", r.dtype, shape, quanta=r.quanta)
        for i, (r, shape) in enumerate(zip(row.results, shapes, strict=True))
    ]
    for i in outputs:
        writer.output(i)
    options = row.options or own_options(row.kind)
    writer.operator(row.kind, inputs, outputs, options, row.fields, row.custom, row.version)
    return writer.bytes()


def own_options(kind: str) -> str:
    """The table named after the operator, where there is one."""
    flat = kind.replace("_", "").lower() + "options"
    return next((n for n in vars(schema.BuiltinOptions) if n.lower() == flat), "")


def interpreted(file: bytes, feeds: Sequence[Array], delegated: bool = False) -> list[Array]:
    """The results of LiteRT's own kernels, or of those that it takes by default: XNNPACK's, where it has them."""
    kinds = litert.OpResolverType
    kind = kinds.AUTO if delegated else kinds.BUILTIN_WITHOUT_DEFAULT_DELEGATES
    interpreter = litert.Interpreter(model_content=file, experimental_op_resolver_type=kind)
    for d, x in zip(interpreter.get_input_details(), feeds, strict=True):
        interpreter.resize_tensor_input(d["index"], x.shape)
    interpreter.allocate_tensors()
    for d, x in zip(interpreter.get_input_details(), feeds, strict=True):
        interpreter.set_tensor(d["index"], x)
    interpreter.invoke()
    return [interpreter.get_tensor(d["index"]) for d in interpreter.get_output_details()]
