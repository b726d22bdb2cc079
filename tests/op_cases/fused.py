"""Rows of operators of com.microsoft that stand for several of ai.onnx."""

from __future__ import annotations

from dataclasses import replace
from math import erf
from typing import Any

import numpy as np
from op_cases._arrays import WIDE, Arrays
from op_table import Array, Case

_a = Arrays(33)
_x = _a.normal


IMAGE, FILTERS = (1, 3, 6, 5), (4, 3, 3, 2)


def _ms(id: str, op: str, *inputs: Array, constants: frozenset[int] = frozenset(), **attributes: Any) -> Case:
    return Case(f"ms-{id}", op, inputs, attributes, 17, constants, domain="com.microsoft")


def _conv(activation: str, *more: Array | None, **attributes: Any) -> Case:
    inputs = (_x(*IMAGE), _x(*FILTERS), *more)
    id = "-".join(["ms-fusedconv", activation.lower(), *("sum" for _ in more[1:])])
    return Case(id, "FusedConv", inputs, {"activation": activation} | attributes, 17, domain="com.microsoft")


def _nhwc(id: str, x: Array, w: Array, *more: Array | None, pads: int = 0, group: int = 1, **attributes: Any) -> Case:
    """onnxruntime has it for GPUs alone, and with a sum and an activation for elements of 16 bits."""
    padded = np.pad(x, ((0, 0), (pads, pads), (pads, pads), (0, 0)))
    views = np.lib.stride_tricks.sliding_window_view(padded, w.shape[2:], (1, 2))
    parts = zip(np.split(views, group, axis=3), np.split(w, group), strict=True)
    expected = np.concatenate([np.einsum("nyxcij,fcij->nyxf", *part) for part in parts], axis=3)
    expected = expected + sum(a for a in more if a is not None)
    op = "NhwcFusedConv" if "activation" in attributes else "NhwcConv"
    expected = expected.clip(0) if attributes.get("activation") == "Relu" else expected
    case = _ms(id, op, x, w, *more, pads=[pads] * 4, group=group, **attributes)
    return replace(case, expected=(expected.astype(np.float32),))


def _transpose(activation: str, x: Array, w: Array, bias: Array) -> Case:
    """onnxruntime has it for browsers alone. Strides of the extent of the filters: no sums overlap."""
    expected = np.einsum("ncyx,cfij->nfyixj", x, w).reshape(
        x.shape[0], w.shape[1], *(a * b for a, b in zip(x.shape[2:], w.shape[2:], strict=True))
    )
    expected = (expected + bias[:, None, None]).clip(0)
    case = _ms(
        f"fusedconvtranspose-{activation.lower()}",
        "FusedConvTranspose",
        x,
        w,
        bias,
        strides=list(w.shape[2:]),
        activation=activation,
    )
    return replace(case, expected=(expected.astype(np.float32),))


def _gemm(activation: str, **attributes: Any) -> Case:
    parameters = {f"activation_{name}": number for name, number in attributes.items()}
    return _ms(f"fusedgemm-{activation.lower()}", "FusedGemm", _x(3, 5), _x(5, 4), activation=activation, **parameters)


_ACTIVATED = [
    _conv("Relu", _x(4), strides=[2, 1], pads=[1, 0, 1, 1]),
    _conv("Relu", _x(4), _x(1, 4, 4, 4)),
    _conv("Sigmoid", None, _x(1, 4, 4, 4)),
    _conv("HardSwish", _x(4)),
    _conv("Tanh", dilations=[2, 1]),
    _conv("LeakyRelu", activation_params=[0.3]),
    _conv("Clip", activation_params=[-0.5, 1.5]),
    _conv("HardSigmoid", _x(4), activation_params=[0.3, 0.4]),
    Case("ms-fusedconv-none", "FusedConv", (_x(*IMAGE), _x(*FILTERS)), opset=17, domain="com.microsoft"),
    _transpose("Relu", _x(1, 3, 4, 3), _x(3, 2, 2, 3), _x(2)),
    _nhwc("nhwcconv", _x(2, 6, 5, 3), _x(4, 3, 3, 2), _x(4)),
    _nhwc("nhwcconv-pads", _x(1, 6, 5, 3), _x(4, 3, 3, 3), pads=1),
    _nhwc("nhwcconv-depthwise", _x(1, 5, 5, 4), _x(4, 1, 3, 3), _x(4), group=4),
    _nhwc("nhwcfusedconv-sum", _x(1, 6, 5, 3), _x(4, 3, 3, 3), _x(4), _x(1, 6, 5, 4), pads=1, activation="Relu"),
    _gemm("Relu"),
    _gemm("Elu", alpha=0.7),
    _gemm("HardSigmoid", alpha=0.3, beta=0.4),
    _gemm("Selu", alpha=1.5, gamma=1.1),
    _gemm("Softplus"),
]


