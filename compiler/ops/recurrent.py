"""Recurrent layers: LSTM, GRU and RNN.

The products of all inputs with their weights are one contraction for all steps; the loop over steps has what depends on
the state of the step before. Directions whose activations are the same take their steps together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby

from ..ir.construct import maximum, minimum, select, unary
from ..ir.nodes import Const, Expr, Scalar
from ..ir.sizes import Size, number
from ..tensor import Tensor, compute
from ..tensor.structure import loop
from .activation import hard_sigmoid, sigmoid, softplus
from .call import Call
from .gather import to_int32
from .joining import joined
from .reduce_axes import reduce_over

Map = Callable[[Expr], Expr]

Step = Callable[[Expr, Sequence[Tensor]], list[Tensor]]
"""From the loop's step and the states to the next states."""

Ran = tuple[Sequence[int], list[Tensor], Tensor]
"""Directions, their last states, and the rows of their output."""

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


@dataclass(frozen=True, slots=True)
class Layer:
    """A recurrent node. The input is [steps, batch, features], or with `batch_first` [batch, steps, features]; weights
    are [directions, gates * hidden, ...]. `lengths` are the steps of each sequence of the batch."""

    call: Call
    x: Tensor
    w: Tensor
    r: Tensor
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
        features, width = self.x.shape[-1], self.gates * self.hidden
        shape = (self.steps, len(chosen), self.batch, width)
        x, w, b = self.x, self.w, self.bias

        def product(t: Expr, d: Expr, n: Expr, g: Expr) -> Expr:
            at = (n, t) if self.batch_first else (t, n)
            return reduce_over("sum", (features,), lambda k: x[*at, k] * w[self.direction(chosen, d), g, k])

        name = self.call.name
        products = compute(f"{name}.inputs", shape, (x, w), product)
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

        return compute(f"{name}.biased", shape, (products, b), biased)

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
        given = self.call.optional(index)
        if given is None:
            return compute(f"{self.call.name}.{what}", shape, (), lambda *_: Const(0.0, self.x.dtype))
        count = len(self.directions)
        self.call.input(
            index, (self.batch, count, self.hidden) if self.batch_first else (count, self.batch, self.hidden)
        )

        def element(d: Expr, n: Expr, h: Expr) -> Expr:
            at = self.direction(chosen, d)
            return given[n, at, h] if self.batch_first else given[at, n, h]

        return compute(f"{self.call.name}.{what}", shape, (given,), element)

    def recurrent(self, chosen: Sequence[int], state: Tensor, first: int, count: int, what: str) -> Tensor:
        """R h for `count` gates from the gate `first` on: [directions, batch, count * hidden]."""
        r, offset = self.r, first * self.hidden

        def product(d: Expr, n: Expr, g: Expr) -> Expr:
            at, row = self.direction(chosen, d), g + offset if offset else g
            return reduce_over("sum", (self.hidden,), lambda k: state[d, n, k] * r[at, row, k])

        shape = (len(chosen), self.batch, count * self.hidden)
        return compute(f"{self.call.name}.{what}", shape, (state, r), product)

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


def _layer(call: Call, gates: int) -> Layer:
    x, w, r = call.input(0), call.input(1), call.input(2)
    if (x.rank, w.rank, r.rank) != (3, 3, 3):
        raise call.unsupported("its input and weights have not three dimensions each", "the model is invalid")
    name = call.attribute("direction", "forward")
    if name not in DIRECTIONS:
        raise call.unsupported(f"attribute direction={name!r} is unknown", "use forward, reverse or bidirectional")
    count = DIRECTIONS[name]
    hidden = call.fixed(r, (2,))[0]
    if call.attribute("hidden_size", hidden) != hidden:
        raise call.unsupported(
            f"hidden_size is {call.attribute('hidden_size', 0)} for weights of {hidden}", "the model is invalid"
        )
    batch_first = call.opset >= 14 and call.flag("layout", 0)
    width = gates * hidden
    call.input(1, (count, width, x.shape[2]))
    call.input(2, (count, width, hidden))
    batch = x.shape[1 - int(batch_first)]
    bias, lengths = call.optional(3, (count, 2 * width)), call.optional(4, (batch,))
    if lengths is not None and lengths.data is not None:
        steps = x.shape[int(batch_first)]
        if isinstance(steps, int) and bool((lengths.data == steps).all()):
            lengths = None
    backward = {"forward": (False,), "reverse": (True,), "bidirectional": (False, True)}[name]
    return Layer(call, x, w, r, bias, lengths, gates, hidden, backward, batch_first)


