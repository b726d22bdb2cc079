"""Kernels run by the interpreter on random data: before and after a step or pass, and every stage of a model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import onnx
from webnn_compile.cpu.compile_for_cpu import compile_for_cpu
from webnn_compile.dtypes import DType
from webnn_compile.frontends.onnx import import_model
from webnn_compile.graph.ir import Graph
from webnn_compile.graph.passes import run_graph_passes
from webnn_compile.ir.interpret import Instructions, Subgroups, interpret
from webnn_compile.ir.layout import Layout
from webnn_compile.ir.nodes import Buffer, Expr, For, Kernel, Node, Scalar, Stmt
from webnn_compile.ir.rewrite import children
from webnn_compile.ir.verify import verify_kernel
from webnn_compile.ir.verify.stages import leftovers
from webnn_compile.pipeline.lower_model import lower_model
from webnn_compile.pipeline.lowered import Lowered
from webnn_compile.target import Target, layouts_for
from webnn_compile.tensor.evaluate import evaluate
from webnn_compile.tensor.fuse import Group
from webnn_compile.tensor.steps import BranchStep, LoopStep, Steps
from webnn_compile.tensor.structure import Loop

Array = np.ndarray[Any, np.dtype[Any]]

NARROW = Target("narrow", lanes=4, registers=14, fused=False, unroll=4)
WIDE = Target("wide", lanes=8, registers=15, fused=True)
TARGETS = (NARROW, WIDE)


def with_costs(target: Target, **changes: Any) -> Target:
    """The target with other sizes of caches, thresholds or rates."""
    return replace(target, costs=replace(target.costs, **changes))


def random_array(generator: np.random.Generator, shape: tuple[int, ...], dtype: DType) -> Array:
    """Normal floats, integers of -3 to 3 (0 to 3 where unsigned), bools."""
    if dtype.is_float:
        return generator.standard_normal(shape).astype(dtype.numpy)
    low = -3 if dtype.kind == "int" else 0
    return generator.integers(low, 2 if dtype.kind == "bool" else 4, shape).astype(dtype.numpy)


def poison(dtype: DType) -> Any:
    """A value that shows where it is used by mistake."""
    return np.nan if dtype.is_float else 77


def layout_of(buffer: Buffer) -> Layout:
    return buffer.layout or Layout.row_major(buffer.shape)


def laid_out(buffer: Buffer, data: Array) -> Array:
    """`data`, of the logical shape or flat, as it lies in `buffer`: zeros around, poison in what rounding up adds (in a
    constant zeros: those are packed at compile time) and beyond the sizes of a run. In words where they are."""
    layout = layout_of(buffer)
    if len(data.shape) == len(layout.shape):
        short, data = data, np.full(layout.shape, poison(buffer.dtype), data.dtype)
        data[tuple(map(slice, short.shape))] = short
    packed = layout.pack(data.reshape(layout.shape))
    if not buffer.constant:
        packed = np.where(_rounding(layout), np.asarray(poison(buffer.dtype)).astype(packed.dtype), packed)
    packed = np.asarray(packed, order="C")
    words = packed.itemsize < buffer.dtype.bytes
    return (packed.reshape(-1).view(buffer.dtype.numpy) if words else packed).reshape(buffer.shape)


def taken_out(buffer: Buffer, data: Array) -> Array:
    """The logical elements of `data`, which lies as `buffer` does; asserts that the border around them is zero."""
    layout = layout_of(buffer)
    data = data.reshape(layout.physical_shape)
    logical = layout.unpack(data)
    assert not data[_border(layout)].any(), "the border is not zero"
    return logical


def _border(layout: Layout) -> Array:
    """Where physical elements are zeros around the logical ones."""
    return np.asarray(~_rounding(layout) & ~layout.pack(np.ones(layout.shape, bool)))


def _rounding(layout: Layout) -> Array:
    """Where physical elements exist only by rounding up."""
    full = tuple(layout.extent(a) for a in range(len(layout.shape)))
    beyond = np.zeros(full, bool)
    for axis, (n, (lo, hi)) in enumerate(zip(layout.shape, layout.pad, strict=True)):
        np.moveaxis(beyond, axis, 0)[lo + n + hi :] = True
    return Layout(full, layout.order, ((0, 0),) * len(full), (1,) * len(full), layout.blocks).pack(beyond)


def run_kernel(
    kernel: Kernel,
    inputs: Sequence[Array],
    subgroups: Subgroups = lambda i: i // 8,
    *,
    zeroed: bool = False,
    instructions: Instructions | None = None,
    scalars: Sequence[int] = (),
) -> list[Array]:
    """The outputs for `inputs`, all as logical arrays; outputs hold poison before. `zeroed`: but for borders of zeros,
    as in a device's memory."""
    count = len(kernel.params) - kernel.outputs
    arrays = [laid_out(b, a) for b, a in zip(kernel.params[:count], inputs, strict=True)]
    for b in kernel.params[count:]:
        data = np.full(b.shape, poison(b.dtype), b.dtype.numpy)
        if zeroed:
            layout = layout_of(b)
            data.reshape(layout.physical_shape)[_border(layout)] = 0
        arrays.append(data)
    interpret(kernel, arrays, subgroups, instructions, scalars)
    return [taken_out(b, a) for b, a in zip(kernel.params[count:], arrays[count:], strict=True)]


def inputs_for(kernel: Kernel, seed: int = 0) -> list[Array]:
    """Random logical arrays for what the kernel reads."""
    generator = np.random.default_rng(seed)
    read = kernel.params[: len(kernel.params) - kernel.outputs]
    return [random_array(generator, layout_of(b).shape, b.dtype) for b in read]


