"""A module of PyTorch with an operator of the user's, as docs/operators-of-your-own.md has it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import webnn_compile
from documentation import ROOT, blocks

PAGE = blocks(ROOT / "docs" / "operators-of-your-own.md")
IN_NUMPY, IN_TORCH = (b.text for b in PAGE if "def swish(" in b.text)


def test_a_module(tmp_path: Path) -> None:
    torch: Any = pytest.importorskip("torch", reason="install torch and onnxscript: extra [torch]")
    pytest.importorskip("onnxscript", reason="install torch and onnxscript: extra [torch]")
    if not hasattr(torch.onnx, "ops"):
        pytest.skip("install PyTorch 2.8 or newer, which has torch.onnx.ops")
    names: dict[str, Any] = {}
    exec(IN_TORCH, names)
    (tmp_path / "my_ops.py").write_text(IN_NUMPY)

    class Net(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.dense = torch.nn.Linear(8, 5)

        def forward(self, x: Any) -> Any:
            return torch.relu(names["swish"](self.dense(x), 1.5))

    torch.manual_seed(0)
    net, x = Net().eval(), torch.arange(24.0).reshape(3, 8) / 12 - 1
    compiled = webnn_compile.compile(net, example_inputs=(x,), operators=tmp_path / "my_ops.py")
    (got,) = compiled.run({"x": x.numpy()}).values()
    np.testing.assert_allclose(got, net(x).detach().numpy(), rtol=0, atol=1e-6)
