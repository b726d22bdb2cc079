"""Ensembles of trees.

Source: TreeEnsemble.proto of Core ML's specification.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..feature_values import Features
from .model_call import ModelCall, ModelHandler
from .scores import after_zero, last_of_highest, of_two, sigmoid, softmax

_MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ", "LEAF")
"""ONNX's names in the order of TreeNodeBehavior."""

_LEAF = _MODES.index("LEAF")
_DOWN, _UP = (0, 3), (1, 2)
"""Comparisons with a value that keep their results for all float32 where it is rounded down, or up."""

_NONE, _SOFTMAX, _LOGISTIC, _SOFTMAX_AFTER_ZERO = range(4)


def _value(mode: int, value: float) -> float:
    """A float32 with which each float32 compares as with the double `value`; NaN where none is equal to it."""
    with np.errstate(over="ignore"):
        near = np.float32(value)
    if float(near) == value or np.isnan(near):
        return float(near)
    if mode in _DOWN:
        return float(near if float(near) < value else np.nextafter(near, np.float32(-np.inf)))
    if mode in _UP:
        return float(near if float(near) > value else np.nextafter(near, np.float32(np.inf)))
    return float("nan")


def _sums(call: ModelCall) -> tuple[str, int]:
    """The sums of the trees' leaves [1, dimensions], and their number."""
    trees = call.params.treeEnsemble
    count = int(trees.numPredictionDimensions)
    base = list(trees.basePredictionValue)
    if len(base) not in (0, count):
        raise call.unsupported(f"{len(base)} base values do not fit {count} prediction dimensions")
    nodes: dict[str, list[Any]] = {
        f"nodes_{name}": []
        for name in ("treeids", "nodeids", "modes", "featureids", "values", "truenodeids", "falsenodeids")
    }
    flags: list[int] = []
    leaves: dict[str, list[Any]] = {f"target_{name}": [] for name in ("treeids", "nodeids", "ids", "weights")}
    for node in trees.nodes:
        mode = int(node.nodeBehavior)
        if not 0 <= mode <= _LEAF:
            raise call.unsupported(f"node {node.nodeId} of tree {node.treeId} has the behaviour {mode}")
        is_leaf = mode == _LEAF
        flags.append(int(node.missingValueTracksTrueChild))
        columns = (
            int(node.treeId),
            int(node.nodeId),
            _MODES[mode],
            0 if is_leaf else int(node.branchFeatureIndex),
            0.0 if is_leaf else _value(mode, node.branchFeatureValue),
            0 if is_leaf else int(node.trueChildNodeId),
            0 if is_leaf else int(node.falseChildNodeId),
        )
        for column, item in zip(nodes.values(), columns, strict=True):
            column.append(item)
        for info in node.evaluationInfo if is_leaf else ():
            weight = (int(node.treeId), int(node.nodeId), int(info.evaluationIndex), float(info.evaluationValue))
            for column, item in zip(leaves.values(), weight, strict=True):
                column.append(item)
    sums = call.ml(
        "TreeEnsembleRegressor",
        [call.row()],
        n_targets=count,
        post_transform="NONE",
        nodes_missing_value_tracks_true=flags,
        **nodes,
        **leaves,
        **({"base_values": base} if base else {}),
    )
    return sums, count


def _regressor(call: ModelCall) -> Features:
    sums, count = _sums(call)
    transform = call.params.postEvaluationTransform
    if transform not in (_NONE, _SOFTMAX, _LOGISTIC):
        raise call.unsupported(f"postEvaluationTransform {transform} is none of a regressor")
    if transform:
        sums = sigmoid(call, sums) if transform == _LOGISTIC else softmax(call, sums)
    return call.numbers(sums, count)


def _classifier(call: ModelCall) -> Features:
    """One sum of two classes is the second's, which is the label from a probability of 0.5 on: coremltools moves leaves
    of 0.5 below it, so that the first is scikit-learn's."""
    sums, count = _sums(call)
    transform, classes = call.params.postEvaluationTransform, len(call.classes)
    if count == 1 and classes == 2 and transform in (_NONE, _LOGISTIC, _SOFTMAX_AFTER_ZERO):
        scores = of_two(call, sums if transform == _NONE else sigmoid(call, sums))
        return call.labels(scores, last_of_highest(call, scores))
    if transform == _SOFTMAX_AFTER_ZERO and count == classes - 1:
        return call.labels(softmax(call, after_zero(call, sums)))
    if count != classes or transform not in (_NONE, _SOFTMAX, _LOGISTIC):
        raise call.unsupported(
            f"{count} prediction dimensions do not fit {classes} classes with postEvaluationTransform {transform}"
        )
    if transform == _NONE:
        return call.labels(sums)
    return call.labels(softmax(call, sums) if transform == _SOFTMAX else sigmoid(call, sums))


TREES: Mapping[str, ModelHandler] = {"treeEnsembleClassifier": _classifier, "treeEnsembleRegressor": _regressor}
