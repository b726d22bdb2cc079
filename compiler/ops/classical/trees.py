"""Tree ensembles of ai.onnx.ml: all trees of all rows go one branch further at a time, in a loop of one kernel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from ...dtypes import F16, F32, DType
from ...ir.construct import select, unary
from ...ir.nodes import Expr, Scalar, expr
from ...tensor import Tensor, compute, constant
from ...tensor.structure import loop
from ..call import Call
from ..reductions.reduce_axes import reduce_over
from ..selection.keys import within
from .features import features, float_type, rows_of_floats
from .forest import Forest, base_values, read_ensemble, read_forest
from .scores import TRANSFORMS, highest_label, labelled, labels_of, one_of_two, transform_of, transformed

_COMPARE: Sequence[Callable[[Expr, Expr], Expr]] = (
    lambda x, v: x <= v,
    lambda x, v: x < v,
    lambda x, v: x >= v,
    lambda x, v: v < x,
    lambda x, v: x.eq(v),
    lambda x, v: x.ne(v),
)
"""In the order of `forest.MODES`."""

_AGGREGATES = ("AVERAGE", "SUM", "MIN", "MAX")
"""In the order of their numbers in TreeEnsemble."""


def _leaves(call: Call, forest: Forest, given: Tensor) -> Tensor:
    """The leaves [rows, trees] at which each tree ends, as int32. Their features are stored exactly under any
    precision: a rounded one may lie on the other side of a branch's value."""
    x = replace(rows_of_floats(call, given, float_type(given)), exact=True)
    (width,) = call.fixed(x, (1,))
    count = len(forest.feature)
    roots = constant(f"{call.name}.roots", forest.roots)
    first = compute(f"{call.name}.first", (x.shape[0], len(forest.roots)), (roots,), lambda _, t: roots[t])
    if not forest.steps:
        return first
    names = ("feature", "value", "mode", "missing", "true", "false")
    table = {n: constant(f"{call.name}.{n}", getattr(forest, n)) for n in names}

    def step(_: Scalar, carried: Sequence[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
        (nodes,) = carried

        def follow(i: Expr, t: Expr) -> Expr:
            node = nodes[i, t]
            branch = within(node, count)
            value = x[i, within(table["feature"][branch], width)]
            goes = _holds(forest, table, branch, value)
            return select(node < count, select(goes, table["true"][branch], table["false"][branch]), node)

        return [compute(f"{call.name}.nodes", nodes.shape, (nodes, x, *table.values()), follow)], []

    (ends,), _ = loop(f"{call.name}.walk", forest.steps, [first], step)
    return compute(f"{call.name}.leaves", ends.shape, (ends,), lambda i, t: ends[i, t] - count)


def _holds(forest: Forest, table: dict[str, Tensor], branch: Expr, value: Expr) -> Expr:
    """Whether the comparison of a branch is true."""
    split = table["value"][branch]
    modes: list[int] = np.unique(forest.mode).tolist()
    result = _COMPARE[modes[0]](value, split)
    for mode in modes[1:]:
        result = select(table["mode"][branch].eq(mode), _COMPARE[mode](value, split), result)
    if forest.missing.all():
        return result | unary("isnan", value)
    if forest.missing.any():
        return result | unary("isnan", value) & table["missing"][branch].ne(0)
    return result


def _totals(call: Call, forest: Forest, x: Tensor, aggregate: str, base: Sequence[float], dtype: DType = F32) -> Tensor:
    """Sums, or extremes, of the weights of the trees' leaves [rows, targets], with the `base` of each target, as
    `dtype`."""
    leaves, targets = _leaves(call, forest, x), forest.weights.shape[1]
    trees = len(forest.roots)
    op, absent = {"MIN": ("min", np.inf), "MAX": ("max", -np.inf)}.get(aggregate, ("sum", 0.0))
    given = ~np.isnan(forest.weights)
    weights = constant(f"{call.name}.weights", np.where(given, forest.weights, forest.weights.dtype.type(absent)))
    bases = constant(f"{call.name}.base", np.asarray(base, forest.weights.dtype)) if any(base) else None

    def body(i: Expr, k: Expr) -> Expr:
        return reduce_over(op, (trees,), lambda t: weights[within(leaves[i, t], len(given)), k])

    together = compute(f"{call.name}.together", (leaves.shape[0], targets), (leaves, weights), body)

    def total(i: Expr, k: Expr) -> Expr:
        value = together[i, k]
        if absent and not given.all():
            value = select(value.eq(absent), expr(0.0, value.dtype), value)
        if aggregate == "AVERAGE":
            value = value / trees
        return value if bases is None else value + bases[k]

    return compute(f"{call.name}.totals", together.shape, (together, bases), lambda *i: total(*i).cast(dtype))


def _check_base(call: Call, base: Sequence[float], targets: int) -> Sequence[float]:
    if len(base) not in (0, targets):
        raise call.unsupported(f"{len(base)} base_values do not fit {targets} sums", "the model is invalid")
    return base or (0.0,) * targets


def _tree_ensemble_regressor(call: Call) -> Tensor:
    """The trees' leaves together [rows, targets], by aggregate_function."""
    targets, aggregate = call.attribute("n_targets", 1), call.attribute("aggregate_function", "SUM")
    if aggregate not in _AGGREGATES:
        raise call.unsupported(f"aggregate_function {aggregate!r} does not exist", "the model is invalid")
    x, forest = features(call), read_forest(call, "target", targets)
    base = _check_base(call, base_values(call), targets)
    return transformed(call.name, _totals(call, forest, x, aggregate, base), transform_of(call))


def _tree_ensemble_classifier(call: Call) -> tuple[Tensor, Tensor]:
    """The label of the highest sum of leaves, and scores [rows, classes]. Where only one of two classes has leaves, its
    sum decides: above 0, or above 0.5 where no leaf is negative."""
    labels, transform, base = labels_of(call, "classlabels_int64s"), transform_of(call), base_values(call)
    x, forest = features(call), read_forest(call, "class", len(labels))
    there = ~np.isnan(forest.weights).all(axis=0)
    if len(labels) != 2 or there.all():
        sums = _totals(call, forest, x, "SUM", _check_base(call, base, len(labels)))
        return highest_label(call, _of_classes(call, sums, there), labels), transformed(
            f"{call.name}.scores", sums, transform
        )
    if len(base) > 1:
        raise call.unsupported("it has base_values of two classes, of which one has leaves", "export it again")
    bound = 0.0 if (np.nan_to_num(forest.weights) < 0).any() else 0.5
    if there[0]:
        one = replace(forest, weights=forest.weights[:, :1])
        sums = _totals(call, one, x, "SUM", base or (0.0,))
        return one_of_two(call, sums, labels, transform, bound=bound, rest=bound > 0)
    sums = _totals(call, forest, x, "SUM", (0.0, 0.0))  # onnxruntime adds no base here
    places = compute(f"{call.name}.place", sums.shape[:1], (sums,), lambda i: select(bound < sums[i, 1], expr(1), 0))
    return labelled(call, places, labels), transformed(f"{call.name}.scores", sums, transform)


def _of_classes(call: Call, sums: Tensor, there: np.ndarray) -> Tensor:
    """The sums, minus infinity for classes that no leaf has."""
    if there.all():
        return sums
    table = constant(f"{call.name}.there", np.where(there, 0, -np.inf).astype(np.float32))
    return compute(f"{call.name}.chosen", sums.shape, (sums, table), lambda i, k: sums[i, k] + table[k])


def _tree_ensemble(call: Call) -> Tensor:
    """The trees' leaves together [rows, targets], by aggregate_function, of the form of version 5."""
    aggregate, transform = call.attribute("aggregate_function", 1), call.attribute("post_transform", 0)
    if aggregate not in range(4) or transform not in range(5):
        raise call.unsupported(
            f"aggregate_function {aggregate} or post_transform {transform} does not exist", "the model is invalid"
        )
    x, forest = features(call, 0, F16), read_ensemble(call, call.attribute("n_targets", 1))
    totals = _totals(call, forest, x, _AGGREGATES[aggregate], (), x.dtype)
    return transformed(call.name, totals, TRANSFORMS[transform])


OPERATORS = {
    "TreeEnsemble": _tree_ensemble,
    "TreeEnsembleClassifier": _tree_ensemble_classifier,
    "TreeEnsembleRegressor": _tree_ensemble_regressor,
}
