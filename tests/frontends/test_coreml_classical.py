"""Core ML models that are no networks, and pipelines, against NumPy."""

from __future__ import annotations

import math
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import webnn_compile
from coreml_classical import Labels, classical, classifier, pipeline, random_trees, sums_of_trees, transformer
from coreml_models import Network, Program
from coreml_reference import sigmoid, softmax, suppressed
from webnn_compile.errors import InputError, UnsupportedError
from webnn_compile.frontends.coreml.models import MODELS
from webnn_compile.frontends.coreml.schema import CLASSICAL_FIELDS
from webnn_compile.frontends.importers import describe_model, import_model

Array = np.ndarray
RNG = np.random.default_rng(8)
NAMES = ["ash", "beech", "cedar"]
NAN = float("nan")


def real(*shape: int) -> Array:
    return RNG.uniform(-1, 1, shape).astype(np.float32)


X = real(7, 4)
TENTHS = (RNG.integers(-3, 4, (9, 4)) / 10).astype(np.float32)
"""Features at the values of branches, which as double are greater or less than these, and missing ones."""
TENTHS[::2, 1] = NAN


def rows(values: Array) -> list[dict[str, Any]]:
    return [{"value": [float(v) for v in row]} for row in values]


def results(model: bytes, x: Array) -> list[Any]:
    """The outputs of each row of features."""
    compiled = webnn_compile.compile(model)
    return [list(compiled.run({"x": row}).values()) for row in x]


def check_classes(model: bytes, x: Array, want: Array, labels: Labels, tolerance: float = 1e-5) -> None:
    """Scores of classes, and the label of the highest."""
    for (label, (scores,)), row in zip(results(model, x), want, strict=True):
        assert list(scores) == list(labels)
        np.testing.assert_allclose(list(scores.values()), row, rtol=0, atol=tolerance)
        assert list(label) == [labels[int(row.argmax())]]


def check_numbers(model: bytes, x: Array, want: Array, tolerance: float = 1e-5) -> None:
    got = np.array([y for (y,) in results(model, x)])
    assert got.shape == want.shape
    np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance)


def normal(x: Array) -> Array:
    return np.vectorize(lambda v: (1 + math.erf(v / math.sqrt(2))) / 2)(x)


def test_each_kind_of_model_has_a_function() -> None:
    assert set(MODELS) == {word for word in CLASSICAL_FIELDS.split() if word[0].islower()}


@pytest.mark.parametrize(("transform", "of"), [(0, lambda s: s), (1, sigmoid), (2, normal)])
def test_linear_regressors(transform: int, of: Any) -> None:
    weights, offset = real(3, 4), real(3)
    fields = {"weights": rows(weights), "offset": offset.tolist(), "postEvaluationTransform": transform}
    check_numbers(transformer("glmRegressor", 4, 3, fields), X, of(X @ weights.T + offset))


@pytest.mark.parametrize("encoding", [0, 1])
@pytest.mark.parametrize(("transform", "of"), [(0, sigmoid), (1, normal)])
def test_linear_classifiers_of_two(encoding: int, transform: int, of: Any) -> None:
    weights = real(1, 4)
    fields = {"weights": rows(weights), "postEvaluationTransform": transform, "classEncoding": encoding}
    p = of(X @ weights.T)
    check_classes(classifier("glmClassifier", 4, fields, [5, -2]), X, np.hstack([1 - p, p]), [5, -2])


def test_linear_classifiers_of_three() -> None:
    weights, offset = real(3, 4), real(3)
    fields = {"weights": rows(weights), "offset": offset.tolist(), "classEncoding": 1}
    p = sigmoid(X @ weights.T + offset)
    check_classes(classifier("glmClassifier", 4, fields, NAMES), X, p / p.sum(1, keepdims=True), NAMES)
    fields = {"weights": rows(weights[:2]), "offset": offset[:2].tolist()}
    sums = np.hstack([np.zeros((7, 1)), X @ weights[:2].T + offset[:2]])
    check_classes(classifier("glmClassifier", 4, fields, NAMES), X, softmax(sums), NAMES)


def trees(dimensions: int, base: list[float], transform: int = 0, scale: float = 1.0) -> tuple[dict[str, Any], Array]:
    """Fields of an ensemble, and the sums of the features `TENTHS`."""
    nodes = random_trees(np.random.default_rng(dimensions), 6, 4, dimensions, scale)
    ensemble = {"nodes": nodes, "numPredictionDimensions": dimensions, "basePredictionValue": base}
    sums = np.array([sums_of_trees(nodes, base, x) for x in TENTHS])
    return {"treeEnsemble": ensemble, "postEvaluationTransform": transform}, sums


