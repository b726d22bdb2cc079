"""Operator tests of onnxruntime-web: files of JSON with comments, `js/web/test/data/ops/*.jsonc` in its repository, as
rows like those of the operator table.

The files are not ours: WEBNN_COMPILE_ORT_WEB names a folder that has them.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from math import prod
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import webnn_compile
from op_table import Array, Case, check, feeds, untyped_model
from test_onnx_node_data import CONSTANTS
from webnn_compile.dtypes import ONNX_DTYPES, STORAGE_TYPES
from webnn_compile.ops import OPERATORS

FOLDER = "WEBNN_COMPILE_ORT_WEB"
"""The environment variable with the folder of the files."""

NEWEST = 21
"""The opset of tests that do not state one, unless it lacks what they use."""

DTYPES: Mapping[str, Any] = {
    **dict.fromkeys(("int4", "int4x2"), ml_dtypes.int4),
    **dict.fromkeys(("uint4", "uint4x2"), ml_dtypes.uint4),
    "string": np.object_,
}
"""By the names of the files the dtypes whose names NumPy does not know. "x2" stands for data that are bytes of two."""

HELD: Mapping[Any, Any] = {np.dtype(ml_dtypes.int4): np.int8, np.dtype(ml_dtypes.uint4): np.uint8}
"""By dtype of 4 bits what holds such elements in inputs and outputs of compiled models."""

FIXED: Mapping[str, tuple[int, ...]] = {
    **CONSTANTS,
    "GroupQueryAttention": (6,),  # total_sequence_length, by which a cache of a fixed length is one that grows
    "MultiHeadAttention": (8,),  # past_sequence_length
}
"""By operator the inputs that are constants."""

TOLERANCES: Mapping[Any, float] = {np.dtype(np.float32): 1e-4, np.dtype(np.float16): 2e-3}
"""By dtype the tolerance of `op_table.check`: the files have four to six digits."""


OPERATOR = "an operator is not supported"
LAYOUT = "operators of a layout that onnxruntime chooses for a device, which no file of a model has"
TYPES = "elements are of a type that is not supported"
OPSET = "its opset is newer than the package onnx"
INVALID = "ONNX's inference refuses it: types or shapes that ONNX does not allow there"

EXCLUDED: Mapping[str, tuple[str, ...]] = {
    "onnxruntime refuses it for processors, too: a bias of another length": (
        "image-scaler / abs with no attributes",
        *(
            f"fast-gelu / FastGelu test with bias / {shapes}"
            for shapes in ("[2x4], [3]", "[3x5], [2]", "[3x5], [7]", "[4x4], [8]")
        ),
    ),
    "its data contradicts onnxruntime": (
        "shape / Shape op test",  # int32, where ONNX has int64
        "quick-gelu / QuickGelu test",  # a result of x where the input has -x
    ),
    "onnxruntime leaves out a past without presents among the outputs; natively it reads memory that none wrote": tuple(
        f"multihead-attention / MultiHeadAttention Basic, {heads} with pastKey and pastValue / {case}"
        for heads in ("one head and head-size=1", "one head and head-size=4")
        for case in ("T[0]", "T[0] 3")
    ),
    "onnxruntime leaves axes of scale 1 as they are; the specification crops them, too": (
        "resize / Resize - 5D Trilinear",
    ),
}
"""Further reasons, each with the names of cases, or of tests with all of theirs."""


def without_comments(text: str) -> str:
    """JSON without comments and trailing commas."""
    string = r'"(?:\\.|[^"\\])*"'
    for more in (r"//[^\n]*|/\*.*?\*/", r",(?=\s*[\]}])"):
        text = re.sub(f"({string})|{more}", lambda found: found[1] or " ", text, flags=re.DOTALL)
    return text


def cases_of(path: Path) -> Iterator[tuple[str, Case]]:
    """The cases of a file, each with the names of file, test and case; of equal names later ones have a number."""
    found: Counter[str] = Counter()
    for test in json.loads(without_comments(path.read_text())):
        for given in test["cases"]:
            name = " / ".join((path.stem, test["name"], given["name"]))
            found[name] += 1
            number = f" {found[name]}" if found[name] > 1 else ""
            yield name + number, case_of(name + number, test, given)


def case_of(name: str, test: Mapping[str, Any], given: Mapping[str, Any]) -> Case:
    """One case of a test as a row."""
    op, inputs = test["operator"], tuple(map(array, given["inputs"]))
    outputs = tuple(map(array, given["outputs"]))
    attributes = dict(map(attribute, test.get("attributes") or ()))
    domain = (test.get("opset") or {}).get("domain", "")
    stated = (test.get("opset") or {}).get("version")
    known = {i for i in FIXED.get(op, ()) if i < len(inputs) and inputs[i] is not None}
    return Case(
        name,
        op,
        inputs,
        attributes,
        opset=NEWEST if domain else stated or newest(op, attributes, len(inputs)),
        constants=frozenset(known),
        outputs=len(outputs),
        absent=frozenset(i for i, a in enumerate(outputs) if a is None),
        tolerance=min((TOLERANCES.get(a.dtype, 1e-5) for a in outputs if a is not None), default=0),
        expected=tuple(a for a in outputs if a is not None),
        domain=domain,
        version=stated or 1,
    )


def array(tensor: Mapping[str, Any]) -> Array | None:
    """The array of a tensor; None for one without data, which is an optional input or output that is absent."""
    if tensor.get("data") is None:
        return None
    kind, data = tensor["type"], tensor["data"]
    dtype = np.dtype(DTYPES.get(kind, kind))
    if kind.endswith("x2"):
        data = halves(np.asarray(data), signed=HELD[dtype] == np.int8)[: prod(tensor["dims"])]
    # Narrow integers wrap around, as in arrays of JavaScript.
    wide = np.int64 if dtype.kind in "iu" and dtype.itemsize < 8 else dtype
    return np.asarray(data, wide).astype(dtype).reshape(tensor["dims"])


def halves(data: Array, *, signed: bool) -> Array:
    """The integers of 4 bits in bytes, that of the lower bits first."""
    parts = np.stack([data & 15, data >> 4 & 15], -1).reshape(-1)
    return np.where(signed & (parts > 7), parts - 16, parts)


def attribute(given: Mapping[str, Any]) -> tuple[str, Any]:
    """The name of an attribute, and its value of the type that it states."""
    if "name" not in given:  # one file has {"axis": "1"}
        return next((name, int(text)) for name, text in given.items())
    kind, data = given["type"], given["data"]
    convert = {"int": int, "float": float, "string": str}[kind.removesuffix("s")]
    return given["name"], [convert(v) for v in data] if kind.endswith("s") else convert(data)


def newest(op: str, attributes: Mapping[str, Any], inputs: int) -> int:
    """The newest opset whose operator has these attributes and so many inputs. ONNX had experimental ones until 9."""
    if not onnx.defs.has(op):
        return 9
    for version in range(NEWEST, 0, -1):
        schema = onnx.defs.get_schema(op, version) if onnx.defs.has(op, max_inclusive_version=version) else None
        if schema and attributes.keys() <= schema.attributes.keys() and inputs <= schema.max_input:
            return version
    return NEWEST


def reason_of(name: str, case: Case) -> str | None:
    """Why a case is excluded, if it is."""
    if case.domain == "com.ms.internal.nhwc":
        return LAYOUT
    if case.domain and (case.domain, case.op) not in OPERATORS:
        return OPERATOR
    if not all(number in ONNX_DTYPES or number in STORAGE_TYPES for number in map(element_number, case.inputs)):
        return TYPES
    if not case.domain and case.opset > onnx.defs.onnx_opset_version():
        return OPSET
    if not case.domain and not is_valid(case):
        return INVALID
    test = name.rpartition(" / ")[0]
    return next((reason for reason, names in EXCLUDED.items() if name in names or test in names), None)


def element_number(a: Array | None) -> int:
    return 1 if a is None else onnx.helper.np_dtype_to_tensor_dtype(a.dtype)


def is_valid(case: Case) -> bool:
    """Whether ONNX's inference takes the model."""
    try:
        onnx.shape_inference.infer_shapes(untyped_model(case), check_type=True, strict_mode=True, data_prop=True)
    except onnx.shape_inference.InferenceError:
        return False
    return True


