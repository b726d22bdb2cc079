"""Rows of Conv, ConvInteger and ConvTranspose."""

from __future__ import annotations

from op_cases._arrays import Arrays, scalar
from op_table import Case

_a = Arrays(11)
_x = _a.normal


_CONV = [
    Case("conv", "Conv", (_x(1, 3, 7, 7), _x(4, 3, 3, 3))),
    Case("conv-bias", "Conv", (_x(2, 3, 6, 5), _x(4, 3, 3, 3), _x(4))),
    Case(
        "conv-weights", "Conv", (_x(2, 3, 6, 5), _x(5, 3, 3, 3), _x(5)), {"pads": [1] * 4}, constants=frozenset({1, 2})
    ),
    Case("conv-1x1", "Conv", (_x(2, 5, 4, 3), _x(7, 5, 1, 1), _x(7))),
    Case("conv-1x1-stride", "Conv", (_x(1, 5, 7, 6), _x(3, 5, 1, 1)), {"strides": [2, 2]}),
    Case("conv-1x1-one-channel", "Conv", (_x(1, 1, 4, 4), _x(2, 1, 1, 1))),
    Case("conv-to-one-channel", "Conv", (_x(1, 9, 6, 21), _x(1, 9, 3, 3)), {"pads": [1] * 4}, constants=frozenset({1})),
    Case("conv-to-three", "Conv", (_x(1, 12, 6, 9), _x(3, 12, 3, 2)), {"strides": [2, 1]}, constants=frozenset({1})),
    Case("conv-few-channels", "Conv", (_x(2, 3, 5, 21), _x(2, 3, 3, 3)), {"pads": [1] * 4, "strides": [2, 1]}),
    Case("conv-pads", "Conv", (_x(1, 2, 5, 5), _x(3, 2, 3, 3)), {"pads": [1, 1, 1, 1], "kernel_shape": [3, 3]}),
    Case("conv-pads-uneven", "Conv", (_x(1, 2, 5, 6), _x(3, 2, 3, 2)), {"pads": [0, 1, 2, 3]}),
    Case("conv-pads-wide", "Conv", (_x(1, 1, 2, 2), _x(1, 1, 3, 3)), {"pads": [4, 3, 4, 3]}),
    Case("conv-pads-below-only", "Conv", (_x(1, 2, 5, 5), _x(3, 2, 3, 3)), {"pads": [2, 2, 0, 0]}),
    Case("conv-stride", "Conv", (_x(1, 3, 9, 8), _x(4, 3, 3, 3)), {"strides": [2, 3], "pads": [1, 1, 1, 1]}),
    Case("conv-stride-tail", "Conv", (_x(1, 3, 10, 11), _x(4, 3, 3, 3)), {"strides": [3, 4]}),
    Case("conv-dilation", "Conv", (_x(1, 2, 9, 9), _x(3, 2, 3, 3)), {"dilations": [2, 3], "pads": [2, 1, 1, 3]}),
    Case("conv-dilation-stride", "Conv", (_x(1, 2, 11, 12), _x(3, 2, 3, 2)), {"dilations": [2, 2], "strides": [2, 3]}),
    Case("conv-7x7", "Conv", (_x(1, 3, 13, 13), _x(4, 3, 7, 7), _x(4)), {"strides": [2, 2], "pads": [3, 3, 3, 3]}),
    Case("conv-1x7", "Conv", (_x(1, 3, 5, 9), _x(4, 3, 1, 7)), {"pads": [0, 3, 0, 3]}),
    Case("conv-group", "Conv", (_x(1, 6, 5, 5), _x(4, 3, 3, 3), _x(4)), {"group": 2}),
    Case("conv-group-many", "Conv", (_x(2, 12, 4, 4), _x(8, 3, 3, 3)), {"group": 4, "pads": [1, 1, 1, 1]}),
    Case("conv-group-one-filter", "Conv", (_x(1, 6, 5, 5), _x(3, 2, 3, 3)), {"group": 3}),
    Case("conv-depthwise", "Conv", (_x(1, 5, 6, 6), _x(5, 1, 3, 3), _x(5)), {"group": 5, "pads": [1, 1, 1, 1]}),
    Case("conv-depthwise-twice", "Conv", (_x(1, 3, 6, 6), _x(6, 1, 3, 3)), {"group": 3, "strides": [2, 2]}),
    Case("conv-depthwise-1x1", "Conv", (_x(1, 3, 4, 4), _x(3, 1, 1, 1)), {"group": 3}),
    Case("conv-depthwise-dilation", "Conv", (_x(1, 3, 8, 8), _x(3, 1, 3, 3)), {"group": 3, "dilations": [2, 2]}),
    Case("conv-valid", "Conv", (_x(1, 2, 6, 6), _x(3, 2, 3, 3)), {"auto_pad": "VALID"}),
    Case("conv-same-upper", "Conv", (_x(1, 2, 6, 7), _x(3, 2, 3, 2)), {"auto_pad": "SAME_UPPER", "strides": [2, 2]}),
    Case("conv-same-lower", "Conv", (_x(1, 2, 6, 7), _x(3, 2, 3, 2)), {"auto_pad": "SAME_LOWER", "strides": [2, 2]}),
    Case("conv-same-unit", "Conv", (_x(1, 2, 5, 5), _x(3, 2, 4, 4)), {"auto_pad": "SAME_UPPER"}),
    Case("conv-same-sparse", "Conv", (_x(1, 2, 7, 7), _x(3, 2, 1, 1)), {"auto_pad": "SAME_LOWER", "strides": [3, 3]}),
    Case("conv-opset-7", "Conv", (_x(1, 2, 5, 5), _x(3, 2, 3, 3), _x(3)), {"pads": [1, 1, 1, 1]}, opset=7),
    Case("conv-opset-11", "Conv", (_x(1, 2, 5, 5), _x(3, 2, 3, 3)), {"auto_pad": "SAME_UPPER"}, opset=11),
    Case("conv-1d", "Conv", (_x(2, 3, 11), _x(4, 3, 3), _x(4)), {"pads": [2, 1], "strides": [2]}),
    Case("conv-1d-group", "Conv", (_x(1, 4, 9), _x(6, 2, 4)), {"group": 2, "dilations": [2]}),
    Case("conv-3d", "Conv", (_x(1, 2, 4, 5, 6), _x(3, 2, 2, 3, 3), _x(3)), {"pads": [0, 1, 1, 1, 0, 1]}),
    Case("conv-3d-depthwise", "Conv", (_x(1, 3, 4, 4, 5), _x(3, 1, 3, 3, 3)), {"group": 3, "strides": [1, 2, 2]}),
    Case(  # at no position do taps other than the middle one read an element
        "conv-dilation-beyond-image",
        "Conv",
        (_x(1, 3, 5, 6), _x(4, 3, 3, 3), _x(4)),
        {"dilations": [7, 6], "pads": [7, 6, 7, 6]},
    ),
    Case("conv-dilation-before-image", "Conv", (_x(1, 3, 5, 6), _x(4, 3, 3, 3)), {"pads": [4, 5, 3, 2]}),
    Case("conv-padding-alone", "Conv", (_x(1, 2, 3, 3), _x(3, 2, 1, 1), _x(3)), {"pads": [3] * 4, "strides": [8, 8]}),
    Case(  # a halo of twelve zeros on each side
        "conv-wide-halo",
        "Conv",
        (_x(1, 5, 9, 15), _x(9, 5, 3, 3), _x(9)),
        {"dilations": [1, 12], "pads": [1, 12, 1, 12]},
        constants=frozenset({1, 2}),
    ),
    Case("conv-one-position", "Conv", (_x(2, 3, 4, 4), _x(5, 3, 4, 4))),
]

