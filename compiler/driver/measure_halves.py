"""The error of float16 arithmetic, kernel by kernel, for `--precision f16-fast`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass

import numpy as np

from ..dtypes import F16
from ..gpu.arithmetic import Arithmetic, HalfLayer
from ..ir.evaluate_expression import Evaluator, Evaluators, State, evaluate_expression
from ..ir.nodes import Buffer, Expr, Load, Origin, Scalar, Var
from ..ir.sizes import scalars_of, value_of
from ..passes.compute_in_halves import half_of, results_in
from ..passes.store_narrow import LARGEST
from ..pipeline.lower_model import lower_tensors
from ..pipeline.lowered import Lowered, kernel_name
from ..program.program import TensorSpec
from ..system.cache import Cache
from ..system.recursion import deep_recursion
from ..tensor import Tensor
from ..tensor.collect_regions import measured
from ..tensor.computed_sizes import Sizes
from ..tensor.evaluate import evaluate
from ..tensor.fuse import Group
from ..tensor.program import TensorProgram
from ..values.draw_inputs import draw_inputs, largest_sizes, smallest_sizes

Array = np.ndarray

LARGEST_ERROR = 2e-3
"""Kernels with a larger error of their own compute in float32. That of rounding a result alone is 2e-4."""

HEADROOM = 8
"""Values of other inputs may be so many times as large as those of the samples."""

SAMPLES = 2
"""Runs on random inputs, with each of the sizes that count."""

MOST_ELEMENTS = 1 << 16
"""Elements of a result that are compared."""


@deep_recursion()
def measure_halves(model: Lowered, halves: Set[Tensor], cache: Cache | None = None) -> Arithmetic:
    """The kernels of `model` that compute in float16: those whose values and error on random inputs allow it. Operands
    are computed in float32, by this machine's processor. Where sizes vary, both the largest and the smallest count."""
    if model.tensors.structures:
        return Arithmetic(note="loops and branches vary between runs, so nothing was measured")
    groups = [(g, half) for g in model.groups if g.output in halves and (half := half_of(g.body)) is not None]
    if not groups:
        return Arithmetic()
    dimensions = model.tensors.dimensions
    sizes = [largest_sizes(dimensions), *([smallest_sizes(dimensions)] if dimensions else [])]
    errors = [_Errors(halves) for _ in sizes]
    for number, run in _runs(model, [g for g, _ in groups], sizes, cache):
        for g, half in groups:
            errors[number].add(g, half, run)
    layers = tuple(_layer(g, [e.of(g) for e in errors]) for g, _ in groups)
    return Arithmetic(frozenset(g.output for (g, _), x in zip(groups, layers, strict=True) if not x.kept), layers)


@dataclass(frozen=True, slots=True)
class _Run:
    """The elements of what groups read, and of their reductions, and the sizes of a run."""

    arrays: Mapping[Buffer, Array]
    sizes: Mapping[Scalar, int]


class _Errors:
    """Sums over runs of the same sizes."""

    def __init__(self, halves: Set[Tensor]) -> None:
        self._halves = {t.buffer for t in halves}
        self._sums: dict[Tensor, tuple[float, float, float]] = {}

    def add(self, g: Group, half: Expr, run: _Run) -> None:
        memory = {b: _as_stored(a) if b in self._halves else a for b, a in run.arrays.items()}
        env = _grid(g.axes, run.sizes)
        exact = evaluate_expression(g.body, env, memory, _load).astype(np.float64)
        rounded = evaluate_expression(half, env, memory, _load).astype(np.float64)
        largest = max(_largest(evaluate_expression(n, env, memory, _load)) for n in results_in(half))
        with np.errstate(all="ignore"):
            error, size = float(((rounded - exact) ** 2).sum()), float((exact**2).sum())
        before = self._sums.get(g.output, (0.0, 0.0, 0.0))
        self._sums[g.output] = before[0] + error, before[1] + size, max(before[2], largest)

    def of(self, g: Group) -> tuple[float, float]:
        """The error of a kernel, and the largest magnitude."""
        error, size, largest = self._sums[g.output]
        return (error / max(size, 1e-300)) ** 0.5 if error else 0.0, largest


def _layer(g: Group, measured: Sequence[tuple[float, float]]) -> HalfLayer:
    """The worst of what was `measured` with some sizes. An error that is no number is the worst."""
    error = max((e for e, _ in measured), key=lambda e: (e != e, e))
    largest = max(n for _, n in measured)
    kept = ""
    if not largest * HEADROOM <= LARGEST:
        kept = f"values of {largest:.3g}: float16 ends at {LARGEST:.0f}, and {HEADROOM} times as much has to fit"
    elif not error <= LARGEST_ERROR:
        kept = f"its error of {error:.1e} is above {LARGEST_ERROR:.0e}"
    return HalfLayer(kernel_name(g), g.origin.nodes, error, largest, kept)


