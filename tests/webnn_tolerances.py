"""Tolerances of WebNN's tests: those of the files where they state one, else the sum of those of the graph's operators,
as the files' own functions add them up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, Literal

import numpy as np
from op_table import Array
from webnn_graph import Growing


@dataclass(frozen=True)
class Tolerance:
    """How far a result may be from what is expected: in units of the last place, or as a difference."""

    metric: Literal["ULP", "ATOL"]
    value: float


ULPS: Mapping[str, int | tuple[int, int]] = {
    **dict.fromkeys(("add", "sub", "mul", "prelu", "sqrt", "cumulativeSum", "dequantizeLinear", "quantizeLinear"), 1),
    **dict.fromkeys(("div", "reciprocal", "hardSigmoid", "linear"), 2),
    **dict.fromkeys(("elu", "gelu", "softplus"), 18),
    "batchNormalization": 6,
    "exp": (32, 1),
    "hardSwish": 4,
    "instanceNormalization": (840, 8400),
    "layerNormalization": 14,
    "leakyRelu": (1, 2),
    "log": 8,
    "pow": (32, 2),
    "sigmoid": (34, 10),
    "softsign": 3,
    "tanh": 16,
    "gru": 3,
    "gruCell": 3,
    "lstm": 3,
    "lstmCell": 1,
}
"""By operator, for float32 and for float16 where that differs. Others are exact."""

DIFFERENCES: Mapping[str, tuple[float, float]] = dict.fromkeys(("cos", "erf", "sin", "tan"), (1 / 1024, 1 / 512))
"""By operator the difference for float32 and float16: alone in a graph these are compared so."""

PER_SUMMAND: Mapping[str, tuple[int, int]] = {
    **dict.fromkeys(("conv2d", "convTranspose2d", "gemm", "matmul", "reduceSumSquare"), (2, 0)),
    **dict.fromkeys(("averagePool2d", "l2Pool2d", "reduceMean"), (1, 2)),
    **dict.fromkeys(("reduceL1", "reduceProduct", "reduceSum"), (1, 0)),
    "reduceL2": (2, 2),
    "reduceLogSum": (1, 18),
    "reduceLogSumExp": (2, 18),
    "softmax": (3, 3),
}
"""By operator the units for each element of a sum, and those for the sum."""


def tolerance_of(graph: Mapping[str, Any], m: Growing, dtype: np.dtype[Any]) -> Tolerance:
    """The tolerance of a graph of which `m` is the model."""
    half = int(dtype == np.float16)
    operators = graph["operators"]
    if len(operators) == 1 and operators[0]["name"] in DIFFERENCES:
        return Tolerance("ATOL", DIFFERENCES[operators[0]["name"]][half])
    return Tolerance("ULP", sum(units(operator, m, half) for operator in operators))


def units(operator: Mapping[str, Any], m: Growing, half: int) -> float:
    """The units of one operator of a graph."""
    name = operator["name"]
    args = {k: v for argument in filter(None, operator["arguments"]) for k, v in argument.items()}
    options = args.pop("options", None) or {}
    if name in PER_SUMMAND:
        each, once = PER_SUMMAND[name]
        return each * summands(name, list(args.values()), options, m) + once
    if name == "resample2d":
        return (84, 10)[half] if options.get("mode") == "linear" else 0
    units = ULPS.get(name, 0)
    return units[half] if isinstance(units, tuple) else units


def summands(name: str, args: Sequence[Any], options: Mapping[str, Any], m: Growing) -> float:
    """How many elements an operator adds up for each of its result."""
    shape = m.shape(m.operands[args[0]])
    if name.startswith("conv"):
        layout = options.get("filterLayout", "oihw" if name == "conv2d" else "iohw")
        filters = m.shape(m.operands[args[1]])
        window = prod(filters) / filters[layout.index("o")]
        return window if name == "conv2d" else window / options.get("groups", 1)
    if name in ("matmul", "gemm"):
        return shape[0 if options.get("aTranspose") else -1]
    if name.endswith("Pool2d"):
        spatial = shape[1:3] if options.get("layout") == "nhwc" else shape[2:]
        return prod(options.get("windowDimensions", spatial))
    if name == "softmax":
        return shape[args[1] if len(args) > 1 else 1]
    return prod(shape[axis] for axis in options.get("axes", range(len(shape))))


def assert_within(got: Array, expected: Array, tolerance: Tolerance) -> None:
    """Equality but for a tolerance; integers by their difference, and NaN is NaN."""
    if tolerance.metric == "ATOL":
        np.testing.assert_allclose(got, expected, rtol=0, atol=tolerance.value)
        return
    np.testing.assert_array_equal(np.isnan(got), np.isnan(expected))
    distance = np.abs(places(got) - places(expected))[~np.isnan(expected)]
    worst = int(distance.max(initial=0))
    assert worst <= tolerance.value, f"{worst} units in the last place, {tolerance.value} allowed: {got} {expected}"


def places(a: Array) -> np.ndarray[Any, np.dtype[np.object_]]:
    """Integers as they are, floats as how many others lie between 0 and them; in Python's integers."""
    if a.dtype.kind != "f":
        return a.astype(object)
    bits = np.abs(a).view(f"i{a.itemsize}").astype(object)
    return np.asarray(np.where(np.signbit(a), -bits, bits))
