"""Writes Core ML models with the importer's own message classes: programs operation by operation, networks layer by
layer."""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from webnn_compile.frontends.coreml.schema import MESSAGES
from webnn_compile.frontends.coreml.types import ARRAY_TYPES, DATA_TYPES

Array = np.ndarray
NUMBERS = {name: number for number, name in DATA_TYPES.items()}
ARRAYS = {name: number for number, name in ARRAY_TYPES.items()}


class Name(str):
    """The name of a value, where text is a constant."""


def set_type(type: Any, dtype: str, shape: Sequence[int | None]) -> None:
    tensor = type.tensorType
    tensor.dataType, tensor.rank = NUMBERS[dtype], len(shape)
    for n in shape:
        dimension = tensor.dimensions.add()
        if n is None:
            dimension.unknown.SetInParent()
        else:
            dimension.constant.size = n


def set_value(value: Any, data: Any) -> None:
    """An immediate constant."""
    if isinstance(data, str):
        set_type(value.type, "string", ())
        value.immediateValue.tensor.strings.values.append(data)
        return
    if isinstance(data, list) and data and isinstance(data[0], str):
        for text in data:
            set_value(value.immediateValue.list.values.add(), text)
        value.type.listType.type.SetInParent()
        return
    array = np.asarray(data)
    array = array.astype({"float64": "float32", "int64": "int32"}.get(str(array.dtype), array.dtype))
    set_type(value.type, str(array.dtype), array.shape)
    tensor = value.immediateValue.tensor
    match str(array.dtype):
        case "float32":
            tensor.floats.values.extend(array.reshape(-1).tolist())
        case "int32":
            tensor.ints.SetInParent()
            tensor.ints.values.extend(array.reshape(-1).tolist())
        case "bool":
            tensor.bools.values.extend(array.reshape(-1).tolist())
        case _:
            tensor.bytes.values = array.tobytes()


class Blobs:
    """A file of weights."""

    def __init__(self) -> None:
        self.data = bytearray(struct.pack("<II", 0, 2) + bytes(56))

    def add(self, data: bytes) -> int:
        """The place of a constant's description."""
        at = len(self.data)
        self.data += struct.pack("<IIQQQ", 0xDEADBEEF, 1, len(data), at + 64, 0) + bytes(32)
        self.data += data + bytes(-len(data) % 64)
        return at


class Block:
    def __init__(self, block: Any, program: Program) -> None:
        self.block, self.program = block, program

    def input(self, name: str, dtype: str, shape: Sequence[int]) -> Name:
        named = self.block.inputs.add(name=name)
        set_type(named.type, dtype, shape)
        return Name(name)

    def const(self, data: Any) -> Name:
        name = self.program.fresh("const")
        o = self.block.operations.add(type="const")
        set_value(o.attributes["val"], data)
        o.outputs.add(name=name).type.CopyFrom(o.attributes["val"].type)
        return name

    def stored(self, data: bytes, dtype: str, shape: Sequence[int]) -> Name:
        """A constant in the file of weights."""
        name = self.program.fresh("weight")
        o = self.block.operations.add(type="const")
        value = o.attributes["val"]
        set_type(value.type, dtype, shape)
        value.blobFileValue.fileName = "@model_path/weights/weight.bin"
        value.blobFileValue.offset = self.program.blobs.add(data)
        o.outputs.add(name=name).type.CopyFrom(value.type)
        return name

    def op(self, kind: str, results: Sequence[tuple[str, Sequence[int | None]]], **arguments: Any) -> list[Name]:
        """An operation with results of these types. Arguments are names, lists of them, blocks, or constants."""
        o = self.block.operations.add(type=kind)
        o_inputs = {}
        for key, given in arguments.items():
            is_list = isinstance(given, list) and given and isinstance(given[0], Name)
            o_inputs[key] = [g if isinstance(g, Name) else self.const(g) for g in (given if is_list else [given])]
        # Constants stand before the operation that reads them.
        self.block.operations.remove(o)
        o = self.block.operations.add(type=kind)
        for key, names in o_inputs.items():
            for name in names:
                o.inputs[key].arguments.add(name=name)
        names = []
        for dtype, shape in results:
            name = self.program.fresh(kind)
            set_type(o.outputs.add(name=name).type, dtype, shape)
            names.append(name)
        return names

    def inner(self) -> Block:
        """A block of the last operation."""
        return Block(self.block.operations[-1].blocks.add(), self.program)


