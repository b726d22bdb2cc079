"""Operators of WebNN as nodes of ONNX: where both have an operator it is that, with options as attributes, layouts as
transposes, and WebNN's types."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np
from webnn_graph import Growing
from webnn_recurrent import gru, gru_cell, lstm, lstm_cell

Values = str | list[str]
Operator = Callable[[Growing, Sequence[Any], Mapping[str, Any]], Values]
"""A function from arguments in order, of which operands are names, and options to the name of the output, or names."""

BOOL = np.dtype(np.bool_)


def same(op: str) -> Operator:
    """One with the same arguments, and the same options, all of them numbers, as attributes."""
    return lambda m, args, options: m.node(op, *args, **{name: float(v) for name, v in options.items()})


def compared(op: str, negated: bool = False) -> Operator:
    """A comparison: WebNN's result is uint8."""

    def convert(m: Growing, args: Sequence[Any], options: Mapping[str, Any]) -> str:
        found = m.node(op, *args)
        return m.cast(m.node("Not", found) if negated else found, np.uint8)

    return convert


def logical(op: str) -> Operator:
    """An operator of truth values, which are uint8 in WebNN, true unless 0."""

    def convert(m: Growing, args: Sequence[Any], options: Mapping[str, Any]) -> str:
        return m.cast(m.node(op, *(m.cast(a, BOOL) for a in args)), np.uint8)

    return convert


def reduced(op: str) -> Operator:
    """A reduction. Without axes it is of all; of an empty list of none."""

    def convert(m: Growing, args: Sequence[Any], options: Mapping[str, Any]) -> str:
        axes = options.get("axes", range(len(m.shape(args[0]))))
        keep = int(options.get("keepDimensions", False))
        return m.node(op, args[0], m.constant(list(axes)), keepdims=keep, noop_with_empty_axes=1)

    return convert


def found_at(op: str) -> Operator:
    def convert(m: Growing, args: Sequence[Any], options: Mapping[str, Any]) -> str:
        index = m.node(op, args[0], axis=args[1], keepdims=int(options.get("keepDimensions", False)))
        return m.cast(index, options.get("outputDataType", "int32"))

    return convert


def batch_normalization(m: Growing, args: Sequence[Any], options: Mapping[str, Any]) -> str:
    x, mean, variance = args
    rank, axis, channels = len(m.shape(x)), options.get("axis", 1), m.shape(mean)
    # ONNX's channels are dimension 1.
    flat = rank == 1
    perm = [*range(rank)]
    if flat:
        x = m.reshape(x, (1, *m.shape(x)))
    else:
        perm.insert(1, perm.pop(axis))
        x = m.transpose(x, perm)
    scale = options.get("scale") or m.filled(1, channels, mean)
    bias = options.get("bias") or m.filled(0, channels, mean)
    y = m.node("BatchNormalization", x, scale, bias, mean, variance, epsilon=float(options.get("epsilon", 1e-5)))
    return m.reshape(y, channels) if flat else m.transpose(y, np.argsort(perm).tolist())


def clamp(m: Growing, args: Sequence[Any], options: Mapping[str, Any]) -> str:
    limits = (options.get("minValue"), options.get("maxValue"))
    given = ["" if v is None else m.constant(number(v), m.dtype(args[0])) for v in limits]
    return m.node("Clip", args[0], *given)


def number(value: Any) -> Any:
    """A number of JSON, where text stands for those that it lacks."""
    if not isinstance(value, str):
        return value
    digits = value.removesuffix("n")
    return int(digits) if digits.lstrip("-").isdigit() and value != "-0" else float(value)


def channels_first(m: Growing, x: str, layout: str) -> str:
    return m.transpose(x, (0, 3, 1, 2)) if layout == "nhwc" else x


def layout_back(m: Growing, x: str, layout: str) -> str:
    return m.transpose(x, (0, 2, 3, 1)) if layout == "nhwc" else x


def window(options: Mapping[str, Any]) -> dict[str, Any]:
    """Attributes of convolutions and of pooling."""
    top, bottom, left, right = options.get("padding", (0, 0, 0, 0))
    return {
        "pads": [top, left, bottom, right],
        "strides": list(options.get("strides", (1, 1))),
        "dilations": list(options.get("dilations", (1, 1))),
    }


def filter_by(m: Growing, w: str, layout: str, wanted: str) -> str:
    return m.transpose(w, [layout.index(letter) for letter in wanted])


def conv2d(m: Growing, args: Sequence[Any], options: Mapping[str, Any]) -> str:
    layout = options.get("inputLayout", "nchw")
    w = filter_by(m, args[1], options.get("filterLayout", "oihw"), "oihw")
    inputs = [channels_first(m, args[0], layout), w, *filter(None, [options.get("bias")])]
    return layout_back(m, m.node("Conv", *inputs, group=options.get("groups", 1), **window(options)), layout)


