"""Scores that models of ai.onnx.ml make of their sums by `post_transform`, and the label of the highest."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from ...dtypes import I64
from ...ir.construct import select, unary
from ...ir.nodes import Expr, expr
from ...tensor import Tensor, compute, constant
from ..call import Call
from ..elementwise.activation import sigmoid
from ..reductions.reduce_axes import reduce_axes
from ..reductions.reduction import place_of_extreme
from ..reductions.softmax import softmax_of
from ..selection.keys import within

TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")
"""In the order of their numbers in TreeEnsemble."""

_NEARLY_ZERO = 1e-7
"""SOFTMAX_ZERO takes smaller scores for those of classes that are out of question, as onnxruntime does."""


def transform_of(call: Call) -> str:
    """The name of the node's `post_transform`."""
    name = call.attribute("post_transform", "NONE")
    if name not in TRANSFORMS:
        raise call.unsupported(f"post_transform {name!r} is none of {', '.join(TRANSFORMS)}", "the model is invalid")
    return name


def transformed(name: str, sums: Tensor, transform: str) -> Tensor:
    """The scores [rows, classes] of sums. One alone stays, but for PROBIT, as in onnxruntime."""
    if sums.shape[1] == 1 and transform != "PROBIT":
        return sums
    match transform:
        case "SOFTMAX":
            return softmax_of(name, sums, (1,))
        case "SOFTMAX_ZERO":
            return _softmax_of_others(name, sums)
        case "LOGISTIC":
            return _each(name, sums, sigmoid)
        case "PROBIT":
            return _each(name, sums, _probit)
    return sums


def _each(name: str, t: Tensor, fn: Callable[[Expr], Expr]) -> Tensor:
    return compute(name, t.shape, (t,), lambda *i: fn(t[i]))


def _probit(x: Expr) -> Expr:
    """The quantile of the normal distribution, by an approximation of the inverse error function (Winitzki, 2008) with
    the constant that onnxruntime has."""
    a = 0.147
    z = 2 * x - 1
    log = unary("log", (1 - z) * (1 + z))
    v = 2 / (math.pi * a) + 0.5 * log
    root = unary("sqrt", unary("sqrt", v * v - log * (1 / a)) - v)
    return math.sqrt(2) * select(z < 0, -root, root)


def _softmax_of_others(name: str, x: Tensor) -> Tensor:
    """Softmax in which a score of 0 has no part, but stays as small."""
    highest = reduce_axes(f"{name}.max", "max", x.shape, (1,), (x,), lambda *i: x[i])

    def power(i: Expr, k: Expr) -> Expr:
        counts = unary("abs", x[i, k]) > _NEARLY_ZERO
        return select(counts, unary("exp", x[i, k] - highest[i,]), x[i, k] * unary("exp", -highest[i,]))

    powers = compute(f"{name}.powers", x.shape, (x, highest), power)
    totals = reduce_axes(f"{name}.sum", "sum", x.shape, (1,), (powers,), lambda *i: powers[i])

    def share(i: Expr, k: Expr) -> Expr:
        return select(totals[i,].eq(0), powers[i, k], powers[i, k] / totals[i,])

    return compute(name, x.shape, (powers, totals), share)


def labels_of(call: Call, name: str) -> tuple[int, ...]:
    """The labels that attribute `name` lists. Raises UnsupportedError for strings: the importer replaces those that are
    an output of the model by their numbers."""
    labels: tuple[int, ...] = call.attribute(name, ())
    strings: tuple[str, ...] = call.attribute("classlabels_strings", ())
    if labels and not strings:
        return labels
    raise call.unsupported(
        "its labels are strings, which the model computes with" if strings else "it has no labels",
        "export it with labels that are integers" if strings else "the model is invalid",
    )


def highest_label(call: Call, sums: Tensor, labels: Sequence[int]) -> Tensor:
    """The labels [rows] of the first of the highest sums."""
    return labelled(call, place_of_extreme(call.name, "max", sums, 1), labels)


def labelled(call: Call, places: Tensor, labels: Sequence[int]) -> Tensor:
    """The labels at int32 places [rows]."""
    if tuple(labels) == tuple(range(len(labels))):
        return compute(call.name, places.shape, (places,), lambda i: places[i,].cast(I64))
    table = constant(f"{call.name}.labels", np.asarray(labels, np.int64))
    return compute(call.name, places.shape, (places, table), lambda i: table[within(places[i,], len(labels))])


def one_of_two(
    call: Call, sums: Tensor, labels: Sequence[int], transform: str, *, bound: float, rest: bool
) -> tuple[Tensor, Tensor]:
    """Labels and scores of two classes of which only the second has sums [rows, 1]: it is chosen above the `bound`."""
    places = compute(f"{call.name}.place", sums.shape[:1], (sums,), lambda i: select(bound < sums[i, 0], expr(1), 0))
    return labelled(call, places, labels), scores_of_two(call, sums, transform, rest=rest)


def scores_of_two(call: Call, sums: Tensor, transform: str, *, rest: bool) -> Tensor:
    """Scores [rows, 2] of two classes by sums [rows, 1] of the second. That of the first is the `rest` of 1, or the
    opposite."""
    if transform == "PROBIT":
        raise call.unsupported(
            "post_transform PROBIT of one sum for two classes has no meaning", "the model is invalid"
        )

    def body(i: Expr, k: Expr) -> Expr:
        s = sums[i, 0]
        either = select(k.eq(0), -s, s)
        if transform == "LOGISTIC":
            return sigmoid(either)
        return select(k.eq(0), 1 - s, s) if rest else either

    return compute(f"{call.name}.scores", (sums.shape[0], 2), (sums,), body)
