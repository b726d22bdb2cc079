"""Storage types of operands, for operators whose results go by them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import onnx

from ...dtypes import STORAGE_TYPES, storage_type
from ...graph.ir import Attribute, Value

_STATED = {
    ("", "CastLike"): (1, "to"),
    ("", "QuantizeLinear"): (2, "output_dtype"),
    **{("", op): (0, "dtype") for op in ("Bernoulli", "RandomNormalLike", "RandomUniformLike")},
    ("com.microsoft", "QuantizeLinear"): (2, "output_dtype"),
    ("com.microsoft", "GatherBlockQuantized"): (0, "data_type"),
}
"""By operator an input, and the attribute that gives the number of its type in place of the type of its values."""


def state_type(node: onnx.NodeProto, type_of: Callable[[int], int | None]) -> dict[str, int]:
    """The attribute of a node that states of which storage type an input is: its value has the type that holds it.
    Empty where there is none. `type_of` gives the number of an input's type."""
    index, name = _STATED.get((node.domain, node.op_type), (len(node.input), ""))
    number = type_of(index) if index < len(node.input) else None
    return {} if number is None or number not in STORAGE_TYPES else {name: number}


def storage_of_results(
    node: onnx.NodeProto,
    opset: int,
    inputs: Sequence[Value | None],
    results: Sequence[Value | None],
    attributes: Mapping[str, Attribute],
    of_inputs: Mapping[Value, int],
) -> dict[Value, int]:
    """The numbers of the storage types that results have: the type that an attribute names, or that of an input which
    has the same type by ONNX's schema. `of_inputs` are those of inputs."""
    named = next((n for a in ("to", "output_dtype", "dtype") if storage_type(n := attributes.get(a)) is not None), None)
    if isinstance(named, int):
        return {v: named for v in results if v is not None}
    given = [(i, of_inputs[v]) for i, v in enumerate(inputs) if v is not None and v in of_inputs]
    if not given or node.domain:
        return {}
    schema = onnx.defs.get_schema(node.op_type, opset)
    of_input = {schema.inputs[min(i, len(schema.inputs) - 1)].type_str: number for i, number in given}
    kinds = [schema.outputs[min(i, len(schema.outputs) - 1)].type_str for i in range(len(results))]
    return {v: of_input[k] for v, k in zip(results, kinds, strict=True) if v is not None and k in of_input}
