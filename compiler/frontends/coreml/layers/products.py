"""Products of matrices, tables of vectors, and normalisation."""

from __future__ import annotations

import numpy as np
import onnx

from ..network_call import Array, Layer, LayerHandler
from ..read_weights import read_weights


def _transposed(layer: Layer, weights: object, rows: int, columns: int) -> str:
    """A matrix in the file, rows x columns, the other way around."""
    return layer.stored(np.ascontiguousarray(read_weights(weights, (rows, columns)).T))


def _inner_product(layer: Layer) -> Array:
    """Rows: the last three of four or more dimensions are one vector, else the last one."""
    p, x = layer.params, layer.x
    inputs, outputs = int(p.inputChannels), int(p.outputChannels)
    bias = [layer.weights(p.bias, outputs)] if p.hasBias else []
    rows = x.name if x.rank < 4 else layer.reshaped(x.name, [0] * (x.rank - 3) + [-1])
    if x.rank in (2, 4):
        result = layer.node("Gemm", [rows, layer.weights(p.weights, outputs, inputs), *bias], transB=1)
    else:
        result = layer.node("MatMul", [rows, _transposed(layer, p.weights, outputs, inputs)])
        result = layer.node("Add", [result, *bias]) if bias else result
    if x.rank >= 4:
        result = layer.node("Unsqueeze", [result, layer.integers([-2, -1])])
    return Array(result, x.rank)


def _embedding(layer: Layer) -> Array:
    """Numbers in the place of channels, of which there is one."""
    p, x = layer.params, layer.x
    table = _transposed(layer, p.weights, int(p.outputChannels), int(p.inputDim))
    rows = layer.node("Gather", [table, layer.node("Squeeze", [layer.places(x), layer.integers([-3, -2, -1])])], axis=0)
    rows = layer.node("Add", [rows, layer.weights(p.bias, int(p.outputChannels))]) if p.hasBias else rows
    return Array(layer.node("Unsqueeze", [rows, layer.integers([-2, -1])]), x.rank)


def _embedding_nd(layer: Layer) -> Array:
    """The last dimension, of one number, becomes a vector."""
    p, x = layer.params, layer.x
    table = _transposed(layer, p.weights, int(p.embeddingSize), int(p.vocabSize))
    rows = layer.node("Gather", [table, layer.node("Squeeze", [layer.places(x), layer.integers([-1])])], axis=0)
    return Array(layer.node("Add", [rows, layer.weights(p.bias, int(p.embeddingSize))]) if p.hasBias else rows, x.rank)


def _batched_matmul(layer: Layer) -> Array:
    """A product of two operands, or of one and weights, which the file has the other way around."""
    p, operands = layer.params, layer.operands

    def read(array: Array, swapped: bool) -> str:
        if not swapped or array.rank < 2:
            return array.name
        perm = [*range(array.rank - 2), array.rank - 1, array.rank - 2]
        return layer.node("Transpose", [array.name], perm=perm)

    x = read(operands[0], p.transposeA)
    if len(operands) > 1:
        product = layer.node("MatMul", [x, read(operands[1], p.transposeB)])
        return Array(product, max(o.rank for o in operands))
    rows, columns = int(p.weightMatrixFirstDimension), int(p.weightMatrixSecondDimension)
    product = layer.node("MatMul", [x, _transposed(layer, p.weights, columns, rows)])
    product = layer.node("Add", [product, layer.weights(p.bias, columns)]) if p.hasBias else product
    return Array(product, operands[0].rank)


def _dot(layer: Layer) -> Array:
    """Sums over the last three dimensions of two operands; by their lengths where it is the cosine."""
    a, b = layer.operands
    axes = layer.integers([-3, -2, -1])
    result = layer.node("ReduceSum", [layer.node("Mul", [a.name, b.name]), axes], keepdims=1)
    if layer.params.cosineSimilarity:
        lengths = [layer.node("ReduceL2", [o.name, axes], keepdims=1) for o in (a, b)]
        result = layer.node("Div", [result, layer.node("Mul", lengths)])
    return Array(result, a.rank)


def _batchnorm(layer: Layer) -> Array:
    """Statistics are of the file, or of each image."""
    p, x = layer.params, layer.x
    channels = int(p.channels)
    gamma, beta = (layer.weights(w, channels) for w in (p.gamma, p.beta))
    epsilon = p.epsilon if p.HasField("epsilon") else 1e-5
    if p.computeMeanVar or p.instanceNormalization:
        if not (p.computeMeanVar and p.instanceNormalization):
            raise layer.unsupported(
                "it computes statistics of a batch, as in training; convert the model for inference"
            )
        operands = [gamma, beta]
        return layer.per_image(x, lambda v: layer.node("InstanceNormalization", [v, *operands], epsilon=epsilon))
    operands = [gamma, beta, layer.weights(p.mean, channels), layer.weights(p.variance, channels)]
    return layer.per_image(x, lambda v: layer.node("BatchNormalization", [v, *operands], epsilon=epsilon))


