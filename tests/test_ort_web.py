"""Operator tests of onnxruntime-web: how their files are read, and all cases of a folder that WEBNN_COMPILE_ORT_WEB
names."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from op_table import Case
from ort_web import (
    FOLDER,
    INVALID,
    LAYOUT,
    OPERATOR,
    OPSET,
    all_cases,
    array,
    cases_of,
    reason_of,
    reasons,
    run,
    run_case,
    without_comments,
)
from scores import check_test, parametrize_suite

TARGETS = ("native", "wasm")

FILE = """// A file as onnxruntime-web has them.
[
  {
    "name": "Add // of \\"float16\\"", /* "name": "Sub", */
    "operator": "Add",
    "platformCondition": "^((?!iOS).)*$",
    "cases": [
      {
        "name": "[2]",
        "inputs": [
          { "data": [1.5, -2], "dims": [2], "type": "float16" },
          { "data": [0.25], "dims": [], "type": "float16" },
        ],
        "outputs": [{ "data": [1.75, -1.75], "dims": [2], "type": "float16" }]
      },
      {
        "name": "[2]",
        "inputs": [
          { "data": [], "dims": [0, 2], "type": "int32" },
          { "data": [7, 8], "dims": [2], "type": "int32" }
        ],
        "outputs": [{ "data": [], "dims": [0, 2], "type": "int32" }]
      }
    ]
  },
  {
    "name": "Clip without a minimum",
    "operator": "Clip",
    "opset": { "domain": "", "version": 12 },
    "cases": [
      {
        "name": "[3]",
        "inputs": [
          { "data": [1, 2, 3], "dims": [3], "type": "float32" },
          { "data": null, "type": "float32" },
          { "data": [2], "dims": [], "type": "float32" }
        ],
        "outputs": [{ "data": [1, 2, 2], "dims": [3], "type": "float32" }]
      }
    ]
  },
  {
    "name": "Clip by attributes, which the newest opset lacks",
    "operator": "Clip",
    "attributes": [{ "name": "max", "data": 2, "type": "float" }],
    "cases": [
      {
        "name": "[3]",
        "inputs": [{ "data": [1, 2, 3], "dims": [3], "type": "float32" }],
        "outputs": [{ "data": [1, 2, 2], "dims": [3], "type": "float32" }]
      }
    ]
  },
  {
    "name": "Sum of axes that are an input",
    "operator": "ReduceSum",
    "opset": { "domain": "", "version": 13 },
    "attributes": [{ "name": "keepdims", "data": 0, "type": "int" }],
    "cases": [
      {
        "name": "[2, 2]",
        "inputs": [
          { "data": [1, 2, 3, 4], "dims": [2, 2], "type": "float32" },
          { "data": [0], "dims": [1], "type": "int64" }
        ],
        "outputs": [{ "data": [4, 6], "dims": [2], "type": "float32" }]
      }
    ]
  },
  {
    "name": "Nibbles in bytes",
    "operator": "GatherBlockQuantized",
    "opset": { "domain": "com.microsoft", "version": 1 },
    "attributes": [{ "name": "block_size", "data": 16, "type": "int" }],
    "cases": [
      {
        "name": "[2, 16]",
        "inputs": [
          { "data": [0, 0, 0, 0, 0, 0, 0, 0, 33, -1, 7, 0, 0, 0, 0, 0], "dims": [2, 16], "type": "int4x2" },
          { "data": [1], "dims": [1], "type": "int32" },
          { "data": [1, 2], "dims": [2, 1], "type": "float32" }
        ],
        "outputs": [
          { "data": [2, 4, -2, -2, 14, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], "dims": [1, 16], "type": "float32" }
        ]
      }
    ]
  },
]
"""


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Case]:
    path = tmp_path_factory.mktemp("ops") / "some.jsonc"
    path.write_text(FILE)
    return dict(cases_of(path))


def test_cases_of_a_file(cases: dict[str, Case]) -> None:
    add, empty, absent, by_attribute, reduced, nibbles = cases.values()
    first = 'some / Add // of "float16" / [2]'
    assert list(cases)[:2] == [first, f"{first} 2"]
    assert [a.dtype for a in add.expected or ()] == [np.float16]
    assert [a.shape for a in empty.expected or ()] == [(0, 2)]
    assert absent.inputs[1] is None
    assert (add.opset, absent.opset, by_attribute.opset) == (21, 12, 10)
    assert reduced.constants == {1}
    assert next(a.dtype for a in nibbles.inputs if a is not None) == ml_dtypes.int4
    assert (nibbles.domain, nibbles.version) == ("com.microsoft", 1)


@pytest.mark.parametrize("target", TARGETS)
def test_they_pass(cases: dict[str, Case], target: str) -> None:
    assert {reason_of(name, case) for name, case in cases.items()} == {None}
    for case in cases.values():
        run_case(case, target)


def test_another_result_is_wrong(cases: dict[str, Case]) -> None:
    case = next(iter(cases.values()))
    with pytest.raises(AssertionError):
        run_case(Case(case.id, "Sub", case.inputs, expected=case.expected), "native")


@pytest.mark.parametrize(
    ("kind", "data", "expected"),
    [
        ("int4x2", [0x21, -1, 8], [1, 2, -1, -1, -8]),
        ("uint4x2", [0x21, 255, 8], [1, 2, 15, 15, 8]),
        ("int4", [1, -8, 7, 0, 2], [1, -8, 7, 0, 2]),
        ("uint8", [256, -1, 3, 4, 5], [0, 255, 3, 4, 5]),
        ("bool", [1, 0, True, False, 1], [True, False, True, False, True]),
        ("uint64", [2**64 - 1, 0, 1, 2, 3], [2**64 - 1, 0, 1, 2, 3]),
    ],
)
def test_elements(kind: str, data: list[int], expected: list[int]) -> None:
    made = array({"data": data, "dims": [5], "type": kind})
    assert made is not None
    assert made.tolist() == expected
    assert array({"data": None, "type": kind}) is None


def test_comments_stand_outside_of_strings() -> None:
    text = '{"a": "// no, /* no */ \\" // no", /* b,\n */ "c": [1, // one\n], }'
    assert "".join(without_comments(text).split()) == r'{"a":"//no,/*no*/\"//no","c":[1]}'


@pytest.mark.parametrize(
    ("case", "reason"),
    [
        (Case("", "Nothing", (), domain="com.microsoft"), OPERATOR),
        (Case("", "Conv", (), domain="com.ms.internal.nhwc"), LAYOUT),
        (Case("", "Relu", (np.zeros(1, np.float32),), opset=1000), OPSET),
        (Case("", "Concat", (np.zeros(1, np.float32), np.zeros((1, 1), np.float32)), {"axis": 0}), INVALID),
        (Case("", "SimplifiedLayerNormalization", ()), None),
    ],
    ids=lambda value: value.op if isinstance(value, Case) else "",
)
def test_reasons(case: Case, reason: str | None) -> None:
    assert reason_of("", case) == reason


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if metafunc.function is test_case_of_the_folder:
        parametrize_suite(metafunc, all_cases(), TARGETS)


@pytest.mark.every_row
def test_case_of_the_folder(name: str, target: str) -> None:
    check_test(run, name, target, reasons(), f"{FOLDER} names no folder with files of onnxruntime-web")
