"""Writes a graph as an ONNX model: the importer's inverse."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper, version_converter

from ...dtypes import ONNX_NUMBERS, storage_type
from ...errors import InputError, UnsupportedError
from ...graph.ir import Array, Attribute, Graph, Node, Value
from ...graph.names import Names, value_names
from ...graph.stored import Codebook, Half, Linear, Stored
from ...ir.sizes import Size, text_of
from ...ops.call import OWN_DOMAIN
from .read_model import LARGEST_FILE

NEWEST_OPSET = 21
"""The first in which there are integers of four bits and scales of blocks: models are converted to no later one."""

_IR_VERSION = 10
"""The one of that opset."""

_FOUR_BITS = {np.dtype(np.int8): TensorProto.INT4, np.dtype(np.uint8): TensorProto.UINT4}


def export_model(graph: Graph, stored: Mapping[Value, Stored] | None = None) -> onnx.ModelProto:
    """The model of `graph`, where `stored` says how constants of it are kept: by nodes that compute them.

    Raises UnsupportedError for control flow, and InputError for what no file holds.
    """
    check_flat(graph)
    export = _Export(graph, stored or {})
    for node in graph.nodes:
        export.node(node)
    computed = {*graph.inputs, *(v for n in graph.nodes for v in n.outputs)}
    for value in graph.outputs:
        if value not in computed:
            export.read(value)
    proto = helper.make_graph(
        export.nodes,
        graph.name or "graph",
        [_port(v) for v in graph.inputs],
        [_port(v) for v in graph.outputs],
        export.initialisers,
    )
    imports = [helper.make_opsetid(domain, version) for domain, version in export.opsets.items()]
    model = helper.make_model(proto, opset_imports=imports, ir_version=_IR_VERSION, producer_name="webnn-compile")
    if model.ByteSize() >= LARGEST_FILE:
        raise InputError(
            f"the model has {model.ByteSize()} bytes when it is quantised, and an ONNX file has fewer than "
            f"{LARGEST_FILE}; quantise more of its weights, or to fewer bits"
        )
    return model


def check_flat(graph: Graph) -> None:
    """Raises UnsupportedError for control flow."""
    for node in graph.nodes:
        if node.regions:
            raise UnsupportedError(f"{node}: models with control flow cannot be quantised; compile it as it is")


def raise_opset(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model in NEWEST_OPSET. Raises UnsupportedError where onnx.version_converter does not convert it."""
    try:
        return version_converter.convert_version(model, NEWEST_OPSET)
    except Exception as error:  # ONNX's have no common class
        (version,) = (i.version for i in model.opset_import if not i.domain)
        raise UnsupportedError(
            f"the model uses ONNX opset {version}, and quantised weights need opset {NEWEST_OPSET}; "
            f"onnx.version_converter does not convert it ({' '.join(str(error).split())}): export the model again, "
            f"with opset {NEWEST_OPSET}"
        ) from None


