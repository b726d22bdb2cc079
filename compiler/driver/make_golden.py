"""Results of inputs from a seed, computed by this machine's processor: by them the bundle's page tests backends."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..dtypes import I8, U8
from ..errors import InputError
from ..generation.sample import Sampling
from ..graph.ir import Graph, Value
from ..ir.nodes import Expr, Scalar
from ..ir.sizes import scalars_of, value_of
from ..passes.count_work import count_work
from ..program.dimensions import Dimension
from ..program.program import TensorSpec
from ..system.need_llvm import has_llvm
from ..values.seeded import Range, seeded_values
from .cpu_target import run_native
from .verify import CONDITION, HALF_TOLERANCE, largest_error, perturb, tolerance_of

if TYPE_CHECKING:
    from ..execution.native_model import NativeModel
    from ..pipeline.lowered import Lowered
    from .work import Work

Array = np.ndarray

SEED = 1
MOST_WORK = 2e10
"""Operations of a run above which there is no reference: it would take seconds."""
KEPT = 1000
"""Elements of all outputs together that are kept, besides the root of the mean of the squares of all."""
SIZE = 24
"""Sizes that a run decides are about so large."""
_MOVES = ("Cast", "Identity", "Reshape", "Squeeze", "Unsqueeze")
_SCORES = {"classify": "scores", "detect": "scores", "keypoints": "points", "embedding": "vector", "scores": "scores"}


def make_golden(graph: Graph, lowered: Lowered, inputs: Sequence[TensorSpec], work: Work) -> bytes:
    """The file for the page, as JSON; empty where the processor cannot compute it, or not within seconds, and where no
    result can be compared, as of a mask alone, or a detector that sees nothing.

    `graph` is the model before its passes. Floats are allowed to err by the tolerance of `--verify` relative to the
    largest of their output, and by no less than CONDITION times what that changes with the inputs' last digits; those
    of quantised models, in which a rounding moves a whole step, as those of float16. Integers are exact.
    """
    if not has_llvm() or sum(count_work(k, k) for k in lowered.kernels) > MOST_WORK:
        return b""
    dimensions = lowered.tensors.dimensions
    sizes = {d.scalar: _small(d) if d.after is None else 0 for d in dimensions}
    runs = _runs(lowered, inputs)
    pixels = {p.value.name for p in work.pictures}
    # As runs that say nothing of it: the likeliest token.
    sampling = Sampling().inputs(0) if work.generation else {}
    own = [spec for spec in inputs if spec.name not in sampling]
    ranges = _ranges(graph, own, dimensions, sizes, pixels)
    given = {
        spec.name: seeded_values(spec.dtype, _shape(spec, sizes), SEED + i, ranges.get(spec.name))
        for i, spec in enumerate(own)
    }
    coarse = _is_quantised(graph, work)
    try:
        model = run_native(lowered, work)
        outputs = _results(_last(model, {**given, **sampling}, runs), work)
        perturbed = {n: perturb(a, halves=coarse) for n, a in given.items()}
        near = _results(_last(model, {**perturbed, **sampling}, runs), work)
    except InputError:  # sizes that the model refuses, memory that this machine lacks
        return b""
    if not outputs:
        return b""
    base = base_tolerance(graph, lowered, work)
    kept = max(1, KEPT // len(outputs))
    fields = {
        "seed": SEED,
        "sizes": {d.name: sizes[d.scalar] * d.multiple for d in dimensions},
        "ranges": ranges,
        **({"runs": runs} if runs > 1 else {}),
        "outputs": {name: _described(array, near[name], base, kept) for name, array in outputs.items()},
    }
    return json.dumps(fields, separators=(",", ":")).encode()


def base_tolerance(graph: Graph, lowered: Lowered, work: Work) -> float:
    """Tolerance of a model's floats, relative to the largest of an output: by it backends are compared, in its page
    and by `load({ verify })`. `graph` is the model before its passes."""
    base = tolerance_of(halves=work.options.stores_halves, winograd=bool(lowered.rewritten))
    return max(base, HALF_TOLERANCE) if _is_quantised(graph, work) else base


def _is_quantised(graph: Graph, work: Work) -> bool:
    quantised = any("Quant" in n.op or n.op.startswith("QLinear") or n.op.endswith("Integer") for n in graph.nodes)
    return quantised or work.options.activations == "int8"


def _runs(lowered: Lowered, inputs: Sequence[TensorSpec]) -> int:
    """How many runs on the same inputs, the last of which is compared: with states two, the second of which finds
    something there; but one where inputs are as long as what runs before have left."""
    lengths = {d.scalar for d in lowered.tensors.dimensions if d.after is not None}
    sizes = (n for spec in inputs for n in spec.shape if isinstance(n, Expr))
    return 2 if lowered.tensors.states and lengths.isdisjoint(scalars_of(*sizes)) else 1


def _last(model: NativeModel, given: Mapping[str, Array], runs: int) -> dict[str, Array]:
    """The outputs of the last of `runs` on the same inputs."""
    if model.program.states:
        model.reset()
    return [model.run(given) for _ in range(runs)][-1]


def _small(d: Dimension) -> int:
    """A size's scalar, which counts multiples."""
    return min(max(-(-SIZE // d.multiple), d.scalar.low, 1), d.scalar.extent - 1)


def _shape(spec: TensorSpec, sizes: Mapping[Scalar, int]) -> tuple[int, ...]:
    return tuple(value_of(n, sizes) for n in spec.shape)


def _ranges(
    graph: Graph,
    inputs: Sequence[TensorSpec],
    dimensions: Sequence[Dimension],
    sizes: Mapping[Scalar, int],
    pixels: set[str],
) -> dict[str, Range]:
    """Ranges of integers by input: a size; indices of the tables that they look up; bytes; else 0 and 1."""
    fixed = {d.value_of: sizes[d.scalar] * d.multiple for d in dimensions if d.value_of is not None}
    values = {v.name: v for v in graph.inputs}
    ranges: dict[str, Range] = {}
    for spec in inputs:
        if spec.name in fixed:
            ranges[spec.name] = fixed[spec.name], 1
        elif not spec.dtype.is_float and spec.name not in pixels:
            rows = _table(graph, values[spec.name]) if spec.name in values else 2
            ranges[spec.name] = {U8: (0, 256), I8: (-128, 256)}.get(spec.dtype, (0, rows))
    return ranges


def _table(graph: Graph, value: Value) -> int:
    """Rows of the smallest table that `value` is an index of; 2 where it is used otherwise, too."""
    found, open_ = [], [value]
    while open_:
        v = open_.pop()
        for node in (n for n in graph.nodes if v in n.inputs):
            if node.op in _MOVES and node.inputs[0] is v:
                open_.append(node.outputs[0])  # type: ignore[arg-type]
            elif node.op == "Gather" and node.inputs[1] is v and node.inputs[0] is not None:
                n = node.inputs[0].shape[int(node.attributes.get("axis", 0))]  # type: ignore[arg-type]
                found.append(n if isinstance(n, int) else 2)
            else:
                return 2
    return min(found, default=2)


def _results(arrays: Mapping[str, Array], work: Work) -> dict[str, Array]:
    """Outputs of runs, and of answers what does not depend on which of two nearly equal ones comes first; those with
    elements, since a detector may see nothing in noise."""
    answers, hidden = work.answers, {one.logits for one in work.generation}
    taken = {name for answer in answers for name in answer.outputs.values()} | hidden
    results = {name: array for name, array in arrays.items() if name not in taken}
    for answer in answers:
        kind = answer.fitted.kind
        if kind in _SCORES:
            part = arrays[answer.outputs[_SCORES[kind]]]
            if kind == "detect":
                part = part[part > 0]
            results[answer.name] = part[:, 2] if kind == "keypoints" else part
    return {name: array for name, array in results.items() if array.size}


def _described(array: Array, near: Array, base: float, most: int) -> dict[str, object]:
    """An output: `most` of its elements, spread evenly, and for floats how they are compared."""
    flat = array.reshape(-1)
    count = min(most, flat.size)
    kept = flat[(2 * np.arange(count) + 1) * flat.size // max(2 * count, 1)]
    if array.dtype.kind != "f":
        return {"count": flat.size, "integers": " ".join(str(int(v)) for v in kept)}
    finite = flat[np.isfinite(flat)].astype(np.float64)
    sensitivity = largest_error(near, array) if near.shape == array.shape else 0.0
    return {
        "count": flat.size,
        "rms": float(np.float32(np.sqrt(np.mean(finite**2)))) if finite.size else 0.0,
        "tolerance": float(f"{min(max(base, CONDITION * sensitivity), 1.0):.2g}"),
        "floats": b64encode(_three_bytes(kept)).decode(),
    }


def _three_bytes(values: Array) -> bytes:
    """float32 without the lowest byte, rounded: a relative error of 2**-16."""
    bits = values.astype(np.float32).view(np.uint32)
    rounded = np.where(np.isfinite(values), bits + np.uint32(0x80), bits) >> np.uint32(8)
    return rounded.astype("<u4").view(np.uint8).reshape(-1, 4)[:, :3].tobytes()
