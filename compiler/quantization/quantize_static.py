"""Quantises weights and the values between layers to eight bits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from ..errors import InputError
from ..graph.ir import Array, Graph
from ..system.cache import Cache
from .correct_bias import correct_bias
from .equalize import equalize, find_pairs
from .expected import Accuracy, Expected, measure_accuracy
from .insert_quantization import Quantized, Scheme, insert_quantization
from .measure_layers import Errors, compare, measure_own_errors
from .ranges import observe_ranges
from .result import Quantization, QuantizedLayer, QuantizedModel
from .run_graph import run_graph
from .samples import Sample
from .settings import Static
from .units import Unit, find_units, match_names, without

_QUANTIZING = (
    "QuantizeLinear",
    "DynamicQuantizeLinear",
    "QLinearConv",
    "QLinearMatMul",
    "ConvInteger",
    "MatMulInteger",
)


def quantize_static(
    graph: Graph,
    samples: Sequence[Sample],
    static: Static,
    keep: Sequence[str] = (),
    expected: Expected | None = None,
    cache: Cache | None = None,
) -> QuantizedModel:
    """`graph` with QuantizeLinear and DequantizeLinear around its layers and what stands between these.

    Raises InputError for a model that has no layers to quantise or is quantised already, and where `keep`, patterns of
    nodes that stay in float32, names unknown ones.
    """
    done = next((n for n in graph.nodes if n.op in _QUANTIZING), None)
    if done is not None:
        raise InputError(f"the model is quantised already ({done}); give the model of float32")
    _check_samples(graph, samples)
    work = _Work(graph, samples, static, keep, expected, cache)
    every = [u for u in work.every if u.layer]
    if not every:
        raise InputError("the model has no Conv, ConvTranspose, Gemm or MatMul with constant weights to quantise")
    equalized: tuple[str, ...] = ()
    if static.equalize:
        work, equalized = _equalized(work)
    if static.correct_bias:
        corrections = correct_bias(work.graph, work.units, work.scheme, samples, work.own, cache)
        work = replace(work, given=replace(work.scheme, corrections=corrections))
    kept = _restored(work)
    model = work.quantized(kept)
    units = without(work.units, kept)
    comparison = compare(work.graph, model, units, samples, cache)
    in_model = comparison.layers
    layers = []
    for u in every:
        name = u.name
        before = 4 * _weights(u, graph)
        why = "" if name in in_model else f"--accuracy-drop {static.accuracy_drop:g}" if name in kept else "--keep"
        layers.append(
            QuantizedLayer(
                name,
                u.head.op,
                "float32" if why else "int8",
                work.own.get(name, 0.0),
                in_model.get(name),
                (before, before if why else before // 4),
                why,
            )
        )
    report = Quantization(
        f"int8{' of 7 bits' if static.weight_bits == 7 else ''}, values between layers {static.activations} by "
        f"{static.method}",
        tuple(layers),
        comparison.outputs,
        len(samples),
        equalized,
        tuple(n for n in in_model if n in work.scheme.corrections),
        *(work.measured(results) if expected else None for results in (comparison.exact, comparison.rounded)),
    )
    return QuantizedModel(model.graph, model.stored, report)


def _weights(unit: Unit, graph: Graph) -> int:
    """Their number."""
    value = unit.head.inputs[1]
    return 0 if value is None else graph.constants[value].size


@dataclass(frozen=True)
class _Work:
    """A model on its way; `given` is a scheme that replaces that of the calibration."""

    graph: Graph
    samples: Sequence[Sample]
    static: Static
    keep: Sequence[str]
    expected: Expected | None
    cache: Cache | None
    given: Scheme | None = None

    @cached_property
    def every(self) -> tuple[Unit, ...]:
        return find_units(self.graph)

    @cached_property
    def units(self) -> tuple[Unit, ...]:
        return without(self.every, match_names(self.keep, [u.name for u in self.every]))

    @cached_property
    def scheme(self) -> Scheme:
        if self.given is not None:
            return self.given
        values = dict.fromkeys(v for u in self.units for v in (*u.data, u.output))
        ranges = observe_ranges(self.graph, values, self.samples, self.static.method, self.cache)
        return Scheme(ranges, self.static.activations, self.static.per_channel, self.static.weight_bits)

    @cached_property
    def own(self) -> Errors:
        return measure_own_errors(self.graph, self.units, self.scheme, self.samples, self.cache)

    @cached_property
    def exact(self) -> Accuracy:
        return self.accuracy(self.graph)

    def quantized(self, kept: Sequence[str] = ()) -> Quantized:
        """With these layers in float32, too; so are operands of theirs that no other layer reads."""
        units = without(self.units, kept)
        names = {u.name for u in units}
        exact = {v for u in self.every for v in u.data if u.layer and u.name not in names}
        return insert_quantization(self.graph, units, self.scheme, exact)

    def accuracy(self, graph: Graph) -> Accuracy:
        output = graph.outputs[0]
        return self.measured([arrays[output] for arrays in run_graph(graph, (output,), self.samples, self.cache)])

    def measured(self, results: Sequence[Array]) -> Accuracy:
        """The accuracy of a model whose first output is `results`."""
        assert self.expected is not None
        return measure_accuracy(zip(self.samples, results, strict=True), self.expected)


def _check_samples(graph: Graph, samples: Sequence[Sample]) -> None:
    """Raises InputError for data without ranges: all elements of all inputs are equal."""
    names = [v.name for v in graph.inputs if v.dtype.is_float]
    values = {float(e) for s in samples for n in names for a in [s.inputs[n]] if a.size for e in (a.min(), a.max())}
    if len(values) == 1:
        raise InputError(
            f"all elements of the calibration data are {values.pop():g}: ranges would be those of this value alone; "
            "give data like the model's own"
        )


def _equalized(work: _Work) -> tuple[_Work, tuple[str, ...]]:
    """With the pairs of layers equalised that have smaller errors then, and the names of their layers."""
    pairs = find_pairs(work.graph, work.units)
    if not pairs:
        return work, ()
    changed = replace(work, graph=equalize(work.graph, pairs))
    better = [p for p in pairs if sum(changed.own[n] ** 2 for n in p.names) < sum(work.own[n] ** 2 for n in p.names)]
    if not better:
        return work, ()
    chosen = changed if len(better) == len(pairs) else replace(work, graph=equalize(work.graph, better))
    # Pairs of a chain were measured with all of them equalised.
    if _output_error(chosen) >= _output_error(work):
        return work, ()
    return chosen, tuple(dict.fromkeys(n for p in better for n in p.names))


def _output_error(work: _Work) -> float:
    comparison = compare(work.graph, work.quantized(), work.units, work.samples, work.cache)
    return sum(e * e for e in comparison.outputs.values())


def _restored(work: _Work) -> tuple[str, ...]:
    """The layers to leave in float32, those with the largest errors first and as few as will do, so that the accuracy
    falls by no more than is allowed: doubled until that holds, then halved."""
    allowed = work.static.accuracy_drop
    if allowed is None:
        return ()
    worst = sorted(work.own, key=lambda name: -work.own[name])

    def holds(count: int) -> bool:
        accuracy = work.accuracy(work.quantized(worst[:count]).graph)
        return work.exact.percent - accuracy.percent <= allowed + 1e-9

    return tuple(worst[: _fewest(holds, len(worst))])


def _fewest(holds: Callable[[int], bool], most: int) -> int:
    """A number for which `holds` is true, of at most `most`, for which it is: the least one where it is true of all
    larger ones, too."""
    if holds(0):
        return 0
    low, high = 0, 1
    while high < most and not holds(high):
        low, high = high, 2 * high
    high = min(high, most)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
