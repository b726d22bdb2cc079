"""Rows of operators of ai.onnx.ml."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from onnx import numpy_helper
from onnx.reference import ReferenceEvaluator
from op_cases._arrays import NAN, Arrays
from op_table import Array, Case, feeds, untyped_model
from random_forests import MODES, named_nodes, numbered_nodes

_a = Arrays(34)
_x = _a.normal
_ROUND = np.round(_x(7, 3), 1)
"""Features that equal values of branches, here and there."""

_DOUBLES = np.round(_x(40, 3).astype(np.float64), 1) + 1e-12 * _a.integers(-1, 2, 40, 3)
"""Features that differ from the values of branches by less than float32 shows."""

_PROBABILITIES = _a.uniform(0.01, 0.3, 5, 3)
_WITH_NAN = np.where(_a.uniform(0, 1, 7, 3) < 0.3, np.float32(NAN), _ROUND)
_WHOLE = _a.integers(1, 6, 9, 3).astype(np.float32)
_FIVE = _x(5, 3)
_SIGNS = np.asarray([[0, 0, 0], [-1, -2, 0], [-3, -2, -1], [1, 2, 3]], np.float32)


def _ml(id: str, op: str, *inputs: Array, version: int = 3, outputs: int = 1, **attributes: Any) -> Case:
    made = {n: numpy_helper.from_array(v) if isinstance(v, np.ndarray) else v for n, v in attributes.items()}
    constants = frozenset({1}) if op == "ArrayFeatureExtractor" and "run" not in id else frozenset()
    return Case(f"ml-{id}", op, inputs, made, 17, constants, outputs, domain="ai.onnx.ml", version=version)


def _linear(id: str, transform: str, classes: int = 4, x: Array = _FIVE, **attributes: Any) -> Case:
    return _ml(
        f"linearclassifier-{id}",
        "LinearClassifier",
        x,
        outputs=2,
        post_transform=transform,
        **{
            "coefficients": _x(classes * 3).tolist(),
            "intercepts": _x(classes).tolist(),
            "classlabels_ints": list(range(classes)),
            **attributes,
        },
    )


def _classifier(id: str, transform: str, classes: int, targets: list[int], seed: int = 1, **attributes: Any) -> Case:
    nodes = {n: attributes.pop(n) for n in ("least", "missing", "modes") if n in attributes}
    return _ml(
        f"treeensembleclassifier-{id}",
        "TreeEnsembleClassifier",
        attributes.pop("x", _ROUND),
        outputs=2,
        classlabels_int64s=attributes.pop("labels", list(range(classes))),
        post_transform=transform,
        **named_nodes(seed, "class", targets, **nodes),
        **attributes,
    )


def _regressor(id: str, targets: int = 2, seed: int = 2, x: Array = _ROUND, **attributes: Any) -> Case:
    nodes = {n: attributes.pop(n) for n in ("missing", "modes", "depth", "trees") if n in attributes}
    made = named_nodes(seed, "target", range(targets), **nodes)
    return _ml(f"treeensembleregressor-{id}", "TreeEnsembleRegressor", x, n_targets=targets, **made | attributes)


def _vectors(id: str, counts: list[int], transform: str = "NONE", x: Array = _FIVE, **attributes: Any) -> Case:
    """SVMClassifier with so many support vectors of each class."""
    classes, vectors = len(counts), sum(counts)
    pairs = classes * (classes - 1) // 2
    given = {
        "classlabels_ints": list(range(classes)),
        "coefficients": _x((classes - 1) * vectors).tolist(),
        "kernel_params": [0.4, 0.5, 3.0],
        "kernel_type": "RBF",
        "rho": _x(pairs).tolist(),
        "support_vectors": _x(vectors * 3).tolist(),
        "vectors_per_class": counts,
    }
    if attributes.pop("probabilities", False):
        given |= {"prob_a": (-1 - _a.uniform(0, 2, pairs)).tolist(), "prob_b": (_x(pairs) / 4).tolist()}
    if not vectors:
        del given["support_vectors"], given["vectors_per_class"]
    return _ml(f"svmclassifier-{id}", "SVMClassifier", x, outputs=2, post_transform=transform, **given | attributes)


def _one_sum(id: str, kernel: str, vectors: int = 7, x: Array = _FIVE, **attributes: Any) -> Case:
    """SVMRegressor."""
    given = {
        "coefficients": _x(vectors or 3).tolist(),
        "kernel_params": [0.4, 0.5, 3.0],
        "kernel_type": kernel,
        "n_supports": vectors,
        "rho": [0.25],
        "support_vectors": _x(vectors * 3).tolist() if vectors else [0.0],
    }
    return _ml(f"svmregressor-{id}", "SVMRegressor", x, **given | attributes)


def _highest(case: Case) -> Case:
    """onnxruntime takes any positive score of the second of two classes for the label; ONNX's reference the highest."""
    results = ReferenceEvaluator(untyped_model(case)).run(None, feeds(case))
    return replace(case, expected=tuple(np.asarray(r) for r in results))


