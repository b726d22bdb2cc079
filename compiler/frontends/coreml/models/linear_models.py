"""Generalised linear models.

Source: GLMRegressor.proto and GLMClassifier.proto of Core ML's specification.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..feature_values import Features
from .model_call import ModelCall, ModelHandler
from .scores import after_zero, normal_distribution, of_two, sigmoid, softmax

_LOGIT, _PROBIT = 0, 1
_ONE_VS_REST = 1


def _sums(call: ModelCall) -> tuple[str, int]:
    """Weighted sums of the features [1, rows], and their number."""
    rows = [list(row.value) for row in call.params.weights]
    width = len(rows[0]) if rows else 0
    offset = list(call.params.offset) or [0.0] * len(rows)
    if not width or any(len(row) != width for row in rows) or len(offset) != len(rows):
        raise call.unsupported(f"{len(rows)} rows of weights and {len(offset)} offsets do not fit each other")
    if call.width not in (None, width):
        raise call.unsupported(f"it has {width} weights for {call.width} features")
    operands = [call.row(), call.constant([v for row in rows for v in row], len(rows), width), call.constant(offset)]
    return call.node("Gemm", operands, transB=1), len(rows)


def _regressor(call: ModelCall) -> Features:
    sums, count = _sums(call)
    transform = call.params.postEvaluationTransform
    if transform not in (0, 1, 2):
        raise call.unsupported(f"postEvaluationTransform {transform} does not exist")
    if transform:
        sums = sigmoid(call, sums) if transform == 1 else normal_distribution(call, sums)
    return call.numbers(sums, count)


def _classifier(call: ModelCall) -> Features:
    """One sum decides between two classes. One versus rest has a sum for each of more, whose probabilities are divided
    by their sum; else the first class has no sum, which is 0."""
    sums, count = _sums(call)
    transform, classes = call.params.postEvaluationTransform, len(call.classes)
    if transform not in (_LOGIT, _PROBIT):
        raise call.unsupported(f"postEvaluationTransform {transform} does not exist")
    probability = sigmoid if transform == _LOGIT else normal_distribution
    if count == 1 and classes == 2:
        return call.labels(of_two(call, probability(call, sums)))
    one_vs_rest = call.params.classEncoding == _ONE_VS_REST
    if one_vs_rest and count == classes:
        each = probability(call, sums)
        return call.labels(call.node("Div", [each, call.node("ReduceSum", [each, call.integers([1])])]))
    if not one_vs_rest and count == classes - 1 and transform == _LOGIT:
        return call.labels(softmax(call, after_zero(call, sums)))
    encoding = "one versus rest" if one_vs_rest else "a class of reference"
    raise call.unsupported(
        f"{count} rows of weights do not fit {classes} classes with {encoding}"
        + (" and a probit" if transform == _PROBIT else "")
    )


LINEAR_MODELS: Mapping[str, ModelHandler] = {"glmClassifier": _classifier, "glmRegressor": _regressor}
