"""Models of ai.onnx.ml as scikit-learn's converters write them: labels that are strings, ZipMap, and invalid trees."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import webnn_compile
from click.testing import CliRunner
from drivers import need_driver
from onnx import helper, numpy_helper
from onnx_models import model, node, onnxruntime_results, random
from random_forests import forest, forest_of_strings, ml_model, named_nodes
from webnn_compile.cli.command import main
from webnn_compile.errors import UnsupportedError
from webnn_compile.frontends.onnx.describe import describe

ML = "ai.onnx.ml"
NAMES = ["setosa", "versicolor", "virginica"]
X = random((9, 3), 5)


@pytest.mark.parametrize("target", ["native", "wasm", "webgl"])
def test_labels_are_strings_and_scores_maps(target: str) -> None:
    need_driver(target)
    proto = forest_of_strings(NAMES)
    compiled = webnn_compile.compile(proto, target=target, shapes={"x": X.shape})
    got, want = compiled.run({"x": X}), onnxruntime_results(proto, {"x": X})
    assert got["label"].tolist() == list(want["label"])
    assert [list(row) for row in got["zipped"]] == [NAMES] * len(X)
    for row, expected in zip(got["zipped"], want["zipped"], strict=True):
        assert row == pytest.approx(expected, abs=1e-5)
    assert [n.op_type for n in proto.graph.node][-1] == "ZipMap", "the caller's model is changed"


def test_labels_of_maps_may_be_numbers() -> None:
    zip_map = node("ZipMap", ["scores"], ["zipped"], domain=ML, classlabels_int64s=[7, 3, 5])
    made = ml_model([forest(classlabels_int64s=[7, 3, 5]), zip_map], ["zipped"])
    rows = webnn_compile.compile(made, target="native", shapes={"x": X.shape}).run({"x": X})["zipped"]
    plain = ml_model([forest(classlabels_int64s=[7, 3, 5])], ["scores"])
    scores = onnxruntime_results(plain, {"x": X})["scores"]
    assert [list(row) for row in rows] == [[7, 3, 5]] * len(X)
    np.testing.assert_allclose([list(row.values()) for row in rows], scores, rtol=0, atol=1e-5)


def test_an_answer_takes_the_place_of_maps() -> None:
    x = X[:1]
    compiled = webnn_compile.compile(
        forest_of_strings(NAMES), shapes={"x": x.shape}, answers=["zipped=classify"], labels=NAMES
    )
    got = compiled.run({"x": x})
    assert got["zipped"][0]["label"] == got["label"][0]


def test_a_table_of_strings_gives_labels() -> None:
    """As for networks of scikit-learn, whose label is taken by its place."""
    nodes = [
        node("ArgMax", ["x"], ["place"], axis=1, keepdims=0),
        node("ArrayFeatureExtractor", ["names", "place"], ["taken"], domain=ML),
        node("Reshape", ["taken", "shape"], ["label"]),
    ]
    names = np.asarray([NAMES], object)
    made = ml_model(nodes, ["label"], names=names, shape=np.asarray([-1], np.int64))
    compiled = webnn_compile.compile(made, target="native", shapes={"x": X.shape})
    assert compiled.run({"x": X})["label"].tolist() == [NAMES[i] for i in X.argmax(1)]


def test_labels_may_differ() -> None:
    other = node("Identity", ["chosen"], ["label"])
    second = forest(classlabels_strings=["a", "setosa", "c"])
    second.output[:] = ["chosen2", "scores2"]
    made = ml_model([forest(classlabels_strings=NAMES), second, other], ["label", "chosen2"])
    made.graph.output[1].type.tensor_type.elem_type = onnx.TensorProto.STRING
    check_labels(made, X, "label", "chosen2")


def check_labels(made: onnx.ModelProto, x: np.ndarray, *names: str) -> None:
    got = webnn_compile.compile(made, target="native", shapes={"x": x.shape}).run({"x": x})
    want = onnxruntime_results(made, {"x": x})
    for name in names:
        assert got[name].tolist() == want[name].tolist()
        assert len(set(got[name].tolist())) > 1


@pytest.mark.parametrize(
    ("of_numbers", "of_strings"),
    [
        (
            {"keys_int64s": [0, 2], "values_strings": ["no", "yes"], "default_string": "none"},
            {"keys_strings": ["yes", "none"], "values_floats": [0.5, 1.5], "default_float": 9.0},
        ),
        (
            {"keys_int64s": [0, 1, 2], "values_strings": ["a", "a", "b"]},
            {"keys_strings": ["a"], "values_floats": [1.0]},
        ),
    ],
)
def test_labels_of_encoders(of_numbers: dict[str, Any], of_strings: dict[str, Any]) -> None:
    """Strings of a LabelEncoder as the keys of another."""
    nodes = [
        forest(classlabels_int64s=[0, 1, 2]),
        node("LabelEncoder", ["chosen"], ["label"], domain=ML, **of_numbers),
        node("Identity", ["label"], ["same"]),
        node("LabelEncoder", ["same"], ["y"], domain=ML, **of_strings),
    ]
    check_labels(ml_model(nodes, ["label", "y"]), X, "label", "y")


def test_encoders_with_tensors() -> None:
    tensors = {
        "keys_tensor": numpy_helper.from_array(np.array([0, 1], np.int64)),
        "values_tensor": numpy_helper.from_array(np.array(["no", "yes"], object)),
        "default_tensor": numpy_helper.from_array(np.array(["none"], object)),
    }
    nodes = [
        forest(classlabels_int64s=[0, 1, 2]),
        node("LabelEncoder", ["chosen"], ["label"], domain=ML, **tensors),
    ]
    made = ml_model(nodes, ["label"])
    for opset in made.opset_import:
        opset.version = max(opset.version, 4) if opset.domain == ML else opset.version
    check_labels(made, X, "label")


@pytest.mark.parametrize("version", [1, 3])
def test_category_mappers(version: int) -> None:
    """From a label to a number by one, and to another label by a second one."""
    nodes = [
        forest(classlabels_strings=NAMES),
        node("CategoryMapper", ["chosen"], ["y"], "first", domain=ML, cats_strings=NAMES[:2], cats_int64s=[7, 5]),
        node("CategoryMapper", ["y"], ["label"], "second", domain=ML, cats_strings=["a", "b"], cats_int64s=[5, 7]),
    ]
    made = ml_model(nodes, ["label", "y"])
    for opset in made.opset_import:
        opset.version = version if opset.domain == ML else opset.version
    check_labels(made, X, "label", "y")


@pytest.mark.parametrize(
    ("op", "attributes"),
    [
        ("LabelEncoder", {"keys_strings": ["a", "b"], "values_int64s": [1, 2]}),
        ("OneHotEncoder", {"cats_strings": ["a", "b"]}),
        ("CategoryMapper", {"cats_strings": ["a", "b"], "cats_int64s": [4, 5]}),
    ],
)
def test_features_that_are_strings_are_refused(op: str, attributes: dict[str, Any]) -> None:
    """The message names the node behind what moves the feature, and the result that can be an input instead."""
    nodes = [
        node("Identity", ["color"], ["moved"]),
        node(op, ["moved"], ["encoded"], "encode", domain=ML, **attributes),
    ]
    made = ml_model([*nodes, node("Scaler", ["x"], ["y"], domain=ML, scale=[2.0])], ["y", "encoded"])
    made.graph.input.append(helper.make_tensor_value_info("color", onnx.TensorProto.STRING, ["rows"]))
    with pytest.raises(UnsupportedError) as raised:
        webnn_compile.compile(made, target="native", shapes={"x": X.shape})
    assert (
        f"input 'color' has elements of type string, which ai.onnx.ml.{op} ('encode') makes numbers of: encode that "
        "feature before the model, whose inputs are then 'encoded' (onnx.utils.extract_model cuts it there)"
    ) in str(raised.value)


def test_features_that_are_maps_are_refused() -> None:
    nodes = [
        node("DictVectorizer", ["words"], ["row"], "count", domain=ML, string_vocabulary=["a", "b", "c"]),
        node("Add", ["row", "x"], ["y"]),
    ]
    made = ml_model(nodes, ["y"])
    float_type = helper.make_tensor_type_proto(onnx.TensorProto.FLOAT, [])
    words = helper.make_map_type_proto(onnx.TensorProto.STRING, float_type)
    made.graph.input.append(helper.make_value_info("words", words))
    with pytest.raises(UnsupportedError, match=r"'words' is a map, which ai.onnx.ml.DictVectorizer .* inputs .* 'row'"):
        webnn_compile.compile(made, target="native", shapes={"x": X.shape})


def test_a_build_lists_labels_and_verifies_scores(tmp_path: Path) -> None:
    onnx.save(forest_of_strings(NAMES), tmp_path / "forest.onnx")
    options = ["--out", str(tmp_path / "bundle"), "--targets", "wasm", "--verify", "--dim", "rows=1..9"]
    result = CliRunner().invoke(main, [str(tmp_path / "forest.onnx"), *options])
    assert result.exit_code == 0, result.output
    text = " ".join(result.output.split())
    assert "answer label: one of setosa, versicolor, virginica" in text
    assert "answer zipped: scores of setosa, versicolor, virginica" in text
    assert "warning" not in text


def test_c_source_has_numbers(tmp_path: Path) -> None:
    onnx.save(forest_of_strings(NAMES), tmp_path / "forest.onnx")
    options = ["--out", str(tmp_path / "out"), "--targets", "c", "--dim", "rows=1..9"]
    result = CliRunner().invoke(main, [str(tmp_path / "forest.onnx"), *options])
    assert result.exit_code == 0, result.output
    assert "warning: outputs are numbers in place of labels: label: one of setosa" in result.output


def test_labels_may_repeat() -> None:
    identity = node("Identity", ["chosen"], ["label"])
    made = ml_model([forest(classlabels_strings=["a", "b", "a"]), identity], ["label"])
    compiled = webnn_compile.compile(made, target="native", shapes={"x": X.shape})
    want = onnxruntime_results(made, {"x": X})
    assert compiled.run({"x": X})["label"].tolist() == list(want["label"])


def test_strings_that_nothing_reads_are_no_labels() -> None:
    nodes = [forest(classlabels_strings=NAMES), node("Identity", ["chosen"], ["label"])]
    made = ml_model(nodes, ["label"], unread=np.asarray(["a"], object))
    compiled = webnn_compile.compile(made, target="native", shapes={"x": X.shape})
    assert set(compiled.run({"x": X})["label"].tolist()) <= set(NAMES)


def test_features_are_not_rounded() -> None:
    """Under `precision` "f16", where a value of 3,000 rows is stored as float16 otherwise."""
    need_driver("opencl")
    scaler = node("Scaler", ["x"], ["s"], domain=ML, offset=[0.1, -0.2, 0.3], scale=[1.1, 0.9, 1.01])
    attributes = named_nodes(22, "class", [0, 1, 2], trees=40, depth=8)
    trees = node(
        "TreeEnsembleClassifier", ["s"], ["chosen", "scores"], domain=ML, classlabels_int64s=[0, 1, 2], **attributes
    )
    made, x = ml_model([scaler, trees], ["chosen", "scores"]), random((3000, 3), 6)
    got = webnn_compile.compile(made, target="opencl", shapes={"x": x.shape}, precision="f16").run({"x": x})
    np.testing.assert_allclose(got["scores"], onnxruntime_results(made, {"x": x})["scores"], rtol=0, atol=1e-4)


def test_keys_of_another_type_than_the_elements_are_refused() -> None:
    made = ml_model([node("LabelEncoder", ["x"], ["y"], domain=ML, keys_int64s=[1], values_int64s=[2])], ["y"])
    with pytest.raises(webnn_compile.InputError, match=r"LabelEncoder.: Input type is not int64"):
        webnn_compile.compile(made, target="native", shapes={"x": X.shape})


def test_probit_of_one_sum_is_refused() -> None:
    attributes = {"coefficients": [0.1, 0.2, 0.3], "classlabels_ints": [0, 1], "post_transform": "PROBIT"}
    made = ml_model(
        [node("LinearClassifier", ["x"], ["chosen", "scores"], domain=ML, **attributes)], ["chosen", "scores"]
    )
    with pytest.raises(UnsupportedError, match="post_transform PROBIT of one sum for two classes"):
        webnn_compile.compile(made, target="native", shapes={"x": X.shape})


def test_no_operator_of_it_is_listed_as_unsupported() -> None:
    assert describe(forest_of_strings(NAMES)).unsupported == ()


def vectors(**changes: Any) -> onnx.NodeProto:
    """SVMClassifier of three classes, with changed attributes."""
    attributes = {
        "classlabels_ints": [0, 1, 2],
        "coefficients": random((10,), 1).tolist(),
        "kernel_params": [0.4, 0.0, 3.0],
        "kernel_type": "RBF",
        "rho": [0.1, 0.2, 0.3],
        "support_vectors": random((15,), 2).tolist(),
        "vectors_per_class": [2, 1, 2],
    }
    given = {n: a for n, a in (attributes | changes).items() if a is not None}
    return node("SVMClassifier", ["x"], ["label", "scores"], domain=ML, **given)


def test_labels_of_support_vectors_are_strings() -> None:
    made = ml_model([vectors(classlabels_ints=None, classlabels_strings=NAMES)], ["label", "scores"])
    compiled = webnn_compile.compile(made, target="native", shapes={"x": X.shape})
    got, want = compiled.run({"x": X}), onnxruntime_results(made, {"x": X})
    assert got["label"].tolist() == list(want["label"])
    np.testing.assert_allclose(got["scores"], want["scores"], rtol=0, atol=1e-5)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"support_vectors": [0.5]}, "attribute support_vectors has 1 elements, where 5 x 3 are expected"),
        ({"coefficients": [0.5] * 11}, "attribute coefficients has 11 elements, where 2 x 5 are expected"),
        ({"vectors_per_class": [3, 2]}, r"vectors_per_class \[3, 2\] do not fit 3 labels"),
        ({"rho": [0.5]}, "attribute rho has 1 elements for 3 sums"),
        ({"prob_a": [0.5], "prob_b": [0.5]}, "1 prob_a and 1 prob_b do not fit 3 pairs of classes"),
        ({"kernel_type": "COSINE"}, "kernel_type 'COSINE' is none of LINEAR, POLY, RBF and SIGMOID"),
        ({"classlabels_ints": [1]}, "1 labels are too few"),
    ],
)
def test_invalid_support_vectors_are_refused(changes: dict[str, Any], message: str) -> None:
    made = ml_model([vectors(**changes)], ["scores"])
    with pytest.raises(UnsupportedError, match=message):
        webnn_compile.compile(made, target="native", shapes={"x": X.shape})


def test_a_post_transform_of_support_vectors_is_refused() -> None:
    attributes = {"coefficients": [0.1, 0.2, 0.3], "rho": [0.1], "post_transform": "LOGISTIC"}
    made = ml_model([node("SVMRegressor", ["x"], ["y"], domain=ML, **attributes)], ["y"])
    with pytest.raises(UnsupportedError, match="a post_transform, which onnxruntime passes over"):
        webnn_compile.compile(made, target="native", shapes={"x": X.shape})


def test_a_leaf_of_no_tree_is_refused() -> None:
    """Where the tree is one leaf alone, too."""
    attributes = named_nodes(21, "class", [0, 1, 2], trees=1, depth=0)
    made = forest(classlabels_int64s=[0, 1, 2])
    del made.attribute[:]
    attributes |= {"class_nodeids": [9, 9, 9], "classlabels_int64s": [0, 1, 2]}
    made.attribute.extend(helper.make_attribute(n, v) for n, v in attributes.items())
    with pytest.raises(UnsupportedError, match="name a class or a leaf that is not there"):
        webnn_compile.compile(ml_model([made], ["chosen", "scores"]), target="native", shapes={"x": X.shape})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"nodes_truenodeids": 999}, "nodes_truenodeids has a number that no node of its tree has"),
        ({"nodes_featureids": 7}, "a branch compares feature 7 of 3"),
        ({"nodes_featureids": -1}, "a branch compares feature -1 of 3"),
        ({"class_nodeids": 999}, "class_ids or class_nodeids name a class or a leaf that is not there"),
        ({"class_ids": 3}, "class_ids or class_nodeids name a class or a leaf that is not there"),
        ({"nodes_truenodeids": 0}, "[0-9] of its nodes are not part of a tree"),
        ({"nodes_modes": "BRANCH_LIKE"}, "a node has mode 'BRANCH_LIKE'"),
        ({"nodes_modes": None}, "the lists of its nodes differ in length"),
    ],
)
def test_invalid_trees_are_refused(change: dict[str, Any], message: str) -> None:
    attributes = named_nodes(21, "class", [0, 1, 2])
    for name, first in change.items():
        attributes[name] = [*([] if first is None else [first]), *attributes[name][1:]]
    made = node(
        "TreeEnsembleClassifier", ["x"], ["chosen", "scores"], domain=ML, classlabels_int64s=[0, 1, 2], **attributes
    )
    with pytest.raises(UnsupportedError, match=message):
        webnn_compile.compile(ml_model([made], ["chosen", "scores"]), target="native", shapes={"x": X.shape})


def test_categories_that_a_run_does_not_have_end_it() -> None:
    made = model(
        [node("OneHotEncoder", ["x"], ["y"], domain=ML, cats_int64s=[1, 2], zeros=0)],
        {"x": [3]},
        ["y"],
        dtype=onnx.TensorProto.INT64,
        imports=[helper.make_opsetid(ML, 1)],
    )
    compiled = webnn_compile.compile(made, target="native")
    with pytest.raises(webnn_compile.WebnnCompileError, match="none of the model's categories"):
        compiled.run({"x": np.asarray([1, 2, 5], np.int64)})