def _split(x: Array, bias: Array) -> Case:
    """onnxruntime has it for GPUs alone."""
    left, right = np.split((x + bias).astype(np.float64), 2, axis=-1)
    expected = left * right * (np.vectorize(erf)(right / np.sqrt(2)) + 1) / 2
    return replace(_ms("biassplitgelu", "BiasSplitGelu", x, bias), expected=(expected.astype(np.float32),))


def _sum(x: Array, bias: Array, skip: Array) -> Case:
    """onnxruntime has it for GPUs alone."""
    return replace(_ms("biasadd", "BiasAdd", x, bias, skip, constants=frozenset({1})), expected=(x + bias + skip,))


CASES = [
    *_ACTIVATED,
    _split(_x(2, 3, 10), _x(10)),
    _sum(_x(2, 3, 5), _x(5), _x(2, 3, 5)),
    _ms("gelu", "Gelu", _x(2, 3, 5)),
    _ms("gelu-wide", "Gelu", WIDE),
    _ms("biasgelu", "BiasGelu", _x(2, 3, 5), _x(5), constants=frozenset({1})),
    _ms("fastgelu", "FastGelu", WIDE),
    _ms("fastgelu-bias", "FastGelu", _x(2, 7), _x(7)),
    _ms("quickgelu", "QuickGelu", WIDE),
    _ms("quickgelu-alpha", "QuickGelu", _x(3, 5), alpha=0.5),
    _ms("fusedmatmul", "FusedMatMul", _x(3, 5), _x(5, 4)),
    _ms("fusedmatmul-alpha", "FusedMatMul", _x(3, 5), _x(5, 4), alpha=0.125),
    _ms("fusedmatmul-trans-a", "FusedMatMul", _x(2, 5, 3), _x(5, 4), transA=1),
    _ms("fusedmatmul-trans-b", "FusedMatMul", _x(2, 3, 3, 5), _x(2, 1, 4, 5), transB=1, alpha=0.5),
    _ms("fusedmatmul-weights", "FusedMatMul", _x(3, 7), _x(9, 7), constants=frozenset({1}), transB=1),
    _ms("fusedmatmul-both", "FusedMatMul", _x(2, 5, 3), _x(2, 4, 5), transA=1, transB=1, alpha=-2.0),
    _ms("fusedmatmul-batch-a", "FusedMatMul", _x(3, 2, 4, 5), _x(2, 4, 5, 6), transBatchA=1),
    _ms("fusedmatmul-batch-b", "FusedMatMul", _x(2, 3, 5), _x(5, 2, 6), transBatchB=1),
    _ms(
        "fusedmatmul-batch-and-trans",
        "FusedMatMul",
        _x(5, 2, 3),
        _x(6, 2, 5),
        transA=1,
        transBatchA=1,
        transB=1,
        transBatchB=1,
    ),
    _ms("fusedmatmul-vector", "FusedMatMul", _x(5), _x(2, 4, 5), transA=1, transB=1),
    _ms("cdist", "CDist", _x(5, 7), _x(9, 7), metric="sqeuclidean"),
    _ms("cdist-root", "CDist", _x(3, 4), _x(6, 4), metric="euclidean"),
    _ms("cdist-float64", "CDist", _x(3, 5).astype("float64"), _x(2, 5).astype("float64"), metric="euclidean"),
    _ms("trilu", "Trilu", _x(2, 5, 6)),
    _ms("trilu-lower", "Trilu", _a.integers(0, 9, 4, 4), _a.integers(-1, 2, 1), constants=frozenset({1}), upper=0),
    Case("ms-unique", "Unique", (_a.integers(0, 5, 23).astype("float32"),), outputs=3, domain="com.microsoft"),
]
