"""Operations of ML programs, each with what NumPy makes of its operands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import erf
from typing import Any

import numpy as np
from coreml_reference import (
    RNG,
    bilinear,
    conv,
    deconv,
    gru,
    lstm,
    normalised,
    padded,
    real,
    sigmoid,
    softmax,
    suppressed,
    windows,
)

Array = np.ndarray


class X:
    """An operand that is an input of the model."""

    def __init__(self, data: Any) -> None:
        array = np.asarray(data)
        self.data = array.astype({"float64": "float32", "int64": "int32"}.get(str(array.dtype), array.dtype))


@dataclass(frozen=True)
class Row:
    """An operation, its arguments, and its results."""

    kind: str
    arguments: dict[str, Any]
    want: Sequence[Array]
    note: str = ""


def row(kind: str, want: Any, note: str = "", **arguments: Any) -> Row:
    results = want if isinstance(want, list) else [want]
    narrow = [np.asarray(w) for w in results]
    types = {"float64": "float32", "int64": "int32"}
    return Row(kind, arguments, [w.astype(types.get(str(w.dtype), w.dtype)) for w in narrow], note)


def elementwise() -> list[Row]:
    x, y, positive = real(3, 4), real(3, 4), np.abs(real(3, 4)) + 0.1
    image, alpha, beta = real(1, 3, 2, 2), real(3), real(3)
    i, j = RNG.integers(-9, 9, (3, 4)), RNG.choice([-4, -3, 3, 5], (3, 4))
    flags = RNG.uniform(size=(3, 4)) < 0.5
    p = np.round
    unary = {
        "abs": np.abs, "ceil": np.ceil, "cos": np.cos, "exp": np.exp, "floor": np.floor, "round": p, "sign": np.sign,
        "sin": np.sin, "sinh": np.sinh, "cosh": np.cosh, "tan": np.tan, "tanh": np.tanh, "atan": np.arctan,
        "square": np.square, "exp2": np.exp2, "relu": lambda v: v.clip(0), "relu6": lambda v: (4 * v).clip(0, 6) / 1,
        "sigmoid": sigmoid, "softplus": lambda v: np.log1p(np.exp(v)), "softsign": lambda v: v / (1 + np.abs(v)),
        "silu": lambda v: v * sigmoid(v), "erf": np.vectorize(erf), "identity": lambda v: v,
    }  # fmt: skip
    made = [row(kind, f(x), x=X(4 * x if kind == "relu6" else x)) for kind, f in unary.items()]
    for kind, f in {"acos": np.arccos, "asin": np.arcsin, "atanh": np.arctanh}.items():
        made.append(row(kind, f(x / 3), x=X(x / 3)))
    binary = {
        "add": np.add, "maximum": np.maximum, "minimum": np.minimum, "mul": np.multiply, "real_div": np.divide,
        "sub": np.subtract, "equal": np.equal, "greater": np.greater, "greater_equal": np.greater_equal,
        "less": np.less, "less_equal": np.less_equal, "not_equal": np.not_equal, "floor_div": np.floor_divide,
        "mod": np.mod,
    }  # fmt: skip
    made += [row(kind, f(x, y[1]), x=X(x), y=X(y[1])) for kind, f in binary.items()]
    made += [row(kind, f(i, j), "integers", x=X(i), y=X(j)) for kind, f in binary.items() if kind != "real_div"]
    made += [
        row("pow", positive**y, x=X(positive), y=X(y)),
        row("sqrt", np.sqrt(positive), x=X(positive)),
        row("log", np.log(positive), x=X(positive)),
        row("log", np.log(positive + 0.5), "epsilon", x=X(positive), epsilon=0.5),
        row("rsqrt", 1 / np.sqrt(positive + 0.5), x=X(positive), epsilon=0.5),
        row("inverse", 1 / (positive + 1e-4), x=X(positive)),
        row("clip", x.clip(-1, 0.5), x=X(x), alpha=-1.0, beta=0.5),
        row("threshold", np.maximum(x, 0.25), x=X(x), alpha=0.25),
        row("cast", x.astype(np.int32), x=X(x), dtype="int32"),
        row("cast", i.astype(np.float32), "to real", x=X(i), dtype="fp16"),
        row("logical_not", x <= 0.5, x=X(x > 0.5)),
        row("logical_and", flags & (x > 0), x=X(flags), y=X(x > 0)),
        row("logical_or", flags | (x > 0), x=X(flags), y=X(x > 0)),
        row("logical_xor", flags ^ (x > 0), x=X(flags), y=X(x > 0)),
        row("select", np.where(flags, x, y), cond=X(flags), a=X(x), b=X(y)),
        row("softmax", softmax(x, 0), x=X(x), axis=0),
        row("gelu", x * 0.5 * (1 + np.vectorize(erf)(x / np.sqrt(2))), x=X(x), mode="EXACT"),
        row("gelu", x * sigmoid(1.702 * x), "sigmoid", x=X(x), mode="SIGMOID_APPROXIMATION"),
        row(
            "gelu", 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))), "tanh",
            x=X(x), mode="TANH_APPROXIMATION",
        ),
        row("leaky_relu", np.where(x < 0, 0.1 * x, x), x=X(x), alpha=0.1),
        row("elu", np.where(x < 0, 0.7 * np.expm1(x), x), x=X(x), alpha=0.7),
        row("sigmoid_hard", (0.3 * x + 0.4).clip(0, 1), x=X(x), alpha=0.3, beta=0.4),
        row("linear_activation", 0.3 * x + 0.4, x=X(x), alpha=0.3, beta=0.4),
        row("scaled_tanh", 1.5 * np.tanh(0.4 * x), x=X(x), alpha=1.5, beta=0.4),
        row("clamped_relu", np.minimum(np.where(x < 0, 0.2 * x, x), 1.1), x=X(x), alpha=0.2, beta=1.1),
        row("thresholded_relu", np.where(x >= 0.5, x, 0), x=X(x), alpha=0.5),
        row("prelu", np.where(image < 0, alpha[:, None, None] * image, image), x=X(image), alpha=alpha),
        row(
            "softplus_parametric",
            alpha[:, None, None] * np.log1p(np.exp(beta[:, None, None] * image)),
            x=X(image), alpha=alpha, beta=beta,
        ),
        row("quantize", (p(x / 0.1) + 3).clip(-128, 127).astype(np.int8), input=X(x), scale=np.float32(0.1),
            zero_point=np.int8(3), output_dtype="int8"),
        row("dequantize", (i - np.arange(4)) * 0.5, input=X(i.astype(np.int8)), scale=np.full(4, 0.5),
            zero_point=np.arange(4, dtype=np.int8), axis=1),
    ]  # fmt: skip
    return made


def products() -> list[Row]:
    x, w, b = real(2, 4, 7, 6), real(6, 2, 3, 3), real(6)
    up = real(4, 3, 3, 3)
    m, wide = real(2, 3, 4), real(5, 4)
    gamma, beta, mean, variance = real(4), real(4), real(4), np.abs(real(4)) + 0.5

    def each(v: Array) -> Array:
        return v[:, None, None]

    pads = padded(x, 1, 2, 0, 1)
    made = [
        row("conv", conv(pads, w, 2, 2) + each(b), x=X(x), weight=w, bias=b, strides=[2, 2], pad_type="custom",
            pad=[1, 2, 0, 1], groups=2),
        row("conv", conv(padded(x, 1, 1, 0, 1), w, 2, 2), "same", x=X(x), weight=w, strides=[2, 2], pad_type="same",
            groups=2),
        row("conv", conv(padded(x, 1, 1, 1, 0), w, 2, 2), "same_lower", x=X(x), weight=w, strides=[2, 2],
            pad_type="same_lower", groups=2),
        row("conv", conv(x, w, 1, 2, 2), "dilated", x=X(x), weight=w, dilations=[2, 2], pad_type="valid", groups=2),
        row("conv_transpose", deconv(x, up, 2)[:, :, 1:, :-1], x=X(x), weight=up, strides=[2, 2], pad_type="custom",
            pad=[1, 0, 0, 1]),
        row("conv_transpose", deconv(x, up, 2)[:, :, :-1, :-1], "same", x=X(x), weight=up, strides=[2, 2],
            pad_type="same"),
        row("conv_transpose", np.pad(deconv(x, up, 3), ((0, 0), (0, 0), (0, 2), (0, 1))), "of a shape", x=X(x),
            weight=up, strides=[3, 3], pad_type="valid", output_shape=[2, 3, 23, 19]),
        row("linear", m @ wide.T + real(5)[0] * 0, x=X(m), weight=wide),
        row("linear", m[0] @ wide.T + b[:5], "matrix", x=X(m[0]), weight=wide, bias=b[:5]),
        row("matmul", m @ wide.T, x=X(m), y=X(wide), transpose_y=True),
        row("matmul", m.swapaxes(1, 2) @ m, "both", x=X(m), y=X(m), transpose_x=True),
        row("batch_norm", (x - each(mean)) / np.sqrt(each(variance) + 1e-3) * each(gamma) + each(beta), x=X(x),
            mean=mean, variance=variance, gamma=gamma, beta=beta, epsilon=1e-3),
        row("batch_norm", (x - each(mean)) / np.sqrt(each(variance) + 1e-5), "plain", x=X(x), mean=mean,
            variance=variance),
        row("instance_norm", normalised(x, (2, 3), 1e-5) * each(gamma), x=X(x), gamma=gamma),
        row("layer_norm", normalised(m, (2,), 1e-5) * gamma + beta, x=X(m), axes=[-1], gamma=gamma, beta=beta),
        row("layer_norm", normalised(x, (1,), 1e-5) * each(gamma), "over channels", x=X(x), axes=[1], gamma=gamma),
        row("layer_norm", normalised(m, (1, 2), 1e-5), "plain", x=X(m), axes=[1, 2]),
        row("l2_norm", x / np.sqrt((x**2).sum((1, 2, 3), keepdims=True) + 1e-6), x=X(x)),
        row("einsum", np.einsum("abc,adc->abd", m, m), values=["x", "x"], x=X(m), equation="abc,adc->abd"),
        row("max_pool", windows(x, 3, 2).max((4, 5)), x=X(x), kernel_sizes=[3, 3], strides=[2, 2], pad_type="valid"),
        row("max_pool", windows(padded(x, 0, 1, 0, 1, -9), 3, 2).max((4, 5)), "rounds up", x=X(x),
            kernel_sizes=[3, 3], strides=[2, 2], pad_type="valid", ceil_mode=True),
        row("avg_pool", windows(padded(x, 1, 1, 1, 1), 3, 2).mean((4, 5)), x=X(x), kernel_sizes=[3, 3], strides=[2, 2],
            pad_type="custom", pad=[1, 1, 1, 1]),
        row("avg_pool",
            windows(padded(x, 1, 1, 1, 1), 3, 2).sum((4, 5)) / windows(padded(x * 0 + 1, 1, 1, 1, 1), 3, 2).sum((4, 5)),
            "without padding", x=X(x), kernel_sizes=[3, 3], strides=[2, 2], pad_type="custom", pad=[1, 1, 1, 1],
            exclude_padding_from_average=True),
        row("l2_pool", np.sqrt((windows(x, 2, 2) ** 2).sum((4, 5))), x=X(x), kernel_sizes=[2, 2], strides=[2, 2],
            pad_type="valid"),
    ]  # fmt: skip
    size, total = 3, np.pad(x**2, ((0, 0), (1, 1), (0, 0), (0, 0)))
    squares = sum(total[:, k : k + 4] for k in range(size))
    made.append(row("local_response_norm", x / (1.5 + 0.3 / size * squares) ** 0.6, x=X(x), size=size, alpha=0.3,
                    beta=0.6, k=1.5))  # fmt: skip
    q, k, v, mask = real(1, 2, 3, 4), real(1, 2, 5, 4), real(1, 2, 5, 6), real(3, 5)
    scores = q @ k.swapaxes(-1, -2) / 2
    made.append(row("scaled_dot_product_attention", softmax(scores + mask) @ v, query=X(q), key=X(k), value=X(v),
                    attn_mask=X(mask)))  # fmt: skip
    keep = np.triu(np.ones((3, 5), bool), -1)
    made.append(row("scaled_dot_product_attention", softmax(np.where(keep, scores, -np.inf)) @ v, "of booleans",
                    query=X(q), key=X(k), value=X(v), attn_mask=keep))  # fmt: skip
    for kind, f in {
        "reduce_sum": np.sum, "reduce_mean": np.mean, "reduce_max": np.max, "reduce_min": np.min,
        "reduce_prod": np.prod, "reduce_l1_norm": lambda a, axis, keepdims: np.abs(a).sum(axis, keepdims=keepdims),
        "reduce_l2_norm": lambda a, axis, keepdims: np.sqrt((a**2).sum(axis, keepdims=keepdims)),
        "reduce_sum_square": lambda a, axis, keepdims: (a**2).sum(axis, keepdims=keepdims),
        "reduce_log_sum_exp": lambda a, axis, keepdims: np.log(np.exp(a).sum(axis, keepdims=keepdims)),
    }.items():  # fmt: skip
        made.append(row(kind, f(m, axis=(0, 2), keepdims=False), x=X(m), axes=[0, 2]))
        made.append(row(kind, f(m, axis=(1,), keepdims=True), "kept", x=X(m), axes=[-2], keep_dims=True))
    made += [
        row("reduce_log_sum", np.log(np.abs(m).sum(1)), x=X(np.abs(m)), axes=[1]),
        row("reduce_argmax", m.argmax(1), x=X(m), axis=1, keep_dims=False),
        row("reduce_argmin", m.argmin(2)[:, :, None], x=X(m), axis=-1, keep_dims=True),
        row("cumsum", m.cumsum(1), x=X(m), axis=1),
        row("cumsum", m[:, ::-1].cumsum(1)[:, ::-1] - m, "reversed", x=X(m), axis=1, exclusive=True, reverse=True),
    ]
    return made


def movement() -> list[Row]:
    x, y, i = real(2, 3, 4), real(2, 3, 4), RNG.integers(0, 9, (2, 3))
    updated = x.copy()
    updated[:, 1, 3::-2] = y[:, 1, :2]
    return [
        row("reshape", x.reshape(2, 12), x=X(x), shape=[0, -1]),
        row("reshape_like", x.reshape(6, 4), x=X(x), ref_tensors=[X(real(6, 1)), X(real(3, 4))], begins=[0, 1],
            ends=[1, 0], end_masks=[False, True]),
        row("transpose", x.transpose(2, 0, 1), x=X(x), perm=[-1, 0, 1]),
        row("squeeze", x[:1, :, :][0], x=X(x[:1]), axes=[0]),
        row("expand_dims", x[:, None, :, :, None], x=X(x), axes=[1, -1]),
        row("flatten2d", x.reshape(6, 4), x=X(x), axis=2),
        row("concat", np.concatenate([x, y], 1), values=["x", "y"], x=X(x), y=X(y), axis=-2),
        row("concat", np.stack([x, y], 2).reshape(2, 6, 4), "interleaved", values=["x", "y"], x=X(x), y=X(y), axis=1,
            interleave=True),
        row("stack", np.stack([x, y], 1), values=["x", "y"], x=X(x), y=X(y), axis=1),
        row("split", [x[:, :, :1], x[:, :, 1:]], x=X(x), split_sizes=[1, 3], axis=2),
        row("split", np.split(x, 2, 2), "equal", x=X(x), num_splits=2, axis=2),
        row("slice_by_index", x[:, 1, 3:0:-2], x=X(x), begin=[0, 1, 3], end=[0, 0, 0], stride=[1, 1, -2],
            end_mask=[True, False, False], squeeze_mask=[False, True, False]),
        row("slice_by_index", x[1:, :-1, ::-1], "masks", x=X(x), begin=[1, 5, 0], end=[2, -1, 0], stride=[1, 1, -1],
            begin_mask=[False, True, True], end_mask=[True, False, True]),
        row("slice_by_index", x[1, 0:2], "computed", x=X(x), begin=X(np.array([1, 0, 0])), end=X(np.array([2, 2, 4])),
            squeeze_mask=[True, False, False]),
        row("slice_update", updated, x=X(x), update=X(y[:, 1, :2]), begin=[0, 1, 3], end=[0, 0, 0], stride=[1, 1, -2],
            begin_mask=[True, False, False], end_mask=[True, False, True], squeeze_mask=[False, True, False]),
        row("slice_by_size", x[:, 1:3, 2:], x=X(x), begin=[0, 1, 2], size=[-1, 2, -1]),
        row("slice_by_size", x[:, 1:3, 2:4], "computed", x=X(x), begin=X(np.array([0, 1, 2])), size=[2, 2, 2]),
        row("pad", np.pad(x, ((0, 0), (1, 0), (2, 1)), constant_values=0.5), x=X(x), pad=[1, 0, 2, 1],
            mode="constant", constant_val=0.5),
        row("pad", np.pad(x, ((0, 0), (1, 0), (2, 1)), "reflect"), "reflect", x=X(x), pad=[1, 0, 2, 1],
            mode="reflect"),
        row("pad", np.pad(x, ((0, 0), (0, 0), (2, 1)), "edge"), "replicate", x=X(x), pad=[2, 1], mode="replicate"),
        row("tile", np.tile(x, (1, 2, 3)), x=X(x), reps=[1, 2, 3]),
        row("reverse", x[::-1, :, ::-1], x=X(x), axes=[0, 2]),
        row("reverse_sequence", np.stack([np.concatenate([x[0, 1::-1], x[0, 2:]]), x[1, ::-1]]), x=X(x),
            lengths=[2, 3], seq_axis=1, batch_axis=0),
        row("shape", np.array([2, 3, 4]), x=X(x)),
        row("fill", np.full((2, 3), 1.5), shape=[2, 3], value=1.5),
        row("fill_like", np.full((2, 3, 4), 2.5), ref_tensor=X(x), value=2.5),
        row("range_1d", np.arange(2, 11, 3), start=2, end=11, step=3),
        row("band_part", np.stack([np.triu(np.tril(m, 1), -1) for m in x]), x=X(x), lower=1, upper=1),
        row("sliding_windows", np.stack([x[:, :, j : j + 2] for j in (0, 2)], 2), x=X(x), axis=2, size=2, stride=2),
        row("shape", np.array([2, 3]), "of integers", x=X(i)),
    ]  # fmt: skip


def selection() -> list[Row]:
    x, places = real(4, 3, 5), np.array([[2, 0], [3, 1]])
    along = RNG.integers(0, 3, (4, 2, 5))
    updates = real(2, 3, 5)
    added, elements = x.copy(), x.copy()
    np.add.at(added, (np.array([1, 1]),), updates)
    ones = RNG.integers(0, 3, (4, 1, 5))
    np.put_along_axis(elements, ones, 7.0, 1)
    subtracted = x.copy()
    subtracted[:, [2, 0]] -= real(4, 2, 5) * 0 + 2
    order = np.argsort(x, 2, kind="stable")
    boxes = np.concatenate([RNG.uniform(0, 1, (1, 30, 2)), RNG.uniform(0.2, 0.5, (1, 30, 2))], 2).astype(np.float32)
    scores = RNG.uniform(0, 1, (1, 30, 3)).astype(np.float32)
    sparse = np.where(real(3, 4) > 0.5, 1.0, 0.0)
    return [
        row("gather", x[:, [2, 0]], x=X(x), indices=[2, 0], axis=1),
        row("gather", x[places], "matrix", x=X(x), indices=X(places), axis=0),
        row("gather", np.stack([r[p] for r, p in zip(x, [[1, 0]] * 4, strict=True)]), "batches", x=X(x),
            indices=[[1, 0]] * 4, axis=1, batch_dims=1),
        row("gather_along_axis", np.take_along_axis(x, along, 1), x=X(x), indices=X(along), axis=1),
        row("gather_nd", x[places[:, 0], places[:, 1]], x=X(x), indices=X(places)),
        row("scatter", added, data=X(x), indices=[1, 1], updates=X(updates), axis=0, mode="add"),
        row("scatter", subtracted, "sub", data=X(x), indices=[2, 0], updates=np.full((4, 2, 5), 2.0), axis=1,
            mode="sub"),
        row("scatter_along_axis", elements, data=X(x), indices=X(ones), updates=np.full((4, 1, 5), 7.0), axis=1,
            mode="update"),
        row("scatter_nd", np.concatenate([x[:3], x[3:] * updates[:1]]), data=X(x), indices=[[3]],
            updates=X(updates[:1]), mode="mul"),
        row("one_hot", np.where(np.eye(4)[[1, 3]] > 0, 2.0, -1.0), indices=X(np.array([1, 3])), one_hot_vector_size=4,
            on_value=2.0, off_value=-1.0),
        row("topk", [np.take_along_axis(x, order[:, :, ::-1][:, :, :2], 2), order[:, :, ::-1][:, :, :2]], x=X(x), k=2,
            axis=2, ascending=False),
        row("topk", [np.sort(x, 1)[:, :2], np.argsort(x, 1)[:, :2]], "least", x=X(x), k=2, axis=1, ascending=True),
        row("argsort", order, x=X(x), axis=2, ascending=True),
        row("non_zero", np.argwhere(sparse), x=X(sparse)),
        *(
            row("non_maximum_suppression", suppressed(boxes, scores, 0.3, least, 6, each), f"{least} {each}",
                boxes=X(boxes), scores=X(scores), iou_threshold=0.3, score_threshold=least, max_boxes=6,
                per_class_suppression=each)
            for least in (0.4, 2.0)
            for each in (False, True)
        ),
    ]  # fmt: skip


def images() -> list[Row]:
    x = real(1, 4, 4, 6)
    h, w = 6, 9
    edges = bilinear(x, np.linspace(0, 3, h), np.linspace(0, 5, w))
    plain = bilinear(x, np.arange(h) * 4 / h, np.arange(w) * 6 / w)
    half = bilinear(x, (np.arange(h) + 0.5) * 4 / h - 0.5, (np.arange(w) + 0.5) * 6 / w - 0.5)
    nearest = x[:, :, np.arange(h) * 4 // h][:, :, :, np.arange(w) * 6 // w]
    target = {"target_size_height": h, "target_size_width": w}
    factor = {"scale_factor_height": 1.5, "scale_factor_width": 1.5}
    blocks = x.reshape(1, 4, 2, 2, 3, 2)
    grid = np.stack(np.meshgrid([1.25, 5, 3.5], [0.75, 2.25]), 2)
    return [
        row("resize_bilinear", edges, x=X(x), sampling_mode="STRICT_ALIGN_CORNERS", **target),
        row("resize_bilinear", plain, "default", x=X(x), sampling_mode="DEFAULT", **target),
        row("resize_bilinear", half, "unaligned", x=X(x), sampling_mode="UNALIGN_CORNERS", **target),
        row("resize_bilinear", bilinear(x, np.array([1.5]), np.array([2.5])), "one pixel", x=X(x),
            sampling_mode="ALIGN_CORNERS", target_size_height=1, target_size_width=1),
        row("resize_nearest_neighbor", nearest, x=X(x), **target),
        row("resize", plain, x=X(x), shape=[1, h, w], resized_dims=2, interpolation_mode="LINEAR",
            sampling_mode="DEFAULT"),
        row("upsample_bilinear", edges, x=X(x), align_corners=True, **factor),
        row("upsample_bilinear", half, "half pixels", x=X(x), align_corners=False, **factor),
        row("upsample_nearest_neighbor", x.repeat(2, 2).repeat(3, 3), x=X(x), scale_factor_height=2,
            scale_factor_width=3),
        row("resample", bilinear(x, np.array([0.75, 2.25]), np.array([1.25, 5, 3.5])), x=X(x),
            coordinates=X((grid / [5, 3] * 2 - 1)[None]), sampling_mode="bilinear", padding_mode="border",
            padding_value=0.0, coordinates_mode="normalized_minus_one_to_one", align_corners=True),
        row("resample", bilinear(x, np.array([0.75, 2.25]), np.array([1.25, 5, 3.5])), "from 0", x=X(x),
            coordinates=X((grid / [5, 3])[None]), sampling_mode="bilinear", padding_mode="constant",
            padding_value=0.0, coordinates_mode="normalized_zero_to_one", align_corners=True),
        row("crop", x[:, :, 1:, 2:-1], x=X(x), crop_height=[1, 0], crop_width=[2, 1]),
        row("space_to_depth", blocks.transpose(0, 3, 5, 1, 2, 4).reshape(1, 16, 2, 3), x=X(x), block_size=2),
        row("depth_to_space", x.reshape(1, 2, 2, 1, 4, 6).transpose(0, 3, 4, 1, 5, 2).reshape(1, 1, 8, 12), x=X(x),
            block_size=2),
        row("pixel_shuffle", x.reshape(1, 1, 2, 2, 4, 6).transpose(0, 1, 4, 2, 5, 3).reshape(1, 1, 8, 12), x=X(x),
            upscale_factor=2),
        row("pixel_unshuffle", blocks.transpose(0, 1, 3, 5, 2, 4).reshape(1, 16, 2, 3), x=X(x), downscale_factor=2),
        row("space_to_batch", padded(x, 1, 1, 0, 0).reshape(1, 4, 3, 2, 3, 2).transpose(3, 5, 0, 1, 2, 4).reshape(
            4, 4, 3, 3), x=X(x), block_shape=[2, 2], paddings=[[1, 1], [0, 0]]),
        row("batch_to_space", x.reshape(2, 2, 1, 1, 4, 6).transpose(2, 3, 4, 0, 5, 1).reshape(1, 1, 8, 12)[:, :, 1:],
            x=X(x.reshape(4, 1, 4, 6)), block_shape=[2, 2], crops=[[1, 0], [0, 0]]),
    ]  # fmt: skip


def recurrent() -> list[Row]:
    x, h, c = real(5, 2, 3), real(2, 4), real(2, 4)
    w, r, b = real(16, 3), real(16, 4), real(16)
    every, last, cell = lstm(x, h, c, w, r, b)
    wb, rb = real(16, 3), real(16, 4)
    back = lstm(x[::-1], c, h, wb, rb, 0 * b)
    both = [
        np.concatenate([every, back[0][::-1]], 2),
        *(np.concatenate(p, 1) for p in ((last, back[1]), (cell, back[2]))),
    ]
    gates, gate_bias, late = (w[:12], r[:12]), b[:12], real(12)
    steps, end = gru(x, h, *gates, gate_bias)
    after = gru(x, h, *gates, gate_bias, late)
    plain = []
    state = h
    for step in x[::-1]:
        state = np.tanh(step @ w[:4].T + state @ r[:4].T + b[:4])
        plain.append(state)
    return [
        row("lstm", [every, last, cell], x=X(x), initial_h=X(h), initial_c=X(c), weight_ih=w, weight_hh=r, bias=b,
            output_sequence=True),
        row("lstm", both, "both ways", x=X(x), initial_h=X(np.concatenate([h, c], 1)), weight_ih=w, weight_hh=r, bias=b,
            initial_c=X(np.concatenate([c, h], 1)), weight_ih_back=wb, weight_hh_back=rb, output_sequence=True,
            direction="bidirectional"),
        row("gru", [steps, end], x=X(x), initial_h=X(h), weight_ih=gates[0], weight_hh=gates[1], bias=gate_bias,
            output_sequence=True),
        row("gru", [after[0][-1:], after[1]], "reset after", x=X(x), initial_h=X(h), weight_ih=gates[0],
            weight_hh=gates[1], bias=gate_bias, input_bias=late, reset_after=True),
        row("rnn", [np.stack(plain[::-1]), plain[-1]], x=X(x), initial_h=X(h), weight_ih=w[:4], weight_hh=r[:4],
            bias=b[:4], direction="reverse", output_sequence=True),
    ]  # fmt: skip


def compression() -> list[Row]:
    q = RNG.integers(0, 255, (3, 4)).astype(np.uint8)
    scale, zero = np.abs(real(3)), np.arange(3, dtype=np.uint8)
    blocks, offset = np.abs(real(3, 2)), np.array([[1, 2], [3, 4], [5, 6]], np.int8)
    signed = q.view(np.int8)
    wide = np.repeat(blocks, 2, 1) * (signed.astype(np.float32) - np.repeat(offset, 2, 1))
    lut, places = real(4), RNG.integers(0, 4, (3, 5))
    bits = (places.reshape(-1, 1) >> np.arange(2)) & 1
    packed = np.packbits(bits.reshape(-1).astype(np.uint8), bitorder="little")
    groups = real(1, 2, 4, 1)
    grouped = np.stack([groups[0, i // 2, places[:, i], 0] for i in range(4)], 1)
    vectors = real(1, 1, 4, 2)
    kept = RNG.uniform(size=(3, 5)) < 0.5
    values = real(int(kept.sum()))
    dense = np.zeros((3, 5), np.float32)
    dense[kept] = values
    mask = np.packbits(kept.reshape(-1), bitorder="little")
    return [
        row("constexpr_affine_dequantize", (q - zero[:, None].astype(np.float32)) * scale[:, None], quantized_data=q,
            scale=scale, zero_point=zero, axis=0),
        row("constexpr_blockwise_shift_scale", wide, data=signed, scale=blocks, offset=offset),
        row("constexpr_lut_to_dense", lut[places], indices=packed, lut=lut, shape=np.array([3, 5], np.uint32)),
        row("constexpr_lut_to_dense", grouped, "groups", indices=places[:, :4].astype(np.uint8), lut=groups),
        row("constexpr_lut_to_dense", vectors[0, 0][places[:, :4]].transpose(0, 2, 1).reshape(6, 4), "vectors",
            indices=places[:, :4].astype(np.uint8), lut=vectors, vector_axis=0),
        row("constexpr_sparse_to_dense", dense, nonzero_data=values, mask=mask, shape=np.array([3, 5], np.uint32)),
        row("constexpr_cast", lut.astype(np.float16).astype(np.float32), source_val=lut.astype(np.float16),
            output_dtype="fp32"),
    ]  # fmt: skip