def _logistic(case: Case) -> Case:
    """The row with LOGISTIC, 2 by the specification, by which onnxruntime means SOFTMAX."""
    (sums,) = ReferenceEvaluator(untyped_model(case)).run(None, feeds(case))
    scores = 1 / (1 + np.exp(-np.asarray(sums, np.float32)))
    return replace(case, attributes={**case.attributes, "post_transform": 2}, expected=(scores,))


def _as_tensors(kind: str, targets: int, dtype: type = np.float32, nearby: float = 0.0) -> dict[str, Any]:
    """Attributes whose lists of numbers are tensors; the values of branches are `nearby` those with one digit."""
    made = named_nodes(3, kind, range(targets))
    made["nodes_values"] = np.round(made["nodes_values"], 1) + nearby
    for name in ("nodes_values", "nodes_hitrates", f"{kind}_weights"):
        made[f"{name}_as_tensor"] = np.asarray(made.pop(name), dtype)
    return made | {"base_values_as_tensor": np.asarray([0.25, -0.5, 1.5][:targets], dtype)}


def _ensemble(dtype: type, nearby: float) -> dict[str, Any]:
    """Attributes of TreeEnsemble of an element type, the values of its branches `nearby` those with one digit."""
    made = numbered_nodes(17, 3)
    splits = np.round(made["nodes_splits"].astype(np.float64), 1) + nearby
    return made | {"nodes_splits": splits.astype(dtype), "leaf_weights": made["leaf_weights"].astype(dtype)}