def assert_same(before: Kernel, after: Kernel, what: str, tolerance: float = 0.0, seed: int = 0) -> None:
    """Verifies `after` and asserts that both compute the same (floats to `tolerance`, relative to the largest)."""
    verify_kernel(after, what)
    inputs = inputs_for(before, seed)
    assert_close(run_kernel(before, inputs), run_kernel(after, inputs), tolerance)


def assert_close(want: Sequence[Array], got: Sequence[Array], tolerance: float) -> None:
    for a, b in zip(want, got, strict=True):
        assert a.dtype == b.dtype
        if a.dtype.kind == "f" and tolerance:
            finite = np.abs(a[np.isfinite(a)]).astype(np.float64)
            np.testing.assert_allclose(b, a, rtol=tolerance, atol=tolerance * max(1.0, float(finite.max(initial=0))))
        else:
            np.testing.assert_array_equal(a, b)


def kernel_of(body: Stmt, *params: Buffer, outputs: int = 1) -> Kernel:
    return Kernel("test", params, body, outputs=outputs)


def scheduled(kernel: Kernel, body: Stmt, swapped: dict[Buffer, Buffer] | None = None) -> Kernel:
    """The kernel with the body that a schedule makes, and other constants."""
    return replace(kernel, body=body, params=tuple((swapped or {}).get(p, p) for p in kernel.params), forms=())


class Verifier:
    """An observer of passes that verifies each kernel: one that a pass gave back unchanged is only looked through for
    what should be gone."""

    def __init__(self) -> None:
        self._last: Kernel | None = None

    def __call__(self, stage: str, made: object) -> None:
        if not isinstance(made, Kernel):
            return
        if made is not self._last:
            verify_kernel(made, stage)
        else:
            assert list(leftovers(made, stage)) == []
        self._last = made


Stages = list[tuple[str, Kernel]]


def stages_of(lowered: Lowered, target: Target, opt_level: int = 2) -> list[tuple[Group, Stages]]:
    """The results of all stages for each kernel that is compiled (equal ones once), naive kernel first."""
    found: list[tuple[Group, Stages]] = []

    def observe(stage: str, kernel: object) -> None:
        assert isinstance(kernel, Kernel)
        if stage == "schedule_cpu":
            place = next(i for i, k in enumerate(lowered.kernels) if k.params[-1] is kernel.params[-1])
            found.append((lowered.groups[place], [("build_kernel", lowered.kernels[place])]))
        found[-1][1].append((stage, kernel))

    compile_for_cpu(lowered, target, observe, opt_level)
    return found


def check_stages(
    graph: Graph,
    feeds: Mapping[str, Array],
    targets: Sequence[Target] = TARGETS,
    *,
    opt_level: int = 2,
    tolerance: float = 1e-5,
    work: int = 20_000,
) -> None:
    """Verifies every kernel at every stage. Where it takes no more than `work` operations, it also runs, scheduled and
    lowered, on what its tensors are by NumPy; those of loops in the first iteration."""
    for dots in {t.dots: None for t in targets}:
        alike = [t for t in targets if t.dots == dots]
        lowered = lower_model(graph, opt_level=opt_level, policy=layouts_for(alike[0]))
        _check_lowered(lowered, feeds, alike, opt_level, tolerance, work)


def _check_lowered(
    lowered: Lowered, feeds: Mapping[str, Array], targets: Sequence[Target], opt_level: int, tolerance: float, work: int
) -> None:
    fed = {t: feeds[name] for name, t in lowered.tensors.inputs}
    scalars: dict[Scalar, int] = {}
    sizes = lowered.tensors.sizes
    for loop in _loops(lowered.steps):
        scalars[loop.counter] = 0
        fed.update({c.inside: evaluate(c.start, fed, scalars, sizes) for c in loop.carried})
    scalars.update({s: int(evaluate(t, fed, scalars, sizes).item()) for s, t in lowered.measured.items()})
    for target in targets:
        for group, stages in stages_of(lowered, target, opt_level):
            small = operations(stages[0][1].body) <= work
            inputs = [evaluate(t, fed, scalars, sizes) for t in group.reads] if small else []
            want = evaluate(group.output, fed, scalars, sizes) if small else np.zeros(())
            verify = Verifier()
            for stage, kernel in stages:
                verify(stage, kernel)
            for _, kernel in (stages[1], stages[-1]) if small else ():
                (got,) = run_kernel(kernel, inputs, scalars=[scalars[s] for s in kernel.scalars])
                if got.ndim > want.ndim:  # it writes a row of a stack
                    got = got[0]
                assert_close([want], [got[tuple(map(slice, want.shape))]], tolerance)


def _loops(steps: Steps) -> Iterator[Loop]:
    """The outer ones first."""
    for step in steps:
        if isinstance(step, LoopStep):
            yield step.loop
            yield from _loops(step.body)
        elif isinstance(step, BranchStep):
            yield from _loops((*step.then, *step.otherwise))


def operations(node: Node, times: int = 1) -> int:
    """How many nodes of expressions the interpreter would meet."""
    if isinstance(node, For):
        return operations(node.body, times * node.var.extent)
    return times * isinstance(node, Expr) + sum(operations(c, times) for c in children(node))


def check_model(proto: onnx.ModelProto, targets: Sequence[Target] = TARGETS, seed: int = 0, **options: Any) -> None:
    """`check_stages` of a model on random inputs."""
    graph = run_graph_passes(import_model(proto))
    generator = np.random.default_rng(seed)
    check_stages(graph, {v.name: random_array(generator, v.shape, v.dtype) for v in graph.inputs}, targets, **options)