_x8, _w8 = _a.integers(0, 256, 1, 3, 6, 6, dtype="uint8"), _a.integers(0, 256, 4, 3, 3, 3, dtype="uint8")
_CONV_INTEGER = [
    Case("conv-integer", "ConvInteger", (_x8, _w8)),
    Case(
        "conv-integer-zero", "ConvInteger", (_x8, _w8, scalar(7, "uint8"), scalar(200, "uint8")), {"pads": [1, 1, 1, 1]}
    ),
    Case(
        "conv-integer-constants",
        "ConvInteger",
        (_x8, _w8, scalar(3, "uint8"), scalar(0, "uint8")),
        {"pads": [1, 0, 0, 2], "strides": [2, 2]},
        constants=frozenset({1, 2, 3}),
    ),
    Case(
        "conv-integer-signed",
        "ConvInteger",
        (_x8, _a.integers(-128, 128, 4, 3, 2, 2, dtype="int8"), scalar(128, "uint8"), scalar(5, "int8")),
    ),
    Case(
        "conv-integer-tiles",
        "ConvInteger",
        (
            _a.integers(0, 256, 1, 9, 5, 7, dtype="uint8"),
            _a.integers(0, 256, 18, 9, 3, 3, dtype="uint8"),
            scalar(77, "uint8"),
            _a.integers(0, 256, 18, dtype="uint8"),
        ),
        {"pads": [1, 1, 1, 1]},
        constants=frozenset({1, 3}),
    ),
    Case(
        "conv-integer-groups",
        "ConvInteger",
        (_a.integers(0, 256, 1, 8, 5, 6, dtype="uint8"), _a.integers(-128, 128, 10, 4, 3, 3, dtype="int8")),
        {"group": 2, "pads": [0, 1, 1, 0]},
        constants=frozenset({1}),
    ),
    Case(
        "conv-integer-depthwise",
        "ConvInteger",
        (
            _a.integers(0, 256, 1, 11, 7, 9, dtype="uint8"),
            _a.integers(-128, 128, 11, 1, 3, 3, dtype="int8"),
            scalar(200, "uint8"),
        ),
        {"group": 11, "pads": [1, 1, 1, 1]},
        constants=frozenset({1}),
    ),
    Case(
        "conv-integer-group",
        "ConvInteger",
        (_x8, _a.integers(0, 256, 6, 1, 3, 3, dtype="uint8"), scalar(9, "uint8")),
        {"group": 3},
    ),
]


