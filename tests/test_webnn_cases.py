"""Web platform tests of WebNN: how their files are read, and all graphs of a folder that WEBNN_COMPILE_WPT names."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from scores import check_test, parametrize_suite
from webnn_cases import (
    FOLDER,
    OPERATOR,
    Case,
    all_cases,
    array,
    cases_of,
    model_of,
    read,
    reason_of,
    reasons,
    run,
    run_case,
)
from webnn_tolerances import Tolerance, assert_within, places, tolerance_of

TARGETS = ("native", "wasm")

UTILITIES = """'use strict';
const twice = (graph) => ({metricType: 'ULP', value: 2 * Object.keys(graph.inputs).length});
async function webnn_conformance_test() { throw new Error('the stub hides it'); }
const device = new URLSearchParams(location.search).get('device');
"""

SCRIPT = """// META: title=a file as the repository has them
// META: script=../resources/utils.js
'use strict';
const tests = [
  {
    'name': 'argMax of BigInt',
    'graph': {
      'inputs': {'x': {'data': [1n, 9007199254740993n, 7n], 'descriptor': {shape: [3], dataType: 'int64'}}},
      'operators': [{
        'name': 'argMax',
        'arguments': [{'input': 'x'}, {'axis': 0}, {'options': {keepDimensions: true, label: 'found'}}],
        'outputs': 'y'
      }],
      'expectedOutputs': {'y': {'data': [1], 'descriptor': {shape: [1], dataType: 'int32'}}}
    }
  },
  {
    'name': 'numbers that JSON lacks',
    'graph': {
      'inputs': {
        'x': {'data': new Float32Array([NaN, -Infinity, -0, 3]), 'descriptor': {shape: [4], dataType: 'float32'}},
        'c': {'data': 1, 'descriptor': {shape: [2, 4], dataType: 'float32'}, 'constant': true}
      },
      'operators': [
        {'name': 'clamp', 'arguments': [{'input': 'x'}, {'options': {maxValue: 2n}}], 'outputs': 'm'},
        {'name': 'mul', 'arguments': [{'a': 'm'}, {'b': 'c'},,], 'outputs': 'y'}
      ],
      'expectedOutputs': {
        'y': {'data': [NaN, -Infinity, -0, 2, NaN, -Infinity, -0, 2], descriptor: {shape: [2, 4], dataType: 'float32'}}
      }
    }
  }
];
if (navigator.ml) {
  tests.forEach((test) => webnn_conformance_test(buildAndExecute, twice, test, /*cast=*/ true));
}
webnn_conformance_test([{...tests[0]}], buildAndExecute, (_, made) => ({metricType: 'ULP', value: made.m.shape[0]}));
function buildAndExecute() {}
"""

CALLS = """// META: script=../resources/utils.js
promise_test(async () => { await navigator.ml.createContext({deviceType: device}); }, 'a test of calls');
"""


def operand(shape: list[int], data: Any, kind: str = "float32", **more: Any) -> dict[str, Any]:
    return {"data": data, "descriptor": {"shape": shape, "dataType": kind}, **more}


def graph(inputs: Mapping[str, Any], name: str, arguments: list[Any], outputs: Mapping[str, Any]) -> dict[str, Any]:
    """A graph of one operator."""
    names = list(outputs) if len(outputs) > 1 else next(iter(outputs))
    operators = [{"name": name, "arguments": arguments, "outputs": names}]
    return {"inputs": dict(inputs), "operators": operators, "expectedOutputs": dict(outputs)}


CELL = {"x": operand([1, 1], [1.0]), "w": operand([3, 1], [1.0, 2.0, 4.0]), "r": operand([3, 1], [0.0] * 3)}

GRAPHS = {
    "convolution of channels last": graph(
        {"x": operand([1, 2, 2, 1], [1, 2, 3, 4]), "w": operand([1, 2, 2, 1], [1, 10, 100, 1000], constant=True)},
        "conv2d",
        [
            {"input": "x"},
            {"filter": "w"},
            {"options": {"inputLayout": "nhwc", "filterLayout": "ohwi", "padding": [0, 1, 0, 0]}},
        ],
        {"y": operand([1, 2, 1, 1], [4321, 43])},
    ),
    "transposed convolution of a size": graph(
        {"x": operand([1, 1, 1, 2], [1, 2]), "w": operand([1, 1, 1, 2], [1, 10])},
        "convTranspose2d",
        [{"input": "x"}, {"filter": "w"}, {"options": {"strides": [1, 2], "outputSizes": [1, 5]}}],
        {"y": operand([1, 1, 1, 5], [1, 10, 2, 20, 0])},
    ),
    "indices out of range": graph(
        {"x": operand([3], [5, 6, 7], "float16"), "i": operand([4], [-9, -1, 1, 9], "int32")},
        "gather",
        [{"input": "x"}, {"indices": "i"}],
        {"y": operand([4], [5, 7, 6, 7], "float16")},
    ),
    "blocks along two axes": graph(
        {
            "x": operand([2, 4], [1, 2, 3, 4, 5, 6, 7, -8], "int4", constant=True),
            "s": operand([1, 2], [1, 10]),
            "z": operand([1, 2], [0, 1], "int4", constant=True),
        },
        "dequantizeLinear",
        [{"input": "x"}, {"scale": "s", "zeroPoint": "z"}],
        {"y": operand([2, 4], [1, 2, 20, 30, 5, 6, 60, -90])},
    ),
    "quantised to 32 bits": graph(
        {"x": operand([2], [7.4, -3]), "s": operand([1], [0.5]), "z": operand([1], [3], "int32", constant=True)},
        "quantizeLinear",
        [{"input": "x"}, {"scale": "s"}, {"zeroPoint": "z"}],
        {"y": operand([2], [18, -3], "int32")},
    ),
    "gates in another order": graph(
        {**CELL, "h": operand([1, 1], [8.0])},
        "gruCell",
        [
            *({"input": "x"}, {"weight": "w"}, {"recurrentWeight": "r"}, {"hiddenState": "h"}, {"hiddenSize": 1}),
            {"options": {"layout": "rzn", "activations": ["relu", "relu"]}},
        ],
        {"y": operand([1, 1], [12.0])},  # 2 * 8 + (1 - 2) * 4
    ),
    "a cell of two states": graph(
        {
            "x": operand([1, 1], [1.0]),
            "w": operand([4, 1], [1.0, 2.0, 3.0, 4.0]),
            "r": operand([4, 1], [0.0] * 4),
            "h": operand([1, 1], [0.0]),
            "c": operand([1, 1], [5.0]),
        },
        "lstmCell",
        [
            *({"input": "x"}, {"weight": "w"}, {"recurrentWeight": "r"}, {"hiddenState": "h"}, {"cellState": "c"}),
            *({"hiddenSize": 1}, {"options": {"layout": "ifgo", "activations": ["relu"] * 3}}),
        ],
        {"y": operand([1, 1], [52.0]), "d": operand([1, 1], [13.0])},  # 4 * d, of which d = 2 * 5 + 1 * 3
    ),
    "normalised along axes out of order": graph(
        {"x": operand([2, 2, 1], [1, 3, 5, 7]), "s": operand([1, 2], [1, 10])},
        "layerNormalization",
        [{"input": "x"}, {"options": {"axes": [2, 0], "scale": "s", "epsilon": 0}}],
        {"y": operand([2, 2, 1], [-1, -1, 10, 10])},
    ),
    "pooled without the padding, rounded up": graph(
        {"x": operand([1, 1, 1, 4], [2, 4, 6, 8])},
        "averagePool2d",
        [
            {"input": "x"},
            {
                "options": {
                    "windowDimensions": [1, 3],
                    "strides": [1, 2],
                    "padding": [0, 0, 1, 0],
                    "outputSizes": [1, 2],
                }
            },
        ],
        {"y": operand([1, 1, 1, 2], [3, 6])},
    ),
    "resampled by a scale that leaves a part": graph(
        {"x": operand([1, 1, 1, 3], [1, 2, 3])},
        "resample2d",
        [{"input": "x"}, {"options": {"scales": [1, 1.5]}}],
        {"y": operand([1, 1, 1, 4], [1, 2, 2, 3])},
    ),
    "truth values": graph(
        {"x": operand([3], [0, 2, 255], "uint8"), "y": operand([1], [1], "uint8")},
        "logicalXor",
        [{"a": "x"}, {"b": "y"}],
        {"z": operand([3], [1, 0, 0], "uint8")},
    ),
    "parts": graph(
        {"x": operand([2, 3], [1, 2, 3, 4, 5, 6])},
        "split",
        [{"input": "x"}, {"splits": [1, 2]}, {"options": {"axis": 1}}],
        {"a": operand([2, 1], [1, 4]), "b": operand([2, 2], [2, 3, 5, 6])},
    ),
    "no axes": graph(
        {"x": operand([2], [-3, 4])},
        "reduceL2",
        [{"input": "x"}, {"options": {"axes": []}}],
        {"y": operand([2], [3, 4])},
    ),
}
TESTS = [{"name": name, "graph": made} for name, made in GRAPHS.items()]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, list[Case]]:
    """Files of both forms."""
    folder = tmp_path_factory.mktemp("webnn")
    texts = {
        "resources/utils.js": UTILITIES,
        "tests/some.https.any.js": SCRIPT,
        "tests/calls.https.any.js": CALLS,
        "tests/more.json": json.dumps({"tests": TESTS}),
    }
    for name, text in texts.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    return read(sorted((folder / "tests").iterdir()))


def test_files_of_both_forms(files: Mapping[str, list[Case]]) -> None:
    assert {name: len(cases) for name, cases in files.items()} == {
        "calls.https.any.js": 0,
        "more.json": len(TESTS),
        "some.https.any.js": 3,
    }
    first, lacking, again = files["some.https.any.js"]
    assert (first.name, again.name) == ("some / argMax of BigInt", "some / argMax of BigInt 2")
    assert array(first.graph["inputs"]["x"]).tolist() == [1, 2**53 + 1, 7]
    assert np.signbit(array(lacking.graph["inputs"]["x"])[2])
    assert [case.stated for case in (first, lacking, again)] == [Tolerance("ULP", 2), Tolerance("ULP", 4), None]


@pytest.mark.parametrize("target", TARGETS)
def test_they_pass(files: Mapping[str, list[Case]], target: str) -> None:
    for case in [case for cases in files.values() for case in cases]:
        assert reason_of(case) is None
        run_case(case, target)


def test_another_result_is_wrong() -> None:
    (case,) = cases_of(
        "own", [{"name": "", "graph": GRAPHS["no axes"] | {"expectedOutputs": {"y": operand([2], [3, 5])}}}]
    )
    with pytest.raises(AssertionError, match="units in the last place, 4 allowed"):
        run_case(case, "native")


def test_an_operator_that_is_unknown() -> None:
    (case,) = cases_of("own", [{"name": "", "graph": graph({}, "sortOfNew", [], {"y": operand([], 1)})}])
    assert reason_of(case) == OPERATOR


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("convolution of channels last", Tolerance("ULP", 8)),
        ("pooled without the padding, rounded up", Tolerance("ULP", 5)),
        ("no axes", Tolerance("ULP", 4)),
        ("parts", Tolerance("ULP", 0)),
    ],
)
def test_tolerances_that_no_file_states(name: str, expected: Tolerance) -> None:
    assert tolerance_of(GRAPHS[name], model_of(GRAPHS[name])[2], np.dtype(np.float32)) == expected


def test_units_in_the_last_place() -> None:
    numbers = np.array([0.0, -0.0, 1e-45, -1e-45, np.inf], np.float32)
    assert places(numbers).tolist() == [0, 0, 1, -1, 0x7F800000]
    one = np.ones(2, np.float16)
    assert_within(np.nextafter(one, 2, dtype=np.float16), one, Tolerance("ULP", 1))
    for got, expected in ((one * np.nan, one), (one, one * np.nan), (one + one, one)):
        with pytest.raises(AssertionError):
            assert_within(got, expected, Tolerance("ULP", 9))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if metafunc.function is test_graph_of_the_folder:
        parametrize_suite(metafunc, all_cases(), TARGETS)


@pytest.mark.every_row
def test_graph_of_the_folder(name: str, target: str) -> None:
    check_test(run, name, target, reasons(), f"{FOLDER} names no folder with web platform tests of WebNN")
