"""SVMRegressor and SVMClassifier of ai.onnx.ml: products of weights with kernels of features and support vectors."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from ...dtypes import F32, I32
from ...ir.construct import maximum, minimum, select, unary
from ...ir.nodes import Expr, Scalar, binary, expr
from ...tensor import Tensor, compute, constant
from ...tensor.structure import loop
from ..call import Array, Call
from ..elementwise.activation import sigmoid
from ..products.linear import mat_mul_of
from ..reductions.reduce_axes import reduce_axes, reduce_over
from .features import features, invalid, rows_of_floats
from .scores import highest_label, labels_of, scores_of_two, transform_of, transformed

_SWEEPS = 100
"""Most sweeps over the classes in which libsvm couples probabilities of pairs; or as many as there are classes."""

_NEARLY_CERTAIN = 1e-7
"""Probabilities of pairs are at least so far from 0 and 1, as in libsvm."""


def _table(call: Call, name: str, rows: int, columns: int) -> Array:
    """Attribute `name` as a matrix of float32. Raises UnsupportedError where it has another number of elements."""
    values: Sequence[float] = call.attribute(name, ())
    if rows < 1 or columns < 1 or len(values) != rows * columns:
        raise invalid(call, f"attribute {name} has {len(values)} elements, where {rows} x {columns} are expected")
    return np.asarray(values, np.float32).reshape(rows, columns)


def _kernels(call: Call, x: Tensor, vectors: Array) -> Tensor:
    """The kernel of each row of features and each support vector: [rows, vectors]."""
    kind = call.attribute("kernel_type", "LINEAR")
    gamma, offset, degree = (*call.attribute("kernel_params", (0.0,)), 0.0, 0.0)[:3]
    if kind == "RBF":
        table = constant(f"{call.name}.vectors", vectors)

        def square(i: Expr, v: Expr, k: Expr) -> Expr:
            difference = x[i, k] - table[v, k]
            return difference * difference

        shape = (x.shape[0], *vectors.shape)
        squares = reduce_axes(f"{call.name}.distances", "sum", shape, (2,), (x, table), square)
        return compute(f"{call.name}.kernels", squares.shape, (squares,), lambda *i: unary("exp", squares[i] * -gamma))
    products = _product(call, x, vectors.T, "products")
    if kind == "LINEAR":
        return products
    if kind not in ("POLY", "SIGMOID"):
        raise invalid(call, f"kernel_type {kind!r} is none of LINEAR, POLY, RBF and SIGMOID")

    def body(*i: Expr) -> Expr:
        value = products[i] * gamma + offset
        return binary("pow", value, degree) if kind == "POLY" else unary("tanh", value)

    return compute(f"{call.name}.kernels", products.shape, (products,), body)


def _product(call: Call, x: Tensor, weights: Array, name: str) -> Tensor:
    table = constant(f"{call.name}.{name}.weights", np.ascontiguousarray(weights))
    return mat_mul_of(call, x, table, f"{call.name}.{name}")


def _shifted(call: Call, sums: Tensor, shifts: Sequence[float], name: str) -> Tensor:
    table = constant(f"{call.name}.rho", np.asarray(shifts, np.float32))
    return compute(name, sums.shape, (sums, table), lambda i, k: sums[i, k] + table[k])


def _rho(call: Call, count: int) -> Sequence[float]:
    """The first `count` constants of sums."""
    rho: Sequence[float] = call.attribute("rho", ())
    if len(rho) < count:
        raise invalid(call, f"attribute rho has {len(rho)} elements for {count} sums")
    return rho[:count]


def _svm_regressor(call: Call) -> Tensor:
    """Weighted sums of kernels [rows, 1]; as a `one_class` SVM 1 where they are positive, else -1."""
    if transform_of(call) != "NONE":
        raise call.unsupported("a post_transform, which onnxruntime passes over", "export it without one")
    x = rows_of_floats(call, features(call))
    (width,) = call.fixed(x, (1,))
    count = call.attribute("n_supports", 0)
    if count > 0:
        kernels = _kernels(call, x, _table(call, "support_vectors", count, width))
        sums = _product(call, kernels, _table(call, "coefficients", count, 1), "sums")
    else:
        sums = _product(call, x, _table(call, "coefficients", width, 1), "sums")
    if not call.attribute("one_class", 0):
        return _shifted(call, sums, _rho(call, 1), call.name)
    shifted = _shifted(call, sums, _rho(call, 1), f"{call.name}.shifted")
    return compute(
        call.name, sums.shape, (shifted,), lambda *i: select(expr(0.0, F32) < shifted[i], expr(1.0, F32), -1.0)
    )


def _svm_classifier(call: Call) -> tuple[Tensor, Tensor]:
    """The label with the most votes of pairs of classes, and the scores of pairs, or the probabilities of classes where
    the model has `prob_a`. Without support vectors the label of the highest sum, and the sums."""
    labels, transform = labels_of(call, "classlabels_ints"), transform_of(call)
    x = rows_of_floats(call, features(call))
    counts: Sequence[int] = call.attribute("vectors_per_class", ())
    if len(labels) < 2:
        raise invalid(call, f"{len(labels)} labels are too few")
    if not sum(counts):
        return _linear(call, x, labels, transform)
    if len(counts) != len(labels) or min(counts) < 0:
        raise invalid(call, f"vectors_per_class {list(counts)} do not fit {len(labels)} labels")
    pairs = list(combinations(range(len(labels)), 2))
    vectors = _table(call, "support_vectors", sum(counts), call.fixed(x, (1,))[0])
    sums = _product(call, _kernels(call, x, vectors), _weights_of_pairs(call, counts, pairs), "pairs")
    scores = _shifted(call, sums, _rho(call, len(pairs)), f"{call.name}.sums")
    chosen = highest_label(call, _votes(call, scores, pairs), labels)
    if call.attribute("prob_a", ()):
        return chosen, transformed(f"{call.name}.scores", _probabilities(call, scores, pairs), transform)
    if len(pairs) == 1:
        return chosen, scores_of_two(call, scores, transform, rest=transform != "NONE")
    return chosen, transformed(f"{call.name}.scores", scores, transform)


def _linear(call: Call, x: Tensor, labels: Sequence[int], transform: str) -> tuple[Tensor, Tensor]:
    """Labels and scores of weighted sums of features."""
    weights = _table(call, "coefficients", len(labels), call.fixed(x, (1,))[0])
    shifts = [*_rho(call, 1)] * len(labels)
    sums = _shifted(call, _product(call, x, weights.T, "products"), shifts, f"{call.name}.sums")
    return highest_label(call, sums, labels), transformed(f"{call.name}.scores", sums, transform)


def _weights_of_pairs(call: Call, counts: Sequence[int], pairs: Sequence[tuple[int, int]]) -> Array:
    """The weights of support vectors in the sum of each pair of classes [vectors, pairs]: those of one of the two have
    a part, by the row of `coefficients` that stands for the other class."""
    coefficients = _table(call, "coefficients", len(counts) - 1, sum(counts))
    ends = np.cumsum(counts)
    weights = np.zeros((sum(counts), len(pairs)), np.float32)
    for p, (i, j) in enumerate(pairs):
        for own, row in ((i, j - 1), (j, i)):
            vectors = slice(ends[own] - counts[own], ends[own])
            weights[vectors, p] = coefficients[row, vectors]
    return weights


def _votes(call: Call, scores: Tensor, pairs: Sequence[tuple[int, int]]) -> Tensor:
    """How often each class wins [rows, classes]: the first of a pair where its score is positive."""
    table = constant(f"{call.name}.pair", np.asarray(pairs, np.int32))

    def vote(i: Expr, k: Expr, p: Expr) -> Expr:
        winner = select(expr(0.0, F32) < scores[i, p], table[p, 0], table[p, 1])
        return winner.eq(k).cast(I32)

    shape = (scores.shape[0], max(j for _, j in pairs) + 1, len(pairs))
    return reduce_axes(f"{call.name}.votes", "sum", shape, (2,), (scores, table), vote)


def _probabilities(call: Call, scores: Tensor, pairs: Sequence[tuple[int, int]]) -> Tensor:
    """Probabilities of classes [rows, classes] from the scores of pairs: those of a pair by a sigmoid (Platt, 1999),
    coupled by the second method of Wu, Lin and Weng (2004) with libsvm's sweeps and its bound."""
    slope, shift = (call.attribute(n, (0.0,)) for n in ("prob_a", "prob_b"))
    if not len(slope) == len(shift) == len(pairs):
        raise invalid(call, f"{len(slope)} prob_a and {len(shift)} prob_b do not fit {len(pairs)} pairs of classes")
    classes = pairs[-1][1] + 1
    sides = constant(f"{call.name}.sides", np.asarray([slope, shift], np.float32))

    def of_first(i: Expr, p: Expr) -> Expr:
        probability = sigmoid(-(scores[i, p] * sides[0, p] + sides[1, p]))
        return minimum(maximum(probability, _NEARLY_CERTAIN), 1 - _NEARLY_CERTAIN)

    first = compute(f"{call.name}.first", scores.shape, (scores, sides), of_first)
    numbers = np.zeros((classes, classes), np.int32)
    for p, (a, b) in enumerate(pairs):
        numbers[a, b] = numbers[b, a] = p
    number = constant(f"{call.name}.number", numbers)

    def against(i: Expr, a: Expr, b: Expr) -> Expr:
        """The probability of class a where it is one of a and b."""
        return select(a < b, first[i, number[a, b]], 1 - first[i, number[a, b]])

    def square(i: Expr, a: Expr, b: Expr) -> Expr:
        return select(a.eq(b), 0.0, against(i, b, a) * against(i, b, a))

    shape = (scores.shape[0], classes, classes)
    diagonal = reduce_axes(f"{call.name}.diagonal", "sum", shape, (2,), (first, number), square)

    def form(i: Expr, a: Expr, b: Expr) -> Expr:
        return select(a.eq(b), diagonal[i, a], -against(i, b, a) * against(i, a, b))

    return _least(call.name, compute(f"{call.name}.form", shape, (first, number, diagonal), form))


