"""The common part of recurrent layers: their operands, activations, and the loop over steps.

The products of all inputs with their weights are one contraction for all steps; the loop has what depends on the state
of the step before. Directions whose activations are the same take their steps together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Protocol

from ...ir.construct import maximum, minimum, select, unary
from ...ir.nodes import Const, Expr, Scalar
from ...ir.sizes import Size, number
from ...tensor import Tensor, compute
from ...tensor.structure import loop
from ..call import Call
from ..elementwise.activation import hard_sigmoid, sigmoid, softplus
from ..movement.gather import to_int32
from ..movement.joining import joined
from ..reductions.reduce_axes import reduce_over

Map = Callable[[Expr], Expr]

Step = Callable[[Expr, Sequence[Tensor]], list[Tensor]]
"""From the loop's step and the states to the next states."""

Ran = tuple[Sequence[int], list[Tensor], Tensor]
"""Directions, their last states, and the rows of their output."""

Gates = tuple[int, int, str]
"""The number of the first gate of a product with the state, how many gates there are, and the end of its name."""

DIRECTIONS = {"forward": 1, "reverse": 1, "bidirectional": 2}

ALPHA = {"LeakyRelu": 0.01, "HardSigmoid": 0.2, "Elu": 1.0, "ThresholdedRelu": 1.0, "Affine": 1.0, "ScaledTanh": 1.0}
BETA = {"HardSigmoid": 0.5, "Affine": 0.0, "ScaledTanh": 1.0}
"""The default parameters of activations, those that have any."""

ACTIVATIONS: dict[str, Callable[[Expr, float, float], Expr]] = {
    "Relu": lambda x, a, b: maximum(x, 0),
    "Tanh": lambda x, a, b: unary("tanh", x),
    "Sigmoid": lambda x, a, b: sigmoid(x),
    "Affine": lambda x, a, b: x * a + b,
    "LeakyRelu": lambda x, a, b: select(x < 0, x * a, x),
    "ThresholdedRelu": lambda x, a, b: select(x >= a, x, 0),
    "ScaledTanh": lambda x, a, b: unary("tanh", x * b) * a,
    "HardSigmoid": lambda x, a, b: hard_sigmoid(x, a, b),
    "Elu": lambda x, a, b: select(x < 0, (unary("exp", x) - 1) * a, x),
    "Softsign": lambda x, a, b: x / (unary("abs", x) + 1),
    "Softplus": lambda x, a, b: softplus(x),
}


class Weights(Protocol):
    """The operands that inputs and states are multiplied by, of the directions `chosen`."""

    def of_inputs(self, layer: Layer, chosen: Sequence[int]) -> Tensor:
        """W x for all steps: [steps, directions, batch, gates * hidden]."""

    def of_state(self, layer: Layer, chosen: Sequence[int], t: Expr, state: Tensor, gates: Gates) -> Tensor:
        """R h for the gates at the loop's step `t`: [directions, batch, gates * hidden]."""


@dataclass(frozen=True, slots=True)
class Floats:
    """Weights as floats, [directions, gates * hidden, depth]."""

    w: Tensor
    r: Tensor

    def of_inputs(self, layer: Layer, chosen: Sequence[int]) -> Tensor:
        x, w, features = layer.x, self.w, layer.x.shape[-1]
        shape = (layer.steps, len(chosen), layer.batch, layer.gates * layer.hidden)

        def product(t: Expr, d: Expr, n: Expr, g: Expr) -> Expr:
            at = (n, t) if layer.batch_first else (t, n)
            return reduce_over("sum", (features,), lambda k: x[*at, k] * w[layer.direction(chosen, d), g, k])

        return compute(f"{layer.call.name}.inputs", shape, (x, w), product)

    def of_state(self, layer: Layer, chosen: Sequence[int], t: Expr, state: Tensor, gates: Gates) -> Tensor:
        r, (first, count, what) = self.r, gates
        offset = first * layer.hidden

        def product(d: Expr, n: Expr, g: Expr) -> Expr:
            at, row = layer.direction(chosen, d), g + offset if offset else g
            return reduce_over("sum", (layer.hidden,), lambda k: state[d, n, k] * r[at, row, k])

        shape = (len(chosen), layer.batch, count * layer.hidden)
        return compute(f"{layer.call.name}.{what}", shape, (state, r), product)