def _as_stored(a: Array) -> Array:
    with np.errstate(over="ignore"):
        stored: Array = np.clip(a, -LARGEST, LARGEST).astype(F16.numpy).astype(a.dtype)
    return stored


def _largest(a: Array) -> float:
    """Infinite where an element is no number."""
    magnitude = np.abs(a.astype(np.float64))
    return float(magnitude.max(initial=0.0)) if np.isfinite(magnitude).all() else float("inf")


def _grid(axes: Sequence[Var], sizes: Mapping[Scalar, int]) -> dict[Var, Array]:
    """Places of the elements, some of them where there are more than MOST_ELEMENTS, and the sizes."""
    extents = [v.extent if v.length is None else value_of(v.length, sizes) for v in axes]
    counts = list(extents)
    while int(np.prod(counts)) > MOST_ELEMENTS:
        longest = max(range(len(counts)), key=counts.__getitem__)
        counts[longest] = -(-counts[longest] // 2)
    env: dict[Var, Array] = {s: np.asarray(n, np.int32) for s, n in sizes.items()}
    for d, (v, extent, count) in enumerate(zip(axes, extents, counts, strict=True)):
        at = np.linspace(0, extent - 1, count).astype(np.int32)
        env[v] = at.reshape((1,) * d + (-1,) + (1,) * (len(axes) - d - 1))
    return env


def _runs(
    model: Lowered, groups: Sequence[Group], scalars: Sequence[Mapping[Scalar, int]], cache: Cache | None
) -> Iterator[tuple[int, _Run]]:
    """Runs on random inputs with each of several sizes, and the number of these."""
    from ..cpu.compile_for_cpu import compile_for_cpu
    from ..execution.native_model import NativeModel
    from ..native.jit import host_target

    dimensions, sizes = model.tensors.dimensions, model.tensors.sizes
    by_buffer = {t.buffer: t for t in _all_of([g.output for g in groups], sizes)}
    wanted = {t.buffer: t for g in groups for t in g.reads}
    wanted |= {g.anchor: by_buffer[g.anchor] for g in groups if g.anchor is not None}
    lengths = [v.length for g in groups for v in g.axes if v.length is not None]
    used = scalars_of(*(g.body for g in groups), *lengths)
    sources = {s: t for s in used if s not in scalars[0] and (t := sizes.source(s)) is not None}
    wanted |= {t.buffer: t for t in sources.values()}
    constants = {b: _elements(t) for b, t in wanted.items() if t.is_constant}
    given = {t.buffer: name for name, t in model.tensors.inputs}
    computed = {f"v{i}": b for i, b in enumerate(wanted) if b not in constants and b not in given}
    outputs = tuple((name, wanted[b]) for name, b in computed.items())
    tensors = tuple(t for t in _all_of([t for _, t in outputs], sizes) if t.body is not None)
    origins = dict.fromkeys(tensors, Origin())
    program = TensorProgram(model.tensors.inputs, outputs, tensors, origins, dimensions=dimensions, sizes=sizes)
    native = None
    if outputs:
        lowered = lower_tensors(model.name, program)
        native = NativeModel(compile_for_cpu(lowered, host_target(), cache=cache), cache=cache)
    specs = [TensorSpec(name, t.dtype, t.shape, 0) for name, t in model.tensors.inputs]
    generator = np.random.default_rng(0)
    for number, own in ((i, own) for i, own in enumerate(scalars) for _ in range(SAMPLES)):
        inputs = draw_inputs(specs, dimensions, own, generator)
        results = native.run(inputs) if native is not None else {}
        arrays = {
            **constants,
            **{b: inputs[given[b]] for b in wanted if b in given},
            **{b: results[name] for name, b in computed.items()},
        }
        yield number, _Run(arrays, {**own, **{s: int(arrays[t.buffer].item()) for s, t in sources.items()}})


def _elements(t: Tensor) -> Array:
    return t.data if t.data is not None else evaluate(t)


def _all_of(tensors: Sequence[Tensor], sizes: Sizes) -> list[Tensor]:
    """`tensors` and all that they depend on, operands first, and what their sizes are read from."""
    found: dict[Tensor, None] = {}
    stack = [(t, False) for t in reversed(tensors)]
    while stack:
        t, follows = stack.pop()
        if follows:
            found[t] = None
        elif t not in found:
            stack += [(t, True), *((r, False) for r in reversed((*measured(t, sizes), *t.reads)) if r not in found)]
    return list(found)


def _load(evaluators: Evaluators, e: Load) -> Evaluator:
    """The evaluator of an element, or of some other one where the guard of a load around it discards that."""
    indices = [evaluators.value(i) for i in e.indices]
    guard = None if e.guard is None else evaluators.value(e.guard)

    def load(state: State) -> Array:
        data = state.memory[e.buffer]
        places = (np.clip(i(state), 0, n - 1) for i, n in zip(indices, data.shape, strict=True))
        value: Array = data[tuple(places)]
        return value if guard is None else np.where(guard(state), value, np.zeros((), data.dtype))

    return load