def conv_transpose2d(m: Growing, args: Sequence[Any], options: Mapping[str, Any]) -> str:
    layout = options.get("inputLayout", "nchw")
    x = channels_first(m, args[0], layout)
    w = filter_by(m, args[1], options.get("filterLayout", "iohw"), "iohw")
    attributes, more = window(options), list(options.get("outputPadding", (0, 0)))
    if sizes := options.get("outputSizes"):
        # ONNX's output_shape changes the padding, where WebNN's sizes say what the outputs are padded by.
        pads, (strides, dilations) = attributes["pads"], (attributes["strides"], attributes["dilations"])
        spans = zip(m.shape(x)[2:], m.shape(w)[2:], strides, dilations, pads[:2], pads[2:], strict=True)
        least = [(n - 1) * s + (k - 1) * d + 1 - begin - end for n, k, s, d, begin, end in spans]
        more = [size - short for size, short in zip(sizes, least, strict=True)]
    inputs = [x, w, *filter(None, [options.get("bias")])]
    y = m.node("ConvTranspose", *inputs, group=options.get("groups", 1), output_padding=more, **attributes)
    return layout_back(m, y, layout)


def pooled(op: str, **attributes: Any) -> Operator:
    def convert(m: Growing, args: Sequence[Any], options: Mapping[str, Any]) -> str:
        layout = options.get("layout", "nchw")
        x = channels_first(m, args[0], layout)
        shape, sizes = m.shape(x)[2:], options.get("outputSizes")
        kernel, own = list(options.get("windowDimensions", shape)), window(options)
        pads = own["pads"]
        steps = zip(shape, kernel, own["strides"], own["dilations"], pads[:2], pads[2:], strict=True)
        floor = [(n + begin + end - (k - 1) * d - 1) // s + 1 for n, k, s, d, begin, end in steps]
        rounding = options.get("outputShapeRounding", options.get("roundingType", "floor"))
        ceil = list(sizes) != floor if sizes else rounding == "ceil"
        return layout_back(m, m.node(op, x, kernel_shape=kernel, ceil_mode=int(ceil), **own, **attributes), layout)

    return convert


def quantisers(m: Growing, x: str, scale: str, zero: str | None) -> tuple[list[str], dict[str, int]]:
    """Scales and zero points as ONNX has them, one, one for each index of an axis, or one for each block along an
    axis, and the attributes that say which. Where blocks are along several axes they are written out, blocks of one."""
    shape, given = m.shape(x), [scale, *filter(None, [zero])]
    scales = (1,) * (len(shape) - len(m.shape(scale))) + m.shape(scale)
    blocks = [n // s for n, s in zip(shape, scales, strict=True)]
    if prod(scales) == 1:
        return [m.reshape(v, ()) for v in given], {}
    single = [i for i, s in enumerate(scales) if s > 1]
    if len(single) == 1 and blocks[single[0]] == 1:
        return [m.reshape(v, (scales[single[0]],)) for v in given], {"axis": single[0]}
    wide = [i for i, n in enumerate(blocks) if n > 1]
    if len(wide) == 1:
        return [m.reshape(v, scales) for v in given], {"axis": wide[0], "block_size": blocks[wide[0]]}
    return [written_out(m, v, scales, blocks) for v in given], {"axis": 0, "block_size": 1}


def written_out(m: Growing, x: str, shape: Sequence[int], blocks: Sequence[int]) -> str:
    """Each element as often as its block is long."""
    dtype = m.dtype(x)
    if dtype.kind != "f":  # Expand takes no integers of 4 bits
        x = m.cast(x, np.int32)
    parts = [n for s in shape for n in (s, 1)]
    whole = [n for s, b in zip(shape, blocks, strict=True) for n in (s, b)]
    sizes = [s * b for s, b in zip(shape, blocks, strict=True)]
    y = m.reshape(m.node("Expand", m.reshape(x, parts), m.constant(whole)), sizes)
    return y if dtype.kind == "f" else m.cast(y, dtype)


def dequantize_linear(m: Growing, args: Sequence[Any], options: Mapping[str, Any]) -> str:
    x, scale, zero = (*args, None)[:3]
    given, attributes = quantisers(m, x, scale, zero)
    return m.node("DequantizeLinear", x, *given, **attributes)


def quantize_linear(m: Growing, args: Sequence[Any], options: Mapping[str, Any]) -> str:
    given, attributes = quantisers(m, *args)
    if m.dtype(args[2]).itemsize < 4:
        return m.node("QuantizeLinear", args[0], *given, **attributes)
    # ONNX quantises to no type of 32 bits.
    quotient = m.node("Div", args[0], args[1])
    whole = m.node("Add", m.node("Round", quotient), m.cast(args[2], m.dtype(args[0])))
    return m.cast(whole, m.dtype(args[2]))


def gather(op: str) -> Operator:
    """One with indices, which WebNN clamps and ONNX does not."""

    def convert(m: Growing, args: Sequence[Any], options: Mapping[str, Any]) -> str:
        x, indices = args
        shape, indices = m.shape(x), m.cast(indices, np.int64)
        sizes = shape[: m.shape(indices)[-1]] if op == "GatherND" else shape[options.get("axis", 0)]
        limits = np.array(sizes)
        clamped = m.node("Min", m.node("Max", indices, m.constant(-limits)), m.constant(limits - 1))
        return m.node(op, x, clamped, **options)

    return convert


def scatter(op: str) -> Operator:
    def convert(m: Growing, args: Sequence[Any], options: Mapping[str, Any]) -> str:
        x, indices, updates = args
        return m.node(op, x, m.cast(indices, np.int64), updates, **options)

    return convert


def gemm(m: Growing, args: Sequence[Any], options: Mapping[str, Any]) -> str:
    inputs = [*args, *filter(None, [options.get("c")])]
    own = {"transA": int(options.get("aTranspose", False)), "transB": int(options.get("bTranspose", False))}
    return m.node("Gemm", *inputs, alpha=float(options.get("alpha", 1.0)), beta=float(options.get("beta", 1.0)), **own)


def instance_normalization(m: Growing, args: Sequence[Any], options: Mapping[str, Any]) -> str:
    layout = options.get("layout", "nchw")
    x = channels_first(m, args[0], layout)
    channels = m.shape(x)[1:2]
    scale = options.get("scale") or m.filled(1, channels, x)
    bias = options.get("bias") or m.filled(0, channels, x)
    y = m.node("InstanceNormalization", x, scale, bias, epsilon=float(options.get("epsilon", 1e-5)))
    return layout_back(m, y, layout)


def layer_normalization(m: Growing, args: Sequence[Any], options: Mapping[str, Any]) -> str:
    x, rank = args[0], len(m.shape(args[0]))
    axes = list(options.get("axes", range(1, rank)))
    if not axes:  # the mean of one element is itself
        zero = m.node("Sub", x, x)
        return m.node("Add", zero, options["bias"]) if options.get("bias") else zero
    # ONNX's axes are the last ones in order; WebNN's scale and bias have them in the order of the list.
    perm = [i for i in range(rank) if i not in axes] + axes
    x = m.transpose(x, perm)
    shape = m.shape(x)[rank - len(axes) :]
    scale = options.get("scale") or m.filled(1, shape, x)
    inputs = [x, scale, *filter(None, [options.get("bias")])]
    y = m.node("LayerNormalization", *inputs, axis=rank - len(axes), epsilon=float(options.get("epsilon", 1e-5)))
    return m.transpose(y, np.argsort(perm).tolist())


def linear(m: Growing, args: Sequence[Any], options: Mapping[str, Any]) -> str:
    alpha, beta = (m.filled(options.get(name, v), (), args[0]) for name, v in (("alpha", 1), ("beta", 0)))
    return m.node("Add", m.node("Mul", args[0], alpha), beta)


def pad(m: Growing, args: Sequence[Any], options: Mapping[str, Any]) -> str:
    mode = {"reflection": "reflect"}.get(options.get("mode", ""), options.get("mode", "constant"))
    value = m.constant(number(options.get("value", 0)), m.dtype(args[0]))
    return m.node("Pad", args[0], m.constant([*args[1], *args[2]]), value, mode=mode)


def resample2d(m: Growing, args: Sequence[Any], options: Mapping[str, Any]) -> str:
    axes, shape = list(options.get("axes", (2, 3))), m.shape(args[0])
    # WebNN's coordinates are by the sizes, ONNX's by scales that it is given.
    scaled = [int(shape[axis] * scale) for axis, scale in zip(axes, options.get("scales", (1, 1)), strict=True)]
    sizes = m.constant(list(options.get("sizes", scaled)))
    mode = "linear" if options.get("mode") == "linear" else "nearest"
    return m.node("Resize", args[0], "", "", sizes, mode=mode, axes=axes)


def reverse(m: Growing, args: Sequence[Any], options: Mapping[str, Any]) -> str:
    axes = list(options.get("axes", range(len(m.shape(args[0])))))
    if not axes:
        return m.node("Identity", args[0])
    ends = [np.iinfo(np.int64).min] * len(axes)
    return m.node("Slice", args[0], *map(m.constant, ([-1] * len(axes), ends, axes, [-1] * len(axes))))


def slice_(m: Growing, args: Sequence[Any], options: Mapping[str, Any]) -> str:
    x, starts, sizes = args
    if not starts:
        return m.node("Identity", x)
    ends = [start + size for start, size in zip(starts, sizes, strict=True)]
    steps = list(options.get("strides", [1] * len(starts)))
    return m.node("Slice", x, *map(m.constant, (starts, ends, list(range(len(starts))), steps)))


def split(m: Growing, args: Sequence[Any], options: Mapping[str, Any]) -> list[str]:
    (x, splits), axis = args, options.get("axis", 0)
    lengths = [m.shape(x)[axis] // splits] * splits if isinstance(splits, int) else splits
    return m.nodes_outputs("Split", [x, m.constant(lengths)], len(lengths), axis=axis)


def transpose(m: Growing, args: Sequence[Any], options: Mapping[str, Any]) -> str:
    # ONNX, too, reverses the axes where no permutation is given.
    return m.node("Transpose", args[0], perm=options.get("permutation"))


def triangular(m: Growing, args: Sequence[Any], options: Mapping[str, Any]) -> str:
    return m.node("Trilu", args[0], m.constant(options.get("diagonal", 0)), upper=int(options.get("upper", True)))


def cumulative_sum(m: Growing, args: Sequence[Any], options: Mapping[str, Any]) -> str:
    own = {"exclusive": int(options.get("exclusive", False)), "reverse": int(options.get("reversed", False))}
    return m.node("CumSum", args[0], m.constant(args[1]), **own)


SAME = (
    *("abs", "add", "ceil", "cos", "div", "elu", "erf", "exp", "floor", "gelu", "hardSigmoid", "hardSwish", "identity"),
    *("leakyRelu", "log", "max", "min", "mul", "neg", "pow", "reciprocal", "relu", "sigmoid", "sign", "sin"),
    *("softplus", "softsign", "sqrt", "sub", "tan", "tanh"),
)
"""Operators of the same name in ONNX."""

OPERATORS: Mapping[str, Operator] = {
    **{name: same(name[0].upper() + name[1:]) for name in SAME},
    "matmul": same("MatMul"),
    "prelu": same("PRelu"),
    "roundEven": same("Round"),
    "equal": compared("Equal"),
    "greater": compared("Greater"),
    "greaterOrEqual": compared("GreaterOrEqual"),
    "isInfinite": compared("IsInf"),
    "isNaN": compared("IsNaN"),
    "lesser": compared("Less"),
    "lesserOrEqual": compared("LessOrEqual"),
    "notEqual": compared("Equal", negated=True),
    "logicalAnd": logical("And"),
    "logicalNot": logical("Not"),
    "logicalOr": logical("Or"),
    "logicalXor": logical("Xor"),
    "reduceProduct": reduced("ReduceProd"),
    **{
        f"reduce{name}": reduced(f"Reduce{name}")
        for name in ("L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min", "Sum", "SumSquare")
    },
    "argMax": found_at("ArgMax"),
    "argMin": found_at("ArgMin"),
    "averagePool2d": pooled("AveragePool"),
    "l2Pool2d": pooled("LpPool", p=2),
    "maxPool2d": pooled("MaxPool"),
    "gather": gather("Gather"),
    "gatherElements": gather("GatherElements"),
    "gatherND": gather("GatherND"),
    "scatterElements": scatter("ScatterElements"),
    "scatterND": scatter("ScatterND"),
    "batchNormalization": batch_normalization,
    "cast": lambda m, args, options: m.cast(args[0], args[1]),
    "clamp": clamp,
    "concat": lambda m, args, options: m.node("Concat", *args[0], axis=args[1]),
    "conv2d": conv2d,
    "convTranspose2d": conv_transpose2d,
    "cumulativeSum": cumulative_sum,
    "dequantizeLinear": dequantize_linear,
    "expand": lambda m, args, options: m.node("Expand", args[0], m.constant(args[1])),
    "gemm": gemm,
    "gru": gru,
    "gruCell": gru_cell,
    "instanceNormalization": instance_normalization,
    "layerNormalization": layer_normalization,
    "linear": linear,
    "lstm": lstm,
    "lstmCell": lstm_cell,
    "pad": pad,
    "quantizeLinear": quantize_linear,
    "resample2d": resample2d,
    "reshape": lambda m, args, options: m.reshape(args[0], args[1]),
    "reverse": reverse,
    "slice": slice_,
    "softmax": lambda m, args, options: m.node("Softmax", args[0], axis=args[1] if len(args) > 1 else 1),
    "split": split,
    "tile": lambda m, args, options: m.node("Tile", args[0], m.constant(args[1])),
    "transpose": transpose,
    "triangular": triangular,
    "where": lambda m, args, options: m.node("Where", m.cast(args[0], BOOL), *args[1:]),
}
"""By WebNN's name."""
