"""Web platform tests of WebNN, `webnn/conformance_tests` in their repository: graphs with inputs and the outputs
expected, as models of ONNX.

The files are not ours: WEBNN_COMPILE_WPT names a folder that has them, the tests' `*.js`, which Node.js evaluates with
the scripts beside them, or `*.json` whose "tests" are the same literals.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import webnn_compile
from op_table import Array
from ort_web import held
from webnn_graph import Growing, dtype_of, output_of
from webnn_operators import OPERATORS, number
from webnn_tolerances import Tolerance, assert_within, tolerance_of

FOLDER = "WEBNN_COMPILE_WPT"
"""The environment variable with the folder of the files."""

EXCLUDED: Mapping[str, tuple[str, ...]] = {
    "its data has 16, which 4 bits do not hold, as 0, where WebNN clamps": (
        "quantizeLinear / quantizeLinear float32 tensor with uint4 zeroPoint which has odd size",
    ),
}
"""Reasons, each with the names of its tests."""

INEXACT: Mapping[str, int] = {
    "gru / gru float32 tensors steps=2 with options.bias, options.recurrentBias, options.direction='both' and "
    "options.returnSequence=true": 5,
    "lstm / lstm float32 tensors steps=2 with all options": 2,
    "lstm / lstm float32 tensors steps=2 with options.bias, options.recurrentBias, "
    "options.activations=['relu', 'relu', 'relu'] and options.direction='backward'": 2,
    "subgraph / batchNormalization options.axis=0 + gelu": 35,
}
"""By name how many units the data are off the exact result: so much more is allowed."""

OPERATOR = "an operator is not supported"

LITERALS = Path(__file__).with_name("webnn_literals.mjs")


@dataclass(frozen=True, eq=False)
class Case:
    """One test. `stated` is the tolerance of its file, where that has one."""

    name: str
    graph: Mapping[str, Any]
    stated: Tolerance | None


def cases_of(stem: str, tests: list[Mapping[str, Any]]) -> Iterator[Case]:
    """The tests of a file, each with the names of file and test; of equal names later ones have a number."""
    found: Counter[str] = Counter()
    for test in tests:
        name = f"{stem} / {test['name']}"
        found[name] += 1
        stated = test.get("tolerance") or {}
        tolerance = Tolerance(stated["metricType"], stated.get("value", 0)) if "metricType" in stated else None
        yield Case(f"{name} {found[name]}" if found[name] > 1 else name, test["graph"], tolerance)


def read(paths: list[Path]) -> Mapping[str, list[Case]]:
    """By name of file its tests; none for one that tests WebNN's interface by calls."""
    scripts = [p for p in paths if p.suffix == ".js"]
    tests = {p.name: json.loads(p.read_text())["tests"] for p in paths if p.suffix == ".json"}
    if scripts:
        done = subprocess.run(["node", LITERALS, *scripts], stdout=subprocess.PIPE, check=True)
        tests |= json.loads(done.stdout)
    return {name: list(cases_of(name.partition(".")[0], found)) for name, found in sorted(tests.items())}


def array(operand: Mapping[str, Any]) -> Array:
    """The array of an operand. One number stands for all elements; narrow integers wrap around, as in JavaScript."""
    descriptor, data = operand["descriptor"], operand["data"]
    shape, dtype = descriptor.get("shape", descriptor.get("dimensions", ())), dtype_of(descriptor["dataType"])
    numbers = [number(v) for v in data] if isinstance(data, list) else number(data)
    wide = np.int64 if dtype.kind != "f" and dtype.itemsize < 8 else dtype
    made = np.asarray(numbers, wide).astype(dtype)
    return made.reshape(shape) if isinstance(data, list) else np.full(shape, made)


def model_of(graph: Mapping[str, Any]) -> tuple[onnx.ModelProto, dict[str, Array], Growing]:
    """The model of a graph, its inputs, and how it came about."""
    given = {name: array(operand) for name, operand in graph["inputs"].items()}
    constants = {name: a for name, a in given.items() if graph["inputs"][name].get("constant")}
    inputs = {name: a for name, a in given.items() if name not in constants}
    m = Growing(inputs, constants)
    for operator in graph["operators"]:
        args, options = arguments(operator, m.operands)
        made = OPERATORS[operator["name"]](m, args, options)
        outputs = operator["outputs"]
        pairs = zip(outputs, made, strict=False) if isinstance(outputs, list) else [(outputs, first(made))]
        m.operands.update(pairs)
    expected = {name: array(operand) for name, operand in graph["expectedOutputs"].items()}
    for name in expected:
        m.nodes.append(onnx.helper.make_node("Identity", [m.operands[name]], [name]))
    return m.model([output_of(name, a) for name, a in expected.items()]), inputs, m


def first(made: str | list[str]) -> str:
    return made if isinstance(made, str) else made[0]


def arguments(operator: Mapping[str, Any], values: Mapping[str, str]) -> tuple[list[Any], dict[str, Any]]:
    """The arguments in order, and the options, operands as names of values."""
    args: list[Any] = []
    options: dict[str, Any] = {}
    for argument in filter(None, operator["arguments"]):
        for key, value in argument.items():
            if key == "options":
                options |= {k: operand(v, values) for k, v in (value or {}).items() if k != "label"}
            else:
                args.append(operand(value, values))
    return args, options


def operand(value: Any, values: Mapping[str, str]) -> Any:
    if isinstance(value, list):
        return [operand(v, values) for v in value]
    return values.get(value, value) if isinstance(value, str) else value


def reason_of(case: Case) -> str | None:
    """Why a test is excluded, if it is."""
    if not all(operator["name"] in OPERATORS for operator in case.graph["operators"]):
        return OPERATOR
    return next((reason for reason, names in EXCLUDED.items() if case.name in names), None)


@cache
def reasons() -> Mapping[str, str]:
    """By name why a test is excluded."""
    found = {name: reason_of(case) for name, case in all_cases().items()}
    return {name: reason for name, reason in found.items() if reason}


@cache
def all_files() -> Mapping[str, list[Case]]:
    """By name the files in the folder that the environment names, or none, with their tests."""
    folder = os.environ.get(FOLDER)
    return read([p for p in sorted(Path(folder).iterdir()) if p.suffix in (".js", ".json")]) if folder else {}


@cache
def all_cases() -> Mapping[str, Case]:
    """The tests of all files, by name."""
    return {case.name: case for cases in all_files().values() for case in cases}


def run(name: str, target: str) -> None:
    """Compiles and runs the test of a name, and compares."""
    run_case(all_cases()[name], target)


def run_case(case: Case, target: str) -> None:
    """Compiles and runs a test, and compares."""
    model, inputs, m = model_of(case.graph)
    given = {name: held(a) for name, a in inputs.items()}
    compiled = webnn_compile.compile(model, target, {n: a.shape for n, a in given.items()}, states=())
    results = compiled.run(given)
    for name, output in case.graph["expectedOutputs"].items():
        expected = held(array(output))
        assert (results[name].dtype, results[name].shape) == (expected.dtype, expected.shape)
        allowed = case.stated or tolerance_of(case.graph, m, expected.dtype)
        more = INEXACT.get(case.name, 0)
        assert_within(results[name], expected, replace(allowed, value=allowed.value + more) if more else allowed)
