"""Rows of arithmetic and mathematics."""

from __future__ import annotations

import numpy as np
from op_cases._arrays import SPECIAL, Arrays, scalar
from op_table import Case

a = Arrays(1)

# Each function on arguments of its own domain: [low, high).
MATH = {
    "Abs": (-3, 3),
    "Neg": (-3, 3),
    "Sign": (-3, 3),
    "Reciprocal": (0.5, 3),
    "Sqrt": (0, 9),
    "Exp": (-5, 5),
    "Log": (0.1, 9),
    "Floor": (-5, 5),
    "Ceil": (-5, 5),
    "Round": (-5, 5),
    "Sin": (-7, 7),
    "Cos": (-7, 7),
    "Tan": (-1.4, 1.4),
    "Asin": (-1, 1),
    "Acos": (-1, 1),
    "Atan": (-5, 5),
    "Sinh": (-3, 3),
    "Cosh": (-3, 3),
    "Tanh": (-5, 5),
    "Asinh": (-5, 5),
    "Acosh": (1, 9),
    "Atanh": (-0.95, 0.95),
    "Erf": (-4, 4),
}

BASES = np.asarray([np.nan, np.inf, -np.inf, 0.0, -0.0, 1, -1, 2, -2, 0.5, -0.5], np.float32)
EXPONENTS = np.asarray([*BASES, 3, -3, 4, 1e10, -1e10], np.float32)

# Where an operator had another version: the rows run on both.
FIRST_OPSET = {"Sinh": 9, "Cosh": 9, "Asinh": 9, "Acosh": 9, "Atanh": 9, "Sign": 9, "Erf": 9, "Round": 11}

