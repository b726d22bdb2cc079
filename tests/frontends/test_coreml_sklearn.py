"""Models that coremltools converts from scikit-learn, against scikit-learn's results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import webnn_compile

ct = pytest.importorskip("coremltools", reason="needs `pip install coremltools`, which makes the models")
sklearn = pytest.importorskip("sklearn", reason="needs `pip install scikit-learn==1.5.1`, whose results are compared")
if tuple(map(int, sklearn.__version__.split(".")[:2])) > (1, 5):
    pytest.skip("coremltools converts models of scikit-learn 1.5.1 and older", allow_module_level=True)

from sklearn import (  # noqa: E402
    datasets,
    ensemble,
    impute,
    linear_model,
    pipeline,
    preprocessing,
    svm,
    tree,
)

NAMES = np.array(["setosa", "versicolor", "virginica"])
FLOWERS = datasets.load_iris()
X = FLOWERS.data.astype(np.float32)
LABELS = NAMES[FLOWERS.target]
MISSING = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X).astype(np.float32)
WIDTH = X @ np.array([0.5, -1.0, 0.25, 2.0]) + np.sin(X[:, 0])

CLASSIFIERS = {
    "linear": linear_model.LogisticRegression(multi_class="ovr"),
    "support vectors": svm.SVC(probability=True, gamma=0.1, random_state=0),
    "support vectors without probabilities": svm.NuSVC(nu=0.3),
    "tree": tree.DecisionTreeClassifier(max_depth=4, random_state=0),
    "pipeline": pipeline.make_pipeline(
        impute.SimpleImputer(), preprocessing.StandardScaler(), linear_model.LogisticRegression(multi_class="ovr")
    ),
}
REGRESSORS = {
    "linear": linear_model.Ridge(),
    "support vectors": svm.SVR(gamma=0.1),
    "tree": tree.DecisionTreeRegressor(max_depth=5, random_state=0),
    "forest": ensemble.RandomForestRegressor(10, max_depth=5, random_state=0),
    "pipeline": pipeline.make_pipeline(preprocessing.Normalizer(), linear_model.Ridge(0.01)),
}


def results(estimator: Any, x: np.ndarray, folder: Path) -> list[list[Any]]:
    """The outputs of each row, of which each feature is an input."""
    path = folder / "model.mlmodel"
    ct.converters.sklearn.convert(estimator, list("abcd")).save(str(path))
    compiled = webnn_compile.compile(path)
    feeds = ({name: row[i : i + 1] for i, name in enumerate("abcd")} for row in x)
    return [list(compiled.run(given).values()) for given in feeds]


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_classifiers(name: str, tmp_path: Path) -> None:
    x = MISSING if name == "pipeline" else X
    estimator = CLASSIFIERS[name].fit(x, LABELS)
    rows = x[::9]
    labels, *scores = zip(*results(estimator, rows, tmp_path), strict=True)
    assert [str(label[0]) for label in labels] == estimator.predict(rows).tolist()
    for by_label in scores:
        got = [[row[0][label] for label in NAMES] for row in by_label]
        np.testing.assert_allclose(got, estimator.predict_proba(rows), rtol=0, atol=1e-4)


@pytest.mark.parametrize("name", REGRESSORS)
def test_regressors(name: str, tmp_path: Path) -> None:
    estimator = REGRESSORS[name].fit(X, WIDTH)
    rows = X[::9]
    got = np.array([y for (y,) in results(estimator, rows, tmp_path)])
    np.testing.assert_allclose(got[:, 0], estimator.predict(rows), rtol=1e-5, atol=1e-5)
