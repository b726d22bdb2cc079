"""Support vector machines.

Source: SVM.proto of Core ML's specification, whose models are libsvm's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ....errors import UnsupportedError
from ...model_builder import ML
from ..feature_values import Features
from .model_call import ModelCall, ModelHandler

_MOST = 1 << 27
"""Elements of support vectors, of which a file may leave out all that are 0."""


def _kernel(call: ModelCall) -> dict[str, Any]:
    """Attributes of the kernel: gamma, offset, degree."""
    kernel = call.params.kernel
    if kernel.HasField("linearKernel"):
        return {"kernel_type": "LINEAR", "kernel_params": [0.0, 0.0, 0.0]}
    if kernel.HasField("rbfKernel"):
        return {"kernel_type": "RBF", "kernel_params": [kernel.rbfKernel.gamma, 0.0, 0.0]}
    if kernel.HasField("polyKernel"):
        poly = kernel.polyKernel
        return {"kernel_type": "POLY", "kernel_params": [poly.gamma, poly.c, float(poly.degree)]}
    if kernel.HasField("sigmoidKernel"):
        return {"kernel_type": "SIGMOID", "kernel_params": [kernel.sigmoidKernel.gamma, kernel.sigmoidKernel.c, 0.0]}
    raise call.unsupported("it has no kernel")


def _vectors(call: ModelCall) -> np.ndarray:
    """Support vectors as rows [vectors, features]; the indices of sparse ones begin with 1."""
    width = call.width
    if width is None:
        raise call.unsupported("the number of its features is not declared; convert the model with their shapes")
    if call.params.HasField("denseSupportVectors"):
        rows: Sequence[Any] = [list(v.values) for v in call.params.denseSupportVectors.vectors]
        if any(len(row) != width for row in rows):
            raise call.unsupported(f"its support vectors do not have {width} elements, one for each feature")
        return np.asarray(rows, float).reshape(-1, width)
    sparse = call.params.sparseSupportVectors.vectors
    if len(sparse) * width > _MOST:
        raise call.unsupported(f"{len(sparse)} support vectors of {width} features are too many")
    table = np.zeros((len(sparse), width))
    for row, vector in zip(table, sparse, strict=True):
        for node in vector.nodes:
            if not 1 <= node.index <= width:
                raise call.unsupported(f"a support vector has an element {node.index}, and there are {width} features")
            row[node.index - 1] = node.value
    return table


def _regressor(call: ModelCall) -> Features:
    vectors, alpha = _vectors(call), list(call.params.coefficients.alpha)
    if not len(vectors) or len(alpha) != len(vectors):
        raise _counts(call, [len(alpha)], len(vectors))
    value = call.ml(
        "SVMRegressor",
        [call.row()],
        n_supports=len(vectors),
        support_vectors=vectors.reshape(-1).tolist(),
        coefficients=alpha,
        rho=[-call.params.rho],
        **_kernel(call),
    )
    return call.numbers(value, 1)


def _counts(call: ModelCall, coefficients: Sequence[int], vectors: int) -> UnsupportedError:
    return call.unsupported(f"coefficients of {list(coefficients)} elements do not fit {vectors} support vectors")


def _classifier(call: ModelCall) -> Features:
    """The label of the highest probability; without probabilities that with the most votes of pairs of classes, of
    equal ones the first, as in libsvm."""
    params, vectors, classes = call.params, _vectors(call), len(call.classes)
    counts = [int(n) for n in params.numberOfSupportVectorsPerClass]
    rows = [list(row.alpha) for row in params.coefficients]
    pairs = classes * (classes - 1) // 2
    if not len(vectors) or [len(row) for row in rows] != [len(vectors)] * (classes - 1):
        raise _counts(call, [len(row) for row in rows], len(vectors))
    if len(counts) != classes or min(counts) < 0 or sum(counts) != len(vectors):
        raise call.unsupported(f"{counts} support vectors by class do not fit {len(vectors)} of {classes} classes")
    sigmoids = list(params.probA), list(params.probB)
    if (
        len(params.rho) != pairs
        or any(len(s) not in (0, pairs) for s in sigmoids)
        or bool(params.probA) != bool(params.probB)
    ):
        raise call.unsupported(f"rho, probA or probB do not have {pairs} elements, one for each pair of classes")
    place, scores = call.nodes(
        "SVMClassifier",
        [call.row()],
        2,
        domain=ML,
        classlabels_ints=list(range(classes)),
        vectors_per_class=counts,
        support_vectors=vectors.reshape(-1).tolist(),
        coefficients=[v for row in rows for v in row],
        rho=[-r for r in params.rho],
        **({"prob_a": sigmoids[0], "prob_b": sigmoids[1]} if params.probA else {}),
        **_kernel(call),
    )
    return call.labels(scores, "" if params.probA else place, has_scores=bool(params.probA))


SUPPORT_VECTORS: Mapping[str, ModelHandler] = {
    "supportVectorClassifier": _classifier,
    "supportVectorRegressor": _regressor,
}
