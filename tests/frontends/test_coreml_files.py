"""Core ML files as a whole: packages, weights, sizes, images, labels, what is not taken, and damage."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import webnn_compile
from coreml_classical import classical, pipeline, random_trees
from coreml_models import Network, Program, write_package
from damaged_files import damaged
from webnn_compile.driver.build import build
from webnn_compile.driver.options import Options
from webnn_compile.errors import InputError, UnsupportedError
from webnn_compile.frontends.coreml.schema import MESSAGES
from webnn_compile.frontends.importers import as_onnx, describe_model, find_importer, import_model
from wheels import file_in_wheel

Array = np.ndarray
RNG = np.random.default_rng(5)


def real(*shape: int) -> Array:
    return RNG.uniform(-1, 1, shape).astype(np.float32)


WEIGHTS, X = real(5, 30), real(2, 30)


def linear(stored: str = "float16", rows: int | None = 2) -> Program:
    """A product with weights in a file of its own; the number of rows may be free."""
    program = Program()
    x = program.input("x", "float32", (rows, 30), usual=(2, 30))
    weights = program.stored(WEIGHTS.astype(stored).tobytes(), stored, (5, 30))
    (y,) = program.op("linear", [(stored, (rows, 5))], x=x, weight=weights)
    program.output(program.op("cast", [("float32", (rows, 5))], x=y, dtype="fp32")[0])
    program.model.description.metadata.shortDescription = "made by a test"
    return program


def result(given: Any, feeds: dict[str, Array], **options: Any) -> Array:
    (output,) = webnn_compile.compile(given, **options).run(feeds).values()
    return np.asarray(output)


@pytest.mark.parametrize("stored", ["float16", "float32"])
def test_a_package(stored: str, tmp_path: Path) -> None:
    path = linear(stored).package(tmp_path / "net.mlpackage")
    np.testing.assert_allclose(result(path, {"x": X}), X @ WEIGHTS.astype(stored).astype("f").T, atol=1e-5)
    card = describe_model(path)
    assert (card.name, card.operators, card.parameters) == ("net.mlpackage", {"linear": 1, "cast": 1}, 150)
    assert (card.description, card.unsupported) == ("made by a test", ())
    assert [(p.name, p.dtype, p.shape) for p in card.inputs] == [("x", "float32", (2, 30))]
    assert card.weights[stored] == WEIGHTS.astype(stored).nbytes


def test_a_package_of_links_into_a_cache(tmp_path: Path) -> None:
    """As Hugging Face's hub keeps files; a link to another place is refused."""
    whole, links, blobs = linear().package(tmp_path / "whole"), tmp_path / "net.mlpackage", tmp_path / "blobs"
    blobs.mkdir()
    for i, file in enumerate(f for f in sorted(whole.rglob("*")) if f.is_file()):
        link = links / file.relative_to(whole)
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(file.rename(blobs / str(i)))
    data = links / "Data" / "com.apple.CoreML"
    for given in (links, data / "model.mlmodel"):
        np.testing.assert_allclose(result(given, {"x": X}), X @ WEIGHTS.astype("f2").astype("f").T, atol=1e-5)
    weights = data / "weights" / "weight.bin"
    (tmp_path / "weight.bin").write_bytes(weights.read_bytes())
    weights.unlink()
    weights.symlink_to(tmp_path / "weight.bin")
    with pytest.raises(InputError, match="which lie outside of it"):
        import_model(links)


def test_a_folder_is_known_by_its_manifest(tmp_path: Path) -> None:
    assert find_importer(linear().package(tmp_path / "net")).name == "Core ML"
    with pytest.raises(InputError, match="is a folder without a model; give a folder that holds saved_model"):
        import_model(tmp_path)


def test_bytes_are_known_by_the_description() -> None:
    for model in (linear().bytes(), classifier().bytes()):
        assert find_importer(model).name == "Core ML"


def test_weights_of_a_package_need_its_folder(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"has its weights in 'weights/weight.bin', a file of a .mlpackage; give the path"
    ):
        import_model(linear().bytes())
    path = linear().package(tmp_path / "net.mlpackage")
    (path / "Data" / "com.apple.CoreML" / "weights" / "weight.bin").unlink()
    with pytest.raises(InputError, match=r"its weights 'weights/weight\.bin' are missing"):
        import_model(path)


@pytest.mark.parametrize("name", ["@model_path/../../../../outside.bin", "/etc/passwd", "@model_path//etc/passwd"])
def test_weights_outside_of_a_package_are_refused(name: str, tmp_path: Path) -> None:
    program = linear()
    for operation in program.block.operations:
        if operation.attributes["val"].HasField("blobFileValue"):
            operation.attributes["val"].blobFileValue.fileName = name
    (tmp_path / "outside.bin").write_bytes(bytes(program.blobs.data))
    with pytest.raises(InputError, match="which lie outside of it"):
        import_model(program.package(tmp_path / "net.mlpackage"))


