"""Models that coremltools converts from PyTorch, against PyTorch's results."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import webnn_compile

ct = pytest.importorskip("coremltools", reason="needs `pip install coremltools`, which makes the models")
torch = pytest.importorskip("torch", reason="needs `pip install torch`, whose results are the reference")
nn = torch.nn

TARGETS: dict[str, dict[str, Any]] = {
    "float32": {
        "convert_to": "mlprogram",
        "compute_precision": ct.precision.FLOAT32,
        "minimum_deployment_target": ct.target.iOS15,
    },
    "float16": {"convert_to": "mlprogram", "minimum_deployment_target": ct.target.iOS18},
    "network": {"convert_to": "neuralnetwork"},
}
TOLERANCES = {"float32": 1e-5, "float16": 5e-3, "network": 1e-5}


class Recurrent(nn.Module):  # type: ignore[misc, name-defined]
    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(10, 12, 2, batch_first=True, bidirectional=True)

    def forward(self, x: Any) -> Any:
        return self.lstm(x)[0]


class Attentive(nn.Module):  # type: ignore[misc, name-defined]
    def __init__(self) -> None:
        super().__init__()
        layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True, activation="gelu")
        self.embedding, self.encoder = nn.Embedding(50, 32), nn.TransformerEncoder(layer, 2)

    def forward(self, x: Any) -> Any:
        return self.encoder(self.embedding(x)).mean(1)


def convolutional() -> Any:
    layers: list[Any] = []
    channels = 3
    for outputs, stride in ((8, 2), (12, 1), (16, 2)):
        layers += [nn.Conv2d(channels, outputs, 3, stride, 1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU6()]
        layers += [nn.Conv2d(outputs, outputs, 3, 1, 1, groups=outputs), nn.SiLU()]
        channels = outputs
    upsampling = [nn.Upsample(scale_factor=2, mode="bilinear"), nn.ConvTranspose2d(channels, 5, 4, 2, 1)]
    return nn.Sequential(*layers, *upsampling, nn.AvgPool2d(3, 2, 1), nn.Flatten(), nn.LazyLinear(7), nn.Softmax(-1))


MODELS: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
    "convolutional": (convolutional, lambda: torch.rand(1, 3, 32, 32)),
    "recurrent": (Recurrent, lambda: torch.randn(2, 7, 10)),
    "attentive": (Attentive, lambda: torch.randint(0, 50, (2, 11))),
}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", MODELS)
def test_models(name: str, target: str, tmp_path: Path) -> None:
    torch.manual_seed(0)
    make, example = MODELS[name]
    module, x = make(), example()
    module.eval()
    with torch.no_grad():
        want = module(x).numpy()
    traced = torch.jit.trace(module, x, check_trace=False)  # with gradients, else PyTorch fuses whole layers
    dtype = np.float32 if x.is_floating_point() else np.int32
    converted = ct.convert(traced, inputs=[ct.TensorType(name="x", shape=x.shape, dtype=dtype)], **TARGETS[target])
    path = tmp_path / ("net.mlmodel" if target == "network" else "net.mlpackage")
    converted.save(str(path))
    (got,) = (
        webnn_compile.compile(path).run({"x": x.numpy().astype(np.float32 if target == "network" else dtype)}).values()
    )
    np.testing.assert_allclose(got.reshape(want.shape), want, atol=TOLERANCES[target] * max(1, abs(want).max()))
