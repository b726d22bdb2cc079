"""Each layer of Core ML's neural networks against NumPy: those of a family are outputs of one model, which is compiled
once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import webnn_compile
from coreml_layers import Row, activation_layers, image_layers, nd_layers, recurrent_layers
from coreml_models import Network
from coreml_reference import conv, real
from webnn_compile.frontends.coreml.layers import LAYERS
from webnn_compile.frontends.coreml.read_weights import read_weights
from webnn_compile.frontends.coreml.schema import MESSAGES

Array = np.ndarray


NETWORKS = [(image_layers, False), (activation_layers, False), (recurrent_layers, False)]
EXACT_NETWORKS = [(nd_layers, True), (recurrent_layers, True)]


@pytest.mark.parametrize(
    ("family", "exact"),
    [*NETWORKS, *EXACT_NETWORKS],
    ids=lambda v: getattr(v, "__name__", "exact" if v else "of_five"),
)
def test_layers(family: Callable[[], list[Row]], exact: bool) -> None:
    network, feeds, expected = Network(exact), {}, {}
    for r in family():
        names = []
        for data in r.operands:
            names.append(network.input(f"in_{len(feeds)}", data.shape))
            feeds[names[-1]] = data.astype(np.float32)
        outputs = [f"{r.kind}_{len(expected) + i}" for i in range(len(r.want))]
        network.layer(r.kind, names, outputs, **r.fields)
        for name, want in zip(outputs, r.want, strict=True):
            network.output(name, want.shape)
            expected[name] = (r, np.asarray(want, np.float32))
    results = webnn_compile.compile(network.bytes()).run(feeds)
    wrong = []
    for name, (r, want) in expected.items():
        got = results[name]
        if got.shape != want.shape or not np.allclose(got, want, rtol=2e-5, atol=2e-5):
            wrong.append(f"{name} {sorted(r.fields)}: {got.shape} for {want.shape}\n{got}\n{want}")
    assert not wrong, "\n".join(wrong)


def test_every_layer_has_a_row() -> None:
    families = (image_layers, activation_layers, nd_layers, recurrent_layers)
    assert {r.kind for family in families for r in family()} | {"branch", "loop"} == set(LAYERS)


def test_branches_and_loops() -> None:
    """Doubles as long as the sum is below 100, at most 4 times, where the first element is above 0; else negates."""

    def inner(network: Any) -> Network:
        made = Network()
        made.network = network
        return made

    network = Network(exact=True)
    network.input("x", (3,))
    network.layer("sliceStatic", ["x"], ["first"], beginIds=[0], endIds=[1], strides=[1])
    network.layer("greaterThan", ["first"], ["is_positive"], alpha=0.0)
    network.layer("copy", ["x"], ["y"])
    branch = network.layer("branch", ["is_positive"], [])
    loop = inner(branch.ifBranch).layer("loop", [], [], maxLoopIterations=4, conditionVar="goes_on")
    test, body = inner(loop.conditionNetwork), inner(loop.bodyNetwork)
    test.layer("reduceSum", ["y"], ["total"], reduceAll=True)
    test.layer("lessThan", ["total"], ["goes_on"], alpha=100.0)
    body.layer("add", ["y", "y"], ["twice"])
    body.layer("copy", ["twice"], ["y"])
    inner(branch.elseBranch).layer("multiply", ["x"], ["y"], alpha=-1.0)
    network.output("y", (3,))
    model = webnn_compile.compile(network.bytes())
    for x, factor in (((1, 2, 3), 16), ((30, 2, 3), 4), ((-1, 2, 3), -1), ((90, 20, 3), 1)):
        data = np.array(x, np.float32)
        np.testing.assert_allclose(model.run({"x": data})["y"], factor * data)


@pytest.mark.parametrize("bits", [1, 3, 4, 8])
def test_quantised_weights(bits: int) -> None:
    """Numbers of few bits in a row, the highest bit first; with a scale for each row, or a table."""
    levels = np.random.default_rng(bits).integers(0, 2**bits, (3, 5))
    digits = (levels.reshape(-1, 1) >> np.arange(bits)[::-1]) & 1
    weights = MESSAGES["WeightParams"](rawValue=np.packbits(digits.astype(np.uint8).reshape(-1)).tobytes())
    weights.quantization.numberOfBits = bits
    scale, bias, table = real(3), real(3), real(2**bits)
    linear = weights.quantization.linearQuantization
    linear.scale.extend(scale.tolist())
    linear.bias.extend(bias.tolist())
    np.testing.assert_allclose(read_weights(weights, (3, 5)), levels * scale[:, None] + bias[:, None], rtol=1e-6)
    weights.quantization.lookupTableQuantization.floatValue.extend(table.tolist())
    np.testing.assert_allclose(read_weights(weights, (3, 5)), table[levels], rtol=1e-6)


def test_images_in_networks_of_any_dimensions() -> None:
    """An image is 1 x 1 x channels x height x width where the network says so."""
    picture, w = real(1, 3, 5, 6), real(2, 3, 3, 3)
    for mapping, lead in ((0, (1, 1)), (1, (1,))):
        network = Network(exact=True)
        network.network.imageInputShapeMapping = mapping
        network.image("picture", 5, 6)
        fields = {"outputChannels": 2, "kernelChannels": 3, "kernelSize": [3, 3], "weights": w, "valid": {}}
        network.layer("convolution", ["picture"], ["y"], **fields)
        network.output("y")
        (got,) = webnn_compile.compile(network.bytes()).run({"picture": picture}).values()
        np.testing.assert_allclose(got, conv(picture, w, 1).reshape(*lead, 2, 3, 4), atol=1e-5)
