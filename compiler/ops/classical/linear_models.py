"""LinearRegressor and LinearClassifier of ai.onnx.ml: sums of weighted features."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...tensor import Tensor, compute, constant
from ..call import Call
from ..products.linear import mat_mul_of
from .features import features, rows_of_floats
from .scores import highest_label, labels_of, one_of_two, transform_of, transformed


def _sums(call: Call, count: int) -> Tensor:
    """`count` weighted sums [rows, count] of features."""
    x = rows_of_floats(call, features(call))
    (width,) = call.fixed(x, (1,))
    coefficients: Sequence[float] = call.attribute("coefficients", ())
    intercepts: Sequence[float] = call.attribute("intercepts", ())
    if count < 1 or len(coefficients) != count * width or len(intercepts) not in (0, count):
        raise call.unsupported(
            f"{len(coefficients)} coefficients and {len(intercepts)} intercepts do not fit {count} sums of {width} "
            "features",
            "check the input shape",
        )
    weights = np.asarray(coefficients, np.float32).reshape(count, width).T
    table = constant(f"{call.name}.coefficients", np.ascontiguousarray(weights))
    product = mat_mul_of(call, x, table, f"{call.name}.product")
    bias = constant(f"{call.name}.intercepts", np.asarray(intercepts or (0.0,) * count, np.float32))
    return compute(f"{call.name}.sums", product.shape, (product, bias), lambda i, k: product[i, k] + bias[k])


def _linear_regressor(call: Call) -> Tensor:
    """Weighted sums of features [rows, targets]."""
    return transformed(call.name, _sums(call, call.attribute("targets", 1)), transform_of(call))


def _linear_classifier(call: Call) -> tuple[Tensor, Tensor]:
    """The label of the highest weighted sum, and scores [rows, classes]; one sum may decide between two classes."""
    labels = labels_of(call, "classlabels_ints")
    width = call.fixed(call.input(0), (-1,))[0]
    count = len(call.attribute("coefficients", ())) // max(width, 1)
    sums, transform = _sums(call, count), transform_of(call)
    if count == 1 and len(labels) == 2:
        return one_of_two(call, sums, labels, transform, bound=0.0, rest=True)
    if count != len(labels):
        raise call.unsupported(f"{len(labels)} labels do not fit {count} sums", "the model is invalid")
    return highest_label(call, sums, labels), transformed(f"{call.name}.scores", sums, transform)


OPERATORS = {"LinearClassifier": _linear_classifier, "LinearRegressor": _linear_regressor}
