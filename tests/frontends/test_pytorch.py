"""Modules and exported programs of PyTorch, by its exporter: they give what PyTorch computes. Skipped where it is
missing, but for messages."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import webnn_compile
from click.testing import CliRunner
from webnn_compile.cli import main
from webnn_compile.errors import InputError
from webnn_compile.frontends.importers import describe_model, find_importer

try:
    import onnxscript  # noqa: F401
    import torch
except ImportError:
    torch = None  # type: ignore[assignment]

needs_torch = pytest.mark.skipif(torch is None, reason="torch or onnxscript is not installed")


def classifier() -> Any:
    """A convolution, normalised, with dropout, which does nothing outside of training."""
    torch.manual_seed(3)
    layers = torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.BatchNorm2d(8), torch.nn.ReLU(), torch.nn.Dropout(0.9)
    return torch.nn.Sequential(*layers, torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(8, 4))


def expected(module: Any, *inputs: Any) -> np.ndarray:
    module.eval()
    with torch.no_grad():
        return np.asarray(module(*inputs))


@needs_torch
def test_a_module_in_training_is_exported_for_use() -> None:
    module, x = classifier(), torch.randn(2, 3, 8, 8)
    assert module.training
    model = webnn_compile.compile(module, example_inputs=(x,))
    assert module.training
    (found,) = model.run({"input": x.numpy()}).values()
    np.testing.assert_allclose(found, expected(module, x), atol=1e-5)


@needs_torch
def test_sizes_that_vary() -> None:
    module = classifier()
    shapes = ({0: torch.export.Dim("batch", min=1, max=16)},)
    options: dict[str, Any] = {"example_inputs": (torch.randn(2, 3, 8, 8),), "dynamic_shapes": shapes}
    model = webnn_compile.compile(module, dims={"batch": (1, 16)}, **options)
    for n in (1, 5):
        x = torch.randn(n, 3, 8, 8)
        (found,) = model.run({"input": x.numpy()}).values()
        np.testing.assert_allclose(found, expected(module, x), atol=1e-5)


@needs_torch
def test_arguments_by_name() -> None:
    class Scaled(torch.nn.Module):
        def forward(self, x: Any, factor: Any) -> Any:
            return x * factor + 1

    x, factor = torch.randn(3, 4), torch.randn(4)
    model = webnn_compile.compile(Scaled(), example_inputs={"x": x, "factor": factor})
    (found,) = model.run({"x": x.numpy(), "factor": factor.numpy()}).values()
    np.testing.assert_allclose(found, x.numpy() * factor.numpy() + 1, atol=1e-6)


@needs_torch
def test_programs_and_their_files(tmp_path: Path) -> None:
    module, x = classifier().eval(), torch.randn(1, 3, 8, 8)
    program = torch.export.export(module, (x,))
    path = tmp_path / "net.pt2"
    torch.export.save(program, path)
    for given in (program, path, str(path)):
        (found,) = webnn_compile.compile(given).run({"input": x.numpy()}).values()
        np.testing.assert_allclose(found, expected(module, x), atol=1e-5)
    assert find_importer(path).name == "PyTorch"
    assert describe_model(path).name == "net.pt2"
    result = CliRunner().invoke(main, [str(path), "--out", str(tmp_path / "out"), "--targets", "wasm", "--verify"])
    assert result.exit_code == 0, result.output
    assert (tmp_path / "out" / "model.js").is_file()


@needs_torch
def test_a_bundle_of_a_module_has_its_name(tmp_path: Path) -> None:
    class Doubled(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return 2 * x

    webnn_compile.build_bundle(Doubled(), "wasm", out=tmp_path / "out", example_inputs=torch.ones(3))
    assert 'name: "Doubled"' in (tmp_path / "out" / "model.js").read_text()


@needs_torch
def test_what_cannot_be_exported_says_why() -> None:
    class Branches(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return x + 1 if x.sum() > 0 else x - 1

    message = r"^Branches cannot be exported from PyTorch: \w+: .*; change the module as https://.*torch\.cond"
    with pytest.raises(InputError, match=message) as raised:
        webnn_compile.compile(Branches(), example_inputs=(torch.ones(3),))
    assert len(str(raised.value)) < 1200
    with pytest.raises(InputError, match="Branches: give example_inputs=, too"):
        webnn_compile.compile(Branches())


@needs_torch
def test_files_that_are_none(tmp_path: Path) -> None:
    path = tmp_path / "net.pt2"
    path.write_bytes(b"PK\x03\x04 rest")
    with pytest.raises(InputError, match=r"net\.pt2 is no program of torch\.export\.save: .*; save it by that"):
        webnn_compile.compile(path)
    with pytest.raises(InputError, match="there is no such file"):
        webnn_compile.compile(tmp_path / "none.pt2")


def test_without_pytorch(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.setitem(sys.modules, "onnxscript", None)
    path = tmp_path / "net.pt2"
    path.write_bytes(b"PK\x03\x04 rest")
    with pytest.raises(
        InputError, match=r"models of PyTorch need the package \w+: pip install 'webnn-compile\[torch\]', or export"
    ):
        webnn_compile.compile(path)


def test_examples_are_for_modules_alone(tmp_path: Path) -> None:
    for options in ({"example_inputs": (1,)}, {"dynamic_shapes": ()}):
        with pytest.raises(InputError, match="example_inputs= and dynamic_shapes= are for a module of PyTorch"):
            webnn_compile.compile(tmp_path / "net.onnx", **options)  # type: ignore[arg-type]