@pytest.mark.parametrize(("transform", "of"), [(0, lambda s: s), (1, softmax), (2, sigmoid)])
def test_regression_trees(transform: int, of: Any) -> None:
    fields, sums = trees(2, [0.5, -0.25], transform)
    check_numbers(transformer("treeEnsembleRegressor", 4, 2, fields), TENTHS, of(sums))


@pytest.mark.parametrize(("transform", "of"), [(0, lambda s: s), (1, softmax), (2, sigmoid)])
def test_classification_trees(transform: int, of: Any) -> None:
    fields, sums = trees(3, [0.1, 0.2, 0.3], transform)
    check_classes(classifier("treeEnsembleClassifier", 4, fields, NAMES), TENTHS, of(sums), NAMES)


@pytest.mark.parametrize(("transform", "of"), [(0, lambda s: s), (2, sigmoid), (3, sigmoid)])
def test_classification_trees_of_two(transform: int, of: Any) -> None:
    fields, sums = trees(1, [0.5], transform, 0.2)
    p = of(sums)
    check_classes(classifier("treeEnsembleClassifier", 4, fields, [0, 1]), TENTHS, np.hstack([1 - p, p]), [0, 1])


def test_a_probability_of_one_half_is_the_second_label() -> None:
    ((label, _),) = results(classifier("treeEnsembleClassifier", 4, {"treeEnsemble": STUMP}, [0, 1]), X[:1])
    assert list(label) == [1]


def test_trees_with_a_class_of_reference() -> None:
    fields, sums = trees(2, [0.1, 0.2], 3)
    want = softmax(np.hstack([np.zeros((9, 1)), sums]))
    check_classes(classifier("treeEnsembleClassifier", 4, fields, NAMES), TENTHS, want, NAMES)


def kernel(kind: str, x: Array, vectors: Array) -> Array:
    match kind:
        case "rbfKernel":
            return np.exp(-0.7 * ((x[:, None] - vectors) ** 2).sum(2))
        case "polyKernel":
            return (0.5 * x @ vectors.T + 1.5) ** 3
        case "sigmoidKernel":
            return np.tanh(0.4 * x @ vectors.T - 0.3)
    return x @ vectors.T


KERNELS: dict[str, dict[str, float]] = {
    "linearKernel": {},
    "rbfKernel": {"gamma": 0.7},
    "polyKernel": {"degree": 3, "c": 1.5, "gamma": 0.5},
    "sigmoidKernel": {"c": -0.3, "gamma": 0.4},
}


def sparse(vectors: Array) -> dict[str, Any]:
    """Support vectors without their zeros."""
    nodes = [[{"index": i + 1, "value": float(v)} for i, v in enumerate(row) if v] for row in vectors]
    return {"sparseSupportVectors": {"vectors": [{"nodes": n} for n in nodes]}}


@pytest.mark.parametrize("kind", KERNELS)
def test_support_vector_regressors(kind: str) -> None:
    vectors, alpha = real(6, 4), real(6)
    vectors[:, 2] = 0
    fields = {"kernel": {kind: KERNELS[kind]}, "coefficients": {"alpha": alpha.tolist()}, "rho": 0.25}
    want = kernel(kind, X, vectors) @ alpha[:, None] - 0.25
    check_numbers(transformer("supportVectorRegressor", 4, "double", fields | sparse(vectors)), X, want)


def machine(probabilities: bool) -> tuple[dict[str, Any], Array]:
    """Fields of a classifier with three classes, and the decisions [rows, pairs]."""
    own = np.random.default_rng(5)  # whatever tests ran before, and drew
    vectors, alpha, rho = (own.uniform(-1, 1, shape).astype(np.float32) for shape in ((9, 4), (2, 9), 3))
    counts = [2, 4, 3]
    dense = {"denseSupportVectors": {"vectors": [{"values": row.tolist()} for row in vectors]}}
    sigmoids = {"probA": [-1.5, -0.5, -2.0], "probB": [0.1, 0.2, -0.3]} if probabilities else {}
    fields = {
        "kernel": {"rbfKernel": {"gamma": 0.7}},
        "numberOfSupportVectorsPerClass": counts,
        "coefficients": [{"alpha": row.tolist()} for row in alpha],
        "rho": rho.tolist(),
        **dense,
        **sigmoids,
    }
    kernels, ends = kernel("rbfKernel", X, vectors), np.cumsum(counts)
    decisions = np.zeros((len(X), 3))
    for p, (i, j) in enumerate(combinations(range(3), 2)):
        for kind, row in ((i, j - 1), (j, i)):
            part = slice(ends[kind] - counts[kind], ends[kind])
            decisions[:, p] += kernels[:, part] @ alpha[row, part]
    return fields, decisions - rho