@cache
def reasons() -> Mapping[str, str]:
    """By name why a case is excluded."""
    found = {name: reason_of(name, case) for name, case in all_cases().items()}
    return {name: reason for name, reason in found.items() if reason}


@cache
def all_cases() -> Mapping[str, Case]:
    """The cases of all files in the folder, by name."""
    return {name: case for path in files() for name, case in cases_of(path)}


def files() -> list[Path]:
    """The files in the folder that the environment names, or none."""
    return sorted(Path(os.environ[FOLDER]).glob("*.jsonc")) if os.environ.get(FOLDER) else []


def held(a: Array) -> Array:
    return a.astype(HELD[a.dtype]) if a.dtype in HELD else a


def run(name: str, target: str) -> None:
    """Compiles and runs the case of a name, and compares."""
    run_case(all_cases()[name], target)


def run_case(case: Case, target: str) -> None:
    """Compiles and runs a case, and compares."""
    given = {n: held(a) for n, a in feeds(case).items()}
    shapes = {n: a.shape for n, a in given.items()}
    compiled = webnn_compile.compile(untyped_model(case), target, shapes, states=())
    results = compiled.run(given)
    expected: Sequence[Array] = case.expected or ()
    check(list(results.values()), [held(a) for a in expected], case.tolerance)