def _activations(layer: Layer, default: Sequence[str]) -> list[tuple[Map, ...]]:
    """Those of each direction."""
    call, count, each = layer.call, len(layer.directions), len(default)
    absent_names: tuple[str, ...] = ()
    absent: tuple[float, ...] = ()
    names = call.attribute("activations", absent_names) or tuple(default) * count
    if len(names) != each * count:
        raise call.unsupported(f"{len(names)} activations are given for {each * count}", "the model is invalid")
    alphas, betas = list(call.attribute("activation_alpha", absent)), list(call.attribute("activation_beta", absent))
    clip = call.attribute("clip", 0.0)
    known = {name.lower(): name for name in ACTIVATIONS}
    made: list[Map] = []
    for i, given in enumerate(names):
        name = known.get(given.lower())
        if name is None:
            raise call.unsupported(f"activation {given!r} is unknown", f"use one of {', '.join(ACTIVATIONS)}")
        # Parameters are given to those activations that have any, in order.
        alpha = alphas.pop(0) if name in ALPHA and alphas else ALPHA.get(name, 0.0)
        beta = betas.pop(0) if name in BETA and betas else BETA.get(name, 0.0)
        # Only what gates are made of is clipped: not a cell, which the third function of an LSTM is applied to.
        made.append(_clipped(ACTIVATIONS[name], alpha, beta, clip if i % each < 2 else 0.0))
    return [tuple(made[i * each : (i + 1) * each]) for i in range(count)]


def _clipped(function: Callable[[Expr, float, float], Expr], alpha: float, beta: float, clip: float) -> Map:
    """The function of an argument that is clipped to [-clip, clip] where `clip` is not 0."""
    if not clip:
        return lambda x: function(x, alpha, beta)
    return lambda x: function(minimum(maximum(x, -clip), clip), alpha, beta)


def _groups(layer: Layer, default: Sequence[str]) -> list[tuple[list[int], tuple[Map, ...]]]:
    """The directions that take their steps together, with their activations."""
    call, each = layer.call, len(default)
    functions = _activations(layer, default)
    absent: tuple[str, ...] = ()
    names = call.attribute("activations", absent) or tuple(default) * len(functions)
    parameters = call.attributes.get("activation_alpha"), call.attributes.get("activation_beta")
    keys = [tuple(n.lower() for n in names[i * each : (i + 1) * each]) for i in range(len(functions))]
    apart = any(p is not None for p in parameters)
    chosen = groupby(range(len(functions)), lambda i: (keys[i], i if apart else 0))
    return [(numbers, functions[numbers[0]]) for numbers in (list(found) for _, found in chosen)]


def _run(
    layer: Layer,
    chosen: Sequence[int],
    starts: Sequence[Tensor],
    step: Callable[[Expr, Sequence[Tensor]], list[Tensor]],
) -> Ran:
    """The loop over steps: from the states, of which the first is the output, to the next ones. Beyond the end of a
    sequence states stay as they are, and the output is zero."""
    name = layer.call.name

    def body(counter: Scalar, states: Sequence[Tensor]) -> tuple[Sequence[Tensor], Sequence[Tensor]]:
        made = step(counter, states)
        if layer.lengths is None:
            return made, made[:1]

        def kept(new: Tensor, old: Tensor) -> Tensor:
            return compute(
                f"{new.name}.kept",
                new.shape,
                (new, old, layer.lengths),
                lambda d, n, h: select(_true(layer.valid(chosen, counter, d, n)), new[d, n, h], old[d, n, h]),
            )

        row = compute(
            f"{made[0].name}.row",
            made[0].shape,
            (made[0], layer.lengths),
            lambda d, n, h: select(_true(layer.valid(chosen, counter, d, n)), made[0][d, n, h], 0),
        )
        return [kept(a, b) for a, b in zip(made, states, strict=True)], [row]

    finals, (rows,) = loop(f"{name}.steps{chosen[0]}", layer.steps, starts, body)
    return chosen, finals, rows


def _true(cond: Expr | None) -> Expr:
    assert cond is not None
    return cond


def lstm(call: Call) -> tuple[Tensor, ...]:
    """ONNX LSTM: gates in the order input, output, forget, cell. Y, Y_h, Y_c."""
    layer = _layer(call, 4)
    hidden, coupled = layer.hidden, call.attribute("input_forget", 0) != 0
    peephole = call.optional(7, (len(layer.directions), 3 * hidden))
    parts = []
    for chosen, (f, g, h) in _groups(layer, ("Sigmoid", "Tanh", "Tanh")):
        inputs = layer.input_products(chosen, lambda _: True)
        parts.append(_lstm(layer, chosen, (f, g, h), inputs, peephole, coupled=coupled))
    return layer.outputs(parts)


