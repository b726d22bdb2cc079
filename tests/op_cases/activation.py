"""Rows of activation functions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from op_cases._arrays import SPECIAL, WIDE, Arrays
from op_table import Case, reference
from webnn_compile.ops.call import OWN_DOMAIN

a = Arrays(2)

PLAIN = (
    "Relu",
    "LeakyRelu",
    "Elu",
    "Selu",
    "Celu",
    "Sigmoid",
    "HardSigmoid",
    "HardSwish",
    "Softplus",
    "Softsign",
    "ThresholdedRelu",
    "Gelu",
    "Mish",
    "Shrink",
)
SINCE = {"Celu": 12, "HardSwish": 14, "ThresholdedRelu": 10, "Gelu": 20, "Mish": 18, "Shrink": 9, "Swish": 24}


def _before_opset_10(alpha: float) -> Case:
    """The operator that onnxruntime had before ONNX: the importer moves it to the compiler's own."""
    case = Case(f"thresholdedrelu-before-opset-10-{alpha}", "ThresholdedRelu", (SPECIAL,), {"alpha": alpha}, 9)
    return replace(case, domain=OWN_DOMAIN, expected=tuple(reference(case)))


CASES = [
    *(Case(f"{op.lower()}-default", op, (a.uniform(-4, 4, 3, 5),)) for op in PLAIN),
    *(Case(f"{op.lower()}-rank0", op, (a.normal(),)) for op in PLAIN),
    *(Case(f"{op.lower()}-wide", op, (WIDE,)) for op in PLAIN),
    *(
        Case(f"{op.lower()}-first-opset", op, (a.normal(2, 1, 3),), opset=SINCE.get(op, 7))
        for op in PLAIN
        if op != "Gelu"
    ),
    *(Case(f"{op.lower()}-special", op, (SPECIAL,)) for op in ("Relu", "Sigmoid", "LeakyRelu", "Softsign", "Elu")),
    Case("relu-int32", "Relu", (a.integers(-9, 9, 3, 5, dtype="int32"),)),
    Case("relu-int8", "Relu", (a.integers(-9, 9, 7, dtype="int8"),)),
    Case("relu-5d", "Relu", (a.normal(2, 3, 1, 2, 3),)),
    Case("leakyrelu-alpha", "LeakyRelu", (a.normal(3, 5),), {"alpha": 0.3}),
    Case("leakyrelu-steep", "LeakyRelu", (a.normal(3, 5),), {"alpha": 1.5}),
    Case("leakyrelu-negative", "LeakyRelu", (a.normal(3, 5),), {"alpha": -0.5}),
    Case("prelu-same", "PRelu", (a.normal(3, 5), a.normal(3, 5))),
    Case("prelu-channel", "PRelu", (a.normal(1, 3, 4, 5), a.normal(3, 1, 1)), constants=frozenset({1})),
    Case("prelu-one", "PRelu", (a.normal(2, 3), a.normal(1)), constants=frozenset({1})),
    Case("prelu-opset7", "PRelu", (a.normal(2, 3), a.normal(3)), opset=7),
    Case(
        "prelu-int32", "PRelu", (a.integers(-9, 9, 3, 2, dtype="int32"), a.integers(-3, 3, 2, dtype="int32")), opset=16
    ),
    Case("elu-alpha", "Elu", (a.normal(3, 5),), {"alpha": 2.0}),
    Case("selu-attributes", "Selu", (a.normal(3, 5),), {"alpha": 2.0, "gamma": 3.0}),
    Case("celu-alpha", "Celu", (a.normal(3, 5),), {"alpha": 2.0}),
    Case("hardsigmoid-attributes", "HardSigmoid", (a.uniform(-4, 4, 3, 5),), {"alpha": 0.5, "beta": 0.25}),
    Case("thresholdedrelu-alpha", "ThresholdedRelu", (a.normal(3, 5),), {"alpha": 0.2}),
    _before_opset_10(0.5),
    _before_opset_10(-0.5),
    Case("gelu-none", "Gelu", (a.normal(3, 5),), {"approximate": "none"}, opset=20),
    Case("gelu-tanh", "Gelu", (a.uniform(-6, 6, 3, 5),), {"approximate": "tanh"}, opset=20),
    Case("gelu-tanh-wide", "Gelu", (WIDE,), {"approximate": "tanh"}),
    Case("shrink-hard", "Shrink", (a.uniform(-4, 4, 3, 5),), {"lambd": 1.5}),
    Case("shrink-soft", "Shrink", (a.uniform(-4, 4, 3, 5),), {"lambd": 1.5, "bias": 1.5}),
    Case("shrink-int32", "Shrink", (a.integers(-9, 9, 3, 5, dtype="int32"),), {"lambd": 2.5, "bias": 1.0}),
    Case("swish-default", "Swish", (a.uniform(-4, 4, 3, 5),), opset=24),
    Case("swish-alpha", "Swish", (WIDE,), {"alpha": 0.5}, opset=24),
    *(
        Case(f"celu-alpha{alpha}", "Celu", (WIDE,), {"alpha": alpha}, expected=(np.maximum(WIDE, 0),))
        for alpha in (0.0, -0.0, 1e-45)
    ),
    *(
        Case(f"{op.lower()}-float64", op, (a.uniform(-5, 5, 2, 9).astype(np.float64),), tolerance=1e-14)
        for op in ("Sigmoid", "Softplus", "Tanh")
    ),
    Case("sigmoid-empty", "Sigmoid", (np.zeros((2, 0, 3), np.float32),), constants=frozenset({0})),
]