def _transposed(
    id: str,
    x: tuple[int, ...],
    w: tuple[int, ...],
    bias: int = 0,
    opset: int = 21,
    constants: frozenset[int] = frozenset(),
    **attributes,
) -> Case:
    inputs = (_x(*x), _x(*w), _x(bias)) if bias else (_x(*x), _x(*w))
    return Case(f"conv-transpose{id}", "ConvTranspose", inputs, attributes, opset, constants=constants)


_WEIGHTS = frozenset({1, 2})

_CONV_TRANSPOSE = [
    _transposed("", (1, 2, 4, 4), (2, 3, 3, 3)),
    _transposed("-bias", (2, 2, 4, 3), (2, 3, 3, 3), bias=3),
    _transposed("-stride", (1, 2, 4, 3), (2, 3, 3, 3), strides=[2, 2]),
    _transposed("-stride-even", (1, 2, 4, 3), (2, 3, 4, 4), strides=[2, 2], pads=[1, 1, 1, 1]),
    _transposed("-stride-is-kernel", (1, 3, 3, 4), (3, 2, 2, 2), strides=[2, 2]),
    _transposed("-stride-beyond-kernel", (1, 2, 3, 3), (2, 2, 2, 1), strides=[3, 3]),
    _transposed("-stride-three", (1, 2, 3, 4), (2, 2, 5, 7), strides=[3, 3], pads=[1, 0, 2, 3]),
    _transposed("-pads", (1, 2, 5, 5), (2, 3, 3, 3), pads=[1, 0, 2, 1]),
    _transposed("-output-padding", (1, 2, 3, 3), (2, 2, 3, 3), strides=[2, 2], output_padding=[1, 1]),
    _transposed(
        "-output-padding-pads", (1, 2, 3, 3), (2, 2, 3, 3), strides=[3, 2], output_padding=[2, 1], pads=[1, 1, 1, 1]
    ),
    _transposed("-dilation", (1, 2, 4, 4), (2, 3, 3, 2), dilations=[2, 3]),
    _transposed("-dilation-stride", (1, 2, 4, 4), (2, 3, 3, 2), dilations=[2, 3], strides=[2, 2], pads=[1, 1, 1, 1]),
    _transposed("-dilation-stride-coprime", (1, 2, 4, 4), (2, 2, 3, 3), dilations=[2, 2], strides=[3, 3]),
    _transposed("-group", (1, 4, 4, 4), (4, 3, 3, 3), bias=6, group=2, strides=[2, 2]),
    _transposed("-depthwise", (1, 3, 4, 4), (3, 1, 3, 3), group=3, strides=[2, 2], pads=[1, 1, 1, 1]),
    _transposed("-depthwise-twice", (1, 3, 4, 4), (3, 2, 2, 2), group=3),
    _transposed("-group-one-filter", (1, 4, 3, 3), (4, 1, 2, 2), group=2),
    _transposed("-output-shape", (1, 2, 3, 3), (2, 2, 3, 3), strides=[3, 2], output_shape=[10, 8]),
    _transposed(
        "-output-shape-upper", (1, 2, 3, 3), (2, 2, 4, 4), strides=[2, 2], output_shape=[7, 5], auto_pad="SAME_UPPER"
    ),
    _transposed(
        "-output-shape-lower", (1, 2, 3, 3), (2, 2, 4, 4), strides=[2, 2], output_shape=[7, 5], auto_pad="SAME_LOWER"
    ),
    _transposed("-output-shape-odd", (1, 2, 3, 3), (2, 2, 4, 4), strides=[2, 2], output_shape=[7, 7]),
    _transposed("-same-upper", (1, 2, 3, 4), (2, 2, 3, 3), strides=[2, 2], auto_pad="SAME_UPPER"),
    _transposed("-same-lower", (1, 2, 3, 4), (2, 2, 3, 3), strides=[2, 2], auto_pad="SAME_LOWER"),
    _transposed("-valid", (1, 2, 3, 4), (2, 2, 3, 3), auto_pad="VALID"),
    _transposed("-weights", (1, 9, 5, 7), (9, 6, 4, 4), 6, 21, _WEIGHTS, strides=[2, 2], pads=[1, 1, 1, 1]),
    _transposed(
        "-weights-group", (1, 6, 4, 5), (6, 5, 3, 4), 10, 21, _WEIGHTS, group=2, strides=[3, 2], pads=[0, 1] * 2
    ),
    _transposed("-weights-one-stride", (1, 6, 8, 9), (6, 7, 3, 3), 7, 21, _WEIGHTS, strides=[1, 2], dilations=[2, 1]),
    _transposed("-1x1", (1, 3, 4, 4), (3, 2, 1, 1)),
    _transposed("-opset-7", (1, 2, 4, 4), (2, 3, 3, 3), opset=7, strides=[2, 2]),
    _transposed("-1d", (2, 3, 5), (3, 2, 4), bias=2, strides=[3], pads=[1, 2]),
    _transposed("-3d", (1, 2, 2, 3, 3), (2, 2, 3, 2, 3), strides=[1, 2, 2], pads=[1, 0, 1, 0, 1, 1]),
]

CASES = [*_CONV, *_CONV_INTEGER, *_CONV_TRANSPOSE]