CASES = [
    _ml("scaler", "Scaler", _x(4, 3), offset=[0.5, -1.0, 2.0], scale=[2.0, 0.5, -1.0]),
    _ml("scaler-one", "Scaler", _a.integers(-9, 9, 4, 3), offset=[1.0], scale=[0.25]),
    _ml("scaler-vector", "Scaler", _x(3), offset=[0.5, -1.0, 2.0], scale=[0.5]),
    _ml("scaler-doubles", "Scaler", 1e9 + _DOUBLES, offset=[1e9], scale=[3.0]),
    *(_ml(f"normalizer-{n.lower()}", "Normalizer", _SIGNS, norm=n) for n in ("MAX", "L1", "L2")),
    _ml("normalizer-ints", "Normalizer", _a.integers(-9, 9, 4, 3), norm="L2"),
    _ml("binarizer", "Binarizer", _ROUND, threshold=0.3),
    _ml("binarizer-doubles", "Binarizer", _DOUBLES, threshold=0.5),
    _ml("imputer", "Imputer", _WITH_NAN, imputed_value_floats=[1.0, 2.0, 3.0], replaced_value_float=NAN),
    _ml("imputer-one", "Imputer", _ROUND, imputed_value_floats=[9.0], replaced_value_float=float(_ROUND[2, 1])),
    _ml("imputer-ints", "Imputer", _a.integers(0, 3, 5, 2), imputed_value_int64s=[7, 8], replaced_value_int64=1),
    _ml("arrayfeatureextractor", "ArrayFeatureExtractor", _x(4, 5), np.asarray([3, 0, 3], np.int64)),
    _ml("arrayfeatureextractor-run", "ArrayFeatureExtractor", _x(2, 4, 5), np.asarray([[3, 0, 4]], np.int64)),
    _ml("arrayfeatureextractor-vector", "ArrayFeatureExtractor", _a.integers(0, 9, 5), np.asarray([2, 1], np.int64)),
    _ml("featurevectorizer", "FeatureVectorizer", _x(4, 2), _x(4, 3), inputdimensions=[2, 3]),
    _ml("featurevectorizer-cut", "FeatureVectorizer", _x(4, 3), _x(4, 2), inputdimensions=[2, 2]),
    _ml("featurevectorizer-filled", "FeatureVectorizer", _x(4, 3), _x(4, 2), inputdimensions=[5, 3]),
    _ml(
        "featurevectorizer-vectors",
        "FeatureVectorizer",
        _a.integers(-9, 9, 3),
        _a.integers(-9, 9, 2),
        inputdimensions=[3, 2],
    ),
    _ml("onehotencoder", "OneHotEncoder", _a.integers(0, 6, 4, 2), cats_int64s=[4, 1, 2]),
    _ml("onehotencoder-known", "OneHotEncoder", _a.integers(0, 3, 5), cats_int64s=[2, 0, 1], zeros=0),
    _ml("onehotencoder-other-flag", "OneHotEncoder", _a.integers(0, 6, 5), cats_int64s=[2, 0, 1], zeros=-3),
    _ml(
        "labelencoder",
        "LabelEncoder",
        _a.integers(0, 5, 3, 4),
        keys_int64s=[4, 0, 2],
        values_floats=[0.5, 1.5, -2.5],
        default_float=9.0,
    ),
    _ml(
        "labelencoder-floats",
        "LabelEncoder",
        np.asarray([1, NAN, 2, 7], np.float32),
        version=4,
        keys_floats=[1.0, 2.0, NAN],
        values_int64s=[10, 20, 30],
        default_int64=-7,
    ),
    _ml(
        "labelencoder-tensors",
        "LabelEncoder",
        _a.integers(0, 5, 6),
        version=4,
        keys_tensor=np.asarray([3, 1], np.int64),
        values_tensor=np.asarray([0.5, 2.5], np.float32),
        default_tensor=np.asarray([8.5], np.float32),
    ),
    _ml("linearregressor", "LinearRegressor", _x(5, 3), coefficients=_x(6).tolist(), intercepts=[0.5, -1.0], targets=2),
    _ml("linearregressor-one", "LinearRegressor", _x(5, 3), coefficients=_x(3).tolist(), post_transform="LOGISTIC"),
    _ml(
        "linearregressor-probit",
        "LinearRegressor",
        _PROBABILITIES,
        coefficients=[1.0, 0.5, 1.5],
        post_transform="PROBIT",
    ),
    _linear("none", "NONE"),
    _linear("probit", "PROBIT", 2, _PROBABILITIES, coefficients=[1.0, 0.5, 1.5, 0.2, 0.7, 0.1], intercepts=[0.0, 0.05]),
    _linear("doubles", "NONE", x=_x(5, 3).astype(np.float64)),
    _linear("softmax", "SOFTMAX", classlabels_ints=[3, 8, -5, 70]),
    _linear("softmax-zero", "SOFTMAX_ZERO"),
    _linear("logistic", "LOGISTIC", multi_class=1),
    _linear("ints", "NONE", x=_a.integers(-4, 4, 5, 3)),
    _linear("one-sum", "NONE", 1, classlabels_ints=[4, 9]),
    _linear("one-sum-softmax", "SOFTMAX", 1, classlabels_ints=[4, 9]),
    _linear("one-sum-logistic", "LOGISTIC", 1, classlabels_ints=[4, 9]),
    *(_one_sum(k.lower(), k) for k in ("LINEAR", "POLY", "RBF", "SIGMOID")),
    _one_sum("square", "POLY", kernel_params=[0.4, 0.5, 2.0]),
    _one_sum("one-class", "RBF", one_class=1),
    _one_sum("one-class-other-flag", "RBF", one_class=2),
    _one_sum("coefficients-alone", "LINEAR", 0),
    _one_sum("vector", "RBF", x=_x(3)),
    _vectors("pairs", [3, 2, 4]),
    _vectors("two", [3, 4], classlabels_ints=[7, -2]),
    _vectors("two-softmax", [3, 4], "SOFTMAX"),
    _vectors("two-logistic", [3, 4], "LOGISTIC"),
    _vectors("poly", [2, 1, 3, 4], kernel_type="POLY", classlabels_ints=[5, 1, 9, 2]),
    _vectors("none-of-one", [2, 0, 3], kernel_type="LINEAR"),
    _vectors("sigmoid-softmax", [2, 1, 3], "SOFTMAX", kernel_type="SIGMOID"),
    _vectors("ints", [2, 1, 3], "LOGISTIC", _a.integers(-3, 3, 5, 3)),
    _vectors("probabilities", [3, 2, 4], probabilities=True),
    _vectors("probabilities-two", [3, 4], probabilities=True),
    _vectors("probabilities-seven", [2, 1, 1, 2, 1, 3, 1], probabilities=True, x=_x(40, 3)),
    _vectors("linear", [], classlabels_ints=[4, 2, 3], coefficients=_x(9).tolist(), rho=[0.1]),
    _highest(_vectors("linear-two", [], "SOFTMAX", classlabels_ints=[4, 2], coefficients=_x(6).tolist(), rho=[-0.1])),
    _regressor("sum"),
    _regressor("vector-of-trees", 1, 4, trees=17, depth=6, x=np.round(_x(1, 3), 1)),
    _regressor("leaves-alone", 2, 5, depth=0, trees=1),
    *(_regressor(f"mode-{m[7:].lower()}", 1, 6, modes=(m,)) for m in MODES),
    _regressor("modes", 2, 7, modes=MODES),
    _regressor("missing", 2, 8, x=_WITH_NAN, missing=True),
    _regressor("nan", 2, 8, x=_WITH_NAN),
    *(_regressor(f"{f.lower()}", 2, 9, aggregate_function=f) for f in ("AVERAGE", "MIN", "MAX")),
    _regressor("base", 2, 10, base_values=[0.5, -3.0], post_transform="SOFTMAX"),
    _ml("treeensembleregressor-tensors", "TreeEnsembleRegressor", _ROUND, n_targets=2, **_as_tensors("target", 2)),
    _ml(
        "treeensembleregressor-doubles",
        "TreeEnsembleRegressor",
        _DOUBLES,
        n_targets=2,
        **_as_tensors("target", 2, np.float64, 0.5e-12),
    ),
    _classifier("none", "NONE", 4, [0, 1, 2, 3]),
    _classifier("softmax", "SOFTMAX", 3, [0, 1, 2], labels=[30, 10, 20]),
    _classifier("base", "LOGISTIC", 3, [0, 1, 2], base_values=[0.5, 1.0, -1.0]),
    _highest(_classifier("two", "NONE", 2, [0, 1], least=0.0)),
    _classifier("ints", "NONE", 3, [0, 1, 2], x=_a.integers(-2, 3, 7, 3)),
    _classifier("first-of-two", "LOGISTIC", 2, [0], labels=[5, 6]),
    _classifier("first-of-two-base", "NONE", 2, [0], base_values=[0.75]),
    _classifier("shares", "NONE", 2, [0], least=0.0, missing=True, x=_WITH_NAN),
    _classifier("second-of-two", "NONE", 2, [1]),
    _classifier("without-one", "NONE", 3, [0, 2], seed=12),
    _ml(
        "treeensembleclassifier-tensors",
        "TreeEnsembleClassifier",
        _ROUND,
        outputs=2,
        classlabels_int64s=[0, 1, 2],
        **_as_tensors("class", 3),
    ),
    _ml(
        "treeensembleclassifier-doubles",
        "TreeEnsembleClassifier",
        _DOUBLES,
        outputs=2,
        classlabels_int64s=[0, 1, 2],
        **_as_tensors("class", 3, np.float64, 0.5e-12),
    ),
    _ml("treeensemble-doubles", "TreeEnsemble", _DOUBLES, version=5, **_ensemble(np.float64, 0.5e-12)),
    _ml("treeensemble-halves", "TreeEnsemble", _ROUND.astype(np.float16), version=5, **_ensemble(np.float16, 0.0)),
    _ml("treeensemble", "TreeEnsemble", _ROUND, version=5, **numbered_nodes(13, 3)),
    _ml("treeensemble-sets", "TreeEnsemble", _WHOLE, version=5, **numbered_nodes(14, 2, sets=True)),
    _ml(
        "treeensemble-missing",
        "TreeEnsemble",
        _WITH_NAN,
        version=5,
        nodes_missing_value_tracks_true=[1, 0, 1] * 5,
        nodes_hitrates=np.ones(15, np.float32),
        aggregate_function=0,
        **numbered_nodes(15, 2),
    ),
    _logistic(_ml("treeensemble-logistic", "TreeEnsemble", _ROUND, version=5, **numbered_nodes(16, 2))),
]
