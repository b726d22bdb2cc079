"""Models in two parts: what is put on the host, in which order, and that both parts together compute the model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import onnx.parser
import pytest
from kernel_checks import random_array
from webnn_compile.cpu.compile_for_cpu import compile_for_cpu
from webnn_compile.execution.native_model import NativeModel
from webnn_compile.frontends.onnx import import_model
from webnn_compile.gpu.host_program import host_model
from webnn_compile.gpu.partition_host import HostPartition, Segment, partition_host
from webnn_compile.graph.evaluate import evaluate_graph
from webnn_compile.graph.ir import Graph
from webnn_compile.graph.passes import run_graph_passes
from webnn_compile.ir.interpret import interpret
from webnn_compile.native.jit import host_target
from webnn_compile.pipeline.lower_model import lower_model
from webnn_compile.pipeline.lowered import Lowered
from webnn_compile.program.live_ranges import owner_of
from webnn_compile.program.program import segment_entry
from webnn_compile.target import LayoutPolicy
from webnn_compile.tensor import Tensor

Array = np.ndarray[Any, np.dtype[Any]]

POLICY = LayoutPolicy(fill_halos=False)

BRANCHES = """
<ir_version: 10, opset_import: ["" : 21]>
g (float[1, 4, 6, 6] x, int64[3] i) => (float[3, 8] y, int64[3] k, float[1, 8, 6, 6] z)
<float zero = {0}, float one = {1}, float many = {432}, int64[4] four = {4, 4, 3, 3},
 int64[4] eight = {8, 4, 3, 3}, int64[2] sizes = {144, 288}>
{
  numbers = Range(zero, many, one)
  weights = Sin(numbers)
  first, others = Split(weights, sizes)
  a = Reshape(first, four)
  b = Reshape(others, eight)
  s = Sigmoid(x)
  c = Conv<pads=[1, 1, 1, 1]>(s, a)
  t = Tanh(c)
  z = Conv<pads=[1, 1, 1, 1]>(t, b)
  j = Add(i, i)
  k = Neg(j)
  p = GlobalAveragePool(z)
  f = Flatten(p)
  w = Transpose(f)
  n = Abs(k)
  m = Cast<to=6>(n)
  g = Gather(w, m)
  e = Exp(g)
  q = Concat<axis=1>(e, e, e, e, e, e, e, e)
  y = Neg(q)
}
"""


def graph_of(text: str) -> Graph:
    return run_graph_passes(import_model(onnx.parser.parse_model(text).SerializeToString()))


def by_op(model: Lowered, *ops: str) -> dict[int, str]:
    return {i: "cannot" for i, g in enumerate(model.groups) if set(ops) & set(g.origin.ops)}


def feeds_of(graph: Graph, seed: int = 0) -> dict[str, Array]:
    generator = np.random.default_rng(seed)
    return {v.name: random_array(generator, v.shape, v.dtype) for v in graph.inputs}


class TwoSided:
    """The partition carried out: kernels of the device by the interpreter, those of the host natively."""

    def __init__(self, model: Lowered, partition: HostPartition) -> None:
        self.model, self.partition = model, partition
        self.device: dict[Tensor, Array] = {}
        host = host_model(model, partition)
        self.offsets = host.stored.offset
        program = compile_for_cpu(host, host_target())
        self.host = NativeModel(replace(program, segments=tuple((s.first, s.last) for s in partition.segments)))

    def run(self, feeds: Mapping[str, Array]) -> dict[str, Array]:
        for name, t in self.model.tensors.inputs:
            if t in self.partition.on_device:
                self.device[t] = feeds[name].reshape(-1)
            if t in self.partition.on_host:
                self._put(t, feeds[name])
        for step in self.partition.steps:
            if isinstance(step, int):
                self._launch(step)
                continue
            for t in step.reads:
                self._put(t, self.device.pop(t))  # whatever needs it again finds it on the host
                self.device[t] = self._take(t)
            self.host.call(segment_entry(self.partition.segments.index(step)))
            for t in step.writes:
                self.device[t] = self._take(t)
        return {name: self._output(t) for name, t in self.model.tensors.outputs}

    def _launch(self, i: int) -> None:
        group, kernel = self.model.groups[i], self.model.kernels[i]
        arrays = []
        for t, b in zip(group.reads, kernel.params, strict=False):
            if t.data is not None:
                assert b.layout is not None
                arrays.append(b.layout.pack(t.data).reshape(b.shape))
            else:
                flat = self.device[owner_of(t, self.model.aliases)]
                arrays.append(np.ascontiguousarray(flat[: b.size].reshape(b.shape)))
        out = np.zeros(kernel.params[-1].shape, kernel.params[-1].dtype.numpy)
        interpret(kernel, [*arrays, out])
        self.device[group.output] = out.reshape(-1)

    def _size(self, t: Tensor) -> int:
        return int(np.prod(self.model.layouts[t].physical_shape)) * t.dtype.bytes

    def _put(self, t: Tensor, data: Array) -> None:
        raw = np.ascontiguousarray(data).reshape(-1).view(np.uint8)
        self.host.arena[self.offsets[t] : self.offsets[t] + raw.size] = raw

    def _take(self, t: Tensor) -> Array:
        raw = self.host.arena[self.offsets[t] : self.offsets[t] + self._size(t)]
        return raw.copy().view(t.dtype.numpy)

    def _output(self, t: Tensor) -> Array:
        root = owner_of(t, self.model.aliases)
        flat = self._take(t) if root in self.partition.results else self.device[root]
        return flat[: t.buffer.size].reshape(t.shape)


def check(graph: Graph, cannot: Mapping[int, str], model: Lowered | None = None) -> HostPartition:
    model = model or lower_model(graph, policy=POLICY)
    partition = partition_host(model, cannot)
    assert_sound(model, partition, cannot)
    sides = TwoSided(model, partition)
    for seed in (0, 1):  # the second run finds what the first left behind
        feeds = feeds_of(graph, seed)
        got = sides.run(feeds)
        for name, want in evaluate_graph(graph, feeds).items():
            np.testing.assert_allclose(got[name], want, rtol=1e-5, atol=1e-5)
    return partition


def assert_sound(model: Lowered, partition: HostPartition, cannot: Mapping[int, str]) -> None:
    """Every group once, after what it reads; everything where it is needed when it is."""
    order = [i for s in partition.steps for i in ((s,) if isinstance(s, int) else s.groups)]
    assert sorted(order) == list(range(len(model.groups)))
    assert cannot.keys() <= partition.reasons.keys()
    steps = [i for s in partition.segments for i in range(s.first, s.last)]
    assert steps == list(range(len(partition.reasons)))
    inputs = {t for _, t in model.tensors.inputs}
    host, device = inputs & partition.on_host, inputs & partition.on_device
    for s in partition.steps:
        if isinstance(s, Segment):
            assert device >= set(s.reads)
            host |= set(s.reads)
        for i in (s,) if isinstance(s, int) else s.groups:
            side = device if isinstance(s, int) else host
            assert side >= {owner_of(t, model.aliases) for t in model.groups[i].reads if not t.is_constant}
            side.add(model.groups[i].output)
        if isinstance(s, Segment):
            assert host >= set(s.writes)
            device |= set(s.writes)


def test_nothing_on_the_host() -> None:
    model = lower_model(graph_of(BRANCHES), policy=POLICY)
    partition = partition_host(model, {})
    assert partition.segments == ()
    assert partition.readbacks == 0
    assert not partition.on_host
    assert list(partition.steps) == list(range(len(model.groups)))


def test_everything_on_the_host() -> None:
    graph = graph_of(BRANCHES)
    model = lower_model(graph, policy=POLICY)
    partition = check(graph, dict.fromkeys(range(len(model.groups)), "cannot"))
    assert len(partition.segments) == 1
    assert partition.readbacks == 0
    assert not partition.on_device


def test_what_reads_inputs_alone_runs_before_the_device() -> None:
    graph = graph_of(BRANCHES)
    model = lower_model(graph, policy=POLICY)
    partition = check(graph, by_op(model, "Add"), model)
    assert len(partition.segments) == 1
    assert partition.readbacks == 0


def test_a_convolution_between_others() -> None:
    """Its operand has a halo, which comes over with it."""
    graph = graph_of(BRANCHES)
    model = lower_model(graph, policy=POLICY)
    with_halo = {t for t, layout in model.layouts.items() if any(lo or hi for lo, hi in layout.pad)}
    second = max(i for i, g in enumerate(model.groups) if with_halo & set(g.reads))
    partition = check(graph, {second: "cannot"}, model)
    assert partition.readbacks == 1
    assert any(t in with_halo for s in partition.segments for t in s.reads)


def test_branches_wait_for_each_other() -> None:
    """Two branches have one step each on the host: both steps are one call."""
    graph = graph_of("""
    <ir_version: 10, opset_import: ["" : 21]>
    g (float[300, 300] x) => (float[300, 300] y)
    <int64[1] rows = {0}>
    {
      b = ReduceSum<keepdims=1>(x, rows)
      c = ReduceL1<keepdims=1>(b)
      e = ReduceMax<keepdims=1>(x, rows)
      f = ReduceMin<keepdims=1>(e)
      g = Mul(x, c)
      y = Add(g, f)
    }
    """)
    model = lower_model(graph, policy=POLICY)
    partition = partition_host(model, by_op(model, "ReduceL1", "ReduceMin"))
    assert_sound(model, partition, by_op(model, "ReduceL1", "ReduceMin"))
    assert len(partition.segments) == partition.readbacks == 1


SMALL_BETWEEN = """
<ir_version: 10, opset_import: ["" : 21]>
g (float[SIZE] x) => (float[SIZE] y)
{
  zero = Constant<value_int=0>()
  a = Exp(x)
  s = ReduceSum<keepdims=1>(a)
  b = CumSum(a, zero)
  t = ReduceMax<keepdims=1>(b)
  c = Sub(b, t)
  r = ReduceMin<keepdims=1>(c)
  y = Sub(c, r)
}
"""


@pytest.mark.parametrize(("size", "readbacks"), [(50, 0), (200_000, 2)])
def test_small_kernels_between_save_readbacks(size: int, readbacks: int) -> None:
    model = lower_model(graph_of(SMALL_BETWEEN.replace("SIZE", str(size))), policy=POLICY)
    partition = partition_host(model, by_op(model, "CumSum", "ReduceMin"))
    assert partition.readbacks == readbacks
    if not readbacks:
        assert "small, between kernels on the host" in partition.reasons.values()


def test_random_divisions() -> None:
    graph = graph_of(BRANCHES)
    model = lower_model(graph, policy=POLICY)
    generator = np.random.default_rng(0)
    for share in (0.1, 0.2, 0.3, 0.5, 0.7):
        cannot = {i: "cannot" for i in range(len(model.groups)) if generator.random() < share}
        check(graph, cannot, model)
