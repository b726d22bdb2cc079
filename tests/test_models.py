"""Networks that people use, from the folder of models beside the repository, on every target against onnxruntime."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
import webnn_compile
from drivers import need_driver
from effort import effort_of, row_runs
from onnx import numpy_helper
from onnx_models import assert_close
from webnn_compile.bundle.write_bundle import SHARD_BYTES
from webnn_compile.driver.build import Report, build
from webnn_compile.driver.options import Options
from webnn_compile.frontends.model_inputs import ModelInputs
from webnn_compile.report.describe_build import describe_build
from webnn_compile.report.page_data import Peak
from webnn_compile.report.render_page import render_page
from webnn_compile.tensor.halves import fits_half

Array = np.ndarray[Any, np.dtype[Any]]

SHARED = Path(os.environ.get("WEBNN_SHARED") or Path(__file__).resolve().parent.parent.parent / "shared")
TOLERANCE = 1e-4
"""Relative to max(1, max |reference|)."""


@dataclass(frozen=True)
class Network:
    """A model file, a shape for what it leaves open, and the range of its inputs: far outside of what it was trained
    on, a network may amplify rounding so much that onnxruntime itself is wrong by more than the tolerance."""

    file: str
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    low: float = -2.0
    high: float = 2.0


NETWORKS = (
    Network("mnist", low=0, high=1),
    Network("superres_x3_core", {"_ppp5_expanded": (1, 1, 37, 50)}, low=0, high=1),
    Network("ultraface_rfb320", low=-1, high=1),
    Network("squeezenet1.0_imagenet", {"data": (1, 3, 227, 227)}),
    Network("resnet18_imagenet", {"input": (1, 3, 224, 224)}),
    Network("yolox_nano_coco_416", low=0, high=255),
)

pytestmark = pytest.mark.skipif(
    not (SHARED / "models").is_dir(), reason=f"there is no folder {SHARED / 'models'} (WEBNN_SHARED may name another)"
)


def path_of(network: Network) -> Path:
    path = SHARED / "models" / f"{network.file}.onnx"
    if not path.is_file():
        pytest.skip(f"there is no {path}")
    return path


@cache
def reference(file: str) -> tuple[dict[str, Array], dict[str, Array]]:
    """Inputs, and what onnxruntime makes of them."""
    network = next(n for n in NETWORKS if n.file == file)
    options = ort.SessionOptions()
    options.log_severity_level = 3
    session = ort.InferenceSession(str(path_of(network)), options, providers=["CPUExecutionProvider"])
    generator = np.random.default_rng(0)
    feeds = {}
    for i in session.get_inputs():
        shape = network.shapes.get(i.name, i.shape)
        feeds[i.name] = generator.uniform(network.low, network.high, shape).astype(np.float32)
    names = [o.name for o in session.get_outputs()]
    # Copies: onnxruntime's arrays keep the session alive, with all its weights.
    return feeds, {name: np.array(a) for name, a in zip(names, session.run(names, feeds), strict=True)}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if metafunc.function is test_agrees_with_onnxruntime:
        effort = effort_of(metafunc.config)
        every = [(network, target) for network in NETWORKS for target in webnn_compile.TARGETS]
        # OpenCL's driver takes up to a minute for a network.
        runs = [(n, t) for n, t in every if effort != "ci" or row_runs(n.file, t, effort)]
        metafunc.parametrize(("network", "target"), runs, ids=[f"{n.file}-{t}" for n, t in runs])


def test_agrees_with_onnxruntime(network: Network, target: str) -> None:
    need_driver(target)
    compiled = webnn_compile.compile(path_of(network), target=target, shapes=network.shapes)
    assert compiled.backend == target
    feeds, expected = reference(network.file)
    assert_close(compiled.run(feeds), expected, TOLERANCE)


@pytest.fixture(scope="module")
def resnet(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Report]:
    """The bundle of ResNet18, and the report of its compilation."""
    network = next(n for n in NETWORKS if n.file == "resnet18_imagenet")
    out = tmp_path_factory.mktemp("resnet18") / "bundle"
    options = Options(ModelInputs(network.shapes), targets=("wasm",), report=out.with_name("report.html"))
    return out, build(path_of(network), out, options, lambda _: None, lambda _: None)


def test_resnet18_is_small_besides_its_weights(resnet: tuple[Path, Report]) -> None:
    out, report = resnet
    rest = sum(f.bytes for f in report.files if f.kind != "weights")
    assert {f.kind for f in report.files} == {"entry", "types", "page", "runtime", "program", "wasm", "weights"}
    assert sum(f.kind == "wasm" for f in report.files) == 2
    assert rest == sum(p.stat().st_size for p in out.iterdir() if p.suffix != ".bin")
    page = sum(f.bytes for f in report.files if f.kind == "page")
    assert page <= 21_000
    assert rest - page <= 220_500


def test_resnet18_has_its_weights_once_in_shards(resnet: tuple[Path, Report]) -> None:
    out, report = resnet
    shards = [f.bytes for f in report.files if f.kind == "weights"]
    assert len(shards) == 22
    assert max(shards) <= SHARD_BYTES == 2 * 2**20
    assert sum(shards) == sum(p.stat().st_size for p in out.glob("*.bin"))
    model = onnx.load(path_of(NETWORKS[4]))
    arrays = [numpy_helper.to_array(t) for t in model.graph.initializer if t.data_type == onnx.TensorProto.FLOAT]
    floats = sum(a.nbytes // 2 if a.ndim == 2 and fits_half(a) else a.nbytes for a in arrays)
    # BatchNorm is folded into filters, which are float16s no more; channels are padded to a multiple of 4.
    assert 0.99 * floats < sum(shards) < 1.01 * floats


def test_the_report_of_resnet18_is_a_small_page(resnet: tuple[Path, Report]) -> None:
    """Sources are compressed: LLVM's text alone has 2 MB."""
    options = Options(targets=("wasm",), peaks={"wasm": (100.0, 20.0)})
    assert resnet[1].wasm is not None
    page = render_page(describe_build(resnet[1], options, lambda _: Peak(1, 1)))
    assert len(page.encode()) < 600_000
    assert page.count('class="node ') == sum(resnet[1].operators.values()) + len(resnet[1].wasm.program.launches)


def test_resnet18_shares_kernels_and_reuses_memory(resnet: tuple[Path, Report]) -> None:
    assert resnet[1].wasm is not None
    program = resnet[1].wasm.program
    assert len(program.kernels) < len(program.steps)
    assert sum(resnet[1].operators.values()) > len(program.steps)
    # 64 channels of 112 x 112 go in while another such tensor, pooled, comes out.
    largest = 64 * 112 * 112 * 4
    assert largest < program.arena < 2.5 * largest