@dataclass(frozen=True, slots=True)
class Layer:
    """A recurrent node. The input is [steps, batch, features], or with `batch_first` [batch, steps, features].
    `lengths` are the steps of each sequence of the batch."""

    call: Call
    x: Tensor
    weights: Weights
    bias: Tensor | None
    lengths: Tensor | None
    gates: int
    hidden: int
    directions: tuple[bool, ...]
    batch_first: bool

    @property
    def steps(self) -> Size:
        return self.x.shape[int(self.batch_first)]

    @property
    def batch(self) -> Size:
        return self.x.shape[1 - int(self.batch_first)]

    def input_products(self, chosen: Sequence[int], recurrent_bias: Callable[[int], bool]) -> Tensor:
        """W x + Wb for all steps, [steps, directions, batch, gates * hidden], and Rb too for the gates for which
        `recurrent_bias` is true."""
        width, b = self.gates * self.hidden, self.bias
        products = self.weights.of_inputs(self, chosen)
        if b is None:
            return products

        def biased(t: Expr, d: Expr, n: Expr, g: Expr) -> Expr:
            at = self.direction(chosen, d)
            value = products[t, d, n, g] + b[at, g]
            every = [recurrent_bias(i) for i in range(self.gates)]
            if all(every):
                return value + b[at, g + width]
            if not any(every):
                return value
            inside = g < every.index(False) * self.hidden
            return value + select(inside, b[at, g + width], 0)

        return compute(f"{self.call.name}.biased", products.shape, (products, b), biased)

    def direction(self, chosen: Sequence[int], d: Expr) -> Expr:
        """The number among the layer's directions of one among the `chosen`, which are neighbours."""
        return d + chosen[0] if chosen[0] else d

    def step(self, chosen: Sequence[int], t: Expr, d: Expr) -> Expr:
        """The step of the sequence that the loop does at its step `t`."""
        backward = [self.directions[i] for i in chosen]
        last = number(self.steps) - 1
        if all(backward):
            return last - t
        return select(d < 1, t, last - t) if any(backward) else t

    def state(self, index: int, chosen: Sequence[int], what: str) -> Tensor:
        """An initial state [directions, batch, hidden], zero where input `index` is absent."""
        shape = (len(chosen), self.batch, self.hidden)
        start = self.call.optional(index)
        if start is None:
            return compute(f"{self.call.name}.{what}", shape, (), lambda *_: Const(0.0, self.x.dtype))
        count = len(self.directions)
        self.call.input(
            index, (self.batch, count, self.hidden) if self.batch_first else (count, self.batch, self.hidden)
        )

        def element(d: Expr, n: Expr, h: Expr) -> Expr:
            at = self.direction(chosen, d)
            return start[n, at, h] if self.batch_first else start[at, n, h]

        return compute(f"{self.call.name}.{what}", shape, (start,), element)

    def recurrent(self, chosen: Sequence[int], t: Expr, state: Tensor, gates: Gates) -> Tensor:
        """R h for the gates at the loop's step `t`: [directions, batch, gates * hidden]."""
        return self.weights.of_state(self, chosen, t, state, gates)

    def valid(self, chosen: Sequence[int], t: Expr, d: Expr, n: Expr) -> Expr | None:
        """Whether a step is one of the sequence of batch `n`; None where all are."""
        if self.lengths is None:
            return None
        return self.step(chosen, t, d) < to_int32(self.lengths[n])

    def outputs(self, parts: Sequence[Ran]) -> tuple[Tensor, ...]:
        """Y, and the last states, from the final states and the rows of each group of directions."""
        finals = [joined(f"{self.call.name}.state{i}", [p[1][i] for p in parts], 0) for i in range(len(parts[0][1]))]
        whole = [self._in_order(chosen, rows) for chosen, _, rows in parts]
        y = joined(f"{self.call.name}.y", whole, 2 if self.batch_first else 1)
        if self.batch_first:
            finals = [_batch_first(t) for t in finals]
        return (y, *finals)

    def _in_order(self, chosen: Sequence[int], rows: Tensor) -> Tensor:
        """Rows [loop's step, direction, batch, hidden] as Y: [step, direction, batch, hidden], or with the batch first
        [batch, step, direction, hidden]."""
        steps, batch = self.steps, self.batch

        def forward(t: Expr, d: Expr, n: Expr, h: Expr) -> Expr:
            return rows[self.step(chosen, t, d), d, n, h]

        if not self.batch_first:
            return compute(f"{self.call.name}.rows", (steps, len(chosen), batch, self.hidden), (rows,), forward)
        shape = (batch, steps, len(chosen), self.hidden)
        return compute(f"{self.call.name}.rows", shape, (rows,), lambda n, t, d, h: forward(t, d, n, h))


