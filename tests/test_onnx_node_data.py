"""The node tests of the onnx package: models of one node, or of what it stands for, with stored inputs and outputs, on
this machine's targets. Each passes, or is excluded for a reason."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import webnn_compile
from effort import NODE_TESTS, effort_of, every_nth_row
from onnx import numpy_helper
from onnx_models import assert_close
from webnn_compile.dtypes import STORAGE_TYPES
from webnn_compile.errors import WebnnCompileError
from webnn_compile.frontends.onnx.read_tensor import element_type
from webnn_compile.ops import OPERATORS
from webnn_compile.ops.call import operator_name

Array = np.ndarray[Any, np.dtype[Any]]

FOLDER = Path(onnx.__file__).parent / "backend" / "test" / "data" / "node"

CONSTANTS: Mapping[str, tuple[int, ...]] = {
    **{op: (1,) for _, op in OPERATORS if op.startswith("Reduce")},
    **dict.fromkeys(("AffineGrid", "CenterCropPad", "Expand", "OneHot", "Reshape", "Split"), (1,)),
    **dict.fromkeys(("Squeeze", "Tile", "Unsqueeze", "Upsample"), (1,)),
    **dict.fromkeys(("BlackmanWindow", "ConstantOfShape", "HammingWindow", "HannWindow", "Loop"), (0,)),
    "Col2Im": (1, 2),
    "DFT": (1, 2),
    "MaxUnpool": (2,),
    "MelWeightMatrix": (0, 1, 2, 3, 4),
    "Pad": (1, 3),
    "Range": (0, 1, 2),
    "Resize": (1, 2, 3),
    "STFT": (1, 3),
    "SequenceInsert": (2,),
    "Slice": (3, 4),
    "SplitToSequence": (1,),
}
"""By operator the inputs that are fixed: axes, sizes, repeats, lengths, where ranges begin and end; never data."""

DECIDING: Mapping[str, tuple[str, ...]] = dict.fromkeys(
    ("test_if_opt", "test_loop13_seq", "test_loop16_seq_none"), ("cond",)
)
"""By test the inputs that are fixed, too: conditions that decide how many tensors an output is."""

TYPES = "elements are of a type that is not supported"
OPERATOR = "an operator is not supported"

UNSUPPORTED = (
    "ai.onnx.preview.training.Adagrad",
    "ai.onnx.preview.training.Adam",
    "ai.onnx.preview.training.Momentum",
    "ImageDecoder",
)
"""The operators for which a test is excluded."""

EXCLUDED: Mapping[str, tuple[str, ...]] = {
    "it trains": (
        "test_training_dropout",
        "test_training_dropout_default",
        "test_training_dropout_default_mask",
        "test_training_dropout_mask",
        "test_training_dropout_zero_ratio",
        "test_training_dropout_zero_ratio_mask",
    ),
    "its data divides by the length of the result before that is rounded; the specification and onnxruntime after": (
        "test_resize_downsample_scales_cubic_align_corners",
        "test_resize_downsample_scales_linear_align_corners",
    ),
}
"""Further reasons, each with its tests."""

TARGETS = ("native", "wasm", "c", "opencl", "cuda")

TOLERANCES = dict.fromkeys(
    (
        "test_averagepool_2d_ceil_last_window_starts_on_pad",
        "test_roialign_aligned_false",
        "test_roialign_aligned_true",
    ),
    1e-4,
)  # their data has four digits


RANDOM = frozenset(("Bernoulli", "RandomUniformLike"))
"""Operators whose numbers ONNX leaves open: of these tests shapes and types are compared, and numbers are 0 or 1."""


@cache
def load(name: str) -> onnx.ModelProto:
    return onnx.load(FOLDER / name / "model.onnx")


@cache
def operators(name: str) -> frozenset[str]:
    """Operators of the model, of its functions and of subgraphs."""
    model = load(name)
    bodies: list[onnx.GraphProto | onnx.FunctionProto] = [model.graph, *model.functions]
    return frozenset(operator_name(n.domain, n.op_type) for body in bodies for n in nodes(body))


def nodes(body: onnx.GraphProto | onnx.FunctionProto) -> Iterator[onnx.NodeProto]:
    for node in body.node:
        yield node
        for a in node.attribute:
            if a.type == onnx.AttributeProto.GRAPH:
                yield from nodes(a.g)


def tensor_type(type_: onnx.TypeProto) -> onnx.TypeProto.Tensor:
    """The type of a tensor, or of those in a sequence or an optional."""
    kind = type_.WhichOneof("value")
    return type_.tensor_type if kind == "tensor_type" else tensor_type(getattr(type_, kind).elem_type)


def reason_of(name: str) -> str | None:
    """Why a test is excluded, if it is."""
    graph = load(name).graph
    values = (*graph.input, *graph.output)
    if not all(element_type(tensor_type(v.type).elem_type) for v in values):
        return TYPES
    if not operators(name).isdisjoint(UNSUPPORTED):
        return OPERATOR
    return next((reason for reason, names in EXCLUDED.items() if name in names), None)


NAMES = [p.name for p in sorted(FOLDER.glob("test_*"))]
REASONS = {name: reason for name in NAMES if (reason := reason_of(name))}


def stored(path: Path, type_: onnx.TypeProto) -> Array | list[Array] | None:
    """The value in a file: an array, those of a sequence, or None for an optional without one."""
    kind, data = type_.WhichOneof("value"), path.read_bytes()
    if kind == "tensor_type":
        return numpy_helper.to_array(onnx.TensorProto.FromString(data))
    if kind == "sequence_type":
        return list(numpy_helper.to_list(onnx.SequenceProto.FromString(data)))
    return numpy_helper.to_optional(onnx.OptionalProto.FromString(data))


def tensors(name: str, kind: str) -> tuple[dict[str, Array], dict[str, int]]:
    """The stored inputs or outputs, those of sequences and optionals one by one, and how many of these there are."""
    graph, folder = load(name).graph, FOLDER / name / "test_data_set_0"
    found: dict[str, Array] = {}
    counts: dict[str, int] = {}
    for i, v in enumerate(graph.input if kind == "input" else graph.output):
        value = stored(folder / f"{kind}_{i}.pb", v.type)
        if isinstance(value, np.ndarray) and (v.type.HasField("tensor_type") or kind == "output"):
            found[v.name] = as_held(value, v)
            continue
        listed = [] if value is None else value if isinstance(value, list) else [value]
        counts[v.name] = len(listed)
        found |= {f"{v.name}.{k}": a for k, a in enumerate(listed)}
    return found, counts


def as_held(array: Array, value: onnx.ValueInfoProto) -> Array:
    """The array of a storage type as that which holds its values."""
    storage = STORAGE_TYPES.get(tensor_type(value.type).elem_type)
    return array if storage is None else array.astype(storage.held.numpy)


def constants_of(name: str) -> list[str]:
    """The inputs that are fixed. What an operator stands for has those of the operator, in order."""
    stem = name.partition("_expanded")[0]
    whole = load(stem if stem in NAMES else name).graph
    if len(whole.node) != 1:
        return []
    (node,) = whole.node
    deciding = DECIDING.get(name, ())
    named = [node.input[i] for i in CONSTANTS.get(node.op_type, ()) if i < len(node.input)]
    return [own.name for own, given in zip(load(name).graph.input, whole.input, strict=True) if given.name in named] + [
        *deciding
    ]


def run(name: str, target: str = "native") -> None:
    """Compiles and runs one test, and compares."""
    (given, dims), (expected, _) = tensors(name, "input"), tensors(name, "output")
    constants = {n: given.pop(n) for n in constants_of(name)}
    shapes = {n: a.shape for n, a in given.items()}
    compiled = webnn_compile.compile(load(name), target, shapes, constants=constants, dims=dims, states=())
    if not operators(name).isdisjoint(RANDOM):
        results = compiled.run(given)
        assert {n: (a.shape, a.dtype) for n, a in results.items()} == {
            n: (a.shape, a.dtype) for n, a in expected.items()
        }
        assert all(np.isin(a, (0, 1)).all() for a in results.values())
        return
    half = any(a.dtype == np.float16 for a in (*given.values(), *expected.values()))
    assert_close(compiled.run(given), expected, TOLERANCES.get(name, 1e-3 if half else 1e-5))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if metafunc.function is test_node:
        every = NODE_TESTS[effort_of(metafunc.config)]
        passing = [n for n in NAMES if n not in REASONS]
        named = [(n, t) for t in TARGETS for n in passing if every_nth_row(n, every.get(t, 1))]
        metafunc.parametrize(("name", "target"), named, ids=[f"{n}-{t}" for n, t in named])


@pytest.mark.every_row
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # NumPy's, where infinities and NaN are compared
def test_node(name: str, target: str) -> None:
    run(name, target)


@pytest.mark.parametrize("name", REASONS)
def test_excluded_still_fails(name: str) -> None:
    with pytest.raises((WebnnCompileError, AssertionError)):
        run(name)


def test_how_many_pass() -> None:
    assert len(NAMES) == 1765
    assert len(NAMES) - len(REASONS) == 1715


def test_what_is_excluded() -> None:
    named = {name for names in EXCLUDED.values() for name in names}
    assert named == {name for name, reason in REASONS.items() if reason in EXCLUDED}
    found = {op for name, reason in REASONS.items() if reason == OPERATOR for op in operators(name)}
    assert set(UNSUPPORTED) <= found
    assert set(UNSUPPORTED).isdisjoint(operator_name(*op) for op in OPERATORS)


def test_every_operator_is_tested() -> None:
    tested = {op for name in NAMES if name not in REASONS for op in operators(name)}
    without_test = ["GlobalLpPool", "MaxRoiPool", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform"]
    assert sorted({op for domain, op in OPERATORS if not domain} - tested) == without_test


@pytest.mark.parametrize(
    "operator",
    ["Attention", "GRU", "If", "LSTM", "Loop", "NonMaxSuppression", "NonZero", "RNN", "Range", "Scan"],
)
def test_all_tests_of_an_operator_pass(operator: str) -> None:
    """But for those of what are no tensors, or tensors of other types."""
    reasons = {REASONS.get(name) for name in NAMES if [n.op_type for n in load(name).graph.node] == [operator]}
    assert None in reasons
    assert reasons <= {None, TYPES}