class Program(Block):
    """A model of one function. Inputs are float32 or int32."""

    def __init__(self) -> None:
        self.model = MESSAGES["Model"](specificationVersion=7)
        self.function = self.model.mlProgram.functions["main"]
        self.function.opset = "CoreML6"
        self.blobs = Blobs()
        self._names = 0
        super().__init__(self.function.block_specializations["CoreML6"], self)

    def fresh(self, stem: str) -> Name:
        self._names += 1
        return Name(f"{stem}_{self._names}")

    def input(self, name: str, dtype: str, shape: Sequence[int | None], usual: Sequence[int] | None = None) -> Name:
        set_type(self.function.inputs.add(name=name).type, dtype, shape)
        array = self.model.description.input.add(name=name).type.multiArrayType
        array.dataType = ARRAYS[dtype]
        array.shape.extend(usual or [n or 1 for n in shape])
        for n in shape if None in shape else ():
            array.shapeRange.sizeRanges.add(lowerBound=n or 1, upperBound=n or -1)
        return Name(name)

    def image(self, name: str, height: int, width: int, color: int) -> Name:
        """An input whose pixels are of three channels."""
        set_type(self.function.inputs.add(name=name).type, "float32", (1, 3, height, width))
        image = self.model.description.input.add(name=name).type.imageType
        image.height, image.width, image.colorSpace = height, width, color
        return Name(name)

    def output(self, name: Name) -> None:
        self.block.outputs.append(name)
        self.model.description.output.add(name=name).type.multiArrayType.dataType = ARRAYS["float32"]

    def bytes(self) -> bytes:
        return bytes(self.model.SerializeToString())

    def package(self, folder: Path) -> Path:
        """A .mlpackage."""
        return write_package(folder, self.bytes(), bytes(self.blobs.data))


def write_package(folder: Path, model: bytes, weights: bytes) -> Path:
    data = folder / "Data" / "com.apple.CoreML"
    (data / "weights").mkdir(parents=True)
    (data / "model.mlmodel").write_bytes(model)
    (data / "weights" / "weight.bin").write_bytes(weights)
    entry = {"path": "com.apple.CoreML/model.mlmodel", "name": "model.mlmodel"}
    manifest = {"rootModelIdentifier": "A", "itemInfoEntries": {"A": entry}}
    (folder / "Manifest.json").write_text(json.dumps(manifest))
    return folder


class Network:
    """A neural network. Its arrays have five dimensions unless it is `exact`."""

    def __init__(self, exact: bool = False, kind: str = "neuralNetwork") -> None:
        self.model = MESSAGES["Model"](specificationVersion=4)
        self.network = getattr(self.model, kind)
        self.network.SetInParent()
        self.network.arrayInputShapeMapping = self.network.imageInputShapeMapping = int(exact)

    def input(self, name: str, shape: Sequence[int]) -> str:
        array = self.model.description.input.add(name=name).type.multiArrayType
        array.shape.extend(shape)
        array.dataType = ARRAYS["float64"]
        return name

    def image(self, name: str, height: int, width: int, color: int = 20) -> str:
        image = self.model.description.input.add(name=name).type.imageType
        image.height, image.width, image.colorSpace = height, width, color
        return name

    def layer(self, kind: str, inputs: Sequence[str], outputs: Sequence[str], **fields: Any) -> Any:
        """A layer whose parameters are set to these fields: numbers, lists, arrays of weights."""
        layer = self.network.layers.add(name=f"{kind}_{len(self.network.layers)}")
        layer.input.extend(inputs)
        layer.output.extend(outputs)
        params = getattr(layer, kind)
        params.SetInParent()
        set_fields(params, fields)
        return params

    def output(self, name: str, shape: Sequence[int] = ()) -> None:
        array = self.model.description.output.add(name=name).type.multiArrayType
        array.shape.extend(shape)
        array.dataType = ARRAYS["float64"]

    def bytes(self) -> bytes:
        return bytes(self.model.SerializeToString())


def set_fields(message: Any, fields: dict[str, Any]) -> None:
    for name, value in fields.items():
        descriptor = message.DESCRIPTOR.fields_by_name[name]
        if isinstance(value, np.ndarray):
            weights = getattr(message, name)
            if value.dtype == np.float16:
                weights.float16Value = value.tobytes()
            else:
                weights.floatValue.extend(value.reshape(-1).tolist())
        elif isinstance(value, dict):
            getattr(message, name).SetInParent()
            set_fields(getattr(message, name), value)
        elif descriptor.is_repeated:
            for item in value:
                if isinstance(item, dict):
                    set_fields(getattr(message, name).add(), item)
                else:
                    getattr(message, name).append(item)
        else:
            setattr(message, name, value)
