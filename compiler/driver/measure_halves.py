"""The error of float16 arithmetic, kernel by kernel, for `--precision f16-fast`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import replace

import numpy as np

from ..dtypes import F16
from ..gpu.arithmetic import Arithmetic, HalfLayer
from ..ir.evaluate_expression import evaluate_expression
from ..ir.nodes import Buffer, Expr, Load, Node, Origin, Var
from ..ir.rewrite import loads, rewrite
from ..passes.compute_in_halves import half_of, results_in
from ..passes.store_narrow import LARGEST
from ..pipeline.lower_model import lower_tensors
from ..pipeline.lowered import Lowered, kernel_name
from ..program.program import TensorSpec
from ..system.cache import Cache
from ..system.recursion import deep_recursion
from ..tensor import Tensor
from ..tensor.evaluate import evaluate, loader
from ..tensor.fuse import Group
from ..tensor.program import TensorProgram
from ..values.draw_inputs import draw_inputs

Array = np.ndarray

LARGEST_ERROR = 2e-3
"""Kernels with a larger error of their own compute in float32. That of rounding a result alone is 2e-4."""

HEADROOM = 8
"""Values of other inputs may be so many times as large as those of the samples."""

SAMPLES = 2
"""Runs on random inputs."""

MOST_ELEMENTS = 1 << 16
"""Elements of a result that are compared."""


@deep_recursion()
def measure_halves(model: Lowered, halves: Set[Tensor], cache: Cache | None = None) -> Arithmetic:
    """The kernels of `model` that compute in float16: those whose values and error on random inputs allow it. Operands
    are computed in float32, by this machine's processor."""
    if model.tensors.dimensions or model.tensors.structures:
        return Arithmetic(note="sizes, loops and branches vary between runs, so nothing was measured")
    groups = [(g, half) for g in model.groups if g.output in halves and (half := half_of(g.body)) is not None]
    if not groups:
        return Arithmetic()
    errors = _Errors(halves)
    for arrays in _runs(model, [g for g, _ in groups], cache):
        for g, half in groups:
            errors.add(g, half, arrays)
    layers = tuple(errors.layer(g) for g, _ in groups)
    return Arithmetic(frozenset(g.output for (g, _), x in zip(groups, layers, strict=True) if not x.kept), layers)


class _Errors:
    def __init__(self, halves: Set[Tensor]) -> None:
        self._halves = {t.buffer for t in halves}
        self._sums: dict[Tensor, tuple[float, float, float]] = {}

    def add(self, g: Group, half: Expr, arrays: Mapping[Buffer, Array]) -> None:
        """One run, with the elements of what the group reads, and of its reduction."""
        memory = {b: _as_stored(a) if b in self._halves else a for b, a in arrays.items()}
        env = _grid(g.axes)
        exact = evaluate_expression(g.body, env, memory, loader).astype(np.float64)
        rounded = evaluate_expression(half, env, memory, loader).astype(np.float64)
        largest = max(_largest(evaluate_expression(n, env, memory, loader)) for n in results_in(half))
        with np.errstate(all="ignore"):
            error, size = float(((rounded - exact) ** 2).sum()), float((exact**2).sum())
        before = self._sums.get(g.output, (0.0, 0.0, 0.0))
        self._sums[g.output] = before[0] + error, before[1] + size, max(before[2], largest)

    def layer(self, g: Group) -> HalfLayer:
        error, size, largest = self._sums[g.output]
        own = (error / max(size, 1e-300)) ** 0.5 if error else 0.0
        kept = ""
        if not largest * HEADROOM <= LARGEST:
            kept = f"values of {largest:.3g}: float16 ends at {LARGEST:.0f}, and {HEADROOM} times as much has to fit"
        elif not own <= LARGEST_ERROR:
            kept = f"its error of {own:.1e} is above {LARGEST_ERROR:.0e}"
        return HalfLayer(kernel_name(g), g.origin.nodes, own, largest, kept)


def _as_stored(a: Array) -> Array:
    with np.errstate(over="ignore"):
        stored: Array = np.clip(a, -LARGEST, LARGEST).astype(F16.numpy).astype(a.dtype)
    return stored


def _largest(a: Array) -> float:
    """Infinite where an element is no number."""
    magnitude = np.abs(a.astype(np.float64))
    return float(magnitude.max(initial=0.0)) if np.isfinite(magnitude).all() else float("inf")