def _least(name: str, form: Tensor) -> Tensor:
    """The probabilities [rows, classes] that make their quadratic form [rows, classes, classes] least, by changing one
    after the other until all derivatives lie within 0.005 / classes."""
    rows, classes = form.shape[0], form.extents[1]
    start = compute(f"{name}.start", (rows, classes), (), lambda *_: expr(1 / classes, F32))
    going = compute(f"{name}.going", (rows,), (), lambda _: expr(0, I32))

    def step(s: Scalar, carried: Sequence[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
        p, ended = carried
        turn = s % classes

        def derivative(i: Expr, a: Expr) -> Expr:
            return reduce_over("sum", (classes,), lambda b: form[i, a, b] * p[i, b])

        derivatives = compute(f"{name}.derivatives", p.shape, (form, p), derivative)
        value = reduce_axes(f"{name}.value", "sum", p.shape, (1,), (p, derivatives), lambda *i: p[i] * derivatives[i])
        worst = reduce_axes(
            f"{name}.worst",
            "max",
            p.shape,
            (1,),
            (derivatives, value),
            lambda i, a: unary("abs", derivatives[i, a] - value[i,]),
        )

        def ends(i: Expr) -> Expr:
            return select(turn.eq(0), (worst[i,] < 0.005 / classes).cast(I32), ended[i,])

        now = compute(f"{name}.ended", ended.shape, (worst, ended), ends)

        def change(i: Expr, a: Expr) -> Expr:
            difference = (value[i,] - derivatives[i, turn]) / form[i, turn, turn]
            changed = (p[i, a] + select(a.eq(turn), difference, 0.0)) / (1 + difference)
            return select(now[i,].eq(0), changed, p[i, a])

        return [compute(f"{name}.changed", p.shape, (p, form, derivatives, value, now), change), now], []

    (result, _), _ = loop(f"{name}.coupling", max(_SWEEPS, classes) * classes, [start, going], step)
    return result


OPERATORS = {"SVMClassifier": _svm_classifier, "SVMRegressor": _svm_regressor}
