"""Random quantised graphs against onnxruntime without optimisations: what nothing rounds otherwise is equal, quanta of
floats differ only where noise in front of the quantiser changes them in onnxruntime, too."""

from __future__ import annotations

import onnx
import pytest
import webnn_compile
from drivers import need_driver
from effort import QUANTA, effort_of
from fuzz.compare import disagreement
from fuzz.doubt_quanta import DOUBTS_OF_QUANTA, doubt_quanta, quantises
from onnx_models import Array, onnxruntime_results
from random_quanta import BATCHES, of_batch, other_inputs, random_quanta, with_any_batch

SEEDS = 10_000
"""Between those of two targets."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if metafunc.function is test_random_quanta:
        counts = QUANTA[effort_of(metafunc.config)]
        targets = [t for t in webnn_compile.TARGETS if t in counts]
        runs = [(t, SEEDS * i + n) for i, t in enumerate(targets) for n in range(counts[t])]
        metafunc.parametrize(("target", "seed"), runs)


def test_layers_are_whole() -> None:
    """A node that onnxruntime refuses, or whose results are too large, ends a layer; layers of all kinds are left."""
    pairs: set[tuple[str, str]] = set()
    for seed in range(150):
        nodes = random_quanta(seed).nodes
        made = {name: n.op_type for n in nodes for name in n.output}
        pairs |= {(made[name], n.op_type) for n in nodes for name in n.input if name in made}
    assert pairs >= {
        *(("DequantizeLinear", op) for op in ("Conv", "ConvTranspose", "MatMul", "Gemm", "Add", "Mul", "Concat")),
        *(("DequantizeLinear", op) for op in ("Relu", "Clip", "MaxPool", "AveragePool")),
        *((op, "QuantizeLinear") for op in ("Conv", "ConvTranspose", "MatMul", "Gemm", "Add", "Mul", "Relu")),
        *(("DynamicQuantizeLinear", op) for op in ("MatMulInteger", "ConvInteger")),
        ("QLinearConv", "QLinearConv"),
        *(("MatMulInteger", "Cast"), ("ConvInteger", "Cast"), ("Cast", "Mul"), ("Mul", "Add"), ("Add", "Relu")),
    }


@pytest.mark.every_row
def test_random_quanta(target: str, seed: int) -> None:
    need_driver(target)
    graph = random_quanta(seed)
    proto, dims = graph.model(), None
    runs = [graph.inputs, other_inputs(graph.inputs, seed)]
    named = with_any_batch(proto, graph.inputs) if seed % 4 == 0 else None
    if named is not None:
        proto, dims = named, {"N": (1, BATCHES)}
        runs = [of_batch(feeds, n) for feeds, n in zip(runs, (BATCHES, 1), strict=True)]
    compiled = webnn_compile.compile(proto, target, dims=dims)
    for feeds in runs:
        why = _difference(proto, feeds, compiled.run(feeds))
        assert not why, why


def _difference(proto: onnx.ModelProto, feeds: dict[str, Array], got: dict[str, Array]) -> str:
    want = onnxruntime_results(proto, feeds)
    doubts = doubt_quanta(proto, feeds) if quantises(proto) else lambda _: want
    return disagreement(got, want, doubts, doubts=DOUBTS_OF_QUANTA)
