"""Caffe's files as a whole: networks of both versions, weights beside them or alone, phases, losses, and damage."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
import webnn_compile
from caffe_models import weights_file, write_model
from click.testing import CliRunner
from damaged_files import damaged
from google.protobuf import text_format
from webnn_compile.cli import main
from webnn_compile.driver.build import build
from webnn_compile.driver.options import Options
from webnn_compile.errors import InputError, UnsupportedError
from webnn_compile.frontends.caffe.schema import Net
from webnn_compile.frontends.importers import describe_model, find_importer, import_model
from webnn_compile.graph.passes import run_graph_passes

Array = np.ndarray
RNG = np.random.default_rng(11)


def real(*shape: int) -> Array:
    return RNG.uniform(-1, 1, shape).astype(np.float32)


NETWORK = """
name: "small"
layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 2 dim: 3 dim: 8 dim: 8 } } }
layer { name: "conv" type: "Convolution" bottom: "data" top: "conv"
  param { lr_mult: 1 } convolution_param { num_output: 4 kernel_size: 3 engine: CUDNN weight_filler { type: "msra" } } }
layer { name: "bn" type: "BatchNorm" bottom: "conv" top: "conv" }
layer { name: "scale" type: "Scale" bottom: "conv" top: "conv" scale_param { bias_term: true } }
layer { name: "relu" type: "ReLU" bottom: "conv" top: "conv" }
layer { name: "pool" type: "Pooling" bottom: "conv" top: "pool" pooling_param { kernel_size: 2 stride: 2 } }
layer { name: "fc" type: "InnerProduct" bottom: "pool" top: "fc" inner_product_param { num_output: 5 } }
"""
SOFTMAX = 'layer { name: "prob" type: "Softmax" bottom: "fc" top: "prob" }'
DATA = 'layer { name: "d" type: "Data" top: "data" top: "label" include { phase: TRAIN } data_param { source: "x" } }'
LOSS = 'layer { name: "loss" type: "SoftmaxWithLoss" bottom: "fc" bottom: "label" top: "loss" }'
ACCURACY = 'layer { name: "a" type: "Accuracy" bottom: "fc" bottom: "label" top: "a" include { phase: TEST } }'
CONV, BIAS, MEAN, VARIANCE, FACTOR, SCALE, SHIFT, FC, FC_BIAS = WEIGHTS_LIST = [
    *(real(4, 3, 3, 3), real(4), real(4), real(4) ** 2 + 1, np.array([4], np.float32), real(4), real(4)),
    *(real(5, 36), real(5)),
]
WEIGHTS = {
    "conv": [CONV, BIAS],
    "bn": [MEAN, VARIANCE, FACTOR],
    "scale": [SCALE, SHIFT],
    "fc": [FC, FC_BIAS],
}


def scores(x: Array) -> Array:
    taps = np.lib.stride_tricks.sliding_window_view(x, (3, 3), axis=(2, 3))
    y = np.einsum("nchwij,ocij->nohw", taps, CONV) + BIAS[:, None, None]
    y = (y - (MEAN / 4)[:, None, None]) / np.sqrt((VARIANCE / 4)[:, None, None] + 1e-5)
    y = (y * SCALE[:, None, None] + SHIFT[:, None, None]).clip(0)
    return y.reshape(len(x), 4, 3, 2, 3, 2).max((3, 5)).reshape(len(x), -1) @ FC.T + FC_BIAS


def softmax(x: Array) -> Array:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def test_a_network_with_its_weights_beside_it(tmp_path: Path) -> None:
    """Layers in place are one after another; normalisations become part of the convolution."""
    path, x = write_model(tmp_path, NETWORK, {**WEIGHTS, "of_training": [SCALE]}), real(2, 3, 8, 8)
    for given in (path, str(path), path.with_suffix(".caffemodel")):
        model = webnn_compile.compile(given)
        np.testing.assert_allclose(model.run({"data": x})["fc"], scores(x), atol=1e-5)
    assert [n.op for n in run_graph_passes(import_model(path)).nodes] == ["Conv", "Relu", "MaxPool", "Flatten", "Gemm"]
    model = webnn_compile.compile(path, dims={"data_0": (1, 9)})
    np.testing.assert_allclose(model.run({"data": x[:1]})["fc"], scores(x[:1]), atol=1e-5)
    (tmp_path / "net.caffemodel").rename(tmp_path / "other_iter_1000.caffemodel")
    assert [v.name for v in import_model(path).outputs] == ["fc"]


def test_inspect(tmp_path: Path) -> None:
    path = write_model(tmp_path, NETWORK, WEIGHTS)
    result = CliRunner().invoke(main, [str(path), "--inspect"], catch_exceptions=False)
    found = [" ".join(line.split()) for line in result.output.splitlines()]
    assert found[0].startswith("net.prototxt: Caffe, ")
    for line in ("Written by Caffe", "Input data: float32[data_0, 3, data_2, data_3]", "Convolution 1 all"):
        assert line in found
    assert describe_model(path).parameters == sum(w.size for w in WEIGHTS_LIST)


def test_weights_alone_have_the_layers_of_training(tmp_path: Path) -> None:
    """Data without a shape is an input; the loss is its softmax."""
    text = NETWORK.split("\n", 3)
    network = text_format.Parse("\n".join([text[1], DATA, *text[3:], LOSS, ACCURACY]), Net(), allow_unknown_field=True)
    data, x = weights_file(WEIGHTS, network), real(3, 3, 8, 8)
    path = tmp_path / "small.caffemodel"
    path.write_bytes(data)
    assert find_importer(path).name == "Caffe"
    with pytest.raises(InputError, match=r"free dimensions:\n  data: declared \[data_0, data_1, data_2, data_3\]"):
        import_model(path)
    model = webnn_compile.compile(path, shapes={"data": x.shape})
    results = model.run({"data": x})
    assert [*results] == ["loss"]
    np.testing.assert_allclose(results["loss"], softmax(scores(x)), atol=1e-6)


def test_a_loss_beside_a_softmax_is_left_out(tmp_path: Path) -> None:
    path = write_model(tmp_path, "\n".join([NETWORK, DATA, LOSS, ACCURACY, SOFTMAX]), WEIGHTS)
    x = real(2, 3, 8, 8)
    results = webnn_compile.compile(path).run({"data": x})
    assert [*results] == ["prob"]
    np.testing.assert_allclose(results["prob"], softmax(scores(x)), atol=1e-6)


def test_layers_of_version_1(tmp_path: Path) -> None:
    """Inputs are declared by input_dim, types are names of an enumeration, and blobs have four dimensions."""
    text = """
    input: "x" input_dim: 2 input_dim: 3 input_dim: 2 input_dim: 2
    layers { name: "fc" type: INNER_PRODUCT bottom: "x" top: "fc" blobs_lr: 1 inner_product_param { num_output: 4 } }
    layers { name: "relu" type: RELU bottom: "fc" top: "fc" }
    layers { name: "both" type: CONCAT bottom: "fc" bottom: "fc" top: "both" concat_param { concat_dim: 1 } }
    layers { name: "loss" type: SOFTMAX_LOSS bottom: "both" top: "loss" }
    """
    w, b, x = real(4, 12), real(4), real(2, 3, 2, 2)
    path = write_model(tmp_path, text, {"fc": [w, b]}, old=True)
    y = (x.reshape(2, -1) @ w.T + b).clip(0)
    expected = softmax(np.concatenate([y, y], 1))
    np.testing.assert_allclose(webnn_compile.compile(path).run({"x": x})["loss"], expected, atol=1e-6)


def test_rules_of_phases_and_stages(tmp_path: Path) -> None:
    rules = {
        "include { phase: TRAIN }": False,
        "include { phase: TRAIN } include { phase: TEST }": True,
        "exclude { phase: TEST }": False,
        'include { stage: "deploy" }': True,
        'include { stage: "val" }': False,
        'exclude { stage: "deploy" }': False,
        "include { min_level: 1 }": False,
    }
    for rule, is_there in rules.items():
        layer = f'layer {{ name: "p" type: "Power" bottom: "x" top: "x" power_param {{ scale: 2 }} {rule} }}'
        relu = 'layer { name: "r" type: "ReLU" bottom: "x" top: "y" }'
        path = write_model(tmp_path, f'input: "x" input_shape {{ dim: 3 }} {layer} {relu}', {})
        assert ["Mul" in [n.op for n in import_model(path).nodes]] == [is_there], rule


def test_it_is_verified_by_onnxruntime(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    path = write_model(tmp_path, NETWORK + SOFTMAX, WEIGHTS)
    options = Options(targets=("wasm",), verify=True)
    report = build(path, tmp_path / "bundle", options, lambda _: None, lambda _: None)
    assert report.comparisons
    assert all(c.ok for c in report.comparisons)


def test_what_is_not_supported_is_said_at_once(tmp_path: Path) -> None:
    kinds = ("Python", "Proposal", "Python")
    more = [f'layer {{ name: "l{i}" type: "{k}" bottom: "fc" top: "t{i}" }}' for i, k in enumerate(kinds)]
    more.append('layer { name: "m" type: "Pooling" bottom: "conv" top: "m" pooling_param { pool: STOCHASTIC } }')
    with pytest.raises(UnsupportedError) as raised:
        import_model(write_model(tmp_path, NETWORK + "\n".join(more), WEIGHTS))
    assert str(raised.value).splitlines() == [
        "net.prototxt needs what is not supported, 3 in all:",
        "  Python: 2 layers 'l0', 'l2'",
        "  Proposal: 1 layer 'l1'",
        "  Pooling ('m'): the method STOCHASTIC",
        "Replace or remove these layers, or give the model as ONNX.",
    ]


@pytest.mark.parametrize(
    ("text", "weights", "message"),
    [
        (
            NETWORK,
            {},
            r"net\.prototxt has the layers of a Caffe model, and its weights are in another file: put net\.",
        ),
        (
            NETWORK,
            {"conv": [CONV, BIAS]},
            r"net\.caffemodel lacks the weights of 3 layers 'bn', 'scale', 'fc' of",
        ),
        (NETWORK, {**WEIGHTS, "fc": [CONV, BIAS]}, r"InnerProduct \('fc'\): ValueError: cannot reshape"),
        ('name: "empty"', {}, "is not a Caffe network: it has no layers"),
        (
            'layer { name: "r" type: "ReLU" bottom: "x" top: "y" }',
            {},
            r"nothing computes 'x', which ReLU",
        ),
        ("layers { layer { name: 'old' } }", {}, "is of Caffe's format version 0; convert it by Caffe's upgrade"),
        ("layer { name: 3 }", {}, r"is not a valid Caffe model, or its weights are not \(ParseError: 1:15"),
        ("", {}, "is empty; download the model again"),
    ],
)
def test_models_that_are_none(text: str, weights: dict[str, list[Array]], message: str, tmp_path: Path) -> None:
    with pytest.raises((InputError, UnsupportedError), match=message):
        import_model(write_model(tmp_path, text, weights))


def test_text_without_a_path_has_no_weights() -> None:
    with pytest.raises(InputError, match=r"its weights are in another file"):
        import_model(NETWORK.strip().encode())


@pytest.mark.parametrize("part", ["net.prototxt", "net.caffemodel", "alone.caffemodel"])
def test_damaged_files_are_imported_or_refused_by_one_error(
    part: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    path = write_model(tmp_path, NETWORK + LOSS, WEIGHTS)
    if part.startswith("alone"):
        path = tmp_path / part
        path.write_bytes(weights_file(WEIGHTS, text_format.Parse(NETWORK, Net(), allow_unknown_field=True)))
    file = tmp_path / part
    for data in damaged(file.read_bytes(), request, head=300):
        file.write_bytes(data)
        with suppress(InputError, UnsupportedError):
            import_model(path)