def test_support_vector_classifiers_vote() -> None:
    fields, decisions = machine(probabilities=False)
    votes = np.zeros((len(X), 3))
    for p, (i, j) in enumerate(combinations(range(3), 2)):
        votes[:, i] += decisions[:, p] > 0
        votes[:, j] += decisions[:, p] <= 0
    labels = [str(label[0]) for (label,) in results(classifier("supportVectorClassifier", 4, fields, NAMES, False), X)]
    assert labels == [NAMES[int(row.argmax())] for row in votes]
    assert len(set(labels)) > 1


def coupled(decisions: Array, slope: Array, shift: Array) -> Array:
    """Probabilities that fit those of pairs best (Wu, Lin and Weng, 2004): the solution of their linear system."""
    r = np.zeros((3, 3))
    for p, (i, j) in enumerate(combinations(range(3), 2)):
        r[i, j] = sigmoid(-(decisions[p] * slope[p] + shift[p]))
        r[j, i] = 1 - r[i, j]
    q = -r * r.T
    np.fill_diagonal(q, (r**2).sum(0))
    system = np.block([[q, np.ones((3, 1))], [np.ones((1, 3)), np.zeros((1, 1))]])
    return np.linalg.solve(system, [0, 0, 0, 1])[:3]


def test_support_vector_classifiers_with_probabilities() -> None:
    fields, decisions = machine(probabilities=True)
    want = np.array([coupled(d, np.array(fields["probA"]), np.array(fields["probB"])) for d in decisions])
    # libsvm's sweeps end near the solution.
    check_classes(classifier("supportVectorClassifier", 4, fields, NAMES), X, want, NAMES, 2e-3)


def test_scalers() -> None:
    shift, scale = real(4), real(4)
    fields = {"shiftValue": shift.tolist(), "scaleValue": scale.tolist()}
    check_numbers(transformer("scaler", 4, 4, fields), X, (X + shift) * scale)
    check_numbers(transformer("scaler", 4, 4, {"scaleValue": [3.0]}), X, X * 3)


@pytest.mark.parametrize("kind", range(3))
def test_normalizers(kind: int) -> None:
    x = np.vstack([X, np.zeros((1, 4), np.float32)])
    norm = np.linalg.norm(x, [np.inf, 1, 2][kind], axis=1, keepdims=True)
    check_numbers(transformer("normalizer", 4, 4, {"normType": kind}), x, x / np.where(norm == 0, 1, norm))


def test_imputers() -> None:
    x = X.copy()
    x[::2, 1], x[1, :] = NAN, 9
    fields: dict[str, Any] = {"imputedDoubleArray": {"vector": [1.0, 2.0, 3.0, 4.0]}}
    check_numbers(transformer("imputer", 4, 4, fields), x, np.where(np.isnan(x), [1, 2, 3, 4], x))
    fields = {"imputedDoubleValue": -1.0, "replaceDoubleValue": 9.0}
    check_numbers(transformer("imputer", 4, 4, fields), np.nan_to_num(x), np.where(x == 9, -1, np.nan_to_num(x)))
    fields = {"imputedInt64Value": 7, "replaceInt64Value": 0}
    model = classical("imputer", {"x": "int64"}, {"y": "int64"}, fields).SerializeToString()
    got = [int(y[0]) for (y,) in results(model, np.array([[0], [3], [0]]))]
    assert got == [7, 3, 7]


def test_categories() -> None:
    fields = {"int64Categories": {"vector": [4, -1, 7]}, "handleUnknown": 1}
    model = classical("oneHotEncoder", {"x": "int64"}, {"y": 3}, fields).SerializeToString()
    got = np.array([y for (y,) in results(model, np.array([[7], [4], [5]]))])
    assert got.tolist() == [[0, 0, 1], [1, 0, 0], [0, 0, 0]]
    strict = classical("oneHotEncoder", {"x": "int64"}, {"y": 3}, fields | {"handleUnknown": 0}).SerializeToString()
    with pytest.raises(InputError, match="none of the model's categories"):
        results(strict, np.array([[5]]))


def joined() -> Any:
    """A part that joins the features a, an array, and b, a number."""
    columns = [{"inputColumn": "b", "inputDimensions": 1}, {"inputColumn": "a", "inputDimensions": 3}]
    return classical("featureVectorizer", {"a": 3, "b": "double"}, {"joined": 4}, {"inputList": columns})


