"""Layers of Core ML's neural networks, each with what NumPy makes of its operands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import erf
from typing import Any

import numpy as np
from coreml_reference import (
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


@dataclass(frozen=True)
class Row:
    """A layer, its operands, its results, and the fields of its parameters."""

    kind: str
    operands: Sequence[Array]
    want: Sequence[Any]
    fields: dict[str, Any]


def row(kind: str, operands: Any, want: Any, **fields: Any) -> Row:
    listed = operands if isinstance(operands, list) else [operands]
    return Row(kind, listed, want if isinstance(want, list) else [want], fields)


def edges(*amounts: int) -> dict[str, Any]:
    """Borders: top, bottom, left, right."""
    pairs = zip(amounts[::2], amounts[1::2], strict=True)
    return {"borderAmounts": [{"startEdgeSize": a, "endEdgeSize": b} for a, b in pairs]}


def image_layers() -> list[Row]:
    """Operands are channels x height x width."""
    x, y, b = real(4, 6, 7), real(4, 6, 7), real(6)
    w, up = real(6, 2, 3, 3), real(4, 3, 3, 3)
    one = x[None]
    gamma, beta, mean, variance = real(4), real(4), real(4), np.abs(real(4)) + 0.5

    def each(v: Array) -> Array:
        return v[:, None, None]

    convolution = {"outputChannels": 6, "kernelChannels": 2, "nGroups": 2, "kernelSize": [3, 3], "weights": w}
    up_fields = {"outputChannels": 3, "kernelChannels": 4, "kernelSize": [3, 3], "stride": [2, 2], "weights": up}
    half = w.astype(np.float16)
    norm = (x - each(mean)) / np.sqrt(each(variance) + 1e-3) * each(gamma) + each(beta)
    instance = normalised(x, (1, 2), 1e-3) * each(gamma) + each(beta)
    h, wide = np.arange(12) * 0.5, np.arange(21) / 3
    pool = {"kernelSize": [3, 3], "stride": [2, 2]}
    squares = sum(np.pad(x**2, ((1, 1), (0, 0), (0, 0)))[k : k + 4] for k in range(3))
    flat = x.reshape(-1)
    full, few = real(5, 168), real(3, 4)
    return [
        row("convolution", x, conv(padded(one, 1, 2, 0, 1), w, 2, 2)[0] + each(b), **convolution, stride=[2, 2],
            valid={"paddingAmounts": edges(1, 2, 0, 1)}, hasBias=True, bias=b),
        row("convolution", x, conv(padded(one, 1, 1, 1, 1), half.astype("f"), 1, 2)[0],
            **{**convolution, "weights": half}, same={}),
        row("convolution", x, conv(padded(one, 1, 0, 1, 1), w, 2, 2)[0], **convolution, stride=[2, 2],
            same={"asymmetryMode": 1}),
        row("convolution", x, deconv(one, up, 2)[0, :, 1:, :-1], **up_fields, isDeconvolution=True,
            valid={"paddingAmounts": edges(1, 0, 0, 1)}),
        row("convolution", x, deconv(one, up, 2)[0, :, :-1, :-1], **up_fields, isDeconvolution=True, same={}),
        row("pooling", x, windows(one, 3, 2).max((4, 5))[0], **pool, type=0, valid={}),
        row("pooling", x, windows(padded(one, 1, 1, 1, 1), 3, 2).mean((4, 5))[0], **pool, type=1,
            valid={"paddingAmounts": edges(1, 1, 1, 1)}),
        row("pooling", x, windows(padded(one, 0, 1, 0, 0, -9), 3, 2).max((4, 5))[0], **pool, type=0,
            includeLastPixel={"paddingAmounts": [0, 0]}),
        row("pooling", x, np.sqrt((windows(one, 3, 2) ** 2).sum((4, 5)))[0], **pool, type=2, valid={}),
        row("pooling", x, x.mean((1, 2), keepdims=True), type=1, globalPooling=True, valid={}),
        row("padding", x, padded(one, 1, 2, 0, 1, 0.5)[0], constant={"value": 0.5}, paddingAmounts=edges(1, 2, 0, 1)),
        row("padding", x, np.pad(x, ((0, 0), (1, 2), (0, 1)), "reflect"), reflection={},
            paddingAmounts=edges(1, 2, 0, 1)),
        row("padding", x, np.pad(x, ((0, 0), (1, 2), (0, 1)), "edge"), replication={},
            paddingAmounts=edges(1, 2, 0, 1)),
        row("crop", x, x[:, 1:-2, :-1], cropAmounts=edges(1, 2, 0, 1)),
        row("crop", [x, real(1, 3, 2)], x[:, 1:4, 2:4], offset=[1, 2]),
        row("upsample", x, x.repeat(2, 1).repeat(3, 2), scalingFactor=[2, 3]),
        row("upsample", x, bilinear(x, h, wide), scalingFactor=[2, 3], mode=1),
        row("upsample", x, bilinear(x, np.linspace(0, 5, 12), np.linspace(0, 6, 21)), scalingFactor=[2, 3], mode=1,
            linearUpsampleMode=1),
        row("upsample", x, bilinear(x, h - 0.25, wide - 1 / 3), scalingFactor=[2, 3], mode=1, linearUpsampleMode=2),
        row("upsample", x, bilinear(x, np.arange(9) / 1.5 - 1 / 6, np.arange(14) / 2 - 0.25), mode=1,
            linearUpsampleMode=2, fractionalScalingFactor=[1.50001, 2.00001]),
        row("resizeBilinear", x, bilinear(x, np.linspace(0, 5, 4), np.linspace(0, 6, 9)), targetSize=[4, 9], mode={}),
        row("reorganizeData", x, x.reshape(1, 2, 2, 6, 7).transpose(0, 3, 1, 4, 2).reshape(1, 12, 14), mode=2,
            blockSize=2),
        row("reorganizeData", x, x.reshape(2, 2, 1, 6, 7).transpose(2, 3, 0, 4, 1).reshape(1, 12, 14), mode=1,
            blockSize=2),
        row("reorganizeData", x[:, :, :6],
            x[:, :, :6].reshape(4, 3, 2, 3, 2).transpose(2, 4, 0, 1, 3).reshape(16, 3, 3), mode=0, blockSize=2),
        row("batchnorm", x, norm, channels=4, epsilon=1e-3, gamma=gamma, beta=beta, mean=mean, variance=variance),
        row("batchnorm", x, instance, channels=4, epsilon=1e-3, gamma=gamma, beta=beta, computeMeanVar=True,
            instanceNormalization=True),
        row("mvn", x, normalised(x, (1, 2), 1e-3), normalizeVariance=True, epsilon=1e-3),
        row("mvn", x, x - x.mean(), acrossChannels=True),
        row("l2normalize", x, x / np.sqrt((x**2).sum() + 0.5), epsilon=0.5),
        row("lrn", x, x / (1.5 + 0.3 / 3 * squares) ** 0.6, alpha=0.3, beta=0.6, localSize=3, k=1.5),
        row("softmax", x, softmax(x, 0)),
        row("scale", x, x * each(gamma) + each(beta), shapeScale=[4], scale=gamma, hasBias=True, shapeBias=[4],
            bias=beta),
        row("scale", x, x * y[:1], shapeScale=[1, 6, 7], scale=y[:1]),
        row("bias", x, x + y, shape=[4, 6, 7], bias=y),
        row("add", [x, y, x], 2 * x + y),
        row("add", x, x + 0.5, alpha=0.5),
        row("multiply", [x, y[:, :1, :1]], x * y[:, :1, :1]),
        row("multiply", x, x * 0.5, alpha=0.5),
        row("average", [x, y], (x + y) / 2),
        row("max", [x, y], np.maximum(x, y)),
        row("min", [x, y], np.minimum(x, y)),
        row("dot", [x, y], (x * y).sum().reshape(1, 1, 1)),
        row("dot", [x, y], ((x * y).sum() / np.sqrt((x**2).sum() * (y**2).sum())).reshape(1, 1, 1),
            cosineSimilarity=True),
        row("innerProduct", x, (full @ flat + real(5) * 0).reshape(5, 1, 1), inputChannels=168, outputChannels=5,
            weights=full),
        row("innerProduct", gamma, (few @ gamma + b[:3]).reshape(3, 1, 1), inputChannels=4, outputChannels=3,
            weights=few, hasBias=True, bias=b[:3]),
        row("embedding", np.array([2.0]), few.T[2].reshape(3, 1, 1), inputDim=4, outputChannels=3, weights=few),
        row("loadConstant", [], y, shape=[4, 6, 7], data=y),
        row("reshape", x, x.reshape(7, 12, 2), targetShape=[7, 12, 2]),
        row("reshape", x, x.transpose(1, 2, 0).reshape(3, 7, 8).transpose(2, 0, 1), targetShape=[8, 3, 7], mode=1),
        row("flatten", x, flat.reshape(-1, 1, 1)),
        row("flatten", x, x.transpose(1, 2, 0).reshape(-1, 1, 1), mode=1),
        row("permute", x, x.transpose(2, 0, 1), axis=[0, 3, 1, 2]),
        row("concat", [x, y[:1]], np.concatenate([x, y[:1]])),
        row("split", x, [x[:2], x[2:]], nOutputs=2),
        row("slice", x, x[:, 1:-1:2], startIndex=1, endIndex=-1, stride=2, axis=1),
        row("reduce", x, x.mean((1, 2), keepdims=True), mode=1, axis=1),
        row("reduce", x, (x**2).sum(0, keepdims=True),
            mode=4, axis=2),
        row("reduce", np.abs(x), np.log(np.abs(x) + 0.5).sum(keepdims=True), mode=3, axis=0, epsilon=0.5),
        row("reduce", x, x.argmax(0)[None], mode=9, axis=2),
    ]  # fmt: skip


def activation_layers() -> list[Row]:
    x, alpha, beta = real(3, 4, 2), real(3), real(3)
    a, c = alpha[:, None, None], beta[:, None, None]
    positive = np.abs(x) + 0.1
    kinds = {
        "ELU": ({"alpha": 0.7}, np.where(x < 0, 0.7 * np.expm1(x), x)),
        "PReLU": ({"alpha": alpha}, np.where(x < 0, a * x, x)),
        "ReLU": ({}, x.clip(0)),
        "leakyReLU": ({"alpha": 0.1}, np.where(x < 0, 0.1 * x, x)),
        "linear": ({"alpha": 0.3, "beta": 0.4}, 0.3 * x + 0.4),
        "parametricSoftplus": ({"alpha": alpha, "beta": beta}, a * np.log1p(np.exp(c * x))),
        "scaledTanh": ({"alpha": 1.5, "beta": 0.4}, 1.5 * np.tanh(0.4 * x)),
        "sigmoid": ({}, sigmoid(x)),
        "sigmoidHard": ({"alpha": 0.3, "beta": 0.4}, (0.3 * x + 0.4).clip(0, 1)),
        "softplus": ({}, np.log1p(np.exp(x))),
        "softsign": ({}, x / (1 + np.abs(x))),
        "tanh": ({}, np.tanh(x)),
        "thresholdedReLU": ({"alpha": 0.5}, np.where(x >= 0.5, x, 0)),
    }
    made = [row("activation", x, want, **{kind: fields}) for kind, (fields, want) in kinds.items()]
    v = 0.5 * positive + 0.25
    moved = {"scale": 0.5, "shift": 0.25, "epsilon": 0.125}
    functions = (np.sqrt(v), 1 / np.sqrt(v + 0.125), 1 / (v + 0.125), v**1.5, np.exp(v), np.log(v), v, v.clip(1.5))
    made += [row("unary", positive, want, type=i, alpha=1.5, **moved) for i, want in enumerate(functions)]
    made += [row("unary", positive, np.exp(positive), type=4)]
    return made


def nd_layers() -> list[Row]:
    """Layers of networks whose arrays have any dimensions."""
    x, y, m = real(2, 3, 4), real(2, 3, 4), real(4, 5)
    gamma, beta = real(4), real(4)
    z = np.abs(x) + 0.1
    boxes = np.concatenate([np.abs(real(1, 20, 2)), np.abs(real(1, 20, 2)) / 2 + 0.5], 2)
    scores = np.abs(real(1, 20, 3)) / 2
    index = np.array([2.0, 0.0, 1.0])
    along = np.array([[[1.0, 0, 0, 1]], [[0.0, 1, 1, 0]]])
    along_axis, scattered = x.copy(), x.copy()
    np.put_along_axis(along_axis, along.astype(int), y[:, :1], 1)
    scattered[1, 2] -= y[0, 0]
    unary = {
        "acos": np.arccos, "asin": np.arcsin, "atan": np.arctan, "atanh": np.arctanh, "ceil": np.ceil, "copy": np.copy,
        "cos": np.cos, "cosh": np.cosh, "erf": np.vectorize(erf), "exp2": np.exp2, "floor": np.floor,
        "round": np.round, "sign": np.sign, "sin": np.sin, "sinh": np.sinh, "tan": np.tan, "tanh": np.tanh,
        "asinh": np.arcsinh,
    }  # fmt: skip
    made = [row(kind, x / 3, f(x / 3)) for kind, f in unary.items()]
    made.append(row("acosh", z + 1, np.arccosh(z + 1)))
    joined = {
        "addBroadcastable": np.add, "divideBroadcastable": np.divide, "floorDivBroadcastable": np.floor_divide,
        "maxBroadcastable": np.maximum, "minBroadcastable": np.minimum, "modBroadcastable": np.mod,
        "multiplyBroadcastable": np.multiply, "subtractBroadcastable": np.subtract, "equal": np.equal,
        "notEqual": np.not_equal, "greaterThan": np.greater, "greaterEqual": np.greater_equal, "lessThan": np.less,
        "lessEqual": np.less_equal,
    }  # fmt: skip
    made += [row(kind, [x, y[0]], f(x, y[0])) for kind, f in joined.items()]
    flags = [np.sign(x).clip(0), np.sign(y).clip(0)]
    truths = [f > 0 for f in flags]
    for kind, f in {"logicalAnd": np.logical_and, "logicalOr": np.logical_or, "logicalXor": np.logical_xor}.items():
        made.append(row(kind, flags, f(*truths)))
    for kind, f in {
        "reduceSum": np.sum, "reduceMean": np.mean, "reduceMax": np.max, "reduceMin": np.min, "reduceProd": np.prod,
        "reduceL1": lambda a, axis, keepdims: np.abs(a).sum(axis, keepdims=keepdims),
        "reduceL2": lambda a, axis, keepdims: np.sqrt((a**2).sum(axis, keepdims=keepdims)),
        "reduceSumSquare": lambda a, axis, keepdims: (a**2).sum(axis, keepdims=keepdims),
        "reduceLogSum": lambda a, axis, keepdims: np.log(a.sum(axis, keepdims=keepdims)),
        "reduceLogSumExp": lambda a, axis, keepdims: np.log(np.exp(a).sum(axis, keepdims=keepdims)),
    }.items():  # fmt: skip
        made.append(row(kind, z, f(z, axis=(0, 2), keepdims=False), axes=[0, -1]))
        made.append(row(kind, z, f(z, axis=None, keepdims=False).reshape(1), reduceAll=True))
        made.append(row(kind, z, f(z, axis=(1,), keepdims=True), axes=[1], keepDims=True))
    return [
        *made,
        row("logicalNot", flags[0], ~truths[0]),
        row("greaterThan", x, x > 0.5, alpha=0.5),
        row("powBroadcastable", [z, y], z**y),
        row("whereBroadcastable", [flags[0], x, y], np.where(truths[0], x, y)),
        row("clip", x, x.clip(-0.5, 1), minVal=-0.5, maxVal=1.0),
        row("clampedReLU", x, np.minimum(np.where(x < 0, 0.2 * x, x), 1.1), alpha=0.2, beta=1.1),
        row("gelu", x, x * sigmoid(1.702 * x), mode=2),
        row("softmaxND", x, softmax(x, 1), axis=1),
        row("layerNormalization", x, normalised(x, (2,), 1e-3) * gamma + beta, normalizedShape=[4], eps=1e-3,
            gamma=gamma, beta=beta),
        row("innerProduct", x, x @ m, inputChannels=4, outputChannels=5, weights=m.T),
        row("innerProduct", x[0], x[0] @ m + m[0], inputChannels=4, outputChannels=5, weights=m.T, hasBias=True,
            bias=m[0]),
        row("batchedMatmul", [x, y], x @ y.swapaxes(1, 2), transposeB=True),
        row("batchedMatmul", x, x @ m + m[0], weightMatrixFirstDimension=4, weightMatrixSecondDimension=5, weights=m.T,
            hasBias=True, bias=m[0]),
        row("embeddingND", index[:, None], m.T[index.astype(int)], vocabSize=5, embeddingSize=4, weights=m),
        row("oneHot", index, np.where(np.eye(4)[index.astype(int)] > 0, 2.0, -1.0), oneHotVectorSize=4, axis=-1,
            onValue=2.0, offValue=-1.0),
        row("loadConstantND", [], m, shape=[4, 5], data=m),
        row("transpose", x, x.transpose(2, 0, 1), axes=[2, 0, 1]),
        row("squeeze", x[:1], x[0], axes=[0]),
        row("expandDims", x, x[:, None, :, :, None], axes=[1, -1]),
        row("reshapeStatic", x, x.reshape(4, 6), targetShape=[4, -1]),
        row("reshapeLike", [x, real(6, 4)], x.reshape(6, 4)),
        row("rankPreservingReshape", x, x.reshape(2, 12, 1), targetShape=[0, -1, 1]),
        row("flattenTo2D", x, x.reshape(6, 4), axis=2),
        row("broadcastToStatic", x[:, :1], np.broadcast_to(x[:, :1], (2, 3, 4)), targetShape=[2, 3, 4]),
        row("broadcastToLike", [x[:, :1], y], np.broadcast_to(x[:, :1], (2, 3, 4))),
        row("fillLike", x, np.full((2, 3, 4), 1.5), value=1.5),
        row("fillStatic", [], np.full((2, 3), 1.5), value=1.5, targetShape=[2, 3]),
        row("rangeStatic", [], np.arange(1, 7, 2.0), startValue=1.0, endValue=7.0, stepSizeValue=2.0),
        row("concatND", [x, y], np.concatenate([x, y], 1), axis=1),
        row("concatND", [x, y], np.stack([x, y], 2).reshape(2, 6, 4), axis=1, interleave=True),
        row("splitND", x, [x[:, :, :1], x[:, :, 1:]], axis=2, splitSizes=[1, 3]),
        row("splitND", x, np.split(x, 2, 2), axis=2, numSplits=2),
        row("stack", [x, y], np.stack([x, y], 1), axis=1),
        row("sliceStatic", x, x[:, 1, 3:0:-2], beginIds=[0, 1, 3], endIds=[0, 2, 0], strides=[1, 1, -2],
            beginMasks=[True, False, False], endMasks=[True, False, False], squeezeMasks=[False, True, False]),
        row("sliceBySize", [x, np.array([1.0])], x[:, 1:3], size=2, axis=1),
        row("tile", x, np.tile(x, (1, 2, 3)), reps=[1, 2, 3]),
        row("reverse", x, x[::-1, :, ::-1], reverseDim=[True, False, True]),
        row("constantPad", x, np.pad(x, ((0, 0), (1, 0), (2, 1)), constant_values=0.5), value=0.5,
            padAmounts=[0, 0, 1, 0, 2, 1]),
        row("getShape", x, np.array([2.0, 3, 4])),
        row("gather", [x, index], x[:, index.astype(int)], axis=1),
        row("gatherAlongAxis", [x, along], np.take_along_axis(x, along.astype(int), 1), axis=1),
        row("scatter", [x, np.array([1.0, 0.0]), y[:, :2]], x + np.concatenate([y[:, 1::-1], 0 * y[:, :1]], 1), axis=1,
            mode=1),
        row("scatterAlongAxis", [x, along, y[:, :1]], along_axis, axis=1, mode=0),
        row("scatterND", [x, np.array([[1.0, 2.0]]), y[0, :1]], scattered, mode=2),
        row("matrixBandPart", x, np.stack([np.triu(np.tril(a, 1)) for a in x]), numLower=0, numUpper=1),
        row("lowerTriangular", x, np.tril(x, -1), k=-1),
        row("upperTriangular", x, np.triu(x, 1), k=1),
        row("whereNonZero", flags[0], np.argwhere(flags[0])),
        row("NonMaximumSuppression", [boxes, scores], suppressed(boxes, scores, 0.3, 0.4, 6, True), iouThreshold=0.3,
            scoreThreshold=0.4, maxBoxes=6, perClassSuppression=True),
        row("argMax", x, x.argmax(1), axis=1, removeDim=True),
        row("argMin", x, x.argmin(2)[:, :, None], axis=-1),
        row("argSort", x, np.argsort(-x, 2), axis=2, descending=True),
        row("topK", x, [np.sort(x, 1)[:, :2], np.argsort(x, 1)[:, :2]], axis=1, K=2, useBottomK=True),
        row("cumSum", x, x.cumsum(1), axis=1),
        *volumes(),
    ]  # fmt: skip


def volumes() -> list[Row]:
    x, w = real(1, 2, 4, 4, 4), real(3, 2, 2, 2, 2)
    parts = np.stack([x[:, :, i : i + 3, j : j + 3, k : k + 3] for i in (0, 1) for j in (0, 1) for k in (0, 1)], -1)
    size = {f"kernel{axis}": 2 for axis in ("Depth", "Height", "Width")}
    pool = x.reshape(1, 2, 2, 2, 2, 2, 2, 2)
    strides = {f"stride{axis}": 2 for axis in ("Depth", "Height", "Width")}
    return [
        row("convolution3d", x, np.einsum("ncdhwk,ock->nodhw", parts, w.reshape(3, 2, 8)), outputChannels=3,
            inputChannels=2, **size, paddingType=1, weights=w),
        row("pooling3d", x, pool.max((3, 5, 7)), type=0, **size, **strides, paddingType=1),
        row("globalPooling3d", x, x.mean((2, 3, 4), keepdims=True), type=1),
    ]  # fmt: skip


def recurrent_layers() -> list[Row]:
    """Operands are sequence x batch x channels x 1 x 1."""
    x, h, c = real(5, 1, 3, 1, 1), real(1, 1, 4, 1, 1), real(1, 1, 4, 1, 1)
    rows_, hs, cs = x[..., 0, 0], h[0, ..., 0, 0], c[0, ..., 0, 0]
    w, r, b = real(16, 3), real(16, 4), real(16)
    sizes = {"inputVectorSize": 3, "outputVectorSize": 4}

    def wide(v: Array) -> Array:
        return v.reshape(*v.shape[:1], 1, -1, 1, 1)

    def gates(w: Array, r: Array, b: Array) -> dict[str, Any]:
        names = ("inputGate", "forgetGate", "outputGate", "blockInput")
        found = {}
        for kind, data in (("WeightMatrix", w), ("RecursionMatrix", r), ("BiasVector", b)):
            found |= {f"{n}{kind}": part for n, part in zip(names, np.split(data, 4), strict=True)}
        return found

    functions = [{"sigmoid": {}}, {"tanh": {}}, {"tanh": {}}]
    params = {"sequenceOutput": True, "hasBiasVectors": True, "cellClipThreshold": 50.0}
    every, last, cell = lstm(rows_, hs, cs, w, r, b)
    wb, rb, bb = real(16, 3), real(16, 4), real(16)
    back = lstm(rows_[::-1], 0 * hs, 0 * cs, wb, rb, bb)
    forward = lstm(rows_, 0 * hs, 0 * cs, w, r, b)
    both = np.concatenate([forward[0], back[0][::-1]], 2)
    states = [wide(s[None]) for s in (*forward[1:], *back[1:])]
    update, reset, output = (slice(0, 4), slice(4, 8), slice(8, 12))
    order = np.r_[4:8, 8:12, 0:4]
    steps, end = gru(rows_, 0 * hs, w[order], r[order], b[order])
    names = {"update": update, "reset": reset, "output": output}
    gru_fields = {
        f"{n}Gate{kind}": data[part]
        for n, part in names.items()
        for kind, data in (("WeightMatrix", w), ("RecursionMatrix", r), ("BiasVector", b))
    }
    state = 0 * hs
    for step in rows_[::-1]:
        state = np.tanh(step @ w[:4].T + state @ r[:4].T + b[:4])
    return [
        row("uniDirectionalLSTM", [x, h, c], [wide(every), wide(last[None]), wide(cell[None])], **sizes,
            activations=functions, params=params, weightParams=gates(w, r, b)),
        row("biDirectionalLSTM", x, [wide(both), *states], **sizes, activationsForwardLSTM=functions,
            activationsBackwardLSTM=functions, params=params, weightParams=[gates(w, r, b), gates(wb, rb, bb)]),
        row("gru", x, [wide(steps), wide(end[None])], **sizes, activations=functions[:2], sequenceOutput=True,
            hasBiasVectors=True, **gru_fields),
        row("simpleRecurrent", x, wide(state[None]), **sizes, activation={"tanh": {}}, hasBiasVector=True,
            weightMatrix=w[:4], recursionMatrix=r[:4], biasVector=b[:4], reverseInput=True),
        row("sequenceRepeat", x, np.tile(x, (2, 1, 1, 1, 1)), nRepetitions=2),
    ]  # fmt: skip