def _batch_first(t: Tensor) -> Tensor:
    """A state [directions, batch, hidden] as [batch, directions, hidden]."""
    directions, batch, hidden = t.shape
    return compute(f"{t.name}.batch", (batch, directions, hidden), (t,), lambda n, d, h: t[d, n, h])


def recurrent_layer(call: Call, gates: int, *, depth_first: bool = False) -> Layer:
    """The layer of a node, whose weights are [directions, gates * hidden, depth], or with `depth_first` [directions,
    depth, gates * hidden]."""
    x, w, r = call.input(0), call.input(1), call.input(2)
    if (x.rank, w.rank, r.rank) != (3, 3, 3):
        raise call.unsupported("its input and weights have not three dimensions each", "the model is invalid")
    name = call.attribute("direction", "forward")
    if name not in DIRECTIONS:
        raise call.unsupported(f"attribute direction={name!r} is unknown", "use forward, reverse or bidirectional")
    count = DIRECTIONS[name]
    hidden = call.fixed(r, (1 if depth_first else 2,))[0]
    if call.attribute("hidden_size", hidden) != hidden:
        raise call.unsupported(
            f"hidden_size is {call.attribute('hidden_size', 0)} for weights of {hidden}", "the model is invalid"
        )
    batch_first = call.opset >= 14 and call.flag("layout", 0)
    width = gates * hidden
    for index, depth in ((1, x.shape[2]), (2, hidden)):
        call.input(index, (count, depth, width) if depth_first else (count, width, depth))
    batch = x.shape[1 - int(batch_first)]
    bias, lengths = call.optional(3, (count, 2 * width)), call.optional(4, (batch,))
    if lengths is not None and lengths.data is not None:
        steps = x.shape[int(batch_first)]
        if isinstance(steps, int) and bool((lengths.data == steps).all()):
            lengths = None
    backward = {"forward": (False,), "reverse": (True,), "bidirectional": (False, True)}[name]
    return Layer(call, x, Floats(w, r), bias, lengths, gates, hidden, backward, batch_first)