class _Export:
    """`nodes` and `initialisers` in the order in which they are read."""

    def __init__(self, graph: Graph, stored: Mapping[Value, Stored]) -> None:
        self._graph, self._stored = graph, stored
        self._names = value_names(graph)
        self._node_names = Names(n.name for n in graph.nodes)
        self._written: set[Value] = set()
        self.nodes: list[onnx.NodeProto] = []
        self.initialisers: list[TensorProto] = []
        self.opsets = {"": max([n.opset for n in graph.nodes if not n.domain] or [NEWEST_OPSET])}

    def node(self, node: Node) -> None:
        named = [storage_type(node.attributes.get(name)) for name in ("to", "output_dtype", "data_type")]
        dequantized = node.inputs[0] if node.op == "DequantizeLinear" else None
        own = node.domain == OWN_DOMAIN
        if own or any(t is not None for t in named) or (dequantized is not None and dequantized.dtype.is_float):
            raise UnsupportedError(
                f"{node}: it has values of few bits that a wider type holds, and models with such values cannot be "
                "quantised; compile it as it is"
            )
        version = self.opsets.setdefault(node.domain, node.opset)
        if version != node.opset and not _is_same(node, version):
            raise UnsupportedError(
                f"{node} of opset {node.opset} stands beside nodes of opset {version}, and an ONNX file has one; "
                "export the model again, without sequences"
            )
        for value in node.inputs:
            if value is not None:
                self.read(value)
        self.nodes.append(_proto(node))

    def read(self, value: Value) -> None:
        """Writes a constant when it is first read."""
        data = self._graph.constants.get(value)
        if data is None or value in self._written:
            return
        self._written.add(value)
        if value in self._stored:
            self._add_stored(value, self._stored[value])
        elif value in self._graph.folded and self._graph.folded[value].op_type == "Unpack":
            self._add_packed(value, self._graph.folded[value])
        elif value in self._graph.folded:
            self.node(self._graph.folded[value])
        else:
            self.initialisers.append(numpy_helper.from_array(data, value.name))

    def _add_packed(self, value: Value, unpack: Node) -> None:
        """A constant of a storage type, which a Cast makes one of the type that holds it."""
        (words,) = unpack.reads
        number, raw = unpack.attributes["to"], self._graph.constants[words].tobytes()
        assert isinstance(number, int)
        self.initialisers.append(
            helper.make_tensor(words.name, number, self._graph.constants[value].shape, raw, raw=True)
        )
        self._add("Cast", [words.name], value, to=ONNX_NUMBERS[value.dtype])

    def _add_stored(self, value: Value, stored: Stored) -> None:
        match stored:
            case Half(data=data):
                self._add("Cast", [self._initialiser(value, "half", data)], value, to=TensorProto.FLOAT)
            case Linear(data=data, scale=scale, zero=zero, axis=axis, block=block, bits=bits):
                inputs = [
                    self._initialiser(value, "quantized", data, bits),
                    self._initialiser(value, "scale", scale),
                    *([] if zero is None else [self._initialiser(value, "zero_point", zero, bits)]),
                ]
                along = {} if axis is None else {"axis": axis}
                self._add(
                    "DequantizeLinear", inputs, value, **along, **({} if block is None else {"block_size": block})
                )
            case Codebook():
                self._add_codebook(value, stored)

    def _add_codebook(self, value: Value, stored: Codebook) -> None:
        """Cast, Gather, and the product with scales: of blocks between two Reshapes."""
        shape, axis, block = stored.data.shape, stored.axis, stored.block
        name = value.name
        index = self._initialiser(value, "quantized", stored.data, 4)
        wide = self._add("Cast", [index], f"{name}_index", to=TensorProto.INT32)
        entries = self._add("Gather", [self._initialiser(value, "table", stored.table), wide], f"{name}_entry")
        if block is None:
            scale = stored.scale.reshape([-1 if d == axis else 1 for d in range(len(shape))])
            self._add("Mul", [entries, self._initialiser(value, "scale", scale)], value)
            return
        blocked = np.array([*shape[:axis], shape[axis] // block, block, *shape[axis + 1 :]], np.int64)
        scale = np.expand_dims(stored.scale, axis + 1)
        blocks = self._add("Reshape", [entries, self._initialiser(value, "blocks", blocked)], f"{name}_blocks")
        scaled = self._add("Mul", [blocks, self._initialiser(value, "scale", scale)], f"{name}_scaled")
        self._add("Reshape", [scaled, self._initialiser(value, "shape", np.array(shape, np.int64))], value)

    def _initialiser(self, value: Value, what: str, data: Array, bits: int = 8) -> str:
        """Its name; `bits` of 4 pack two elements into a byte."""
        name = self._names.fresh(f"{value.name}_{what}")
        if bits == 4:
            low, high = np.resize(np.append(data.reshape(-1), 0), (-(-data.size // 2), 2)).astype(np.uint8).T & 15
            raw = (low | high << 4).tobytes()
            self.initialisers.append(helper.make_tensor(name, _FOUR_BITS[data.dtype], data.shape, raw, raw=True))
        else:
            self.initialisers.append(numpy_helper.from_array(data, name))
        return name

    def _add(self, op: str, inputs: Sequence[str], output: Value | str, **attributes: int) -> str:
        name = output.name if isinstance(output, Value) else self._names.fresh(output)
        node = helper.make_node(op, inputs, [name], self._node_names.fresh(f"{name}_{op}"))
        node.attribute.extend(helper.make_attribute(key, number) for key, number in attributes.items())
        self.nodes.append(node)
        return name


def _is_same(node: Node, version: int) -> bool:
    """Whether its operator is the same in that version of its domain."""
    name, domain = node.op_type, node.domain
    if not onnx.defs.has(name, domain):
        return False
    versions = {onnx.defs.get_schema(name, v, domain).since_version for v in (node.opset, version)}
    return len(versions) == 1


def _proto(node: Node) -> onnx.NodeProto:
    inputs, outputs = (["" if v is None else v.name for v in values] for values in (node.inputs, node.outputs))
    proto = helper.make_node(node.op_type, inputs, outputs, node.name, domain=node.domain)
    proto.attribute.extend(_attribute(name, value) for name, value in node.attributes.items())
    return proto


def _attribute(name: str, value: Attribute) -> onnx.AttributeProto:
    if isinstance(value, np.ndarray):
        return helper.make_attribute(name, numpy_helper.from_array(value))
    if value == ():
        return helper.make_attribute(name, value, attr_type=onnx.AttributeProto.INTS)
    return helper.make_attribute(name, value)


def _port(value: Value) -> onnx.ValueInfoProto:
    shape: list[int | str | None] = [_extent(n) for n in value.shape]
    return helper.make_tensor_value_info(value.name, ONNX_NUMBERS[value.dtype], shape)


def _extent(n: Size) -> int | str:
    return n if isinstance(n, int) else text_of(n)
