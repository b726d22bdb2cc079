"""A table of operators of TensorFlow: each row is one graph of a node."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from tensorflow_graphs import Operand, Row, Type, random_of

RNG = random_of("rows")


def x(*shape: int, low: float = -3, high: float = 3) -> Operand:
    """An input of real numbers."""
    return Operand(RNG.uniform(low, high, shape).astype(np.float32))


def f(*shape: int) -> Operand:
    """An input whose first dimension is free."""
    return Operand(RNG.uniform(-3, 3, shape).astype(np.float32), free=True)


def n(*shape: int, dtype: str = "int32", low: int = -9, high: int = 9) -> Operand:
    """An input of integers."""
    return Operand(RNG.integers(low, high, shape).astype(dtype))


def b(*shape: int) -> Operand:
    return Operand(RNG.integers(0, 2, shape).astype(bool))


def c(data: Any, dtype: str = "int32") -> Operand:
    """A constant."""
    return Operand(np.asarray(data, dtype), is_constant=True)


def w(*shape: int, low: float = -0.5, high: float = 0.5) -> Operand:
    """Constant real numbers."""
    return Operand(RNG.uniform(low, high, shape).astype(np.float32), is_constant=True)


def of(data: Any, dtype: str = "float32") -> Operand:
    """An input of these elements."""
    return Operand(np.asarray(data, dtype))


def _unary() -> Iterator[Row]:
    for op in (
        *("Abs", "Asinh", "Atan", "Ceil", "Cos", "Cosh", "Elu", "Erf", "Erfc", "Exp", "Floor", "Neg", "Relu", "Relu6"),
        *("Rint", "Round", "Selu", "Sigmoid", "Sign", "Sin", "Sinh", "Softplus", "Softsign", "Square", "Tanh", "Tan"),
    ):
        yield Row(op.lower(), op, [x(2, 3, 5)], tolerance=2e-5)
    for op in ("Log", "Sqrt", "Rsqrt", "Reciprocal", "Inv"):
        yield Row(op.lower(), op, [x(2, 7, low=0.1)])
    for op in ("Acos", "Asin", "Atanh"):
        yield Row(op.lower(), op, [x(2, 7, low=-0.9, high=0.9)])
    yield Row("acosh", "Acosh", [x(2, 7, low=1.1)])
    small = [1e-7, -1e-7, 1e-4, -3e-3, 0, 0.5, -0.5, 0.9, 3, 20]
    yield Row("expm1", "Expm1", [of([*small, -8])], tolerance=1e-6)
    yield Row("log1p", "Log1p", [of([*small, 1e6])], tolerance=1e-6)
    special = of([np.nan, np.inf, -np.inf, 1.5, 0])
    for op in ("IsNan", "IsInf", "IsFinite"):
        yield Row(op.lower(), op, [special])
    yield Row("round_half", "Round", [of([0.5, 1.5, 2.5, -0.5, -1.5])])
    yield Row("invert", "Invert", [n(9)])
    yield Row("logical_not", "LogicalNot", [b(7)])
    yield Row("leaky_relu", "LeakyRelu", [x(3, 4)], {"alpha": 0.3})
    yield Row("softmax", "Softmax", [x(3, 7)])
    yield Row("log_softmax", "LogSoftmax", [x(3, 7)])
    for to in ("int32", "bool", "uint8", "float64", "int64"):
        yield Row(f"cast_to_{to}", "Cast", [x(4, 5, low=0, high=9)], {"DstT": Type(to)})
    yield Row("cast_to_real", "Cast", [n(4, 5)], {"DstT": Type("float32")})
    for op in ("Identity", "StopGradient", "PreventGradient", "Snapshot", "ZerosLike", "OnesLike"):
        yield Row(op.lower(), op, [x(2, 3)])
    yield Row("identity_n", "IdentityN", [x(2, 3), n(4)], {"T": [Type("float32"), Type("int32")]}, (0, 1))
    yield Row("l2_loss", "L2Loss", [x(3, 4)])
    yield Row("check_numerics", "CheckNumerics", [x(3)], {"message": "bad"})


def _binary() -> Iterator[Row]:
    for op in ("Add", "AddV2", "Sub", "Mul", "Div", "RealDiv", "Maximum", "Minimum", "SquaredDifference"):
        yield Row(op.lower(), op, [x(2, 3, 4), x(3, 1)])
    yield Row("pow", "Pow", [x(3, 4, low=0.1), x(4)])
    for op in ("Equal", "NotEqual", "Greater", "GreaterEqual", "Less", "LessEqual"):
        yield Row(op.lower(), op, [n(4, 5, low=0, high=3), n(5, low=0, high=3)])
    for op in ("LogicalAnd", "LogicalOr"):
        yield Row(op.lower(), op, [b(3, 4), b(4)])
    for op in ("BitwiseAnd", "BitwiseOr", "BitwiseXor"):
        yield Row(op.lower(), op, [n(3, 4), n(4)])
    shifts = n(8, low=0, high=7)
    yield Row("left_shift", "LeftShift", [n(8), shifts])
    yield Row("left_shift_uint8", "LeftShift", [n(8, dtype="uint8", low=0), n(8, dtype="uint8", low=0, high=7)])
    yield Row("right_shift", "RightShift", [n(8, low=-900, high=900), shifts])
    yield Row("right_shift_uint8", "RightShift", [n(8, dtype="uint8", low=0), n(8, dtype="uint8", low=0, high=7)])
    divisors = of([2, 3, -4, 5, -3, 7, 2, -2], "int32")
    for op in ("FloorDiv", "FloorMod", "TruncateDiv", "TruncateMod", "Mod", "Div"):
        yield Row(f"{op.lower()}_int", op, [n(8, low=-30, high=30), divisors])
    for op in ("FloorDiv", "FloorMod", "Mod"):
        yield Row(f"{op.lower()}_real", op, [x(8, low=-9, high=9), of([2, 3, -4, 1.5, -3, 0.7, 2, -2])], tolerance=2e-5)
    zeros = of([0, 1, 0, -2])
    yield Row("div_no_nan", "DivNoNan", [of([1, 2, 0, 4]), zeros])
    yield Row("mul_no_nan", "MulNoNan", [of([np.inf, 2, np.nan, 4]), zeros])
    yield Row("xdivy", "Xdivy", [zeros, of([0, 2, 3, 4])])
    yield Row("xlogy", "Xlogy", [zeros, of([0, 2, 3, 4])])
    yield Row("atan2", "Atan2", [of([1, -1, 1, -1, 0, 0, 2, -2, 0.3]), of([1, 1, -1, -1, 2, -2, 0, 0, 0.1])])
    yield Row("approximate_equal", "ApproximateEqual", [of([1, 2, 3]), of([1.0001, 2, 3.1])], {"tolerance": 0.01})
    yield Row("add_n", "AddN", [x(2, 3), x(2, 3), x(2, 3)], {"N": 3})
    yield Row("bias_add", "BiasAdd", [x(2, 3, 4), x(4)])
    yield Row("bias_add_first", "BiasAdd", [x(2, 3, 4, 5), x(3)], {"data_format": "NCHW"})
    yield Row("select", "Select", [b(3, 4), x(3, 4), x(3, 4)])
    yield Row("select_rows", "Select", [b(3), x(3, 4), x(3, 4)])
    yield Row("select_v2", "SelectV2", [b(4), x(3, 4), x(3, 1)])
    yield Row("clip_by_value", "ClipByValue", [x(3, 4), c(-1, "float32"), c(1.5, "float32")])


def _reductions() -> Iterator[Row]:
    for op in ("Sum", "Mean", "Max", "Min", "Prod", "EuclideanNorm"):
        yield Row(f"{op.lower()}_axes", op, [x(2, 3, 4), c([0, -1])])
        yield Row(f"{op.lower()}_keep", op, [x(2, 3, 4), c(1)], {"keep_dims": True})
    yield Row("sum_none", "Sum", [x(2, 3), c([])])
    yield Row("all", "All", [b(3, 2), c([1])])
    yield Row("any", "Any", [b(3, 2), c([0])], {"keep_dims": True})
    yield Row("argmax", "ArgMax", [x(3, 5), c(-1)])
    yield Row("argmin_int32", "ArgMin", [x(3, 5), c(0)], {"output_type": Type("int32")})
    yield Row("cumsum", "Cumsum", [x(3, 5), c(1)])
    yield Row("cumsum_reverse", "Cumsum", [x(3, 5), c(-2)], {"exclusive": True, "reverse": True})


def _products() -> Iterator[Row]:
    image, same = x(2, 9, 8, 4), {"padding": "SAME"}
    yield Row("conv_same", "Conv2D", [image, w(3, 3, 4, 6)], {"strides": [1, 2, 2, 1], **same})
    yield Row("conv_free", "Conv2D", [f(2, 9, 8, 4), w(3, 3, 4, 6)], {"strides": [1, 1, 1, 1], **same})
    valid = {"strides": [1, 1, 1, 1], "padding": "VALID"}
    yield Row("conv_dilated", "Conv2D", [image, w(3, 2, 4, 5)], {**valid, "dilations": [1, 2, 3, 1]})
    yield Row("conv_groups", "Conv2D", [image, w(3, 3, 2, 6)], valid)
    explicit = {"padding": "EXPLICIT", "explicit_paddings": [0, 0, 1, 2, 0, 3, 0, 0]}
    yield Row("conv_explicit", "Conv2D", [image, w(3, 3, 4, 6)], {"strides": [1, 2, 1, 1], **explicit})
    yield Row("conv_computed_weights", "Conv2D", [image, x(3, 3, 4, 6)], valid)
    yield Row("depthwise", "DepthwiseConv2dNative", [image, w(3, 3, 4, 2)], {"strides": [1, 2, 2, 1], **same})
    yield Row(
        "depthwise_dilated", "DepthwiseConv2dNative", [image, w(3, 3, 4, 1)], {**valid, "dilations": [1, 2, 2, 1]}
    )
    yield Row("depthwise_computed_weights", "DepthwiseConv2dNative", [image, x(2, 3, 4, 2)], valid)
    for name, size, padding in (
        ("same", [2, 17, 16, 3], "SAME"),
        ("same_even", [2, 18, 15, 3], "SAME"),
        ("valid", [2, 19, 18, 3], "VALID"),
    ):
        operands = [c(size), w(3, 4, 3, 4), x(2, 9, 8, 4)]
        yield Row(f"transposed_{name}", "Conv2DBackpropInput", operands, {"strides": [1, 2, 2, 1], "padding": padding})
    strides = {"strides": [1, 1, 2, 1, 1]}
    yield Row("conv3d", "Conv3D", [x(1, 5, 6, 7, 2), w(2, 3, 3, 2, 3)], {**strides, "padding": "SAME"})
    operands = [c([1, 4, 12, 5, 2]), w(2, 3, 3, 2, 3), x(1, 4, 6, 5, 3)]
    yield Row("transposed3d", "Conv3DBackpropInputV2", operands, {**strides, "padding": "SAME"})
    for a in (False, True):
        for t in (False, True):
            shapes = (5, 3) if a else (3, 5), (4, 5) if t else (5, 4)
            yield Row(
                f"matmul_{a:d}{t:d}", "MatMul", [x(*shapes[0]), x(*shapes[1])], {"transpose_a": a, "transpose_b": t}
            )
    yield Row("matmul_int", "MatMul", [n(5, 3), n(5, 4)], {"transpose_a": True})
    yield Row("matmul_weights", "MatMul", [f(3, 5), w(5, 4)])
    yield Row("batch_matmul", "BatchMatMulV2", [x(2, 1, 3, 5), x(4, 5, 2)])
    yield Row("batch_matmul_adjoint", "BatchMatMulV2", [x(2, 5, 3), x(2, 4, 5)], {"adj_x": True, "adj_y": True})
    yield Row("einsum", "Einsum", [x(2, 3, 5), x(5, 4, 2)], {"equation": "abc,cde->abde", "N": 2})
    yield Row("einsum_batch", "Einsum", [x(2, 3, 4, 5), x(2, 6, 4, 5)], {"equation": "bqhd,bkhd->bhqk", "N": 2})
    fused: dict[str, Any] = {**valid, "fused_ops": ["BiasAdd", "Relu"], "num_args": 1}
    yield Row("fused_conv", "_FusedConv2D", [image, w(3, 3, 4, 6), w(6)], fused)
    normed = {
        **valid,
        "fused_ops": ["FusedBatchNorm", "LeakyRelu"],
        "num_args": 4,
        "epsilon": 0.01,
        "leakyrelu_alpha": 0.1,
    }
    numbers = [w(6), w(6), w(6), w(6, low=0.1, high=1)]
    yield Row("fused_conv_normalised", "_FusedConv2D", [image, w(3, 3, 4, 6), *numbers], normed)
    yield Row(
        "fused_matmul",
        "_FusedMatMul",
        [x(3, 5), w(4, 5), w(4)],
        {"transpose_b": True, "fused_ops": ["BiasAdd", "Relu6"], "num_args": 1},
    )


def _images() -> Iterator[Row]:
    image = x(2, 9, 8, 4)
    window = {"ksize": [1, 3, 2, 1], "strides": [1, 2, 2, 1]}
    for op in ("MaxPool", "AvgPool"):
        for padding in ("SAME", "VALID"):
            yield Row(f"{op.lower()}_{padding.lower()}", op, [image], {**window, "padding": padding})
    deep = {"ksize": [1, 2, 2, 2, 1], "strides": [1, 2, 1, 2, 1], "padding": "SAME"}
    yield Row("max_pool3d", "MaxPool3D", [x(1, 5, 4, 6, 2)], deep)
    yield Row("avg_pool3d", "AvgPool3D", [x(1, 5, 4, 6, 2)], deep)
    yield Row("max_pool_v2", "MaxPoolV2", [image, c([1, 2, 2, 1]), c([1, 2, 2, 1])], {"padding": "VALID"})
    numbers = [w(4), w(4), w(4), w(4, low=0.1, high=1)]
    for op in ("FusedBatchNorm", "FusedBatchNormV3"):
        yield Row(op.lower(), op, [image, *numbers], {"is_training": False, "epsilon": 0.01})
    normed = {"is_training": False, "epsilon": 0.01, "data_format": "NCHW"}
    yield Row("fusedbatchnormv3_first", "FusedBatchNormV3", [x(2, 4, 5, 3), *numbers], normed)
    for op in ("ResizeBilinear", "ResizeNearestNeighbor", "ResizeBicubic"):
        for place in ("align_corners", "half_pixel_centers", None):
            for size in ([13, 5], [4, 16]):
                attributes = {place: True} if place else {}
                name = f"{op.lower()}_{place or 'plain'}_{size[0]}"
                # TensorFlow's cubic weights are those of 1,024 places.
                tolerance = 5e-3 if op == "ResizeBicubic" else 5e-5
                yield Row(name, op, [x(1, 7, 8, 3), c(size)], attributes, tolerance=tolerance)
    yield Row("resize_int", "ResizeBilinear", [n(1, 4, 4, 2), c([8, 8])])
    yield Row("space_to_depth", "SpaceToDepth", [x(2, 4, 6, 3)], {"block_size": 2})
    yield Row("depth_to_space", "DepthToSpace", [x(2, 3, 2, 12)], {"block_size": 2})
    yield Row("space_to_batch", "SpaceToBatchND", [x(2, 5, 6, 3), c([2, 3]), c([[1, 0], [1, 2]])])
    yield Row("batch_to_space", "BatchToSpaceND", [x(12, 3, 3, 2), c([2, 3]), c([[1, 0], [1, 2]])])
    lrn = {"depth_radius": 2, "bias": 1.5, "alpha": 0.3, "beta": 0.6}
    yield Row("lrn", "LRN", [x(2, 3, 3, 9)], lrn)
    boxes = of([[0, 0, 1, 1], [0.1, 0.2, 0.6, 0.5], [0.8, 0.9, 0.2, 0.1], [-0.2, 0.3, 1.3, 0.8]])
    for method in ("bilinear", "nearest"):
        attributes = {"method": method, "extrapolation_value": 2.5}
        operands = [x(2, 7, 9, 3), boxes, of([0, 1, 1, 0], "int32"), c([4, 5])]
        yield Row(f"crop_and_resize_{method}", "CropAndResize", operands, attributes, tolerance=2e-5)
    yield Row("crop_and_resize_one", "CropAndResize", [x(2, 7, 9, 3), boxes, of([0, 1, 1, 0], "int32"), c([1, 1])])
    quanta = {"num_bits": 8, "narrow_range": True}
    yield Row("fake_quant", "FakeQuantWithMinMaxArgs", [x(3, 40)], {"min": -1.0, "max": 2.0})
    yield Row("fake_quant_vars", "FakeQuantWithMinMaxVars", [x(3, 40), c(-2.2, "float32"), c(1.1, "float32")], quanta)
    ranges = [c([-1, -2, 0], "float32"), c([1, 0.5, 3], "float32")]
    yield Row("fake_quant_channels", "FakeQuantWithMinMaxVarsPerChannel", [x(40, 3), *ranges], {"num_bits": 4})


def _movement() -> Iterator[Row]:
    yield Row("reshape", "Reshape", [x(2, 3, 4), c([4, -1])])
    yield Row("squeeze", "Squeeze", [x(1, 3, 1, 2)])
    yield Row("squeeze_axes", "Squeeze", [x(1, 3, 1, 2)], {"squeeze_dims": [-2]})
    yield Row("expand_dims", "ExpandDims", [x(3, 2), c(-1)])
    yield Row("transpose", "Transpose", [x(2, 3, 4), c([2, 0, 1])])
    yield Row("concat_v2", "ConcatV2", [x(2, 3), x(2, 1), c(-1)], {"N": 2})
    yield Row("concat", "Concat", [c(1), x(2, 3), x(2, 1)], {"N": 2})
    yield Row("pack", "Pack", [x(2, 3), x(2, 3)], {"axis": -1, "N": 2})
    yield Row("unpack", "Unpack", [x(2, 3, 4)], {"axis": 1, "num": 3}, (0, 1, 2))
    yield Row("split", "Split", [c(-1), x(2, 6)], {"num_split": 3}, (0, 2))
    yield Row("split_v", "SplitV", [x(2, 6), c([1, -1, 3]), c(1)], {"num_split": 3}, (0, 1, 2))
    pads = c([[1, 2], [0, 3]])
    yield Row("pad", "Pad", [x(2, 3), pads])
    yield Row("pad_v2", "PadV2", [x(2, 3), pads, c(1.5, "float32")])
    yield Row("pad_computed", "Pad", [x(2, 3), c([[1, 1], [0, 2]], "int64")])
    for mode in ("REFLECT", "SYMMETRIC"):
        yield Row(f"mirror_{mode.lower()}", "MirrorPad", [x(4, 5, 2), c([[2, 3], [4, 1], [0, 0]])], {"mode": mode})
    yield Row("mirror_whole", "MirrorPad", [x(4, 3), c([[4, 4], [0, 3]])], {"mode": "SYMMETRIC"})
    yield Row("tile", "Tile", [x(2, 3), c([2, 3])])
    yield Row("reverse", "ReverseV2", [x(2, 3, 4), c([0, -1])])
    yield Row("reverse_sequence", "ReverseSequence", [x(3, 5), c([2, 5, 1], "int64")], {"seq_dim": 1, "batch_dim": 0})
    yield Row("broadcast_to", "BroadcastTo", [x(3, 1), c([2, 3, 4])])
    yield Row("fill", "Fill", [c([2, 3]), of(1.5)])
    yield Row("shape", "Shape", [x(2, 3)])
    yield Row("shape_int64", "Shape", [x(2, 3)], {"out_type": Type("int64")})
    yield Row("shape_n", "ShapeN", [x(2, 3), x(4)], {"N": 2}, (0, 1))
    yield Row("size", "Size", [x(2, 3)])
    yield Row("rank", "Rank", [x(2, 3)])
    yield Row("range", "Range", [c(2), c(11), c(3)])
    yield Row("range_real", "Range", [c(2, "float32"), c(0.1, "float32"), c(-0.5, "float32")])
    yield Row("broadcast_args", "BroadcastArgs", [c([3, 1]), c([2, 1, 4])])


def _slices() -> Iterator[Row]:
    whole = x(4, 5, 6)
    yield Row("slice", "Slice", [whole, c([1, 0, 2]), c([2, -1, 3])])

    def strided(name: str, first: list[int], last: list[int], strides: list[int], **masks: int) -> Row:
        attributes = {f"{key}_mask": value for key, value in masks.items()}
        return Row(f"strided_{name}", "StridedSlice", [whole, c(first), c(last), c(strides)], attributes)

    yield strided("plain", [0, 1, -2], [3, -1, 6], [2, 1, 1])
    yield strided("begin_end", [1, 1, 1], [2, 2, 2], [1, 1, 1], begin=5, end=3)
    yield strided("reversed", [3, 0, -1], [0, 5, 0], [-1, 1, -2], end=4)
    yield strided("reversed_whole", [0, 0], [0, 0], [-1, -1], begin=3, end=3)
    yield strided("shrink", [1, 0, -1], [2, 5, 0], [1, 2, 1], shrink_axis=5)
    yield strided("ellipsis", [0, 1], [0, 3], [1, 1], ellipsis=1)
    yield strided("ellipsis_shrink", [1, 0, 2], [2, 0, 3], [1, 1, 1], ellipsis=2, shrink_axis=5)
    yield strided("new_axis", [0, 0, 1], [0, 0, 3], [1, 1, 1], new_axis=1, begin=2, end=2)
    yield strided("new_axis_last", [0, 0], [0, 0], [1, 1], ellipsis=1, new_axis=2)
    yield strided("all", [0, 0, 0, -1], [1, 0, 0, 0], [1, 1, 1, 1], ellipsis=2, new_axis=4, shrink_axis=9)
    yield Row("gather", "GatherV2", [x(4, 5), n(2, 3, low=0, high=4), c(0)])
    yield Row("gather_axis", "GatherV2", [x(4, 5), n(3, low=0, high=5), c(-1)])
    yield Row("gather_batch", "GatherV2", [x(4, 5, 2), n(4, 3, low=0, high=5), c(1)], {"batch_dims": 1})
    yield Row("gather_v1", "Gather", [x(4, 5), n(2, low=0, high=4)])
    yield Row("gather_nd", "GatherNd", [x(4, 5, 2), of([[0, 1], [3, 4]], "int32")])
    yield Row(
        "one_hot", "OneHot", [of([0, 2, -1, 5], "int32"), c(4), c(2.0, "float32"), c(-1.0, "float32")], {"axis": -1}
    )
    yield Row("one_hot_first", "OneHot", [n(2, 3, low=0, high=4), c(4), c(1), c(0)], {"axis": 0})
    places = of([[0], [2], [0]], "int32")
    yield Row("scatter_nd", "ScatterNd", [places, x(3, 4), c([4, 4])])
    apart = of([[0], [2]], "int32")
    for op in ("TensorScatterUpdate", "TensorScatterAdd", "TensorScatterMax", "TensorScatterMin"):
        yield Row(op.lower(), op, [x(4, 3), apart, x(2, 3)])
    yield Row("where", "Where", [b(4, 5)])
    yield Row("where_numbers", "Where", [of([[0, 1.5], [2, 0]])])
    yield Row("top_k", "TopKV2", [x(3, 7), c(4)], {}, (0, 1))
    corners = RNG.uniform(0, 0.7, (30, 2)).astype(np.float32)
    boxes, scores = of(np.concatenate([corners, corners + 0.3], 1)), x(30, low=0, high=1)
    limits = [c(0.3, "float32"), c(0.4, "float32")]
    yield Row("nms_v2", "NonMaxSuppressionV2", [boxes, scores, c(6), limits[0]])
    yield Row("nms_v3", "NonMaxSuppressionV3", [boxes, scores, c(40), *limits])
    padded = {"pad_to_max_output_size": True}
    yield Row("nms_v4", "NonMaxSuppressionV4", [boxes, scores, c(25), *limits], padded, (0, 1))
    yield Row("nms_v5", "NonMaxSuppressionV5", [boxes, scores, c(25), *limits, c(0, "float32")], padded, (0, 1, 2))


def _windows() -> Iterator[Row]:
    for lower, upper in ((0, -1), (-1, 0), (1, 2)):
        yield Row(f"band_{lower}_{upper}", "MatrixBandPart", [x(2, 4, 5), c(lower, "int64"), c(upper, "int64")])
    yield Row("band_bool", "MatrixBandPart", [b(5, 4), c(-1), c(0)])

    def patches(name: str, image: Operand, size: int, stride: int, rate: int, padding: str) -> Row:
        numbers = {"ksizes": size, "strides": stride, "rates": rate}
        attributes = {key: [1, n, n, 1] for key, n in numbers.items()}
        return Row(f"patches_{name}", "ExtractImagePatches", [image], {**attributes, "padding": padding})

    yield patches("blocks", x(2, 6, 4, 3), 2, 2, 1, "VALID")
    yield patches("rest", x(2, 7, 5, 3), 2, 2, 1, "VALID")
    yield patches("overlapping", x(1, 9, 8, 2), 3, 2, 1, "SAME")
    yield patches("dilated", x(1, 9, 8, 2), 3, 1, 2, "VALID")
    yield patches("apart", x(1, 9, 8, 2), 2, 3, 1, "SAME")


ROWS = [*_unary(), *_binary(), *_reductions(), *_products(), *_images(), *_movement(), *_slices(), *_windows()]
