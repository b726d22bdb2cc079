"""MXNet's files as a whole: symbols and parameters of all versions, names, free sizes, and damage."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
import webnn_compile
from click.testing import CliRunner
from damaged_files import damaged
from mxnet_models import Symbol, params_file, write_model
from webnn_compile.cli import main
from webnn_compile.driver.build import build
from webnn_compile.driver.options import Options
from webnn_compile.errors import InputError, UnsupportedError
from webnn_compile.frontends.importers import as_onnx, describe_model, find_importer, import_model
from webnn_compile.frontends.model_inputs import model_inputs
from webnn_compile.frontends.mxnet.read_params import read_params

Array = np.ndarray
RNG = np.random.default_rng(13)


def real(*shape: int) -> Array:
    return RNG.uniform(-1, 1, shape).astype(np.float32)


W, GAMMA, BETA, MEAN, VARIANCE, FC, BIAS = (
    real(4, 3, 3, 3),
    *(real(4) for _ in range(3)),
    real(4) ** 2,
    real(5, 4),
    real(5),
)
PARAMETERS = {
    "arg:conv_weight": W,
    "arg:bn_gamma": GAMMA,
    "arg:bn_beta": BETA,
    "aux:bn_moving_mean": MEAN,
    "aux:bn_moving_var": VARIANCE,
    "arg:fc_weight": FC,
    "arg:fc_bias": BIAS,
}


def network(*, is_old: bool = False) -> str:
    """As the first layers and the last ones of a classifier; before version 0.9 statistics are no operands."""
    s = Symbol()
    data, weight = s.variable("data"), s.variable("conv_weight")
    conv = s.node("Convolution", "conv", [data, weight], kernel=(3, 3), num_filter=4, no_bias=True)
    states = ["gamma", "beta", *([] if is_old else ["moving_mean", "moving_var"])]
    norm = s.node("BatchNorm", "bn", [conv, *(s.variable(f"bn_{name}") for name in states)], fix_gamma=False)
    relu = s.node("Activation", "relu", [norm], act_type="relu")
    pool = s.node("Pooling", "pool", [relu], global_pool=True, pool_type="avg", kernel=(1, 1))
    fc = s.node("FullyConnected", "fc", [pool, s.variable("fc_weight"), s.variable("fc_bias")], num_hidden=5)
    return s.json(s.node("SoftmaxOutput", "softmax", [fc, s.variable("softmax_label")]))


def scores(x: Array) -> Array:
    taps = np.lib.stride_tricks.sliding_window_view(x, (3, 3), axis=(2, 3))
    y = np.einsum("nchwij,ocij->nohw", taps, W)
    factor = GAMMA / np.sqrt(VARIANCE + 1e-3)
    y = ((y - MEAN[:, None, None]) * factor[:, None, None] + BETA[:, None, None]).clip(0).mean((2, 3)) @ FC.T + BIAS
    e = np.exp(y - y.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


@pytest.mark.parametrize("is_old", [False, True])
def test_a_symbol_with_its_parameters_beside_it(is_old: bool, tmp_path: Path) -> None:
    """The label of the loss is no input, and its channels are those of the first weights."""
    path, x = write_model(tmp_path, network(is_old=is_old), PARAMETERS), real(2, 3, 6, 7)
    assert [(p.name, p.shape) for p in describe_model(path).inputs] == [("data", ("data_0", 3, "data_2", "data_3"))]
    for given in (path, str(path), tmp_path / "net-0000.params"):
        results = webnn_compile.compile(given, shapes={"data": x.shape}).run({"data": x})
        np.testing.assert_allclose(results["softmax"], scores(x), atol=1e-6)
    sizes = {"data_0": (1, 4), "data_2": 6, "data_3": 7}
    results = webnn_compile.compile(path, dims=sizes).run({"data": x})
    np.testing.assert_allclose(results["softmax"], scores(x), atol=1e-6)
    with pytest.raises(InputError, match=r"free dimensions:\n  data: declared \[data_0, 3, data_2, data_3\]"):
        import_model(path)


def test_the_parameters_of_the_last_epoch(tmp_path: Path) -> None:
    path = write_model(tmp_path, network(), {"arg:none": real(1)})
    (tmp_path / "net-0010.params").write_bytes(params_file(PARAMETERS))
    (tmp_path / "other-0020.params").write_bytes(b"")
    x = real(1, 3, 6, 6)
    results = webnn_compile.compile(path, shapes={"data": x.shape}).run({"data": x})
    np.testing.assert_allclose(results["softmax"], scores(x), atol=1e-6)


@pytest.mark.parametrize("version", [0, 1, 2, 3])
def test_arrays_of_each_version(version: int) -> None:
    kinds = ("float64", "float16", "uint8", "int32", "int8", "int64")
    arrays = {f"aux:{kind}": (10 * RNG.random((2, 3))).astype(kind) for kind in kinds}
    found = read_params(params_file({**arrays, "bare": real(4)}, version), "net.params")
    assert [*found] == [*kinds, "bare"]
    for kind in kinds:
        np.testing.assert_array_equal(found[kind], arrays[f"aux:{kind}"].astype("float32" if "float" in kind else kind))


def test_an_input_of_a_stated_shape(tmp_path: Path) -> None:
    s = Symbol()
    x = s.variable("x", __shape__="(2, 3, 5)")
    path = write_model(tmp_path, s.json(s.node("tanh", "y", [x])), {})
    assert [v.shape for v in import_model(path).inputs] == [(2, 3, 5)]
    assert [v.shape for v in import_model(path, model_inputs(dims={"x_2": 9})).inputs] == [(2, 3, 9)]


def test_several_results_of_a_node(tmp_path: Path) -> None:
    s = Symbol()
    parts = s.node("SliceChannel", "parts", [s.variable("x", __shape__="(2, 4)")], num_outputs=2)
    path, x = write_model(tmp_path, s.json((parts, 0), (parts, 1)), {}), real(2, 4)
    results = webnn_compile.compile(path).run({"x": x})
    assert [*results] == ["parts", "parts_1"]
    np.testing.assert_array_equal(results["parts_1"], x[:, 2:])


def test_inspect(tmp_path: Path) -> None:
    path = write_model(tmp_path, network(), PARAMETERS)
    result = CliRunner().invoke(main, [str(path), "--inspect"], catch_exceptions=False)
    found = [" ".join(line.split()) for line in result.output.splitlines()]
    assert found[0].startswith("net-symbol.json: MXNet, ")
    for line in ("Written by MXNet 1.9.1", "Input data: float32[data_0, 3, data_2, data_3]", "Convolution 1 all"):
        assert line in found


def test_it_is_verified_by_onnxruntime(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    path = write_model(tmp_path, network(), PARAMETERS)
    options = Options(model_inputs({"data": (1, 3, 8, 8)}), targets=("wasm",), verify=True)
    report = build(path, tmp_path / "bundle", options, lambda _: None, lambda _: None)
    assert report.comparisons
    assert all(c.ok for c in report.comparisons)


def test_what_is_not_supported_is_said_at_once(tmp_path: Path) -> None:
    s = Symbol()
    x = s.variable("data")
    for i, kind in enumerate(("Custom", "_contrib_Proposal", "Custom")):
        x = s.node(kind, f"n{i}", [x])
    y = s.node("Activation", "a", [s.variable("other")], act_type="mish")
    with pytest.raises(UnsupportedError) as raised:
        import_model(write_model(tmp_path, s.json(x, y), {}))
    assert str(raised.value).splitlines() == [
        "net-symbol.json needs what is not supported, 3 in all:",
        "  Custom: 2 nodes 'n0', 'n2'",
        "  _contrib_Proposal: 1 node 'n1'",
        "  Activation ('a'): the function 'mish'",
        "Replace or remove these operators, or export the model as ONNX.",
    ]


def test_files_without_the_other_one(tmp_path: Path) -> None:
    path = write_model(tmp_path, network(), {})
    with pytest.raises(InputError, match=r"its parameters are in another file: put net-0000\.params beside it"):
        import_model(path)
    with pytest.raises(InputError, match=r"its parameters are in another file"):
        import_model(path.read_bytes())
    params = tmp_path / "alone-0000.params"
    params.write_bytes(params_file(PARAMETERS))
    assert find_importer(params).name == find_importer(params.read_bytes()).name == "MXNet"
    with pytest.raises(InputError, match=r"has parameters of an MXNet model without its symbol; put the file"):
        import_model(params)
    few = write_model(tmp_path, network(), {"arg:conv_weight": W})
    with pytest.raises(InputError, match=r"net-0000\.params lacks 6 parameters 'bn_gamma', .* of net-symbol\.json"):
        import_model(few)


@pytest.mark.parametrize(
    ("symbol", "message"),
    [
        ({"nodes": []}, "is not a valid MXNet symbol"),
        ({"nodes": [], "heads": [[0, 0, 0]]}, "is not a valid MXNet symbol"),
        ({"nodes": [{"op": "tanh", "name": "y", "inputs": [[0, 0, 0]]}], "heads": [[0, 0, 0]]}, "comes after it"),
    ],
)
def test_symbols_that_are_none(symbol: object, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        import_model(write_model(tmp_path, json.dumps(symbol), {}))


@pytest.mark.parametrize("part", ["net-symbol.json", "net-0000.params"])
def test_damaged_files_are_imported_or_refused_by_one_error(
    part: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    path = write_model(tmp_path, network(), PARAMETERS)
    inputs = model_inputs({"data": (1, 3, 6, 6)})
    for data in damaged((tmp_path / part).read_bytes(), request, kept=16):
        (tmp_path / part).write_bytes(data)
        with suppress(InputError, UnsupportedError):
            import_model(path, inputs)


def test_onnxruntime_has_the_ranks_that_are_given(tmp_path: Path) -> None:
    """A symbol does not state them, and an operator of elements takes any."""
    runtime = pytest.importorskip("onnxruntime")
    symbol = Symbol()
    a = symbol.node("FullyConnected", "a", [symbol.variable("x"), symbol.variable("w")], num_hidden=5, no_bias=True)
    joined = symbol.node("Concat", "y", [a, symbol.variable("z")], dim=1)
    path = write_model(tmp_path, symbol.json(joined), {"arg:w": FC})
    x, z = real(2, 4), real(2, 3)
    given = model_inputs({"x": x.shape, "z": z.shape})
    (y,) = runtime.InferenceSession(as_onnx(path, given)).run(None, {"x": x, "z": z})
    np.testing.assert_allclose(y, np.concatenate([x @ FC.T, z], 1), atol=1e-5)
