"""Attributes and inputs in the schemas of supported operators are read by their definitions, or listed here with the
reason: an attribute that nothing reads is a model that is computed without it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, SupportsIndex, overload

import onnx
import pytest
from onnx import numpy_helper
from onnxruntime.capi import onnxruntime_pybind11_state
from op_table import Case, all_cases
from webnn_compile.dtypes import ONNX_DTYPES, ONNX_NUMBERS, DType, from_numpy
from webnn_compile.frontends.onnx.check_model import OLDEST_OPSET
from webnn_compile.ops import OPERATORS
from webnn_compile.ops.call import Call
from webnn_compile.tensor import Tensor, constant, placeholder

ML = "ai.onnx.ml"

UNREAD_ATTRIBUTES: Mapping[tuple[str, str], str] = {
    **{("CastLike", name): "of storage types alone, where it is a Cast" for name in ("round_mode", "saturate")},
    **{("Dropout", name): "of training alone, which is refused" for name in ("ratio", "seed")},
    ("Range", "stash_type"): "of float16 and bfloat16, which are computed in float32",
    ("GroupNormalization", "stash_type"): "statistics are of float32, and of float64 where the input is",
    ("RMSNormalization", "stash_type"): "statistics are of float32, and of float64 where the input is",
    ("TopK", "sorted"): "where it is 0 any order is right",
    ("ai.onnx.ml.LabelEncoder", "default_string"): "of strings alone, which are refused",
    ("ai.onnx.ml.LinearClassifier", "multi_class"): "it says how the model was trained",
    **{
        (f"ai.onnx.ml.{op}", name): "how often training met a node"
        for op, names in (
            ("TreeEnsemble", ["nodes_hitrates"]),
            ("TreeEnsembleClassifier", ["nodes_hitrates", "nodes_hitrates_as_tensor"]),
            ("TreeEnsembleRegressor", ["nodes_hitrates", "nodes_hitrates_as_tensor"]),
        )
        for name in names
    },
    ("com.microsoft.Attention", "rotary_embedding_dim"): "of do_rotary alone, which is refused",
    ("com.microsoft.DecoderMaskedMultiHeadAttention", "output_qk"): "where it is 0, the node names no such output",
    ("com.microsoft.EmbedLayerNormalization", "mask_index_type"): "of the inference of shapes alone",
    ("com.microsoft.GroupQueryAttention", "kv_cache_bit_width"): "of quantised caches alone, which are refused",
    ("com.microsoft.MatMulNBits", "accuracy_level"): "it allows coarser arithmetic",
    ("com.microsoft.RotaryEmbedding", "scale"): "onnxruntime reads it nowhere, either",
}
"""By operator and attribute: why its value changes no result."""

UNREAD_INPUTS: Mapping[tuple[str, str], str] = {
    ("Dropout", "ratio"): "of training alone, which is refused",
    (
        "com.microsoft.Attention",
        "past_sequence_length",
    ): "of past_present_share_buffer alone, which is refused",
}
"""By operator and input."""


@pytest.mark.parametrize("dtype", ONNX_NUMBERS, ids=str)
def test_numbers_of_element_types_are_onnx_s(dtype: DType) -> None:
    assert ONNX_NUMBERS[dtype] == onnx.helper.np_dtype_to_tensor_dtype(dtype.numpy)
    assert ONNX_DTYPES[ONNX_NUMBERS[dtype]] == dtype


class Attributes(dict[str, object]):
    """Remembers which of them were read, there or not."""

    def __init__(self, given: Mapping[str, object], read: set[str]) -> None:
        super().__init__(given)
        self._read = read

    def get(self, name: str, default: object = None) -> Any:
        self._read.add(name)
        return super().get(name, default)

    def __getitem__(self, name: str) -> object:
        self._read.add(name)
        return super().__getitem__(name)

    def __contains__(self, name: object) -> bool:
        self._read.add(str(name))
        return super().__contains__(name)


class Inputs(tuple[Tensor | None, ...]):
    """Remembers which of them were taken by their number. To list them, as what a tensor may read, takes none."""

    read: set[int]

    @overload
    def __getitem__(self, at: SupportsIndex) -> Tensor | None: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[Tensor | None, ...]: ...
    def __getitem__(self, at: Any) -> Any:
        self.read.update(range(len(self))[at] if isinstance(at, slice) else (int(at) % len(self),))
        return super().__getitem__(at)


def schemas(op: str) -> Iterator[onnx.defs.OpSchema]:
    """Each version of an operator of ai.onnx from the oldest opset on that is read."""
    for version in range(OLDEST_OPSET, onnx.defs.onnx_opset_version() + 1):
        if onnx.defs.has(op, max_inclusive_version=version):
            schema = onnx.defs.get_schema(op, version)
            if version in (OLDEST_OPSET, schema.since_version):
                yield schema


def call_of(case: Case, attributes: set[str], inputs: set[int], count: int) -> Call:
    """The row's node, with as many inputs as the operator may have, and what is read of it."""
    given = [
        None
        if a is None
        else constant(f"x{i}", a)
        if i in case.constants
        else placeholder(f"x{i}", a.shape, from_numpy(a.dtype))
        for i, a in enumerate(case.inputs)
    ]
    taken = Inputs([*given, *[None] * (count - len(given))])
    taken.read = inputs
    values = {
        n: tuple(v) if isinstance(v, list) else numpy_helper.to_array(v) if isinstance(v, onnx.TensorProto) else v
        for n, v in case.attributes.items()
    }
    return Call(case.op, case.id, case.opset, Attributes(values, attributes), taken, case.outputs)