def test_a_pipeline() -> None:
    """A part may write what it reads."""
    weights = real(1, 2)
    parts = [
        joined(),
        classical("scaler", {"joined": 4}, {"joined": 4}, {"shiftValue": [1.0], "scaleValue": [1.0, 2.0, 3.0, 4.0]}),
        classical("arrayFeatureExtractor", {"joined": 4}, {"some": 2}, {"extractIndex": [3, 0]}),
        classical("glmRegressor", {"some": 2}, {"y": "double"}, {"weights": rows(weights)}),
    ]
    model = pipeline(parts, {"a": 3, "b": "double"}, {"y": "double"}, kind="pipelineRegressor")
    a, b = real(3), real(1)
    (got,) = webnn_compile.compile(model.SerializeToString()).run({"a": a, "b": b}).values()
    row = (np.concatenate([b, a]) + 1) * [1, 2, 3, 4]
    np.testing.assert_allclose(got, row[[3, 0]] @ weights.T, rtol=1e-5)
    card = describe_model(model.SerializeToString())
    assert card.operators == {"featureVectorizer": 1, "scaler": 1, "arrayFeatureExtractor": 1, "glmRegressor": 1}
    assert card.parameters == 7


@pytest.mark.parametrize("exact", [False, True])
def test_a_network_and_a_program_before_a_classifier(exact: bool, tmp_path: Path) -> None:
    network = Network(exact)
    network.input("x", (4,))
    network.layer("activation", ["x"], ["h"], linear={"alpha": 2.0, "beta": 1.0})
    network.output("h")
    program = Program()
    h = program.input("h", "float32", (1, 4))
    (y,) = program.op("tanh", [("float32", (1, 4))], x=h)
    program.output(y)
    weights = real(3, 4)
    fields = {"weights": rows(weights), "classEncoding": 1}
    outputs = {"label": "string", "scores": "dictionary"}
    last = classical("glmClassifier", {str(y): 4}, outputs, fields, NAMES)
    inner = pipeline([program.model, last], {"h": 4}, outputs, NAMES)
    model = pipeline([network.model, inner], {"x": 4}, outputs, NAMES, "pipelineClassifier")
    p = sigmoid(np.tanh(2 * X + 1) @ weights.T)
    check_classes(model.SerializeToString(), X, p / p.sum(1, keepdims=True), NAMES)


@pytest.mark.parametrize(("per_class", "labels"), [(False, NAMES), (True, [])])
def test_a_detector_with_suppression(per_class: bool, labels: list[str]) -> None:
    """A pipeline as detectors have it: a program of an image, and suppression, whose thresholds may be inputs."""
    centres = RNG.uniform(0.2, 0.8, (40, 2))
    boxes = np.hstack([centres, RNG.uniform(0.1, 0.5, (40, 2))]).astype(np.float32)
    scores = RNG.uniform(0, 1, (40, 3)).astype(np.float32)
    program = Program()
    picture = program.image("picture", 2, 2, 20)
    (mean,) = program.op("reduce_mean", [("float32", (1, 1))], x=picture, axes=[1, 2, 3])
    names = []
    for constant in (boxes, scores[None]):
        (zero,) = program.op("mul", [("float32", (1, 1))], x=mean, y=np.float32(0))
        names += program.op("add", [("float32", constant.shape)], x=np.asarray(constant), y=zero)
    for name in names:
        program.output(name)
    fields = {
        "iouThreshold": 0.4,
        "confidenceThreshold": 0.55,
        "pickTop": {"perClass": per_class},
        "coordinatesInputFeatureName": names[0],
        "confidenceInputFeatureName": names[1],
        "iouThresholdInputFeatureName": "overlap",
        "confidenceThresholdInputFeatureName": "least",
        "coordinatesOutputFeatureName": "coordinates",
        "confidenceOutputFeatureName": "confidence",
    }
    thresholds: dict[str, int | str] = {"overlap": "double", "least": "double"}
    outputs: dict[str, int | str] = {"confidence": "multiArray", "coordinates": "multiArray"}
    last = classical("nonMaximumSuppression", {**thresholds}, outputs, fields)
    last.nonMaximumSuppression.stringClassLabels.vector.extend(labels)
    model = pipeline([program.model, last], thresholds, outputs)
    model.description.input.insert(0, program.model.description.input[0])
    compiled = webnn_compile.compile(model.SerializeToString())
    got = compiled.run({"picture": RNG.uniform(0, 255, (1, 3, 2, 2)).astype(np.float32)})
    kept = int(suppressed(boxes[None], scores[None], 0.4, 0.55, 40, per_class)[3][0])
    want = [v[0, :kept] for v in suppressed(boxes[None], scores[None], 0.4, 0.55, 40, per_class)[:2]]
    assert 3 < kept < 30
    np.testing.assert_allclose(got["coordinates"], want[0], rtol=1e-6)
    np.testing.assert_allclose(got["confidence"], want[1], rtol=1e-6)


