"""Estimators of scikit-learn, LightGBM and XGBoost, as skl2onnx and onnxmltools convert them, beside onnxruntime."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
import webnn_compile
from drivers import need_driver

_RANDOM = np.random.default_rng(3)
X = _RANDOM.normal(size=(120, 5)).astype(np.float32)
CLASSES = (X[:, 0] + X[:, 1] * X[:, 2] > 0).astype(int) + (X[:, 3] > 0.7)
NAMES = np.asarray(["low", "middle", "high"])[CLASSES]
AMOUNTS = X[:, 0] * 2 + X[:, 1] ** 2
GAPS = np.where(_RANDOM.random(X.shape) < 0.1, np.float32(np.nan), X)
KINDS = np.column_stack([X[:, :4], _RANDOM.integers(0, 6, len(X))]).astype(np.float32)
"""The last feature is a category."""
TESTED = 29


def of_scikit_learn(module: str, name: str, y: np.ndarray | None = AMOUNTS, x: np.ndarray = X, **options: Any) -> Any:
    converter = pytest.importorskip("skl2onnx", reason="skl2onnx is not installed")
    estimator = getattr(pytest.importorskip(f"sklearn.{module}"), name)(**options).fit(x, y)
    return converter.to_onnx(estimator, x[:1], target_opset={"": 18, "ai.onnx.ml": 3})


def pipeline() -> Any:
    converter = pytest.importorskip("skl2onnx", reason="skl2onnx is not installed")
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import PolynomialFeatures, StandardScaler

    steps = make_pipeline(StandardScaler(), PolynomialFeatures(2), LogisticRegression())
    return converter.to_onnx(steps.fit(X, NAMES), X[:1], target_opset=18)


def of_lightgbm(name: str, y: np.ndarray, x: np.ndarray = X, **options: Any) -> Any:
    lightgbm = pytest.importorskip("lightgbm", reason="lightgbm is not installed")
    fit = {"categorical_feature": [4]} if x is KINDS else {}
    estimator = getattr(lightgbm, name)(n_estimators=8, min_child_samples=5, verbose=-1, **options).fit(x, y, **fit)
    return _by_onnxmltools("convert_lightgbm", estimator)


def of_xgboost(name: str, y: np.ndarray, x: np.ndarray = X, **options: Any) -> Any:
    xgboost = pytest.importorskip("xgboost", reason="xgboost is not installed")
    return _by_onnxmltools("convert_xgboost", getattr(xgboost, name)(n_estimators=8, **options).fit(x, y))


def _by_onnxmltools(function: str, estimator: Any) -> Any:
    convert = pytest.importorskip("onnxmltools.convert", reason="onnxmltools is not installed")
    from onnxmltools.convert.common.data_types import FloatTensorType

    inputs = [("X", FloatTensorType([None, X.shape[1]]))]
    return getattr(convert, function)(estimator, initial_types=inputs, target_opset=15)


ROWS: dict[str, tuple[Callable[[], onnx.ModelProto], np.ndarray]] = {
    "pipeline": (pipeline, X),
    "forest": (lambda: of_scikit_learn("ensemble", "RandomForestClassifier", NAMES, n_estimators=6), X),
    "boosting": (lambda: of_scikit_learn("ensemble", "GradientBoostingClassifier", NAMES, n_estimators=6), X),
    "isolation": (lambda: of_scikit_learn("ensemble", "IsolationForest", None, n_estimators=5), X),
    "support-vectors": (lambda: of_scikit_learn("svm", "SVR"), X),
    "network": (lambda: of_scikit_learn("neural_network", "MLPClassifier", NAMES, max_iter=30), X),
    "neighbours": (lambda: of_scikit_learn("neighbors", "KNeighborsClassifier", CLASSES), X),
    "clusters": (lambda: of_scikit_learn("cluster", "KMeans", None, n_clusters=4, n_init=1), X),
    "mixture": (lambda: of_scikit_learn("mixture", "GaussianMixture", None, n_components=3), X),
    "bayes": (lambda: of_scikit_learn("naive_bayes", "GaussianNB", NAMES), X),
    "process": (lambda: of_scikit_learn("gaussian_process", "GaussianProcessRegressor"), X),
    "categories": (lambda: of_scikit_learn("preprocessing", "OneHotEncoder", None, KINDS[:, 4:]), KINDS[:, 4:]),
    "quantiles": (lambda: of_scikit_learn("preprocessing", "KBinsDiscretizer", None, n_bins=4, encode="ordinal"), X),
    "lightgbm-classes": (lambda: of_lightgbm("LGBMClassifier", CLASSES, GAPS), GAPS),
    "lightgbm-category": (lambda: of_lightgbm("LGBMClassifier", (CLASSES > 0).astype(int), KINDS), KINDS),
    "lightgbm-counts": (lambda: of_lightgbm("LGBMRegressor", np.abs(AMOUNTS), objective="poisson"), X),
    "lightgbm-dart": (lambda: of_lightgbm("LGBMRegressor", AMOUNTS, boosting_type="dart"), X),
    "xgboost-classes": (lambda: of_xgboost("XGBClassifier", CLASSES, GAPS), GAPS),
    "xgboost-two-classes": (lambda: of_xgboost("XGBClassifier", (CLASSES > 0).astype(int)), X),
    "xgboost-logistic": (lambda: of_xgboost("XGBRegressor", (AMOUNTS > 0) * 1.0, objective="reg:logistic"), X),
    "xgboost-gamma": (lambda: of_xgboost("XGBRegressor", np.abs(AMOUNTS) + 0.1, objective="reg:gamma"), X),
}


@pytest.mark.parametrize("target", ["native", "wasm"])
@pytest.mark.parametrize("row", ROWS)
def test_results_are_those_of_onnxruntime(row: str, target: str) -> None:
    make, features = ROWS[row]
    proto = make()
    need_driver(target)
    session = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    feeds = {session.get_inputs()[0].name: features[:TESTED]}
    wanted = dict(zip((o.name for o in session.get_outputs()), session.run(None, feeds), strict=True))
    got = webnn_compile.compile(proto, target=target, shapes={n: x.shape for n, x in feeds.items()}).run(feeds)
    assert got.keys() == wanted.keys()
    for name, want in wanted.items():
        _assert_equal(got[name], want)


def _assert_equal(got: Any, want: Any) -> None:
    if isinstance(want, list):
        assert [list(row) for row in got] == [list(row) for row in want]
        got, want = (np.asarray([list(row.values()) for row in rows]) for rows in (got, want))
    assert got.shape == want.shape
    if want.dtype.kind == "f":
        np.testing.assert_allclose(got, want, rtol=0, atol=2e-5 * max(1, np.abs(want).max()))
    else:
        assert got.tolist() == want.tolist()
