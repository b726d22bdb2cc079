"""Writes graphs of TensorFlow, and rows of a table of operators, without TensorFlow."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
from webnn_compile.frontends.tensorflow.schema import CLASSES

Array = np.ndarray

_NAMES = {
    "float32": "FLOAT",
    "float64": "DOUBLE",
    "float16": "HALF",
    **{n: n.upper() for n in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool")},
}
_ENUM = CLASSES["TensorProto"].DESCRIPTOR.fields_by_name["dtype"].enum_type.values_by_name


def type_of(dtype: Any) -> int:
    """The DataType of a NumPy type, or that of this name ("resource")."""
    name = _NAMES.get(str(dtype), str(dtype).upper())
    return int(_ENUM[f"DT_{name}"].number)


@dataclass(frozen=True)
class Type:
    """An attribute that is an element type."""

    name: str


@dataclass(frozen=True)
class Func:
    """An attribute that is a function."""

    name: str


@dataclass(frozen=True)
class Sizes:
    """An attribute that is a shape; None is free."""

    sizes: Sequence[int | None]


def tensor(data: Array) -> Any:
    proto = CLASSES["TensorProto"](dtype=type_of(data.dtype), tensor_content=np.ascontiguousarray(data).tobytes())
    for n in data.shape:
        proto.tensor_shape.dim.add(size=n)
    return proto


def set_attribute(attribute: Any, value: Any) -> None:
    match value:
        case bool():
            attribute.b = value
        case int():
            attribute.i = value
        case float():
            attribute.f = value
        case str():
            attribute.s = value.encode()
        case Type():
            attribute.type = type_of(value.name)
        case Func():
            attribute.func.name = value.name
        case Sizes():
            attribute.shape.SetInParent()
            for n in value.sizes:
                attribute.shape.dim.add(size=-1 if n is None else n)
        case np.ndarray():
            attribute.tensor.CopyFrom(tensor(value))
        case list() if value and isinstance(value[0], str):
            attribute.list.s.extend(v.encode() for v in value)
        case list() if value and isinstance(value[0], Type):
            attribute.list.type.extend(type_of(v.name) for v in value)
        case list() if value and isinstance(value[0], Sizes):
            for v in value:
                shape = attribute.list.shape.add()
                for n in v.sizes:
                    shape.dim.add(size=-1 if n is None else n)
        case list():
            attribute.list.SetInParent()
            attribute.list.i.extend(value)


class Writer:
    """Nodes of a GraphDef, or of a function."""

    def __init__(self, message: Any = None) -> None:
        self.graph = CLASSES["GraphDef"]()
        self.nodes = self.graph.node if message is None else message.node_def

    def node(self, op: str, inputs: Sequence[str], name: str, **attributes: Any) -> str:
        """Its name, which is that of the first result."""
        node = self.nodes.add(op=op, name=name, input=list(inputs))
        for key, value in attributes.items():
            set_attribute(node.attr[key], value)
        return name

    def placeholder(self, name: str, dtype: Any, shape: Sequence[int | None] | None) -> str:
        sizes = {} if shape is None else {"shape": Sizes(shape)}
        return self.node("Placeholder", [], name, dtype=Type(str(dtype)), **sizes)

    def constant(self, data: Any, name: str, dtype: str = "float32") -> str:
        array = data if isinstance(data, np.ndarray) else np.asarray(data, dtype)
        return self.node("Const", [], name, value=array, dtype=Type(str(array.dtype)))

    def function(self, name: str, arguments: Mapping[str, str], results: Mapping[str, tuple[str, str]]) -> Writer:
        """A function of arguments of these types, whose results are a type and what is returned."""
        function = self.graph.library.function.add()
        function.signature.name = name
        for key, dtype in arguments.items():
            function.signature.input_arg.add(name=key, type=type_of(dtype))
        for key, (dtype, ref) in results.items():
            function.signature.output_arg.add(name=key, type=type_of(dtype))
            function.ret[key] = ref
        return Writer(function)

    def bytes(self) -> bytes:
        return bytes(self.graph.SerializeToString())


@dataclass(frozen=True)
class Operand:
    data: Array
    is_constant: bool = False
    free: bool = False
    """Whether its first dimension is free."""


@dataclass(frozen=True)
class Row:
    """A graph of one node. `results` are the numbers of those that are compared."""

    id: str
    op: str
    operands: Sequence[Operand]
    attributes: Mapping[str, Any] = field(default_factory=dict)
    results: Sequence[int] = (0,)
    tolerance: float = 1e-5

    def writer(self) -> Writer:
        writer = Writer()
        names = []
        for i, operand in enumerate(self.operands):
            if operand.is_constant:
                names.append(writer.constant(operand.data, f"c{i}"))
            else:
                shape = list(operand.data.shape)
                names.append(
                    writer.placeholder(f"x{i}", operand.data.dtype, [None, *shape[1:]] if operand.free else shape)
                )
        writer.node(self.op, names, "y", **self.attributes)
        for i in self.results:
            writer.node("Identity", [f"y:{i}" if i else "y"], f"out{i}", T=Type("float32"))
        return writer

    @property
    def feeds(self) -> dict[str, Array]:
        return {f"x{i}": o.data for i, o in enumerate(self.operands) if not o.is_constant}


def random_of(name: str) -> np.random.Generator:
    return np.random.default_rng(crc32(name.encode()))


def write_table(entries: Mapping[bytes, bytes], compress: Callable[[bytes], bytes] | None = None) -> bytes:
    """A table in LevelDB's format: two entries a block, of which the second refers to the key of the first; blocks are
    compressed by Snappy where `compress` does it."""
    out = bytearray()

    def put(block: bytes) -> bytes:
        """The handle of a block."""
        own = block if compress is None else compress(block)
        handle = varint(len(out)) + varint(len(own))
        out.extend(own + bytes([compress is not None]) + bytes(4))
        return handle

    index = []
    items = sorted(entries.items())
    for pair in (items[i : i + 2] for i in range(0, len(items), 2)):
        block, before = b"", b""
        for key, value in pair:
            shared = 0
            while shared < min(len(key), len(before)) and key[shared] == before[shared]:
                shared += 1
            block += varint(shared) + varint(len(key) - shared) + varint(len(value)) + key[shared:] + value
            before = key
        index.append((pair[-1][0], put(block + bytes(4) + (1).to_bytes(4, "little"))))
    block = b"".join(varint(0) + varint(len(key)) + varint(len(value)) + key + value for key, value in index)
    meta = put(bytes(4) + (1).to_bytes(4, "little"))
    footer = meta + put(block + bytes(4) + (1).to_bytes(4, "little"))
    return bytes(out) + footer.ljust(40, b"\0") + (0xDB4775248B80FB57).to_bytes(8, "little")


def varint(value: int) -> bytes:
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def write_checkpoint(folder: Path, tensors: Mapping[str, Array], objects: Mapping[str, str] | None = None) -> None:
    """variables.index and its only shard; `objects` are names of tensors by those of variables."""
    folder.mkdir(parents=True)
    entries, data = {b"": CLASSES["BundleHeaderProto"](num_shards=1).SerializeToString()}, b""
    for name, array in tensors.items():
        entry = CLASSES["BundleEntryProto"](dtype=type_of(array.dtype), offset=len(data), size=array.nbytes)
        for n in array.shape:
            entry.shape.dim.add(size=n)
        entries[name.encode()], data = entry.SerializeToString(), data + array.tobytes()
    if objects is not None:
        graph = CLASSES["TrackableObjectGraph"]()
        for full_name, key in objects.items():
            graph.nodes.add().attributes.add(name="VARIABLE_VALUE", full_name=full_name, checkpoint_key=key)
        text = graph.SerializeToString()
        text = varint(len(text)) + bytes(4) + text
        entry = CLASSES["BundleEntryProto"](dtype=type_of("string"), offset=len(data), size=len(text))
        entries[b"_CHECKPOINTABLE_OBJECT_GRAPH"], data = entry.SerializeToString(), data + text
    (folder / "variables.index").write_bytes(write_table(entries))
    (folder / "variables.data-00000-of-00001").write_bytes(data)


Inputs = Mapping[str, tuple[str, str, Sequence[int | None]]]
Outputs = Mapping[str, tuple[str, str]]


def write_saved_model(
    folder: Path,
    graph: Writer,
    inputs: Inputs,
    outputs: Outputs,
    signature: str = "serving_default",
    others: Mapping[str, tuple[Inputs, Outputs]] | None = None,
) -> None:
    """saved_model.pb with a signature and perhaps others: inputs are a node's result, its type and its shape; outputs
    likewise."""
    saved = CLASSES["SavedModel"](saved_model_schema_version=1)
    meta = saved.meta_graphs.add()
    meta.meta_info_def.tags.append("serve")
    meta.meta_info_def.tensorflow_version = "2.21.0"
    meta.graph_def.CopyFrom(graph.graph)
    for key, (given, computed) in {signature: (inputs, outputs), **(others or {})}.items():
        own = meta.signature_def[key]
        for name, (ref, dtype, shape) in given.items():
            own.inputs[name].name, own.inputs[name].dtype = ref, type_of(dtype)
            for n in shape:
                own.inputs[name].tensor_shape.dim.add(size=-1 if n is None else n)
        for name, (ref, dtype) in computed.items():
            own.outputs[name].name, own.outputs[name].dtype = ref, type_of(dtype)
            own.outputs[name].tensor_shape.unknown_rank = True
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "saved_model.pb").write_bytes(saved.SerializeToString())