def _lstm(
    layer: Layer,
    chosen: Sequence[int],
    functions: tuple[Map, Map, Map],
    inputs: Tensor,
    peephole: Tensor | None,
    *,
    coupled: bool,
) -> Ran:
    f, g, h = functions
    hidden, name = layer.hidden, layer.call.name

    def step(t: Expr, states: Sequence[Tensor]) -> list[Tensor]:
        output, cell = states
        products = layer.recurrent(chosen, output, 0, 4, "products")
        gates = compute(
            f"{name}.gates",
            products.shape,
            (products, inputs),
            lambda d, n, i: inputs[layer.step(chosen, t, d), d, n, i] + products[d, n, i],
        )

        def gate(number: int, at: tuple[Expr, Expr, Expr]) -> Expr:
            d, n, i = at
            return gates[d, n, i + number * hidden if number else i]

        def peep(number: int, c: Expr, at: tuple[Expr, Expr, Expr]) -> Expr | None:
            """The part of the cell in a gate: weights in the order input, output, forget."""
            d, _, i = at
            return None if peephole is None else peephole[layer.direction(chosen, d), i + number * hidden] * c

        def next_cell(*at: Expr) -> Expr:
            place = (at[0], at[1], at[2])
            c = cell[place]
            i = f(_plus(gate(0, place), peep(0, c, place)))
            forget = 1 - i if coupled else f(_plus(gate(2, place), peep(2, c, place)))
            return forget * c + i * g(gate(3, place))

        cells = compute(f"{name}.cell", cell.shape, (gates, cell, peephole), next_cell)

        def next_output(*at: Expr) -> Expr:
            place = (at[0], at[1], at[2])
            c = cells[place]
            return f(_plus(gate(1, place), peep(1, c, place))) * h(c)

        return [compute(f"{name}.output", cell.shape, (gates, cells, peephole), next_output), cells]

    starts = [layer.state(5, chosen, "initial_h"), layer.state(6, chosen, "initial_c")]
    return _run(layer, chosen, starts, step)


def _plus(a: Expr, b: Expr | None) -> Expr:
    return a if b is None else a + b


def gru(call: Call) -> tuple[Tensor, ...]:
    """ONNX GRU: gates in the order update, reset, hidden. Y, Y_h."""
    layer = _layer(call, 3)
    late = call.attribute("linear_before_reset", 0) != 0
    parts = []
    for chosen, (f, g) in _groups(layer, ("Sigmoid", "Tanh")):
        inputs = layer.input_products(chosen, lambda gate: gate < 2 or not late)
        parts.append(_gru(layer, chosen, (f, g), inputs, late=late))
    return layer.outputs(parts)


def _gru(layer: Layer, chosen: Sequence[int], functions: tuple[Map, Map], inputs: Tensor, *, late: bool) -> Ran:
    """`late`: the reset gate scales the product with the state, not the state itself."""
    f, g = functions
    hidden, name, bias = layer.hidden, layer.call.name, layer.bias

    def step(t: Expr, states: Sequence[Tensor]) -> list[Tensor]:
        (state,) = states
        shape = state.shape
        products = layer.recurrent(chosen, state, 0, 3 if late else 2, "products")

        def given(gate: int, d: Expr, n: Expr, i: Expr) -> Expr:
            return inputs[layer.step(chosen, t, d), d, n, i + gate * hidden]

        def gate(number: int, d: Expr, n: Expr, i: Expr) -> Expr:
            return f(given(number, d, n, i) + products[d, n, i + number * hidden])

        if late:

            def fresh(d: Expr, n: Expr, i: Expr) -> Expr:
                product = products[d, n, i + 2 * hidden]
                if bias is not None:
                    product = product + bias[layer.direction(chosen, d), i + 5 * hidden]
                return g(given(2, d, n, i) + gate(1, d, n, i) * product)

            reads: tuple[Tensor | None, ...] = (products, inputs, bias)
        else:
            reset = compute(
                f"{name}.reset", shape, (products, inputs, state), lambda d, n, i: gate(1, d, n, i) * state[d, n, i]
            )
            own = layer.recurrent(chosen, reset, 2, 1, "hidden")

            def fresh(d: Expr, n: Expr, i: Expr) -> Expr:
                return g(own[d, n, i] + given(2, d, n, i))

            reads = (own, inputs)
        candidate = compute(f"{name}.candidate", shape, reads, fresh)

        def following(d: Expr, n: Expr, i: Expr) -> Expr:
            update = gate(0, d, n, i)
            return (1 - update) * candidate[d, n, i] + update * state[d, n, i]

        return [compute(f"{name}.output", shape, (products, inputs, candidate, state), following)]

    return _run(layer, chosen, [layer.state(5, chosen, "initial_h")], step)


def rnn(call: Call) -> tuple[Tensor, ...]:
    """ONNX RNN: one gate. Y, Y_h."""
    layer = _layer(call, 1)
    parts = []
    for chosen, (f,) in _groups(layer, ("Tanh",)):
        inputs = layer.input_products(chosen, lambda _: True)
        parts.append(_rnn(layer, chosen, f, inputs))
    return layer.outputs(parts)


def _rnn(layer: Layer, chosen: Sequence[int], f: Map, inputs: Tensor) -> Ran:
    def step(t: Expr, states: Sequence[Tensor]) -> list[Tensor]:
        products = layer.recurrent(chosen, states[0], 0, 1, "products")
        made = compute(
            f"{layer.call.name}.output",
            states[0].shape,
            (products, inputs),
            lambda d, n, i: f(inputs[layer.step(chosen, t, d), d, n, i] + products[d, n, i]),
        )
        return [made]

    return _run(layer, chosen, [layer.state(5, chosen, "initial_h")], step)


OPERATORS = {"GRU": gru, "LSTM": lstm, "RNN": rnn}