STUMP = {
    "nodes": [{"nodeBehavior": 6, "evaluationInfo": [{"evaluationValue": 0.5}]}],
    "numPredictionDimensions": 1,
}
ONES = {"alpha": [1.0, 1.0]}
VECTORS = {"kernel": {"linearKernel": {}}, **sparse(np.ones((2, 4)))}


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (transformer("glmRegressor", 4, 1, {"weights": [{"value": [1.0] * 3}]}), "it has 3 weights for 4 features"),
        (transformer("glmRegressor", 4, 1, {}), "0 rows of weights and 0 offsets do not fit each other"),
        (classifier("glmClassifier", 1, {"weights": [{"value": [1.0]}] * 3}, NAMES), "3 rows .* a class of reference"),
        (classifier("glmClassifier", 4, {"weights": [{"value": [1.0] * 4}]}, NAMES), "1 rows of weights do not fit 3"),
        (transformer("treeEnsembleRegressor", 4, 1, {"treeEnsemble": {"basePredictionValue": [1.0]}}), "1 base values"),
        (classifier("treeEnsembleClassifier", 4, {"treeEnsemble": STUMP}, NAMES), "1 prediction dimensions"),
        (transformer("supportVectorRegressor", 4, 1, VECTORS), r"coefficients of \[0\] elements do not fit 2 support"),
        (transformer("supportVectorRegressor", 1 << 40, 1, VECTORS), "2 support vectors of 1099511627776 features"),
        (transformer("supportVectorRegressor", 3, 1, VECTORS), "an element 4, and there are 3 features"),
        (transformer("supportVectorRegressor", 4, 1, VECTORS | {"kernel": {}, "coefficients": ONES}), "has no kernel"),
        (classifier("supportVectorClassifier", 4, machine(False)[0], NAMES), "the model has no probabilities"),
        (classifier("supportVectorClassifier", 4, machine(False)[0] | {"rho": [1.0]}, NAMES), "do not have 3 elements"),
        (transformer("scaler", 4, 4, {"scaleValue": [1.0, 2.0]}), "scaleValue has 2 elements for 4 features"),
        (transformer("scaler", 4, 3, {}), r"its output 'y' is declared as \[3\], and has 4 elements"),
        (transformer("imputer", 4, 4, {"imputedStringValue": "a"}), "imputedStringValue is text or a dict"),
        (transformer("imputer", 4, 4, {"imputedInt64Value": 1}), "does not say which integer is replaced"),
        (transformer("oneHotEncoder", 1, 2, {"stringCategories": {"vector": NAMES}}), "categories are text; encode"),
        (transformer("arrayFeatureExtractor", 4, 1, {"extractIndex": [4]}), r"takes the elements \[4\] of 4 features"),
        (classical("scaler", {"x": "string"}, {"y": 1}, {}).SerializeToString(), "the input 'x' is text, .* encode it"),
        (transformer("nonMaximumSuppression", 4, 4, {}), "neither labels nor the shape of its scores say how many"),
        (pipeline([joined()], {"a": 3}, {"joined": 4}).SerializeToString(), "part 0: .*nothing computes its input 'b'"),
        (pipeline([], {"a": 3}, {"y": 4}).SerializeToString(), "nothing computes its output 'y'"),
    ],
)  # fmt: skip
def test_what_is_refused(model: bytes, message: str) -> None:
    with pytest.raises(UnsupportedError, match=message):
        import_model(model)


def test_a_pipeline_names_the_part_that_is_not_taken() -> None:
    network = Network()
    network.input("x", (4,))
    network.layer("custom", ["x"], ["y"])
    network.output("y")
    model = pipeline([network.model], {"x": 4}, {"y": 4})
    with pytest.raises(UnsupportedError, match="custom: 1 layer 'custom_0'"):
        import_model(model.SerializeToString())
    tagger = type(network.model)(specificationVersion=4, wordTagger=b"")
    model = pipeline([network.model, tagger], {"x": 4}, {"y": 4})
    model.pipeline.names.extend(["first", "second"])
    with pytest.raises(UnsupportedError, match=r"part 1 \(second\) is a Core ML model of the kind wordTagger"):
        import_model(model.SerializeToString())