CASES = [
    *(
        Case(f"{op.lower()}-{r}d", op, (a.uniform(lo, hi, *(3, 2, 5, 1, 7)[:r]),))
        for op, (lo, hi) in MATH.items()
        for r in (0, 2)
    ),
    *(
        Case(f"{op.lower()}-old", op, (a.uniform(lo, hi, 4, 3),), opset=FIRST_OPSET.get(op, 7))
        for op, (lo, hi) in MATH.items()
    ),
    *(
        Case(f"{op.lower()}-special", op, (SPECIAL,))
        for op in ("Abs", "Neg", "Floor", "Ceil", "Sqrt", "Exp", "Tanh", "Erf", "Reciprocal")
    ),
    Case("sign-special", "Sign", (np.append(SPECIAL, np.float32([1e-40, -1e-40])),)),
    Case("pow-special", "Pow", (BASES[:, None], EXPONENTS)),
    Case("pow-infinite-exponent", "Pow", (BASES, scalar(np.inf)), constants=frozenset({1})),
    Case("softplus-negative", "Softplus", (np.asarray([-10, -17, -20, -50, -80, -200], np.float32),), tolerance=1e-11),
    Case("round-halves", "Round", (np.asarray([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 3.5], np.float32),)),
    Case("abs-int32", "Abs", (a.integers(-9, 9, 3, 4, dtype="int32"),)),
    Case("abs-uint8", "Abs", (a.integers(0, 255, 5, dtype="uint8"),)),
    Case("neg-int64", "Neg", (a.integers(-9, 9, 3, 4),)),
    Case("sign-int32", "Sign", (a.integers(-2, 3, 3, 4, dtype="int32"),)),
    Case("sign-uint8", "Sign", (a.integers(0, 3, 7, dtype="uint8"),)),
    # Broadcasting.
    *(
        Case(f"{op.lower()}-same", op, (a.normal(2, 3, 5), a.uniform(0.5, 2, 2, 3, 5)))
        for op in ("Add", "Sub", "Mul", "Div")
    ),
    *(
        Case(f"{op.lower()}-both-ways", op, (a.normal(2, 1, 3), a.uniform(0.5, 2, 5, 1)))
        for op in ("Add", "Sub", "Mul", "Div")
    ),
    *(
        Case(f"{op.lower()}-opset7", op, (a.normal(3, 1), a.uniform(0.5, 2, 2, 3, 4)), opset=7)
        for op in ("Add", "Sub", "Mul", "Div")
    ),
    *(
        Case(f"{op.lower()}-int32", op, (a.integers(-50, 50, 3, 7, dtype="int32"), a.integers(1, 9, 7, dtype="int32")))
        for op in ("Add", "Sub", "Mul", "Div")
    ),
    *(
        Case(f"{op.lower()}-int64", op, (a.integers(-50, 50, 3, 7), a.integers(1, 9, 3, 1)))
        for op in ("Add", "Sub", "Mul", "Div")
    ),
    Case("add-channel-constant", "Add", (a.normal(1, 3, 5, 4), a.normal(3, 1, 1)), constants=frozenset({1})),
    Case("add-scalar-left", "Add", (scalar(1.5), a.normal(3, 5)), constants=frozenset({0})),
    Case("add-scalars", "Add", (scalar(1.5), scalar(2))),
    Case("add-5d", "Add", (a.normal(2, 1, 3, 1, 5), a.normal(4, 1, 2, 1))),
    Case("add-empty", "Add", (a.normal(0, 3), a.normal(3)), constants=frozenset({0})),
    Case("add-uint8", "Add", (a.integers(0, 100, 5, dtype="uint8"), a.integers(0, 100, 5, dtype="uint8"))),
    Case("mul-one-element", "Mul", (a.normal(1), a.normal(2, 3)), constants=frozenset({0})),
    Case("sub-float64", "Sub", (a.normal(3).astype(np.float64), a.normal(2, 1).astype(np.float64))),
    Case("div-by-zero", "Div", (np.asarray([1, -1, 0], np.float32), np.zeros(3, np.float32))),
    Case("div-negative-int32", "Div", (np.asarray([7, -7, 7, -7], np.int32), np.asarray([2, 2, -2, -2], np.int32))),
    # Powers.
    Case("pow", "Pow", (a.uniform(0.1, 3, 3, 5), a.uniform(-2, 2, 5))),
    Case("pow-square", "Pow", (a.normal(3, 5), scalar(2)), constants=frozenset({1})),
    Case("pow-cube-int64-exponent", "Pow", (a.normal(3, 5), scalar(3, "int64")), constants=frozenset({1})),
    Case("pow-half", "Pow", (a.uniform(0, 4, 3, 5), scalar(0.5)), constants=frozenset({1})),
    Case("pow-minus-one", "Pow", (a.uniform(1, 4, 3, 5), scalar(-1)), constants=frozenset({1})),
    Case("pow-negative-base", "Pow", (a.uniform(-3, -1, 4), np.asarray([2, 3, -1, 0], np.float32))),
    Case("pow-opset7", "Pow", (a.uniform(0.1, 3, 3, 5), a.uniform(-2, 2, 3, 1)), opset=7),
    Case("pow-int32", "Pow", (a.integers(-4, 5, 3, 5, dtype="int32"), a.integers(0, 5, 5, dtype="int32"))),
    *(
        Case(f"{op.lower()}-float64", op, (a.uniform(0.1, 5, 2, 9).astype(np.float64),), opset=13, tolerance=tolerance)
        for op, tolerance in (("Exp", 1e-14), ("Log", 1e-14), ("Erf", 1e-6))  # the reference's erf is of float32
    ),
    Case("pow-float64", "Pow", (a.uniform(0.1, 3, 3, 5).astype(np.float64), a.uniform(-2, 2, 5).astype(np.float64))),
    Case("pow-int64-by-float32", "Pow", (np.arange(12), np.asarray([[2], [0.5], [7]], np.float32))),
    Case("pow-int64-float-exponent", "Pow", (a.integers(1, 5, 3), a.uniform(0, 3, 3)), constants=frozenset({0, 1})),
    Case(
        "pow-int32-negative-exponent",
        "Pow",
        (np.asarray([1, -1, -1, 2, 5], np.int32), np.asarray([-3, -3, -2, -1, -9], np.int32)),
    ),
    Case(
        "pow-int32-large-exponent",
        "Pow",
        (np.asarray([0, -1, -1, 1, 0], np.int32), np.asarray([64, 128, 65, 2**30, 2**31 - 1], np.int32)),
    ),
    Case(
        "pow-int32-whole-exponent",
        "Pow",
        (a.integers(-9, 9, 3, dtype="int32"), np.asarray([4, 0, 5], np.float32)),
        constants=frozenset({1}),
    ),
    Case("pow-float-int32-exponent", "Pow", (a.uniform(0.5, 2, 3), a.integers(-3, 4, 3, dtype="int32"))),
    Case(
        "pow-exponent-beyond-float32",
        "Pow",
        (
            np.asarray([-2, -1, -0.5, -1], np.float32),
            np.asarray([2**24 + 1, 2**24 + 1, 2**24 + 1, 2**24 + 2], np.int32),
        ),
    ),
    Case(
        "pow-int32-to-minus-infinity",
        "Pow",
        (np.asarray([2, 3, -1], np.int32), np.asarray([-np.inf, 0, 2], np.float32)),
        constants=frozenset({1}),
    ),
    # Remainders.
    Case(
        "mod-int32", "Mod", (a.integers(-20, 20, 3, 7, dtype="int32"), np.asarray([3, -3, 5, -5, 7, 1, -1], np.int32))
    ),
    Case("mod-int64-fmod", "Mod", (a.integers(-20, 20, 3, 7), np.asarray([3, -3, 5, -5, 7, 1, -1])), {"fmod": 1}),
    Case("mod-float", "Mod", (a.uniform(-9, 9, 3, 5), a.uniform(1, 3, 5)), {"fmod": 1}),
    Case("mod-uint8", "Mod", (a.integers(0, 200, 9, dtype="uint8"), a.integers(1, 9, 9, dtype="uint8"))),
    Case("mod-opset10", "Mod", (a.integers(-20, 20, 5), a.integers(1, 9, 1)), opset=10),
    # Any number of inputs.
    *(Case(f"{op.lower()}-one", op, (a.normal(3, 2),)) for op in ("Max", "Min", "Sum", "Mean")),
    *(
        Case(f"{op.lower()}-three", op, (a.normal(3, 2), a.normal(2), a.normal(4, 1, 1)))
        for op in ("Max", "Min", "Sum", "Mean")
    ),
    *(
        Case(f"{op.lower()}-opset8", op, (a.normal(3, 2), a.normal(3, 1)), opset=8)
        for op in ("Max", "Min", "Sum", "Mean")
    ),
    *(Case(f"{op.lower()}-int64", op, (a.integers(-9, 9, 3, 2), a.integers(-9, 9, 2))) for op in ("Max", "Min")),
    *(Case(f"{op.lower()}-nan-left", op, (SPECIAL, np.ones(9, np.float32))) for op in ("Max", "Min")),
    *(Case(f"{op.lower()}-nan-right", op, (np.ones(9, np.float32), SPECIAL)) for op in ("Max", "Min")),
    *(
        Case(f"{op.lower()}-nan-constant", op, (a.normal(9), SPECIAL), constants=frozenset({1}))
        for op in ("Max", "Min")
    ),
    *(
        Case(f"{op.lower()}-constant-first", op, (scalar(0.25), SPECIAL), constants=frozenset({0}))
        for op in ("Max", "Min")
    ),
    # Clip.
    Case("clip-opset6", "Clip", (a.normal(3, 5),), {"min": -0.5, "max": 0.5}, opset=7),
    Case("clip-opset6-open", "Clip", (a.normal(3, 5),), opset=7),
    Case("clip-opset6-max", "Clip", (a.normal(3, 5),), {"max": 0.5}, opset=10),
    Case("clip-constants", "Clip", (a.normal(3, 5), scalar(0), scalar(0.7)), constants=frozenset({1, 2})),
    Case(
        "clip-relu6", "Clip", (a.uniform(-9, 9, 2, 3, 5), scalar(0), scalar(6)), constants=frozenset({1, 2}), opset=11
    ),
    Case("clip-inputs", "Clip", (a.normal(3, 5), scalar(-0.3), scalar(0.7))),
    Case("clip-max-only", "Clip", (a.normal(3, 5), None, scalar(0.2)), constants=frozenset({2})),
    Case("clip-min-only", "Clip", (a.normal(3, 5), scalar(0.2)), constants=frozenset({1})),
    Case("clip-open", "Clip", (a.normal(3, 5),)),
    Case("clip-rank0", "Clip", (scalar(3), scalar(0), scalar(1))),
    Case("clip-special", "Clip", (SPECIAL, scalar(-1), scalar(2)), constants=frozenset({1, 2})),
    Case(
        "clip-int8",
        "Clip",
        (a.integers(-100, 100, 9, dtype="int8"), scalar(-9, "int8"), scalar(50, "int8")),
        constants=frozenset({1, 2}),
    ),
    Case("clip-int64", "Clip", (a.integers(-100, 100, 9), scalar(-9, "int64"), scalar(50, "int64"))),
]