def _activations(layer: Layer, default: Sequence[str]) -> list[tuple[Map, ...]]:
    """The activations of each direction."""
    call, count, each = layer.call, len(layer.directions), len(default)
    absent_names: tuple[str, ...] = ()
    absent: tuple[float, ...] = ()
    names = call.attribute("activations", absent_names) or tuple(default) * count
    if len(names) != each * count:
        raise call.unsupported(f"{len(names)} activations are given for {each * count}", "the model is invalid")
    alphas, betas = list(call.attribute("activation_alpha", absent)), list(call.attribute("activation_beta", absent))
    clip = call.attribute("clip", 0.0)
    spellings = {name.lower(): name for name in ACTIVATIONS}
    functions: list[Map] = []
    for i, text in enumerate(names):
        name = spellings.get(text.lower())
        if name is None:
            raise call.unsupported(f"activation {text!r} is unknown", f"use one of {', '.join(ACTIVATIONS)}")
        # Parameters are given to those activations that have any, in order.
        alpha = alphas.pop(0) if name in ALPHA and alphas else ALPHA.get(name, 0.0)
        beta = betas.pop(0) if name in BETA and betas else BETA.get(name, 0.0)
        # Only what gates are made of is clipped: not a cell, which the third function of an LSTM is applied to.
        functions.append(_clipped(ACTIVATIONS[name], alpha, beta, clip if i % each < 2 else 0.0))
    return [tuple(functions[i * each : (i + 1) * each]) for i in range(count)]


def _clipped(function: Callable[[Expr, float, float], Expr], alpha: float, beta: float, clip: float) -> Map:
    """The function of an argument that is clipped to [-clip, clip] where `clip` is not 0."""
    if not clip:
        return lambda x: function(x, alpha, beta)
    return lambda x: function(minimum(maximum(x, -clip), clip), alpha, beta)


def directions_together(layer: Layer, default: Sequence[str]) -> list[tuple[list[int], tuple[Map, ...]]]:
    """The directions that take their steps together, with their activations."""
    call, each = layer.call, len(default)
    functions = _activations(layer, default)
    absent: tuple[str, ...] = ()
    names = call.attribute("activations", absent) or tuple(default) * len(functions)
    parameters = call.attributes.get("activation_alpha"), call.attributes.get("activation_beta")
    keys = [tuple(n.lower() for n in names[i * each : (i + 1) * each]) for i in range(len(functions))]
    apart = any(p is not None for p in parameters)
    chosen = groupby(range(len(functions)), lambda i: (keys[i], i if apart else 0))
    return [(numbers, functions[numbers[0]]) for numbers in (list(group) for _, group in chosen)]


def run_steps(
    layer: Layer,
    chosen: Sequence[int],
    starts: Sequence[Tensor],
    step: Callable[[Expr, Sequence[Tensor]], list[Tensor]],
) -> Ran:
    """The loop over steps: from the states, of which the first is the output, to the next ones. Beyond the end of a
    sequence states stay as they are, and the output is zero. The last states of one without steps are zero, as
    onnxruntime has them."""
    name = layer.call.name

    def body(counter: Scalar, states: Sequence[Tensor]) -> tuple[Sequence[Tensor], Sequence[Tensor]]:
        results = step(counter, states)
        if layer.lengths is None:
            return results, results[:1]

        def kept(new: Tensor, old: Tensor) -> Tensor:
            return compute(
                f"{new.name}.kept",
                new.shape,
                (new, old, layer.lengths),
                lambda d, n, h: select(_true(layer.valid(chosen, counter, d, n)), new[d, n, h], old[d, n, h]),
            )

        row = compute(
            f"{results[0].name}.row",
            results[0].shape,
            (results[0], layer.lengths),
            lambda d, n, h: select(_true(layer.valid(chosen, counter, d, n)), results[0][d, n, h], 0),
        )
        return [kept(a, b) for a, b in zip(results, states, strict=True)], [row]

    finals, (rows,) = loop(f"{name}.steps{chosen[0]}", layer.steps, starts, body)
    lengths = layer.lengths
    if lengths is None or (lengths.data is not None and bool((lengths.data > 0).all())):
        return chosen, finals, rows

    def final(t: Tensor) -> Tensor:
        return compute(
            f"{t.name}.final",
            t.shape,
            (t, lengths),
            lambda d, n, h: select(to_int32(lengths[n]) > 0, t[d, n, h], 0),
        )

    return chosen, [final(t) for t in finals], rows


def _true(cond: Expr | None) -> Expr:
    assert cond is not None
    return cond
