"""A table of operators of TFLite: each row is one model, in real numbers or in quanta."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from tflite_models import Operand, Result, Row
from tflite_operands import ACTIVATIONS, RNG, SAME, VALID, b, c, conv, n, of, w, x
from tflite_quantised_rows import quantised_rows


def rows() -> Iterator[Row]:
    yield from _elements()
    yield from _images()
    yield from _products()
    yield from _movement()
    yield from _others()
    yield from _recurrent()
    yield from quantised_rows()


def _elements() -> Iterator[Row]:
    for kind in (
        "ABS",
        "CEIL",
        "COS",
        "ELU",
        "EXP",
        "FLOOR",
        "HARD_SWISH",
        "LOGISTIC",
        "NEG",
        "RELU",
        "RELU6",
        "SIN",
        "TANH",
    ):
        yield Row(kind, "f32", (x(2, 5, 3, 7),))
    for kind in ("RELU_N1_TO_1", "RELU_0_TO_1", "ROUND", "SQUARE", "SIGN"):
        yield Row(kind, "f32", (x(3, 7),))
    yield Row("ROUND", "halves", (Operand(np.arange(-4, 4, 0.5, np.float32)),))
    for kind in ("LOG", "SQRT", "RSQRT"):
        yield Row(kind, "f32", (x(3, 7, low=0.1),))
    for kind in ("ADD", "SUB", "MUL", "DIV"):
        for name, function in ACTIVATIONS.items():
            if name in ("none", "relu", "relu6"):
                fields = {"fusedActivationFunction": function}
                yield Row(kind, f"f32-{name}", (x(2, 3, 5, 4), x(2, 3, 5, 4, low=0.5)), fields)
        yield Row(kind, "f32-channels", (x(2, 3, 5, 4), Operand(w(4).data + 1, True)))
        yield Row(kind, "f32-wider", (x(4), x(3, 1, 4, low=1)))
    yield Row("ADD", "i32", (n(3, 4), n(4)))
    yield Row("MUL", "i64", (n(3, 4, dtype="int64"), n(4, dtype="int64")), results=(Result("int64"),))
    for kind in ("MAXIMUM", "MINIMUM"):
        yield Row(kind, "f32", (x(3, 1, 5), x(4, 1)), options="MaximumMinimumOptions")
    yield Row("POW", "f32", (x(3, 4, low=0.1), x(4, low=-2, high=2)))
    yield Row("SQUARED_DIFFERENCE", "f32", (x(2, 3, 4), x(4)))
    yield Row("FLOOR_DIV", "f32", (x(3, 4), x(4, low=0.3)))
    divisors = Operand(np.array([-3, 2, 5, -7], np.int32))
    yield Row("FLOOR_DIV", "i32", (n(6, 4, low=-50, high=50), divisors), results=(Result("int32"),))
    yield Row("FLOOR_MOD", "i32", (n(6, 4, low=-50, high=50), divisors), results=(Result("int32"),))
    yield Row("FLOOR_MOD", "f32", (x(6, 4), Operand(np.array([-1.5, 0.7, 2, -0.4], np.float32))))
    for kind in ("EQUAL", "NOT_EQUAL", "GREATER", "GREATER_EQUAL", "LESS", "LESS_EQUAL"):
        yield Row(kind, "i32", (n(3, 4, low=-2, high=2), n(4, low=-2, high=2)), results=(Result("bool"),))
    for kind in ("LOGICAL_AND", "LOGICAL_OR"):
        yield Row(kind, "bool", (b(3, 4), b(4)), results=(Result("bool"),))
    yield Row("LOGICAL_NOT", "bool", (b(3, 4),), results=(Result("bool"),))
    yield Row("SOFTMAX", "rank-2", (x(3, 9),), {"beta": 1.0})
    yield Row("SOFTMAX", "image-beta", (x(2, 3, 5, 4),), {"beta": 0.7})
    yield Row("LOG_SOFTMAX", "f32", (x(3, 9),))
    yield Row("GELU", "exact", (x(3, 7),), {"approximate": False})
    yield Row("GELU", "tanh", (x(3, 7),), {"approximate": True}, tolerance=1e-4)
    yield Row("LEAKY_RELU", "f32", (x(2, 3, 5, 4),), {"alpha": 0.13})
    yield Row("PRELU", "f32", (x(2, 3, 5, 4), w(1, 1, 4)))
    corners = np.array([-2, 0, 3, -1], np.float32), np.array([0, -1, 2, 5], np.float32)
    yield Row(
        "ATAN2",
        "f32",
        (Operand(np.concatenate([corners[0], *x(3, 5).data])), Operand(np.concatenate([corners[1], *x(3, 5).data]))),
    )
    inf = np.inf
    heights = of([0, -0.0, 0, -0.0, 1, inf, -inf, inf, inf, -2])
    yield Row("ATAN2", "signs", (heights, of([-1, -1, -0.0, -0.0, -0.0, inf, inf, -inf, 3, inf])))
    for dtype in ("int8", "uint8", "int32", "uint32"):
        numbers = of([100, 200, 7, 255, 5, 9], "uint8").data.astype(dtype)
        row = (Operand(numbers), of([8, 9, 31, 32, 40, 63], dtype))
        yield Row("RIGHT_SHIFT", f"{dtype}-wide", row, results=(Result(dtype),))
    counts = of([-1, 1, 31, 40], "int32")
    yield Row("RIGHT_SHIFT", "negative", (of([-100, 100, -7, -1], "int32"), counts), results=(Result("int32"),))
    for dtype in ("int8", "uint8", "int16", "int32", "uint32"):
        low = 0 if dtype.startswith("u") else -100
        numbers = n(3, 4, dtype=dtype, low=low, high=100)
        shifts = Operand(RNG.integers(0, 7, (3, 4)).astype(dtype))
        yield Row("RIGHT_SHIFT", dtype, (numbers, shifts), results=(Result(dtype),))
        yield Row("BITWISE_XOR", dtype, (numbers, shifts), results=(Result(dtype),))
    yield Row("BUCKETIZE", "f32", (x(3, 7),), {"boundaries": [-1.5, 0.0, 0.5, 2.0]}, results=(Result("int32"),))
    yield Row("BUCKETIZE", "i32", (n(3, 7),), {"boundaries": [-3.0, 0.0, 4.0]}, results=(Result("int32"),))
    ends, steps = of([np.nan, np.inf, -np.inf, 0]), {"boundaries": [-1.0, 0.0, 2.0]}
    yield Row("BUCKETIZE", "ends", (ends,), steps, results=(Result("int32"),))
    yield Row(
        "BUCKETIZE", "f64", (of([1 - 1e-12, 1, 3], "float64"),), {"boundaries": [1.0]}, results=(Result("int32"),)
    )
    yield Row("ADD_N", "f32", (x(3, 4), x(3, 4), x(3, 4)))
    kinds = {"inDataType": 0, "outDataType": 2}
    yield Row("CAST", "f32-i32", (x(3, 4),), kinds, results=(Result("int32"),))
    yield Row("SELECT", "vector", (b(3), x(3, 4), x(3, 4)))
    yield Row("SELECT_V2", "broadcast", (b(3, 1), x(3, 4), x(4)))
    yield Row("FAKE_QUANT", "8-bits", (x(3, 40, low=-7, high=7),), {"min": -5.0, "max": 4.1, "numBits": 8})


def _images() -> Iterator[Row]:
    for padding, name in ((SAME, "same"), (VALID, "valid")):
        for kind in ("AVERAGE_POOL_2D", "MAX_POOL_2D", "L2_POOL_2D"):
            fields = {"padding": padding, "strideH": 2, "strideW": 3, "filterHeight": 3, "filterWidth": 2}
            yield Row(kind, name, (x(2, 9, 11, 5),), fields | {"fusedActivationFunction": 1}, "Pool2DOptions")
    for kind in ("RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR"):
        for corners, half in ((False, False), (True, False), (False, True)):
            fields = {"alignCorners": corners, "halfPixelCenters": half}
            for size in ((7, 13), (3, 2)):
                case = f"{size[0]}x{size[1]}-{'corners' if corners else 'half' if half else 'asymmetric'}"
                yield Row(kind, case, (x(2, 4, 5, 3), c(size, "int32")), fields, version=3)
    yield Row("SPACE_TO_DEPTH", "f32", (x(2, 4, 6, 3),), {"blockSize": 2})
    yield Row("DEPTH_TO_SPACE", "f32", (x(2, 3, 5, 12),), {"blockSize": 2})
    fields = {"radius": 2, "bias": 1.5, "alpha": 0.3, "beta": 0.75}
    yield Row("LOCAL_RESPONSE_NORMALIZATION", "f32", (x(2, 3, 4, 9),), fields)


def _products() -> Iterator[Row]:
    for padding, name in ((SAME, "same"), (VALID, "valid")):
        yield Row("CONV_2D", name, (x(2, 9, 8, 3), w(5, 3, 2, 3), w(5)), conv(padding, 2, 1, 3), "Conv2DOptions")
        yield Row(
            "CONV_2D", f"{name}-dilated", (x(1, 9, 8, 3), w(5, 3, 3, 3), w(5)), conv(padding, 1, 2), "Conv2DOptions"
        )
        fields = conv(padding, 2, 1, 1) | {"depthMultiplier": 2}
        operands = x(2, 9, 8, 3), w(1, 3, 3, 6), w(6)
        yield Row("DEPTHWISE_CONV_2D", name, operands, fields, "DepthwiseConv2DOptions")
        for stride in (2, 3):
            fields = {"padding": padding, "strideH": stride, "strideW": stride}
            shape = c((2, *_transposed((4, 5), (3, 2), stride, padding), 6), "int32")
            yield Row("TRANSPOSE_CONV", f"{name}-{stride}", (shape, w(6, 3, 2, 3), x(2, 4, 5, 3)), fields)
    yield Row("CONV_2D", "groups", (x(1, 5, 5, 6), w(4, 3, 3, 3), w(4)), conv(SAME), "Conv2DOptions", version=6)
    fields = {"padding": SAME, "strideD": 1, "strideH": 2, "strideW": 1}
    fields |= {"dilationDFactor": 1, "dilationHFactor": 1, "dilationWFactor": 1}
    yield Row("CONV_3D", "same", (x(1, 4, 5, 6, 3), w(2, 3, 3, 3, 4), w(4)), fields)
    for case, padding, size in (("same", SAME, (6, 8, 7)), ("valid", VALID, (7, 9, 9))):
        own = fields | {"padding": padding, "strideD": 2, "strideH": 2, "strideW": 1}
        operands = c((1, *size, 4), "int32"), w(3, 3, 3, 4, 2), x(1, 3, 4, 7, 2), w(4)
        yield Row("CONV_3D_TRANSPOSE", case, operands, own, "Conv3DOptions")
    yield Row("FULLY_CONNECTED", "bias", (x(3, 11), w(7, 11), w(7)), {"fusedActivationFunction": 1})
    yield Row("FULLY_CONNECTED", "flat", (x(2, 3, 4), w(7, 12)))
    yield Row("FULLY_CONNECTED", "kept", (x(2, 3, 4), w(7, 4), w(7)), {"keepNumDims": True}, version=5)
    for swapped in ((False, False), (True, False), (False, True)):
        a, d = ((2, 5, 3) if swapped[0] else (2, 3, 5)), ((2, 4, 5) if swapped[1] else (2, 5, 4))
        fields = {"adjX": swapped[0], "adjY": swapped[1]}
        yield Row("BATCH_MATMUL", f"{swapped[0]:d}{swapped[1]:d}", (x(*a), x(*d)), fields, "BatchMatMulOptions")


def _transposed(size: Sequence[int], kernel: Sequence[int], stride: int, padding: int) -> list[int]:
    if padding == SAME:
        return [s * stride for s in size]
    return [(s - 1) * stride + k for s, k in zip(size, kernel, strict=True)]


def _movement() -> Iterator[Row]:
    yield Row("RESHAPE", "constant", (x(2, 3, 4), c((4, -1), "int32")))
    yield Row("RESHAPE", "options", (x(2, 3, 4),), {"newShape": [6, 4]})
    yield Row("SQUEEZE", "some", (x(1, 3, 1, 4),), {"squeezeDims": [2]})
    yield Row("SQUEEZE", "all", (x(1, 3, 1, 4),), {"squeezeDims": []})
    yield Row("EXPAND_DIMS", "f32", (x(3, 4), c(1, "int32")))
    yield Row("TRANSPOSE", "f32", (x(2, 3, 4, 5), c((0, 3, 1, 2), "int32")))
    yield Row("CONCATENATION", "channels", (x(2, 3, 4), x(2, 3, 2), w(2, 3, 1)), {"axis": -1})
    yield Row("SPLIT", "f32", (c(1, "int32"), x(2, 6, 3)), {"numSplits": 3}, results=(Result(),) * 3)
    sizes = c((2, 3, 1), "int32")
    yield Row("SPLIT_V", "f32", (x(2, 6, 3), sizes, c(1, "int32")), {"numSplits": 3}, results=(Result(),) * 3)
    yield Row("PACK", "f32", (x(2, 3), x(2, 3)), {"axis": 1, "valuesCount": 2})
    yield Row("UNPACK", "f32", (x(2, 3, 4),), {"axis": 1, "num": 3}, results=(Result(),) * 3)
    operands = x(4, 5, 6), c((1, 0, 2), "int32"), c((2, -1, 3), "int32")
    yield Row("SLICE", "f32", operands, results=(Result(shape=(2, 5, 3)),))
    begin, end, strides = c((1, 0, -1), "int32"), c((4, 5, 0), "int32"), c((1, 2, -2), "int32")
    yield Row("STRIDED_SLICE", "steps", (x(4, 5, 6), begin, end, strides))
    fields = {"beginMask": 1, "endMask": 2, "shrinkAxisMask": 4}
    yield Row(
        "STRIDED_SLICE",
        "masks",
        (x(4, 5, 6), c((3, 1, 2), "int32"), c((3, 2, 0), "int32"), c((1, 1, 1), "int32")),
        fields,
    )
    fields = {"ellipsisMask": 1, "newAxisMask": 2}
    yield Row(
        "STRIDED_SLICE",
        "new",
        (x(4, 5, 6), c((0, 0, 1), "int32"), c((0, 0, 4), "int32"), c((1, 1, 1), "int32")),
        fields,
    )
    yield Row("GATHER", "f32", (x(4, 5, 6), n(2, 3, low=0, high=4)), {"axis": 1, "batchDims": 0})
    yield Row("GATHER", "batch", (x(2, 5, 6), n(2, 3, low=0, high=4)), {"axis": 1, "batchDims": 1}, version=4)
    yield Row("GATHER_ND", "f32", (x(4, 5, 6), n(3, 2, low=0, high=3)))
    yield Row("EMBEDDING_LOOKUP", "f32", (n(3, low=0, high=5), w(6, 4)))
    yield Row("TILE", "f32", (x(2, 3), c((2, 3), "int32")))
    yield Row("PAD", "f32", (x(2, 3, 4), c(((0, 1), (2, 0), (1, 1)), "int32")))
    yield Row("PADV2", "f32", (x(2, 3), c(((0, 1), (2, 0)), "int32"), c(1.5)))
    for mode, name in ((0, "reflect"), (1, "symmetric")):
        yield Row("MIRROR_PAD", name, (x(3, 4), c(((1, 2), (3, 0)), "int32")), {"mode": mode})
    yield Row("REVERSE_V2", "f32", (x(2, 3, 4), c((1,), "int32")))
    lengths = Operand(np.array([2, 4, 1], np.int32))
    yield Row("REVERSE_SEQUENCE", "f32", (x(3, 5, 2), lengths), {"seqDim": 1, "batchDim": 0})
    yield Row("BROADCAST_TO", "f32", (x(3, 1), c((2, 3, 4), "int32")), version=2)
    yield Row("FILL", "f32", (c((2, 3), "int32"), Operand(np.float32(2.5))))
    yield Row("ZEROS_LIKE", "f32", (x(2, 3),))
    yield Row("RANK", "i32", (x(2, 3),), results=(Result("int32", shape=()),))
    yield Row("RANGE", "i32", (c(2, "int32"), c(11, "int32"), c(3, "int32")), results=(Result("int32"),))
    yield Row("RANGE", "f32", (c(2.0), c(-1.0), c(-0.5)))
    yield Row("WHERE", "bool", (b(4, 3),), results=(Result("int64"),))
    yield Row("SHAPE", "i32", (x(2, 3),), {"outType": 2}, results=(Result("int32"),))
    yield Row("SPACE_TO_BATCH_ND", "f32", (x(2, 5, 6, 3), c((2, 3), "int32"), c(((1, 0), (0, 3)), "int32")))
    yield Row("BATCH_TO_SPACE_ND", "f32", (x(12, 3, 2, 4), c((2, 3), "int32"), c(((1, 0), (0, 2)), "int32")))
    starts = Operand(np.array([1, 7], np.int32))
    yield Row("DYNAMIC_UPDATE_SLICE", "f32", (x(4, 6), x(2, 3), starts))


def _others() -> Iterator[Row]:
    for keep in (False, True):
        for kind in ("MEAN", "SUM", "REDUCE_MAX", "REDUCE_MIN", "REDUCE_PROD"):
            case = "kept" if keep else "f32"
            yield Row(
                kind, case, (x(2, 3, 4, 5), c((1, -2), "int32")), {"keepDims": keep}, "ReducerOptions", tolerance=1e-4
            )
    for kind in ("REDUCE_ANY", "REDUCE_ALL"):
        yield Row(kind, "bool", (b(4, 3), c((1,), "int32")), {"keepDims": False}, "ReducerOptions", (Result("bool"),))
    for kind in ("ARG_MAX", "ARG_MIN"):
        yield Row(kind, "i32", (x(3, 7, 2), c(1, "int32")), {"outputType": 2}, results=(Result("int32"),))
    yield Row("CUMSUM", "exclusive", (x(3, 7), c(1, "int32")), {"exclusive": True, "reverse": False})
    yield Row("CUMSUM", "reverse", (x(3, 7), c(0, "int32")), {"exclusive": False, "reverse": True})
    yield Row("L2_NORMALIZATION", "f32", (x(3, 7),), options="L2NormOptions")
    yield Row("TOPK_V2", "f32", (x(3, 9), c(4, "int32")), results=(Result(), Result("int32")))
    corner, size = (RNG.uniform(low, low + 3, (20, 2)).astype(np.float32) for low in (0, 1))
    boxes, scores = Operand(np.concatenate([corner, corner + size], axis=1)), x(20, low=0, high=1)
    places, count = Result("int32"), Result("int32")
    for most in (4, 30):
        limits = c(most, "int32"), c(0.3), c(0.2)
        yield Row("NON_MAX_SUPPRESSION_V4", f"{most}", (boxes, scores, *limits), results=(places, count))
        whole = (boxes, scores, *limits, c(0.0))
        yield Row("NON_MAX_SUPPRESSION_V5", f"{most}", whole, results=(places, Result(), count))
    yield from _segments()
    fields = {"axis": -1}
    indices = Operand(np.array([[0, 4, -1], [2, 5, 1]], np.int32))
    yield Row("ONE_HOT", "f32", (indices, c(5, "int32"), c(2.0), c(-1.0)), fields)
    places = Operand(np.array([[1], [3], [1]], np.int32))
    yield Row("SCATTER_ND", "adds", (places, x(3, 4), c((5, 4), "int32")))


def _segments() -> Iterator[Row]:
    sorted_numbers = c((0, 0, 1, 2, 2), "int32")
    yield Row("SEGMENT_SUM", "f32", (x(5, 3), sorted_numbers))
    yield Row("SEGMENT_SUM", "i32", (n(5), sorted_numbers), results=(Result("int32"),))
    for name in ("SUM", "PROD", "MAX", "MIN"):
        kind, numbers = f"UNSORTED_SEGMENT_{name}", Operand(np.array([2, 0, -1, 2, 4], np.int32))
        yield Row(kind, "f32", (x(5, 3), numbers, c(6, "int32")))
        yield Row(kind, "i32", (n(5, 2), numbers, c(6, "int32")), results=(Result("int32"),))
    yield Row("MATRIX_DIAG", "f32", (x(2, 4),))
    yield Row("MATRIX_DIAG", "i32", (n(3),), results=(Result("int32"),))
    for shape in ((2, 3, 3), (2, 3, 5), (4, 2)):
        diagonal = x(*shape[:-2], min(shape[-2:]))
        yield Row("MATRIX_SET_DIAG", "x".join(map(str, shape)), (x(*shape), diagonal))
    values = Operand(np.array([5, -2, 5, 7, -2, 0], np.int32))
    yield Row("UNIQUE", "i32", (values,), {"idxOutType": 2}, results=(Result("int32"), Result("int32")))
    for case, places, count in (
        ("matrix", [[0, 1], [2, 3]], 2),
        ("one-value", [[0, 1], [2, 3]], 0),
        ("vector", [1, 4], 2),
        ("scalar", 3, 0),
    ):
        size = c((3, 4) if np.ndim(places) == 2 else (6,), "int32")
        value = x(count) if count else c(1.5)
        yield Row("SPARSE_TO_DENSE", case, (Operand(np.array(places, np.int32)), size, value, c(-0.5)))
    shapes = Operand(np.array([4, 1, 5], np.int32)), Operand(np.array([3, 1], np.int32))
    yield Row("BROADCAST_ARGS", "ranks", shapes, results=(Result("int32"),))
    empty = of([1, 0, 3], "int64"), of([0, 1, 1], "int64")
    yield Row("BROADCAST_ARGS", "empty", empty, results=(Result("int64"),))


def _zeros(*shape: int) -> Operand:
    """A variable."""
    return Operand(np.zeros(shape, np.float32), is_variable=True)


def _recurrent() -> Iterator[Row]:
    units, features = 5, 3

    def cells(peepholes: bool = False, coupled: bool = False) -> list[Operand | None]:
        gates: list[Operand | None] = [w(units, features) for _ in range(4)] + [w(units, units) for _ in range(4)]
        whole = [*gates, *([w(units) for _ in range(3)] if peepholes else [None] * 3), *(w(units) for _ in range(4))]
        return [None if coupled and i in (0, 4, 8, 11) else o for i, o in enumerate(whole)]

    fields = {"fusedActivationFunction": ACTIVATIONS["tanh"]}
    for major in (False, True):
        for peepholes in (False, True):
            case = f"{'time' if major else 'batch'}{'-peepholes' if peepholes else ''}"
            states = _zeros(2, units), _zeros(2, units), None, None, None, None
            operands = (x(*((7, 2) if major else (2, 7)), features), *cells(peepholes), None, None, *states)
            yield Row("UNIDIRECTIONAL_SEQUENCE_LSTM", case, operands, fields | {"timeMajor": major})
    for peepholes in (False, True):
        states = _zeros(2, units), _zeros(2, units), None, None, None, None
        operands = (x(2, 7, features), *cells(peepholes, coupled=True), None, None, *states)
        case = f"coupled{'-peepholes' if peepholes else ''}"
        yield Row("UNIDIRECTIONAL_SEQUENCE_LSTM", case, operands, fields | {"timeMajor": False})
    states = tuple(_zeros(2, units) for _ in range(4))
    both = (x(2, 7, features), *cells(), None, None, *cells(), None, None, *states, *([None] * 9))
    own = fields | {"timeMajor": False, "mergeOutputs": False}
    yield Row("BIDIRECTIONAL_SEQUENCE_LSTM", "apart", both, own, results=(Result(), Result()))
    step = x(2, features), x(2, units), w(4 * units, features + units), w(4 * units), x(2, units)
    results = (Result(shape=(2, units)), Result(shape=(2, units)), Result(), Result())
    yield Row("RNN", "step", (x(2, features), w(units, features), w(units, units), w(units), _zeros(2, units)), fields)
    for rank, bias in ((1, w(6)), (2, w(3)), (3, None)):
        operands = x(2, features), w(6, features), w(6, 4), bias, _zeros(2, 24)
        yield Row("SVDF", f"rank-{rank}", operands, {"rank": rank, "fusedActivationFunction": 1})
    yield Row("LSTM", "step", step, fields | {"kernelType": 1}, "LSTMOptions", results)
    for major in (False, True):
        operands = x(*((7, 2) if major else (2, 7)), 3), w(5, 3), w(5, 5), w(5), _zeros(2, 5)
        own = fields | {"timeMajor": major}
        yield Row("UNIDIRECTIONAL_SEQUENCE_RNN", f"{major:d}", operands, own, "SequenceRNNOptions")


ROWS: Sequence[Row] = tuple(rows())