@dataclass(frozen=True)
class Declared:
    """An operator's attributes by their names, and its inputs."""

    attributes: Mapping[str, Any]
    inputs: Sequence[Any]


def contributed() -> dict[str, Any]:
    """By name the operators of com.microsoft, as onnxruntime declares them. FusedConvTranspose, which is of
    onnxruntime-web alone, it does not: that has what ONNX's ConvTranspose has, and FusedConv's activation."""
    listed = onnxruntime_pybind11_state.get_all_operator_schema()
    found: dict[str, Any] = {s.name: s for s in listed if s.domain == "com.microsoft"}
    base, activated = onnx.defs.get_schema("ConvTranspose"), found["FusedConv"].attributes
    more = {name: activated[name] for name in ("activation", "activation_params")}
    return {"FusedConvTranspose": Declared({**base.attributes, **more}, base.inputs)} | found


ROWS: dict[tuple[str, str], list[Case]] = {}
for row in all_cases():
    ROWS.setdefault((row.domain, row.op), []).append(row)


@pytest.mark.parametrize("op", [op for domain, op in OPERATORS if not domain])
def test_attributes_and_inputs_are_read(op: str) -> None:
    versions = list(schemas(op))
    wanted = {name for s in versions for name in s.attributes} - {n for o, n in UNREAD_ATTRIBUTES if o == op}
    single = [s for s in versions if not any(i.option == i.option.Variadic for i in s.inputs)]
    names = {(k, i.name) for s in single for k, i in enumerate(s.inputs)}
    places = {k for k, name in names if (op, name) not in UNREAD_INPUTS}
    attributes: set[str] = set()
    inputs: set[int] = set()
    for case in ROWS["", op]:
        if wanted <= attributes and places <= inputs:
            break
        schema = onnx.defs.get_schema(op, case.opset)
        OPERATORS["", op](call_of(case, attributes, inputs, len(schema.inputs) if schema in single else 0))
    assert wanted - attributes == set(), "attributes that are not read"
    assert {name for k, name in names if k in places - inputs} == set(), "inputs that are not read"


@pytest.mark.parametrize("op", [op for domain, op in OPERATORS if domain == "com.microsoft"])
def test_attributes_and_inputs_of_onnxruntime_are_read(op: str) -> None:
    schema = contributed()[op]
    wanted = {name for name in schema.attributes if (f"com.microsoft.{op}", name) not in UNREAD_ATTRIBUTES}
    names = {(k, i.name) for k, i in enumerate(schema.inputs) if (f"com.microsoft.{op}", i.name) not in UNREAD_INPUTS}
    variadic = any(str(i.option).endswith("Variadic") for i in schema.inputs)
    attributes: set[str] = set()
    inputs: set[int] = set()
    for case in ROWS["com.microsoft", op]:
        call = call_of(case, attributes, inputs, 0 if variadic else len(schema.inputs))
        OPERATORS["com.microsoft", op](replace(call, opset=1, domain="com.microsoft"))
    assert wanted - attributes == set(), "attributes that are not read"
    assert {name for k, name in names if not variadic and k not in inputs} == set(), "inputs that are not read"


@pytest.mark.parametrize("op", [op for domain, op in OPERATORS if domain == ML])
def test_attributes_and_inputs_of_classical_models_are_read(op: str) -> None:
    schema = onnx.defs.get_schema(op, ML)
    wanted = {name for name in schema.attributes if (f"{ML}.{op}", name) not in UNREAD_ATTRIBUTES}
    attributes: set[str] = set()
    inputs: set[int] = set()
    for case in ROWS[ML, op]:
        OPERATORS[ML, op](replace(call_of(case, attributes, inputs, len(case.inputs)), domain=ML))
    assert wanted - attributes == set(), "attributes that are not read"
    assert set(range(len(schema.inputs))) - inputs == set(), "inputs that are not read"


def test_reasons_are_of_what_there_is() -> None:
    known = {(op, n) for (op, n) in UNREAD_ATTRIBUTES if any(n in s.attributes for s in schemas_of(op))}
    known |= {(op, n) for (op, n) in UNREAD_INPUTS if any(n == i.name for s in schemas_of(op) for i in s.inputs)}
    assert known == {*UNREAD_ATTRIBUTES, *UNREAD_INPUTS}


def schemas_of(op: str) -> list[Any]:
    """The schemas of an operator by its name in messages."""
    domain, _, name = op.rpartition(".")
    if domain == ML:
        return [onnx.defs.get_schema(name, ML)]
    return [contributed()[name]] if domain else list(schemas(op))
