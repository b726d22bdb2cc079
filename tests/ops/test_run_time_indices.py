"""Indices that only the running model knows never lead outside of a tensor."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
import webnn_compile
from onnx_models import model, node, random
from op_table import BACKENDS, Case, evaluate_case, feeds, untyped_model
from webnn_compile.errors import InputError, UnsupportedError

X = np.arange(5, dtype=np.float32)


def test_gather_takes_the_nearest_element() -> None:
    indices = np.asarray([-99, -5, 4, 99])
    np.testing.assert_array_equal(evaluate_case(Case("g", "Gather", (X, indices)))[0], [0, 0, 4, 4])


def test_gather_elements_takes_the_nearest_element() -> None:
    indices = np.asarray([-99, 7])
    np.testing.assert_array_equal(evaluate_case(Case("g", "GatherElements", (X, indices)))[0], [0, 4])


def test_gather_nd_takes_the_nearest_element() -> None:
    indices = np.asarray([[-99], [7]])
    np.testing.assert_array_equal(evaluate_case(Case("g", "GatherND", (X, indices)))[0], [0, 4])


@pytest.mark.parametrize("step", [-(2**63), -(2**31), 2**31 - 1, 2**63 - 1])
@pytest.mark.parametrize("constant", [False, True])
def test_a_step_beyond_the_extent_takes_one_element(step: int, constant: bool) -> None:
    start, end = ([-1], [-(2**31) + 1]) if step < 0 else ([1], [2**31 - 2])
    bounds = {"start": np.array(start), "end": np.array(end)}
    kept = {"axis": np.array([0]), "step": np.array([step]), **(bounds if constant else {})}
    proto = model([node("Slice", ["x", "start", "end", "axis", "step"], ["y"])], {"x": [5, 2]}, ["y"], kept)
    if not constant:
        proto.graph.input.extend(onnx.helper.make_tensor_value_info(n, onnx.TensorProto.INT64, [1]) for n in bounds)
    x = random((5, 2))
    made = webnn_compile.compile(proto, target="native").run({"x": x, **({} if constant else bounds)})["y"]
    np.testing.assert_array_equal(made, x[4:5] if step < 0 else x[1:2])


def test_scatter_drops_updates_for_nowhere() -> None:
    inputs = (X, np.asarray([7, -9, 1]), np.asarray([10, 20, 30], np.float32))
    np.testing.assert_array_equal(evaluate_case(Case("s", "ScatterElements", inputs))[0], [0, 30, 2, 3, 4])


def test_reverse_sequence_bounds_its_lengths() -> None:
    inputs = (X.reshape(5, 1).repeat(2, 1), np.asarray([99, -3]))
    (result,) = evaluate_case(Case("r", "ReverseSequence", inputs))
    np.testing.assert_array_equal(result, np.stack([X[::-1], X], 1))


FAR = np.asarray([2**62, -(2**62), 2**32 + 1, -(2**31) - 1])
"""Indices that mean others where only 32 bits of them are kept."""
NEAREST = [4, 0, 4, 0]
NONE = np.ones(4, np.float32)

FAR_CASES = {
    "Gather": (Case("", "Gather", (X, FAR)), NEAREST),
    "GatherElements": (Case("", "GatherElements", (X, FAR)), NEAREST),
    "GatherND": (Case("", "GatherND", (X, FAR[:, None])), NEAREST),
    "ScatterElements": (Case("", "ScatterElements", (X, FAR, NONE)), X),
    "ScatterElements-add": (Case("", "ScatterElements", (X, FAR, NONE), {"reduction": "add"}), X),
    "ScatterND": (Case("", "ScatterND", (X, FAR[:, None], NONE)), X),
    "OneHot": (
        Case("", "OneHot", (FAR, np.asarray(5), np.asarray([0, 1], np.float32)), constants=frozenset({1, 2})),
        np.zeros((4, 5)),
    ),
    "ReverseSequence": (
        Case("", "ReverseSequence", (X[:4, None].repeat(4, 1), FAR)),
        np.stack([X[3::-1], X[:4], X[3::-1], X[:4]], 1),
    ),
}


@pytest.mark.parametrize("backend", ["evaluate", "native", "wasm"])
@pytest.mark.parametrize("name", FAR_CASES)
def test_an_index_beyond_32_bits_is_far_out_of_range(name: str, backend: str) -> None:
    case, expected = FAR_CASES[name]
    np.testing.assert_array_equal(BACKENDS[backend](untyped_model(case), feeds(case))[0], expected)


@pytest.mark.parametrize("target", ["webgpu", "webgl"])
def test_devices_refuse_an_index_beyond_32_bits(target: str) -> None:
    case, _ = FAR_CASES["Gather"]
    with pytest.raises(InputError, match="beyond int32, which the device cannot hold"):
        BACKENDS[target](untyped_model(case), feeds(case))


@pytest.mark.parametrize("index", FAR)
@pytest.mark.parametrize(("op", "more"), [("Gather", ()), ("GatherElements", ()), ("ScatterElements", (NONE[:1],))])
def test_a_constant_index_beyond_32_bits_is_refused(op: str, more: tuple[np.ndarray, ...], index: int) -> None:
    with pytest.raises(UnsupportedError, match="out of range"):
        evaluate_case(Case("", op, (X, np.asarray([index]), *more), constants=frozenset({1})))


@pytest.mark.parametrize("index", FAR)
@pytest.mark.parametrize(("op", "more"), [("GatherND", ()), ("ScatterND", (NONE[:1],))])
def test_a_constant_tuple_beyond_32_bits_is_refused(op: str, more: tuple[np.ndarray, ...], index: int) -> None:
    with pytest.raises(UnsupportedError, match="out of range"):
        evaluate_case(Case("", op, (X, np.asarray([[index]]), *more), constants=frozenset({1})))
