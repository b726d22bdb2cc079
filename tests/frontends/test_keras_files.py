"""Keras files as a whole, written by hand: the forms of Keras 2 and 3, names, sizes, refusals and damage."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import webnn_compile
from click.testing import CliRunner
from effort import DAMAGED_FILES, effort_of
from webnn_compile.cli import main
from webnn_compile.errors import InputError, UnsupportedError
from webnn_compile.frontends.importers import describe_model, find_importer, import_model
from webnn_compile.frontends.model_inputs import model_inputs

h5py = pytest.importorskip("h5py")

Array = np.ndarray
RNG = np.random.default_rng(5)


def real(*shape: int) -> Array:
    return RNG.uniform(-1, 1, shape).astype(np.float32)


def layer(kind: str, name: str, **config: Any) -> dict[str, Any]:
    return {"class_name": kind, "config": {"name": name, "trainable": True, "dtype": "float32", **config}}


def called(entry: dict[str, Any], *nodes: Any) -> dict[str, Any]:
    """A layer of a functional model, called on tensors of others."""
    return {**entry, "name": entry["config"]["name"], "inbound_nodes": list(nodes)}


def functional(layers: Sequence[Any], inputs: Any, outputs: Any, name: str = "model") -> dict[str, Any]:
    config = {"name": name, "layers": list(layers), "input_layers": inputs, "output_layers": outputs}
    return {"class_name": "Functional", "config": config}


def sequential(*layers: Any, name: str = "sequential") -> dict[str, Any]:
    return {"class_name": "Sequential", "config": {"name": name, "layers": list(layers)}}


def hdf5(config: Any, weights: Mapping[str, Sequence[tuple[str, Array]]], version: bytes = b"2.4.0") -> bytes:
    """A whole model as Keras 2 writes it: for each layer the names and values of its weights."""
    data = io.BytesIO()
    with h5py.File(data, "w") as file:
        file.attrs["keras_version"], file.attrs["backend"] = version, b"tensorflow"
        file.attrs["model_config"] = json.dumps(config).encode()
        group = file.create_group("model_weights")
        group.attrs["layer_names"] = [n.encode() for n in weights]
        for name, entries in weights.items():
            own = group.create_group(name)
            own.attrs["weight_names"] = [n.encode() for n, _ in entries]
            for path, value in entries:
                own[path] = value
    return data.getvalue()


def archive(config: Any, weights: Mapping[str, Sequence[Array]]) -> bytes:
    """A .keras file: the variables of layers by their groups."""
    inner, outer = io.BytesIO(), io.BytesIO()
    with h5py.File(inner, "w") as file:
        for path, values in weights.items():
            for i, value in enumerate(values):
                file[f"layers/{path}/vars/{i}"] = value
    with zipfile.ZipFile(outer, "w") as files:
        files.writestr("metadata.json", json.dumps({"keras_version": "3.8.0"}))
        files.writestr("config.json", json.dumps(config))
        files.writestr("model.weights.h5", inner.getvalue())
    return outer.getvalue()


KERNEL, BIAS = real(3, 4), real(4)


def small(**more: Any) -> bytes:
    """Scores of rows of 3 numbers."""
    start = {"class_name": "InputLayer", "config": {"batch_shape": [None, 3], "dtype": "float32", "name": "x"}}
    model = sequential(start, layer("Dense", "scores", units=4, activation="relu", **more))
    return archive(model, {"dense": [KERNEL, BIAS]})


def run(file: bytes, *feeds: Array, **options: Any) -> list[Array]:
    names = [port.name for port in describe_model(file).inputs]
    model = webnn_compile.compile(file, dims={"batch": len(feeds[0])}, **options)
    return list(model.run(dict(zip(names, feeds, strict=True))).values())


def test_names_and_free_sizes(tmp_path: Path) -> None:
    """The batch is free, and named so; names are those of the layers."""
    path, x = tmp_path / "net.keras", real(2, 3)
    path.write_bytes(small())
    for given in (path, str(path), path.read_bytes()):
        graph = import_model(given, model_inputs(dims={"batch": 2}))
        assert [(v.name, v.shape) for v in graph.inputs] == [("x", (2, 3))]
        assert [(v.name, v.shape) for v in graph.outputs] == [("scores", (2, 4))]
    with pytest.raises(InputError, match=r"free dimensions:\n  x: declared \[batch, 3\]"):
        import_model(path)
    for sizes in ({"dims": {"batch": (1, 9)}}, {"shapes": {"x": (2, 3)}}):
        model = webnn_compile.compile(path, **sizes)  # type: ignore[arg-type]
        np.testing.assert_allclose(model.run({"x": x})["scores"], (x @ KERNEL + BIAS).clip(0), atol=1e-6)


def test_inspect(tmp_path: Path) -> None:
    path = tmp_path / "net.keras"
    path.write_bytes(small())
    result = CliRunner().invoke(main, [str(path), "--inspect"], catch_exceptions=False)
    found = [" ".join(line.split()) for line in result.output.splitlines()]
    assert found[0].startswith("net.keras: Keras, ")
    for line in ("Written by Keras 3.8.0", "Weights 64 bytes of float32", "Input x: float32[batch, 3]", "Dense 1 all"):
        assert line in found


def test_a_sequential_model_of_keras_2() -> None:
    """Its first layer has the shape; alpha is a slope, and hard_sigmoid is steeper than that of Keras 3."""
    w, b, v = real(3, 5), real(5), real(5, 2)
    model = sequential(
        layer("Dense", "first", units=5, activation="linear", use_bias=True, batch_input_shape=[None, 3]),
        layer("LeakyReLU", "leaky", alpha=0.25),
        layer("ThresholdedReLU", "cut", theta=0.1),
        layer("Dense", "second", units=2, activation="hard_sigmoid", use_bias=False),
    )
    weights = {
        "first": [("first/kernel:0", w), ("first/bias:0", b)],
        "leaky": [],
        "cut": [],
        "second": [("second/kernel:0", v)],
    }
    file, x = hdf5(model, weights), real(4, 3)
    assert [p.name for p in describe_model(file).inputs] == ["first_input"]
    y = x @ w + b
    y = np.where(y < 0, y / 4, y)
    expected = (np.where(y > 0.1, y, 0) @ v / 5 + 0.5).clip(0, 1)
    np.testing.assert_allclose(run(file, x)[0], expected, atol=1e-6)
    listed = hdf5({**model, "config": model["config"]["layers"]}, weights)  # as versions before 2.3 write it
    np.testing.assert_allclose(run(listed, x)[0], expected, atol=1e-6)


def test_a_functional_model_of_keras_2() -> None:
    """A model in the model, whose weights that are trained come before the others; a layer that is called twice."""
    w, mean, variance, gamma, beta, b = real(3, 4), real(4), real(4) ** 2 + 0.5, real(4), real(4), real(4)
    inner = sequential(
        layer("Dense", "wide", units=4, activation="linear", batch_input_shape=[None, 3]),
        layer("BatchNormalization", "norm", axis=[1], epsilon=0.01, center=True, scale=True),
        name="inner",
    )
    model = functional(
        [
            called(layer("InputLayer", "a", batch_input_shape=[None, 3])),
            called(layer("InputLayer", "b", batch_input_shape=[None, 3])),
            called(inner, [["a", 0, 0, {}]], [["b", 0, 0, {}]]),
            called(layer("Subtract", "difference"), [["inner", 1, 0, {}], ["inner", 0, 0, {}]]),
        ],
        [["a", 0, 0], ["b", 0, 0]],
        [["difference", 0, 0], ["inner", 0, 0]],
    )
    entries = [("wide/kernel:0", w), ("wide/bias:0", b), ("norm/gamma:0", gamma), ("norm/beta:0", beta)]
    entries += [("norm/moving_mean:0", mean), ("norm/moving_variance:0", variance)]
    file = hdf5(model, {"a": [], "b": [], "inner": entries, "difference": []})

    def normal(x: Array) -> Array:
        return (x @ w + b - mean) / np.sqrt(variance + 0.01) * gamma + beta

    a, c = real(2, 3), real(2, 3)
    assert [p.name for p in describe_model(file).outputs] == ["difference", "inner"]
    for got, want in zip(run(file, a, c), (normal(c) - normal(a), normal(a)), strict=True):
        np.testing.assert_allclose(got, want, atol=1e-5)


def test_a_recurrent_layer_of_keras_2() -> None:
    """A GRU whose states are scaled before the product, with the initial state as a second tensor of its node."""
    w, r, b = real(3, 6), real(2, 6), real(6)
    options = {"units": 2, "activation": "tanh", "recurrent_activation": "hard_sigmoid", "reset_after": False}
    model = functional(
        [
            called(layer("InputLayer", "x", batch_input_shape=[None, 4, 3])),
            called(layer("InputLayer", "h", batch_input_shape=[None, 2])),
            called(layer("GRU", "gru", **options), [["x", 0, 0, {}], ["h", 0, 0, {}]]),
        ],
        [["x", 0, 0], ["h", 0, 0]],
        ["gru", 0, 0],
    )
    names = ("gru/gru_cell/kernel:0", "gru/gru_cell/recurrent_kernel:0", "gru/gru_cell/bias:0")
    file = hdf5(model, {"x": [], "h": [], "gru": list(zip(names, (w, r, b), strict=True))})
    x, state = real(2, 4, 3), real(2, 2)
    expected = state
    for t in range(4):
        gates = x[:, t] @ w + b
        z, reset = ((gates[:, i : i + 2] + expected @ r[:, i : i + 2]) * 0.2 + 0.5 for i in (0, 2))
        z, reset = z.clip(0, 1), reset.clip(0, 1)
        fresh = np.tanh(gates[:, 4:] + (reset * expected) @ r[:, 4:])
        expected = z * expected + (1 - z) * fresh
    np.testing.assert_allclose(run(file, x, state)[0], expected, atol=1e-6)


def test_layers_that_are_not_supported_are_named_together() -> None:
    custom = {**layer("Mine", "own"), "module": "my.layers", "registered_name": "Package>Mine"}
    model = sequential(
        layer("Dense", "scores", units=4, batch_input_shape=[None, 3]),
        layer("Lambda", "scale", function=["cGFzcw==", None, None]),
        sequential(layer("Lambda", "again"), layer("Activation", "act", activation="mine"), name="inner"),
        custom,
    )
    file = hdf5(model, {"scores": [("scores/kernel:0", KERNEL), ("scores/bias:0", BIAS)]})
    with pytest.raises(UnsupportedError) as raised:
        import_model(file)
    assert str(raised.value).splitlines()[:3] == [
        "the model needs what is not supported, 2 in all:",
        "  Lambda: 2 layers 'scale', 'inner/again'",
        "  Mine: 1 layer 'own'",
    ]
    assert "export the model as ONNX" in str(raised.value)
    assert describe_model(file).unsupported == ("Lambda", "Mine")


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (layer("Activation", "act", activation="mine"), r"Activation \('act'\): the activation function 'mine'"),
        ({**(d := layer("Dense", "d")), "config": {**d["config"], "dtype": "int8_from_float32"}}, "are quantised"),
        (layer("LSTM", "rnn", units=1, stateful=True), r"LSTM \('rnn'\): stateful is not supported"),
        (layer("LSTM", "rnn", units=1, activation="mish"), r"LSTM \('rnn'\): activation is 'mish'"),
        (layer("Resizing", "size", height=2, width=2, crop_to_aspect_ratio=True), "it keeps the aspect ratio"),
        (layer("Resizing", "size", height=2, width=2, interpolation="lanczos3"), "the interpolation 'lanczos3'"),
    ],
)
def test_options_that_are_not_supported(entry: dict[str, Any], message: str) -> None:
    model = sequential(
        {**entry, "config": {**entry["config"], "batch_input_shape": [1, 4, 2, 3][: 3 + ("size" in str(entry))]}}
    )
    weights = [("rnn/c/kernel:0", real(2, 4)), ("rnn/c/recurrent_kernel:0", real(1, 4)), ("rnn/c/bias:0", real(4))]
    with pytest.raises(UnsupportedError, match=message):
        import_model(hdf5(model, {"rnn": weights}))


def weights_alone(keras_2: bool) -> bytes:
    data = io.BytesIO()
    with h5py.File(data, "w") as file:
        if keras_2:
            file.attrs["layer_names"] = [b"dense"]
            file["dense/dense/kernel:0"] = KERNEL
        else:
            file["layers/dense/vars/0"] = KERNEL
    return data.getvalue()


def other_hdf5() -> bytes:
    data = io.BytesIO()
    with h5py.File(data, "w") as file:
        file["table"] = KERNEL
    return data.getvalue()


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (weights_alone(True), r"has weights of a Keras model, without the model: .* model\.save\('model\.keras'\)"),
        (weights_alone(False), "has weights of a Keras model, without the model"),
        (other_hdf5(), r"is an HDF5 file without a Keras model \(the attribute model_config\); give another file"),
        (archive({"class_name": "MyModel", "config": {}}, {}), "is a model of the class MyModel, whose code is not in"),
        (archive(sequential(layer("Dense", "d", units=1)), {}), "its input 'd_input' has no shape; build the model"),
        (archive(sequential(), {}), r"damaged: .* has no layers"),
        (small().replace(b"config.json", b"confix.json"), r"its archive has no config\.json"),
        (b"PK\x03\x04" + bytes(26) + b"metadata.json", "truncated or damaged"),
        (hdf5(json.loads("[]"), {}), "truncated or damaged"),
    ],
)
def test_what_is_no_model(data: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "net.h5"
    path.write_bytes(data)
    with pytest.raises(InputError, match=rf"^net\.h5\b.*{message}"):
        import_model(path)
    result = CliRunner().invoke(main, [str(path), "--out", str(tmp_path / "bundle")], catch_exceptions=False)
    assert result.exit_code == 2
    assert not (tmp_path / "bundle").exists()


def test_a_file_is_known_by_its_first_bytes() -> None:
    assert find_importer(small()).name == "Keras"
    assert find_importer(other_hdf5()).name == "Keras"


def test_text_as_input_is_refused() -> None:
    start = {"class_name": "InputLayer", "config": {"batch_shape": [None, 1], "dtype": "string", "name": "words"}}
    with pytest.raises(UnsupportedError, match="its input 'words' has elements of type string"):
        import_model(archive(sequential(start, layer("Flatten", "flat")), {}))


def test_a_missing_weight_is_named() -> None:
    model = sequential(layer("Dense", "d", units=4, batch_input_shape=[None, 3]))
    with pytest.raises(InputError, match=r"Dense \('d'\) has 1 weights in the file, and needs 2 or more"):
        import_model(hdf5(model, {"d": [("d/kernel:0", KERNEL)]}))


def test_nothing_outside_of_the_file_is_read(tmp_path: Path) -> None:
    """Links into other files, and elements that are stored in them."""
    (tmp_path / "secret").write_bytes(bytes(48))
    with h5py.File(tmp_path / "other.h5", "w") as other:
        other["kernel:0"] = KERNEL
    model = json.dumps(sequential(layer("Dense", "d", units=4, use_bias=False, batch_input_shape=[1, 3])))
    for kind in ("link", "external"):
        path = tmp_path / f"{kind}.h5"
        with h5py.File(path, "w") as file:
            file.attrs["model_config"] = model
            group = file.create_group("model_weights/d")
            group.attrs["weight_names"] = [b"kernel:0"]
            if kind == "link":
                group["kernel:0"] = h5py.ExternalLink(str(tmp_path / "other.h5"), "kernel:0")
            else:
                group.create_dataset("kernel:0", (3, 4), "f4", external=[(str(tmp_path / "secret"), 0, 48)])
        with pytest.raises(InputError, match=r"truncated or damaged: .*'kernel:0'"):
            import_model(path)


def test_a_size_without_data_allocates_nothing() -> None:
    data = io.BytesIO()
    with h5py.File(data, "w") as file:
        file.attrs["model_config"] = json.dumps(sequential(layer("Dense", "d", batch_input_shape=[1, 3])))
        group = file.create_group("model_weights/d")
        group.attrs["weight_names"] = [b"kernel:0"]
        group.create_dataset("kernel:0", (2**15, 2**15), "f4", chunks=(64, 64))
    with pytest.raises(InputError, match="has no data"):
        import_model(data.getvalue())


def cut(file: bytes, count: int) -> list[bytes]:
    return [file[:n] for n in np.random.default_rng(len(file)).integers(4, len(file), count)]


def changed(file: bytes, count: int) -> list[bytes]:
    """With bytes that are others."""
    rng = np.random.default_rng(len(file))
    found = []
    for _ in range(count):
        data = bytearray(file)
        for i in rng.integers(4, len(file), rng.integers(1, 6)):
            data[i] = rng.integers(256)
        found.append(bytes(data))
    return found


def rewrapped(weights: bytes) -> bytes:
    """A .keras file with other weights, of which the archive's checksum is right."""
    data = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(small())) as old, zipfile.ZipFile(data, "w") as new:
        for name in old.namelist():
            new.writestr(name, weights if name.endswith(".h5") else old.read(name))
    return data.getvalue()


def weights_of(file: bytes) -> bytes:
    with zipfile.ZipFile(io.BytesIO(file)) as opened:
        return opened.read("model.weights.h5")


@pytest.mark.parametrize("name", ["archive", "weights", "hdf5"])
def test_damaged_files_are_refused(name: str, request: pytest.FixtureRequest) -> None:
    """An archive has checksums, HDF5 has none."""
    count = DAMAGED_FILES[effort_of(request.config)]
    if name == "hdf5":
        dense = layer("Dense", "d", units=4, batch_input_shape=[None, 3])
        file = hdf5(sequential(dense), {"d": [("d/kernel:0", KERNEL), ("d/bias:0", BIAS)]})
    else:
        file = small() if name == "archive" else weights_of(small())
    refused = 0
    for data in cut(file, count // 4) + changed(file, count):
        try:
            import_model(rewrapped(data) if name == "weights" else data, model_inputs(dims={"batch": 1}))
        except (InputError, UnsupportedError):
            refused += 1
    assert refused >= count // 4
