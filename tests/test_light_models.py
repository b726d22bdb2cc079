"""The light models of the onnx package: nine networks of ONNX's model zoo in opset 9, filled with constants."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import webnn_compile
from onnx import numpy_helper
from onnx_models import assert_close, onnxruntime_results
from webnn_compile.driver.optimise_model import import_graph, optimise_model
from webnn_compile.driver.options import Options
from webnn_compile.driver.targets import TARGETS
from webnn_compile.driver.work import Work
from webnn_compile.pipeline.lowered import Lowered
from webnn_compile.system.cache import open_cache

Array = np.ndarray[Any, np.dtype[Any]]

FOLDER = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
NAMES = (
    "bvlc_alexnet",
    "densenet121",
    "inception_v1",
    "inception_v2",
    "resnet50",
    "shufflenet",
    "squeezenet",
    "vgg19",
    "zfnet512",
)
TOLERANCE = 1e-4
"""Relative to max(1, max |reference|)."""


def load(name: str) -> tuple[onnx.ModelProto, dict[str, Array]]:
    """The model, and the input that its reference output belongs to: a ramp from 0 to 1."""
    proto = onnx.load(FOLDER / f"light_{name}.onnx")
    stored = {t.name for t in proto.graph.initializer}
    (given,) = (v for v in proto.graph.input if v.name not in stored)
    shape = tuple(d.dim_value for d in given.type.tensor_type.shape.dim)
    size = int(np.prod(shape))
    return proto, {given.name: (np.arange(size) / size).reshape(shape).astype(np.float32)}


def randomise(proto: onnx.ModelProto) -> onnx.ModelProto:
    """With random weights in place of constants, and what the last Softmax reads as an output too: constant weights
    make all channels alike, and all classes equally probable."""
    generator = np.random.default_rng(0)
    shapes = {t.name: numpy_helper.to_array(t) for t in proto.graph.initializer}
    made = onnx.ModelProto()
    made.CopyFrom(proto)
    made.ir_version = 8  # from 4 on, initialisers need not be inputs
    del made.graph.node[:]
    for node in proto.graph.node:
        if node.op_type != "ConstantOfShape":
            made.graph.node.append(node)
            continue
        shape = tuple(shapes[node.input[0]])
        if len(shape) > 1:
            data = generator.standard_normal(shape) * np.sqrt(2 / np.prod(shape[1:]))
        else:
            data = generator.uniform(0.5, 1.5, shape)  # a variance must be positive
        made.graph.initializer.append(numpy_helper.from_array(data.astype(np.float32), node.output[0]))
    last = made.graph.node[-1]
    if last.op_type == "Softmax":
        made.graph.output.append(onnx.helper.make_empty_tensor_value_info(last.input[0]))
    return made


def test_these_are_all() -> None:
    assert sorted(p.stem for p in FOLDER.glob("*.onnx")) == [f"light_{name}" for name in NAMES]


@functools.lru_cache(maxsize=1)
def lower(name: str) -> tuple[Lowered, Work]:
    """The naive kernels, which CPU targets have in common: importing and lowering takes a third of the time."""
    work = Work(name, Options(), open_cache(), lambda _: None)
    return TARGETS["native"].lower(optimise_model(import_graph(load(name)[0], work), work), work), work


@pytest.mark.parametrize("target", ["native", "wasm"])
@pytest.mark.parametrize("name", NAMES)
def test_agrees_with_the_reference_output(name: str, target: str) -> None:
    proto, feeds = load(name)
    (output,) = proto.graph.output
    expected = numpy_helper.to_array(onnx.load_tensor(str(FOLDER / f"light_{name}_output_0.pb")))
    lowered, work = lower(name)
    compiled = TARGETS[target].compile(lowered, work)
    assert compiled.backend == target
    assert_close(compiled.run(feeds), {output.name: expected}, TOLERANCE * min(1, float(expected.max())))


@pytest.mark.parametrize("name", ["inception_v2", "resnet50", "shufflenet", "squeezenet"])
def test_with_random_weights_agrees_with_onnxruntime(name: str) -> None:
    proto, feeds = load(name)
    proto = randomise(proto)
    expected = onnxruntime_results(proto, feeds)
    assert all(float(np.ptp(a)) > 1e-3 for a in expected.values()), "the classes must differ"
    assert_close(webnn_compile.compile(proto, target="wasm-relaxed").run(feeds), expected, TOLERANCE)
