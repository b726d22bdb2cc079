"""Attention's windows: attributes of opset 25 that ONNX's checker knows from onnx 1.23 on; models here skip it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import webnn_compile
from drivers import need_driver
from op_cases._arrays import Arrays, ints
from op_table import Array, Case, check, evaluate_graph, feeds, graph_of, untyped_model
from webnn_compile.driver.optimise_model import optimise_model
from webnn_compile.driver.options import Options
from webnn_compile.driver.targets import TARGETS
from webnn_compile.driver.work import Work
from webnn_compile.errors import InputError, UnsupportedError
from webnn_compile.system.cache import Cache

_a = Arrays(73)

MASK, PAST_KEY, PAST_VALUE, NONPAD = range(3, 7)
QUERIES, KEYS = (2, 4, 3, 5), (2, 4, 6, 5)


def case(given: dict[int, Array] | None = None, **attributes: Any) -> Case:
    optional = [(given or {}).get(i) for i in range(MASK, max(given or (2,)) + 1)]
    inputs = (_a.normal(*QUERIES), _a.normal(*KEYS), _a.normal(*KEYS), *optional)
    return Case("attention-window", "Attention", inputs, attributes, 25)


PAST = {PAST_KEY: _a.normal(2, 4, 2, 5), PAST_VALUE: _a.normal(2, 4, 2, 5)}

CASES = {
    "left": case(left_window_size=1),
    "right": case(right_window_size=0),
    "both": case(left_window_size=0, right_window_size=2),
    "causal": case(left_window_size=1, right_window_size=3, is_causal=1),
    "past": case(PAST, left_window_size=2, right_window_size=0),
    "lengths": case({NONPAD: ints(4, 6)}, left_window_size=1),
    "lengths causal": case({NONPAD: ints(2, 5)}, left_window_size=1, is_causal=1),
    "mask": case({MASK: _a.normal(3, 6)}, left_window_size=1, right_window_size=1),
    "no key": case({MASK: np.tri(3, 6, -1) > 0}, left_window_size=0),
    "unbounded": case(left_window_size=-1, right_window_size=2**40),
}


def defined(case: Case) -> Array:
    """By the definition: query i stands at offset + i; where it sees no key, zeros."""
    q, k, v, mask, past_key, past_value, lengths = (*case.inputs, *[None] * (7 - len(case.inputs)))
    assert q is not None
    assert k is not None
    assert v is not None
    k = k if past_key is None else np.concatenate((past_key, k), 2)
    v = v if past_value is None else np.concatenate((past_value, v), 2)
    offset: Any = 0 if past_key is None else past_key.shape[2]
    if lengths is not None:
        offset = (lengths - q.shape[2]).reshape(-1, 1, 1, 1)
    scores = q @ k.swapaxes(2, 3) / np.sqrt(q.shape[3])
    query, key = offset + np.arange(q.shape[2])[:, None], np.arange(k.shape[2])
    left, right = case.attributes.get("left_window_size", -1), case.attributes.get("right_window_size", -1)
    seen = np.ones(scores.shape, bool)
    seen &= (left < 0) | (query - key <= left)
    seen &= (right < 0) | (key - query <= right)
    seen &= (not case.attributes.get("is_causal", 0)) | (key <= query)
    seen &= True if lengths is None else key < lengths.reshape(-1, 1, 1, 1)
    if mask is not None:
        seen &= mask if mask.dtype == bool else True
        scores = scores if mask.dtype == bool else scores + mask
    weights = np.where(seen, np.exp(scores), 0)
    return np.asarray(weights / np.maximum(weights.sum(3, keepdims=True), 1e-30) @ v, np.float32)


@pytest.mark.parametrize("name", CASES)
def test_by_the_definition(name: str) -> None:
    graph = graph_of(untyped_model(CASES[name]), feeds(CASES[name]))
    check(evaluate_graph(graph, feeds(CASES[name])), [defined(CASES[name])], 1e-5)


@pytest.mark.parametrize("target", ["native", "webgpu", "webgl"])
@pytest.mark.parametrize("name", ["lengths causal", "no key"])
def test_compiled(name: str, target: str) -> None:
    need_driver(target)
    graph = graph_of(untyped_model(CASES[name]), feeds(CASES[name]))
    work = Work("the model", Options(), Cache(None), lambda _: None)
    row, optimised = TARGETS[target], optimise_model(graph, work)
    results = row.compile(row.lower(optimised, work), work).run(feeds(CASES[name]))
    check(list(results.values()), [defined(CASES[name])], 1e-5)


@pytest.mark.parametrize("name", ["left_window_size", "right_window_size"])
def test_refused(name: str) -> None:
    bad = case(**{name: -2})
    with pytest.raises(UnsupportedError, match=f"attribute {name}=-2 is less than -1; the model is invalid"):
        evaluate_graph(graph_of(untyped_model(bad), feeds(bad)), feeds(bad))


def test_an_attribute_that_the_checker_does_not_know() -> None:
    model = untyped_model(CASES["left"])
    model.graph.node[0].attribute[0].name = "from_the_future"
    with pytest.raises(InputError, match=r"from_the_future .*; upgrade the Python package onnx, of which .* or export"):
        webnn_compile.compile(model)
