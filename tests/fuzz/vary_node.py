"""Every small change to a model of one node: what random mutations would take days to try, in order."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import onnx
from fuzz.case import Array
from onnx import AttributeProto, helper, numpy_helper

SHAPES: tuple[tuple[int, ...], ...] = ((), (1,), (3,), (0,), (2, 3), (2, 0), (1, 2, 3), (2, 3, 4, 5), (1, 2, 3, 4, 5))
INTEGERS = (-1, 0, 1, 2, 3, 7, 2**31 - 1, 2**31, 2**62, 2**63 - 1, -(2**31), -(2**63))
FLOATS = (0.0, -1.0, 1e38, float("nan"), float("inf"), -float("inf"))
STRINGS = (b"", b"x", b"SAME_UPPER", b"\xff")
LISTS: tuple[tuple[int, ...], ...] = ((), (0,), (-1,), (1, 1), (2, 2), (0, 0, 0, 0), (2**31, 1), (2**62, 2**62))

Variant = tuple[str, onnx.ModelProto]


def vary_node(model: onnx.ModelProto) -> Iterator[Variant]:
    """Models that differ from `model`, which has one node, in one thing: the shape of an operand, a value of a
    constant, an attribute, the number of operands or results; each with its description."""
    operands = {v.name: _declared(v) for v in model.graph.input} | {
        t.name: (t.data_type, tuple(t.dims)) for t in model.graph.initializer
    }
    constants = {t.name for t in model.graph.initializer}
    for name in dict.fromkeys(n for n in model.graph.node[0].input if n in operands):
        yield from _vary_operand(model, name, operands[name][0], name in constants)
    for i in range(len(model.graph.node[0].input)):
        copy = _copy(model)
        copy.graph.node[0].input[i] = ""
        yield f"operand {i} absent", copy
        copy = _copy(model)
        del copy.graph.node[0].input[i:]
        yield f"{i} operands", copy
    copy = _copy(model)
    copy.graph.node[0].output.append("more")
    yield "one more result", copy
    yield from _vary_attributes(model)


def _vary_operand(model: onnx.ModelProto, name: str, dtype: int, constant: bool) -> Iterator[Variant]:
    kind = np.dtype(helper.tensor_dtype_to_np_dtype(dtype))
    for shape in SHAPES:
        yield f"{name} is {list(shape)}", _with_operand(model, name, dtype, np.ones(shape, kind) if constant else shape)
        alone = _copy(model)
        for i, other in enumerate(alone.graph.node[0].input):
            alone.graph.node[0].input[i] = name if other else ""
        yield f"{name} is {list(shape)} and every operand", _with_operand(alone, name, dtype, shape)
    if not constant or kind.kind not in "iuf":
        return
    for t in model.graph.initializer:
        for value in (INTEGERS if kind.kind in "iu" else FLOATS) if t.name == name else ():
            for at in {0, max(0, int(np.prod(t.dims)) - 1)}:
                data = numpy_helper.to_array(t).copy().reshape(-1)
                with np.errstate(all="ignore"):
                    data[at : at + 1] = np.asarray(value).astype(kind)
                yield f"{name}[{at}] is {value}", _with_operand(model, name, dtype, data.reshape(t.dims))


def _vary_attributes(model: onnx.ModelProto) -> Iterator[Variant]:
    node = model.graph.node[0]
    odd = {AttributeProto.INT: INTEGERS, AttributeProto.FLOAT: FLOATS, AttributeProto.STRING: STRINGS}
    for i, a in enumerate(node.attribute):
        copy = _copy(model)
        del copy.graph.node[0].attribute[i]
        yield f"without {a.name}", copy
        values: list[object] = list(odd.get(a.type, ()))
        if a.type == AttributeProto.INTS:
            values += [(*a.ints[:-1], value) for value in INTEGERS] + [(value, *a.ints[1:]) for value in INTEGERS]
            values += [(), a.ints[:-1], (*a.ints, 1)]
        for value in values:
            yield f"{a.name} is {value!r}", _with_attribute(model, i, a, value)
    if node.domain:  # onnx has no schemas of other domains
        return
    schema = onnx.defs.get_schema(node.op_type, model.opset_import[0].version)
    there = {a.name for a in node.attribute}
    for name, described in sorted(schema.attributes.items()):
        kind = AttributeProto.AttributeType.Value(described.type.name)
        for value in (*odd.get(kind, ()), *(LISTS if kind == AttributeProto.INTS else ())) if name not in there else ():
            added = AttributeProto(name=name, type=kind)
            yield f"with {name} {value!r}", _with_attribute(model, len(node.attribute), added, value)


def _with_operand(model: onnx.ModelProto, name: str, dtype: int, given: tuple[int, ...] | Array) -> onnx.ModelProto:
    """With an array a constant, with a shape an input."""
    made = _copy(model)
    used = set(made.graph.node[0].input)
    for values in (made.graph.input, made.graph.initializer):
        for v in [v for v in values if v.name == name or v.name not in used]:
            values.remove(v)
    if isinstance(given, tuple):
        made.graph.input.append(helper.make_tensor_value_info(name, dtype, given))
    else:
        made.graph.initializer.append(numpy_helper.from_array(given, name))
    return made


def _with_attribute(model: onnx.ModelProto, i: int, like: AttributeProto, value: object) -> onnx.ModelProto:
    made = _copy(model)
    new = AttributeProto(name=like.name, type=like.type)
    if isinstance(value, int):
        new.i = value
    elif isinstance(value, float):
        new.f = value
    elif isinstance(value, bytes):
        new.s = value
    else:
        new.ints.extend(value)
    del made.graph.node[0].attribute[i : i + 1]
    made.graph.node[0].attribute.append(new)
    return made


def _declared(v: onnx.ValueInfoProto) -> tuple[int, tuple[int, ...]]:
    return v.type.tensor_type.elem_type, tuple(d.dim_value for d in v.type.tensor_type.shape.dim)


def _copy(model: onnx.ModelProto) -> onnx.ModelProto:
    made = onnx.ModelProto()
    made.CopyFrom(model)
    return made
