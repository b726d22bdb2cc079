"""Operators of other domains than ai.onnx, whose operands' and attributes' types no schema of ONNX checks."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx_models import model, node, random
from webnn_compile.errors import UnsupportedError
from webnn_compile.frontends.onnx import import_model

MICROSOFT = "com.microsoft"
SCALE, ZERO = np.float32(0.1), np.uint8(3)
QUANTA = np.arange(6, dtype=np.uint8).reshape(2, 3)


@pytest.mark.parametrize(
    ("op", "operands", "message"),
    [
        ("QLinearSigmoid", [QUANTA.astype(np.float32), SCALE, ZERO, SCALE, ZERO], r"input 0 .* is float32, where"),
        ("QLinearSigmoid", [QUANTA, np.uint8(1), ZERO, SCALE, ZERO], r"input 1 .* is uint8, where float32 is"),
        (
            "QLinearAdd",
            [QUANTA, SCALE, np.int8(3), QUANTA, SCALE, ZERO, SCALE, ZERO],
            r"input 2 .* is int8, where uint8",
        ),
        (
            "QLinearMul",
            [QUANTA, SCALE, ZERO, QUANTA, SCALE, ZERO, SCALE, np.int8(3)],
            r"input 7 .* is int8, where uint8",
        ),
        ("QGemm", [QUANTA, SCALE, np.int8(3), QUANTA.T, SCALE, ZERO], r"input 2 .* is int8, where uint8"),
        ("MatMulIntegerToFloat", [QUANTA, QUANTA.T, ZERO, SCALE], r"input 2 .* is uint8, where float32 or float16"),
        ("Gelu", [QUANTA], r"input 0 .* is uint8, where float32 or float16 or float64 is expected"),
        ("BiasGelu", [random((2, 3)), np.ones(3)], r"input 1 .* is float64, where float32 is expected"),
        ("BiasSplitGelu", [random((1, 2, 3)), random((3,))], "its input has 3 columns, which are no two halves"),
        ("FusedMatMul", [random((2, 3)), QUANTA.T], r"input 1 .* is uint8, where float32 is expected"),
    ],
)
def test_operands_that_do_not_fit_are_refused(op: str, operands: list[np.ndarray], message: str) -> None:
    names = [f"a{i}" for i in range(len(operands))]
    proto = model(
        [node(op, names, ["y"], domain=MICROSOFT)],
        {},
        ["y"],
        dict(zip(names, operands, strict=True)),
        imports=[onnx.helper.make_opsetid(MICROSOFT, 1)],
    )
    with pytest.raises(UnsupportedError, match=message):
        import_model(proto)


@pytest.mark.parametrize(
    ("op", "attribute", "message"),
    [
        ("FusedMatMul", {"alpha": "1"}, "attribute alpha is a string, where a float is expected"),
        ("FusedMatMul", {"transA": 1.0}, "attribute transA is a float, where an integer is expected"),
        ("FusedGemm", {"activation": "Sine"}, "attribute activation='Sine'; save the model with less optimisation"),
        ("FusedGemm", {"activation": "Elu"}, "activation Elu lacks parameters: it has alpha; the model is invalid"),
        ("FusedGemm", {"activation": "Selu", "activation_alpha": 1.0}, "lacks parameters: it has alpha, gamma"),
        ("FusedGemm", {"activation": "Softplus"}, ""),
        ("Gelu", {}, ""),
        ("QuickGelu", {"alpha": [1.0, 2.0]}, "attribute alpha is a list, where a float is expected"),
    ],
)
def test_an_attribute_that_does_not_fit_is_refused(op: str, attribute: dict[str, Any], message: str) -> None:
    names = ["a", "b"][: 2 if op.startswith("Fused") else 1]
    proto = model(
        [node(op, names, ["y"], domain=MICROSOFT, **attribute)],
        {name: [3, 3] for name in names},
        ["y"],
        imports=[onnx.helper.make_opsetid(MICROSOFT, 1)],
    )
    if not message:
        import_model(proto)
        return
    with pytest.raises(UnsupportedError, match=message):
        import_model(proto)


@pytest.mark.parametrize("attribute", [{"strides": [0, 1]}, {"dilations": [1, -1]}])
def test_windows_that_do_not_move_are_refused(attribute: dict[str, Any]) -> None:
    proto = model(
        [node("FusedConv", ["a", "b"], ["y"], domain=MICROSOFT, **attribute)],
        {"a": [1, 1, 4, 4], "b": [1, 1, 2, 2]},
        ["y"],
        imports=[onnx.helper.make_opsetid(MICROSOFT, 1)],
    )
    with pytest.raises(UnsupportedError, match=r"strides are .* and dilations .*: each is at least 1"):
        import_model(proto)