def _grid(axes: Sequence[Var]) -> dict[Var, Array]:
    """Places of the elements, some of them where there are more than MOST_ELEMENTS."""
    counts = [v.extent for v in axes]
    while int(np.prod(counts)) > MOST_ELEMENTS:
        longest = max(range(len(counts)), key=counts.__getitem__)
        counts[longest] = -(-counts[longest] // 2)
    env = {}
    for d, (v, count) in enumerate(zip(axes, counts, strict=True)):
        at = np.linspace(0, v.extent - 1, count).astype(np.int32)
        env[v] = at.reshape((1,) * d + (-1,) + (1,) * (len(axes) - d - 1))
    return env


def _runs(model: Lowered, groups: Sequence[Group], cache: Cache | None) -> Iterator[dict[Buffer, Array]]:
    """For each run the elements of what `groups` read, and of their reductions, by buffer."""
    from ..cpu.compile_for_cpu import compile_for_cpu
    from ..execution.native_model import NativeModel
    from ..native.jit import host_target

    made = _Tensors(model)
    wanted: dict[Buffer, Tensor] = {}
    for g in groups:
        wanted |= {t.buffer: made.of(t) for t in g.reads}
        if g.anchor is not None:
            wanted[g.anchor] = made.reduction(g)
    constants = {b: _elements(t) for b, t in wanted.items() if t.is_constant}
    given = {t.buffer: name for name, t in model.tensors.inputs}
    computed = {f"v{i}": b for i, b in enumerate(wanted) if b not in constants and b not in given}
    outputs = tuple((name, wanted[b]) for name, b in computed.items())
    program = TensorProgram(model.tensors.inputs, outputs, tuple(made.computed), {t: Origin() for t in made.computed})
    native = None
    if outputs:
        lowered = lower_tensors(model.name, program)
        native = NativeModel(compile_for_cpu(lowered, host_target(), cache=cache), cache=cache)
    specs = [TensorSpec(name, t.dtype, t.shape, 0) for name, t in model.tensors.inputs]
    generator = np.random.default_rng(0)
    for _ in range(SAMPLES):
        inputs = draw_inputs(specs, (), {}, generator)
        results = native.run(inputs) if native is not None else {}
        yield {
            **constants,
            **{b: inputs[given[b]] for b in wanted if b in given},
            **{b: results[name] for name, b in computed.items()},
        }


def _elements(t: Tensor) -> Array:
    return t.data if t.data is not None else evaluate(t)


class _Tensors:
    """The tensors of a model whose groups are given: each result follows from what the group reads."""

    def __init__(self, model: Lowered) -> None:
        self._groups = {g.output: g for g in model.groups}
        self._done: dict[Tensor, Tensor] = {t: t for _, t in model.tensors.inputs}
        self.computed: list[Tensor] = []
        self._reductions: dict[Tensor, Tensor] = {}

    def of(self, t: Tensor) -> Tensor:
        if t not in self._done:
            self._done[t] = self._make(t)
        return self._done[t]

    def reduction(self, g: Group) -> Tensor:
        """The reduction that loads of the group's anchor mean, at the places of its result."""
        assert g.reduce is not None
        if g.output not in self._reductions:
            buffer = Buffer(f"{g.output.name}.sum", g.output.extents, g.reduce.dtype)
            self._reductions[g.output] = self._added(Tensor(buffer, g.axes, g.reduce, self._reads(g.reduce, g)))
        return self._reductions[g.output]

    def _make(self, t: Tensor) -> Tensor:
        if t.is_constant:
            return Tensor(t.buffer, data=_elements(t))
        g = self._groups.get(t)
        if g is None:  # it is the same memory as another one
            assert t.body is not None
            return self._added(replace(t, reads=tuple(map(self.of, t.reads))))
        if g.reduce is None:
            return self._added(Tensor(t.buffer, g.axes, g.body, self._reads(g.body, g)))
        reduction = self.reduction(g)

        def rule(n: Node) -> Expr | None:
            return Load(reduction.buffer, n.indices) if isinstance(n, Load) and n.buffer is g.anchor else None

        reads = (reduction, *self._reads(g.body, g))
        return self._added(Tensor(t.buffer, g.axes, rewrite(g.body, rule), reads))

    def _reads(self, e: Expr, g: Group) -> tuple[Tensor, ...]:
        used = {x.buffer for x in loads(e)}
        return tuple(self.of(t) for t in g.reads if t.buffer in used)

    def _added(self, t: Tensor) -> Tensor:
        self.computed.append(t)
        return t