def test_a_link_out_of_a_package_is_refused(tmp_path: Path) -> None:
    path = linear().package(tmp_path / "net.mlpackage")
    file = path / "Data" / "com.apple.CoreML" / "weights" / "weight.bin"
    file.rename(tmp_path / "weight.bin")
    file.symlink_to(tmp_path / "weight.bin")
    with pytest.raises(InputError, match="which lie outside of it"):
        import_model(path)


@pytest.mark.parametrize(
    ("manifest", "message"),
    [
        ("", "its Manifest.json names no model"),
        ("{}", "its Manifest.json names no model"),
        ('{"rootModelIdentifier": "A", "itemInfoEntries": {"A": {"path": 3}}}', "names no model"),
        (
            json.dumps({"rootModelIdentifier": "A", "itemInfoEntries": {"A": {"path": "../../other.mlmodel"}}}),
            "names '../../other.mlmodel', which lies outside of the package",
        ),
    ],
)
def test_manifests(manifest: str, message: str, tmp_path: Path) -> None:
    path = linear().package(tmp_path / "net.mlpackage")
    (path / "Manifest.json").write_text(manifest)
    with pytest.raises(InputError, match=message):
        import_model(path)


def test_images_of_free_size_are_enlarged() -> None:
    program = Program()
    x = program.input("x", "float32", (1, 2, None, None), usual=(1, 2, 4, 4))
    factors = {"scale_factor_height": 1.5, "scale_factor_width": 3.0}
    program.output(program.op("upsample_nearest_neighbor", [("float32", (1, 2, None, None))], x=x, **factors)[0])
    model = webnn_compile.compile(program.bytes(), dims={"x_2": (4, 8, 2), "x_3": (1, 9)})
    for height, width in ((4, 9), (6, 5)):
        image = real(1, 2, height, width)
        rows = np.arange(height * 3 // 2) * 2 // 3
        (got,) = model.run({"x": image}).values()
        np.testing.assert_array_equal(got, image[:, :, rows].repeat(3, 3))


def test_free_sizes_have_usual_ones(tmp_path: Path) -> None:
    path = linear("float32", rows=None).package(tmp_path / "net.mlpackage")
    assert [p.shape for p in describe_model(path).inputs] == [("x_0", 30)]
    np.testing.assert_allclose(result(path, {"x": X}), X @ WEIGHTS.T, atol=1e-5)
    model = webnn_compile.compile(path, dims={"x_0": (1, 4)})
    for rows in (1, 4):
        x = real(rows, 30)
        np.testing.assert_allclose(next(iter(model.run({"x": x}).values())), x @ WEIGHTS.T, atol=1e-5)


def classifier(color: int = 20) -> Network:
    """A picture's scores by three labels."""
    network = Network(kind="neuralNetworkClassifier")
    network.image("picture", 4, 5, color)
    step = network.network.preprocessing.add(featureName="picture")
    step.scaler.channelScale = 0.5
    step.scaler.redBias, step.scaler.greenBias, step.scaler.blueBias = -1, -2, -3
    network.layer("pooling", ["picture"], ["mean"], type=1, globalPooling=True, valid={})
    network.layer("softmax", ["mean"], ["scores"])
    network.network.stringClassLabels.vector.extend(["ant", "bee", "cat"])
    network.network.labelProbabilityLayerName = "scores"
    description = network.model.description
    description.predictedFeatureName, description.predictedProbabilitiesName = "label", "scores_by_label"
    description.output.add(name="label").type.stringType.SetInParent()
    description.output.add(name="scores_by_label").type.dictionaryType.SetInParent()
    return network


@pytest.mark.parametrize("color", [20, 30])
def test_a_classifier_of_pictures(color: int) -> None:
    """Pixels are red, green, blue, in whichever order the network has them."""
    picture = RNG.uniform(0, 6, (1, 3, 4, 5)).astype(np.float32)
    results = webnn_compile.compile(classifier(color).bytes()).run({"picture": picture})
    means = (picture * 0.5 + np.array([-1, -2, -3]).reshape(-1, 1, 1)).mean((0, 2, 3))
    means = means if color == 20 else means[::-1]
    scores = np.exp(means) / np.exp(means).sum()
    assert list(results["label"]) == [("ant", "bee", "cat")[scores.argmax()]]
    (by_label,) = results["scores_by_label"]
    assert list(by_label) == ["ant", "bee", "cat"]
    np.testing.assert_allclose(list(by_label.values()), scores, rtol=1e-5)


@pytest.mark.parametrize("color", [20, 30])
def test_a_program_of_pictures(color: int) -> None:
    program = Program()
    picture = program.image("picture", 4, 5, color)
    program.output(program.op("reduce_mean", [("float32", (1, 3))], x=picture, axes=[2, 3])[0])
    data = RNG.uniform(0, 255, (1, 3, 4, 5)).astype(np.float32)
    want = data.mean((2, 3))
    got = result(program.bytes(), {"picture": data})
    np.testing.assert_allclose(got, want if color == 20 else want[:, ::-1], rtol=1e-5)


def test_a_program_that_classifies() -> None:
    program = Program()
    x = program.input("x", "float32", (1, 3))
    (scores,) = program.op("softmax", [("float32", (1, 3))], x=x, axis=-1)
    program.op("classify", [("int64", ()), ("float32", ())], probabilities=scores, classes=["no", "yes", "perhaps"])
    for v in program.block.operations[-1].outputs:
        program.block.outputs.append(v.name)
    data = np.array([[0.5, 2, 1]], np.float32)
    label, by_label = webnn_compile.compile(program.bytes()).run({"x": data}).values()
    assert list(label) == ["yes"]
    np.testing.assert_allclose(list(by_label[0].values()), (np.exp(data) / np.exp(data).sum())[0], rtol=1e-5)


def test_a_mean_image() -> None:
    network = Network()
    network.image("picture", 2, 3, 10)
    mean = real(6)
    network.network.preprocessing.add().meanImage.meanImage.extend(mean.tolist())
    network.layer("activation", ["picture"], ["y"], linear={"alpha": 2.0, "beta": 1.0})
    network.output("y", (1, 2, 3))
    picture = real(1, 1, 2, 3)
    want = 2 * (picture[0] - mean.reshape(1, 2, 3)) + 1
    np.testing.assert_allclose(result(network.bytes(), {"picture": picture}), want, atol=1e-5)


def test_what_is_not_supported_is_said_at_once() -> None:
    program = Program()
    x = program.input("x", "float32", (2, 3))
    program.function.inputs.add(name="state").type.stateType.SetInParent()
    for kind in ("read_state", "my_own", "my_own"):
        names = program.op(kind, [("float32", (2, 3))], x=x)
    program.output(names[0])
    with pytest.raises(UnsupportedError) as raised:
        import_model(program.bytes())
    assert str(raised.value).splitlines() == [
        "the model needs what is not supported, 2 in all:",
        "  my_own: 2 operations 'my_own_2', 'my_own_3'",
        "  read_state: 1 operation 'read_state_1'; it keeps values from one run to the next: convert the form of the "
        "model that takes and returns them",
        "Replace or remove these in the model, or convert the model that it was made from to ONNX.",
    ]
    assert set(describe_model(program.bytes()).unsupported) == {"read_state", "my_own"}
    network = Network()
    network.input("x", (3,))
    network.layer("custom", ["x"], ["y"])
    network.output("y")
    with pytest.raises(UnsupportedError, match=r"custom: 1 layer 'custom_0'; its code is not in the file"):
        import_model(network.bytes())
    assert describe_model(network.bytes()).unsupported == ("custom",)


def test_options_that_are_not_supported_are_said_at_once() -> None:
    program = Program()
    x = program.input("x", "float32", (1, 1, 4, 6))
    for mode in ("OFFSET_CORNERS", "NONE"):
        arguments = {"target_size_height": 2, "target_size_width": 3, "sampling_mode": mode}
        names = program.op("resize_bilinear", [("float32", (1, 1, 2, 3))], x=x, **arguments)
    program.output(names[0])
    with pytest.raises(UnsupportedError, match=r"2 in all:\n.*OFFSET_CORNERS.*\n.*NONE"):
        import_model(program.bytes())


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("kNearestNeighborsClassifier", "of the kind kNearestNeighborsClassifier.* to ONNX"),
        ("wordTagger", "of the kind wordTagger.* to ONNX"),
    ],
)
def test_kinds_of_models_that_are_not_taken(kind: str, message: str, tmp_path: Path) -> None:
    model = MESSAGES["Model"](specificationVersion=4)
    setattr(model, kind, b"")
    path = tmp_path / "net.mlmodel"
    path.write_bytes(model.SerializeToString())
    for read in (import_model, describe_model):
        with pytest.raises(UnsupportedError, match=message):
            read(path)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "net.mlmodel is empty; convert or download the model again"),
        (b"\x08\x04", "net.mlmodel is not a Core ML model: it has no model of any kind"),
        (b"\x08\x04\x12\x7f\x0a", "net.mlmodel is truncated or damaged: its 5 bytes are not a whole Core ML model"),
    ],
)
def test_files_that_are_none(data: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "net.mlmodel"
    path.write_bytes(data)
    for read in (import_model, describe_model):
        with pytest.raises(InputError, match=message):
            read(path)


def test_it_is_verified_by_onnxruntime(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    path = linear().package(tmp_path / "net.mlpackage")
    report = build(path, tmp_path / "bundle", Options(targets=("wasm",), verify=True), lambda _: None, lambda _: None)
    assert report.comparisons
    assert all(c.ok for c in report.comparisons)


def several() -> Program:
    """Operations of several families, constants in the model and in a file of weights."""
    program = linear()
    x = program.input("image", "float32", (1, 4, 6, 6))
    (y,) = program.op("conv", [("float32", (1, 2, 4, 4))], x=x, weight=real(2, 4, 3, 3), pad_type="valid")
    (z,) = program.op("slice_by_index", [("float32", (1, 2, 4))], x=y, begin=[0, 0, 1, 0], end=[1, 2, 2, 4],
                      squeeze_mask=[False, False, True, False])  # fmt: skip
    h, c = program.const(real(2, 3)), program.const(real(2, 3))
    results = [("float32", (1, 2, 3)), ("float32", (2, 3)), ("float32", (2, 3))]
    last = program.op("lstm", results, x=z, initial_h=h, initial_c=c, weight_ih=real(12, 4), weight_hh=real(12, 3))[1]
    program.output(program.op("reduce_sum", [("float32", (2,))], x=last, axes=[-1])[0])
    return program


def of_layers() -> Network:
    network = classifier()
    network.layer("convolution", ["picture"], ["c"], outputChannels=2, kernelChannels=3, kernelSize=[3, 3],
                  same={}, weights=real(2, 3, 3, 3).astype(np.float16), hasBias=True, bias=real(2))  # fmt: skip
    network.layer("flatten", ["c"], ["f"])
    network.layer("innerProduct", ["f"], ["p"], inputChannels=40, outputChannels=3, weights=real(3, 40))
    network.layer("reshape", ["p"], ["r"], targetShape=[1, 1, 3])
    network.output("r", (1, 1, 3))
    return network


class Trees:
    """A pipeline of a scaler and a forest."""

    def bytes(self) -> bytes:
        scaler = classical("scaler", {"x": 4}, {"s": 4}, {"shiftValue": [0.5, 1, 2, 3], "scaleValue": [2.0]})
        nodes = random_trees(np.random.default_rng(3), 3, 4, 2)
        fields = {"treeEnsemble": {"nodes": nodes, "numPredictionDimensions": 2}}
        last = classical("treeEnsembleRegressor", {"s": 4}, {"y": 2}, fields)
        return bytes(pipeline([scaler, last], {"x": 4}, {"y": 2}).SerializeToString())


@pytest.mark.parametrize("make", [several, of_layers, Trees], ids=["program", "network", "pipeline"])
def test_damaged_files_are_imported_or_refused_by_one_error(
    make: Callable[[], Any], request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """Cut off, and with bytes that are others; of a package the model, the weights and the manifest."""
    made = make()
    file = made.bytes()
    blobs = bytes(made.blobs.data) if isinstance(made, Program) else b""
    path = write_package(tmp_path / "net.mlpackage", file, blobs)
    data = path / "Data" / "com.apple.CoreML"
    weights = damaged(blobs, request)
    import_model(path)
    for i, model in enumerate(damaged(file, request)):
        is_weights = i % 8 == 7 and bool(blobs)
        part, whole = (data / "weights" / "weight.bin", blobs) if is_weights else (data / "model.mlmodel", file)
        part.write_bytes(next(weights) if is_weights else model)
        for read in (import_model, describe_model):
            with suppress(InputError, UnsupportedError):
                read(path)
        part.write_bytes(whole)


def test_one_model_in_two_formats_is_the_same(tmp_path: Path) -> None:
    """basic-pitch (Bittner et al., ICASSP 2022), whose weights are float32, as a package and as ONNX."""
    runtime = pytest.importorskip("onnxruntime")
    wheel, folder = "basic-pitch==0.4.0", "basic_pitch/saved_models/icassp_2022"
    names = (f"nmp.mlpackage/Data/com.apple.CoreML/{name}" for name in ("model.mlmodel", "weights/weight.bin"))
    parts = [file_in_wheel(wheel, f"{folder}/{name}").read_bytes() for name in names]
    package = write_package(tmp_path / "nmp.mlpackage", *parts)
    sound = np.random.default_rng(0).uniform(-1, 1, (1, 43844, 1)).astype(np.float32)
    found = []
    for model in (as_onnx(package), file_in_wheel(wheel, f"{folder}/nmp.onnx").read_bytes()):
        session = runtime.InferenceSession(model)
        results = session.run(None, {session.get_inputs()[0].name: sound})
        found.append(sorted(results, key=lambda a: (a.shape, float(a.sum()))))
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-4)