def _centred(layer: Layer, x: str, axes: list[int], epsilon: float, variance: bool = True) -> str:
    over = layer.integers(axes)
    centred = layer.node("Sub", [x, layer.node("ReduceMean", [x, over], keepdims=1)])
    if not variance:
        return centred
    squares = layer.node("ReduceMean", [layer.node("Mul", [centred, centred]), over], keepdims=1)
    return layer.node("Div", [centred, layer.node("Sqrt", [layer.node("Add", [squares, layer.number(epsilon)])])])


def _mvn(layer: Layer) -> Array:
    p = layer.params
    axes = [-3, -2, -1] if p.acrossChannels else [-2, -1]
    return Array(_centred(layer, layer.x.name, axes, p.epsilon, p.normalizeVariance), layer.x.rank)


def _layer_normalization(layer: Layer) -> Array:
    p = layer.params
    shape = [int(n) for n in p.normalizedShape]
    normal = _centred(layer, layer.x.name, list(range(-len(shape), 0)), p.eps)
    scaled = layer.node("Mul", [normal, layer.weights(p.gamma, *shape)])
    return Array(layer.node("Add", [scaled, layer.weights(p.beta, *shape)]), layer.x.rank)


def _l2_normalize(layer: Layer) -> Array:
    total = layer.node("ReduceSumSquare", [layer.x.name, layer.integers([-3, -2, -1])], keepdims=1)
    length = layer.node("Sqrt", [layer.node("Add", [total, layer.number(layer.params.epsilon)])])
    return Array(layer.node("Div", [layer.x.name, length]), layer.x.rank)


def _lrn(layer: Layer) -> Array:
    p = layer.params
    attributes = {"size": int(p.localSize), "alpha": p.alpha, "beta": p.beta, "bias": p.k}
    return layer.per_image(layer.x, lambda x: layer.node("LRN", [x], **attributes))


def _load_constant(layer: Layer) -> Array:
    """Channels x height x width, or of any shape."""
    shape = [int(n) for n in layer.params.shape]
    data = read_weights(layer.params.data, shape)
    if layer.kind == "loadConstant":
        data = data.reshape((1,) * ((4 if layer.scope.is_of_five else 5) - data.ndim) + data.shape)
    return Array(layer.stored(data), data.ndim)


def _scale_or_bias(layer: Layer) -> Array:
    """Numbers of one for all, one for each channel, or one for each element of an image."""
    p, x = layer.params, layer.x.name

    def spread(weights: object, shape: object) -> str:
        own = [int(n) for n in shape]  # type: ignore[attr-defined]
        return layer.weights(weights, *(own if len(own) == 3 else [*own, 1, 1]))

    if layer.kind == "bias":
        return Array(layer.node("Add", [x, spread(p.bias, p.shape)]), layer.x.rank)
    scaled = layer.node("Mul", [x, spread(p.scale, p.shapeScale)])
    return Array(layer.node("Add", [scaled, spread(p.bias, p.shapeBias)]) if p.hasBias else scaled, layer.x.rank)


def _one_hot(layer: Layer) -> Array:
    p, x = layer.params, layer.x
    off, on = p.offValue, p.onValue if p.HasField("onValue") else 1.0
    values = layer.builder.constant(np.array([off, on], np.float32), "values")
    depth = layer.integers(int(p.oneHotVectorSize))
    if len(layer.operands) > 1:
        depth = layer.reshaped(layer.places(layer.operands[1]), [])
    axis = p.axis if p.HasField("axis") else -1
    return Array(
        layer.node("OneHot", [layer.cast(x.name, onnx.TensorProto.INT64), depth, values], axis=axis), x.rank + 1
    )


LAYERS: dict[str, LayerHandler] = {
    "batchedMatmul": _batched_matmul,
    "batchnorm": _batchnorm,
    "bias": _scale_or_bias,
    "dot": _dot,
    "embedding": _embedding,
    "embeddingND": _embedding_nd,
    "innerProduct": _inner_product,
    "l2normalize": _l2_normalize,
    "layerNormalization": _layer_normalization,
    "loadConstant": _load_constant,
    "loadConstantND": _load_constant,
    "lrn": _lrn,
    "mvn": _mvn,
    "oneHot": _one_hot,
    "scale": _scale_or_bias,
}
