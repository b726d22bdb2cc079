"""One model of many functions, fed with what floats can be at worst: for targets that take liberties with floats."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper

Array = np.ndarray[Any, np.dtype[Any]]

UNARY = (
    *("Abs", "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Ceil", "Cos", "Cosh", "Erf", "Exp", "Floor", "Log"),
    *("Neg", "Reciprocal", "Relu", "Round", "Sigmoid", "Sign", "Sin", "Sinh", "Softplus", "Sqrt", "Tan", "Tanh"),
)
TINY = 2.0**-120
"""Magnitude that devices may lose where they flush subnormal numbers to zero."""

INFINITY = 0x7F800000
PREDICATES = ("IsNaN", "IsInf")
CASTS = ("int32", "uint8", "bool", "float16")

SPECIAL = [math.nan, -math.nan, math.inf, -math.inf, 0.0, -0.0, 1.0, -1.0, 2.0**-126, -(2.0**-126)]
LARGE = [s * v for s in (1, -1) for v in (3.4e38, 1e30, 2.0**31, 2.0**24, 65519.0, 255.5, 100.0, 88.7, 20.0)]
ANGLES = [8191.9995, 8192.0, 1e5, 1e6, 1e7, 16367173.0, 1e9, 2.0**63, 1.2345e25, 2.0**127]
HALVES = [s * (k + 0.5) for s in (1, -1) for k in range(6)]
ANY = np.random.default_rng(0).integers(0x00800000, INFINITY, 150).astype(np.uint32).view(np.float32)
"""Numbers of random exponents."""

SMALL = [s * v for s in (1, -1) for v in (1e-30, 1e-10, 1e-3, 0.3, 0.7, 0.9999)]


def model() -> onnx.ModelProto:
    """Inputs x and y of one length; an output for each function, named like it."""
    n = inputs()["x"].size
    nodes = [helper.make_node(op, ["x"], [op]) for op in (*UNARY, *PREDICATES)]
    nodes += [helper.make_node("Cast", ["x"], [f"to {t}"], to=_code(t)) for t in CASTS]
    nodes += [helper.make_node(op, ["x", "y"], [op]) for op in ("Max", "Min", "Less", "Equal", "Div", "Pow")]
    nodes += [helper.make_node("Mod", ["x", "y"], ["Mod"], fmod=1)]
    floats = (*UNARY, "Max", "Min", "Div", "Mod", "Pow")
    kinds = {**dict.fromkeys(floats, "float32"), **dict.fromkeys((*PREDICATES, "Less", "Equal"), "bool")}
    kinds |= {f"to {t}": t for t in CASTS}
    graph = helper.make_graph(
        nodes,
        "extremes",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, [n]) for name in ("x", "y")],
        [helper.make_tensor_value_info(name, _code(kind), [n]) for name, kind in kinds.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def inputs() -> dict[str, Array]:
    """Every x with several y."""
    x = [*SPECIAL, *LARGE, *ANGLES, *HALVES, *SMALL, *ANY, *-ANY]
    y = [1.0, -3.0, 0.4, math.inf, math.nan]
    pairs = np.asarray([(a, b) for b in y for a in x], np.float32)
    return {"x": np.ascontiguousarray(pairs[:, 0]), "y": np.ascontiguousarray(pairs[:, 1])}


def expected(x: Array, y: Array) -> dict[str, Array]:
    """By NumPy, in float64 where that differs."""
    wide = x.astype(np.float64)
    erf = np.vectorize(math.erf, otypes=[np.float64])
    plain = {"Asin": "arcsin", "Acos": "arccos", "Atan": "arctan", "Asinh": "arcsinh", "Acosh": "arccosh"}
    plain |= {"Atanh": "arctanh", "Neg": "negative", "Round": "rint"}
    own = {
        "Erf": erf,
        "Relu": lambda v: np.where(v < 0, 0, v),
        "Sigmoid": lambda v: 1 / (1 + np.exp(-v)),
        "Softplus": lambda v: np.logaddexp(v, 0),
    }
    with np.errstate(all="ignore"):
        made = {op: np.asarray((own.get(op) or getattr(np, plain.get(op, op.lower())))(wide)) for op in UNARY}
        made = {op: a.astype(np.float32) for op, a in made.items()}
        made |= {"IsNaN": np.isnan(x), "IsInf": np.isinf(x), "Less": x < y, "Equal": x == y, "Div": x / y}
        made |= {"Max": np.maximum(x, y), "Min": np.minimum(x, y), "Mod": np.fmod(wide, y).astype(np.float32)}
        made |= {"Pow": np.power(wide, y).astype(np.float32)}
        whole = np.nan_to_num(np.trunc(wide))
        made |= {"to int32": np.clip(whole, -(2**31), 2**31 - 1).astype(np.int32)}
        made |= {"to uint8": np.clip(whole, 0, 255).astype(np.uint8)}
        made |= {"to bool": x != 0, "to float16": x.astype(np.float16)}
    return made


def differences(got: Mapping[str, Array]) -> list[str]:
    """Where results are wrong: places of NaN and infinities, or a relative error above 1e-5."""
    given = inputs()
    found = []
    for name, want in expected(**given).items():
        result = np.asarray(got[name])
        a, b = result.astype(np.float64), want.astype(np.float64)
        with np.errstate(invalid="ignore"):
            right = (a == b) | (np.isnan(a) & np.isnan(b)) | (np.abs(a - b) <= 1e-5 * np.abs(b) + TINY)
        found += [
            f"{name}({given['x'][i]}, {given['y'][i]}) is {result[i]}, not {want[i]}" for i in np.flatnonzero(~right)
        ]
    return found


def _code(kind: str) -> int:
    return helper.np_dtype_to_tensor_dtype(np.dtype(kind))
