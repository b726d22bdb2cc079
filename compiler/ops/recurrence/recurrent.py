"""Recurrent layers: LSTM, GRU and RNN."""

from __future__ import annotations

from collections.abc import Sequence

from ...ir.nodes import Expr
from ...tensor import Tensor, compute
from ..call import Call
from .recurrent_layer import Layer, Map, Ran, directions_together, recurrent_layer, run_steps


def lstm(call: Call) -> tuple[Tensor, ...]:
    """ONNX LSTM: gates in the order input, output, forget, cell. Y, Y_h, Y_c."""
    return lstm_of(recurrent_layer(call, 4))


def lstm_of(layer: Layer) -> tuple[Tensor, ...]:
    """The results of a layer with the inputs and attributes of ONNX LSTM."""
    call = layer.call
    hidden, coupled = layer.hidden, call.attribute("input_forget", 0) != 0
    peephole = call.optional(7, (len(layer.directions), 3 * hidden))
    parts = []
    for chosen, (f, g, h) in directions_together(layer, ("Sigmoid", "Tanh", "Tanh")):
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
        products = layer.recurrent(chosen, t, output, (0, 4, "products"))
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
    return run_steps(layer, chosen, starts, step)


def _plus(a: Expr, b: Expr | None) -> Expr:
    return a if b is None else a + b


def gru(call: Call) -> tuple[Tensor, ...]:
    """ONNX GRU: gates in the order update, reset, hidden. Y, Y_h."""
    layer = recurrent_layer(call, 3)
    late = call.attribute("linear_before_reset", 0) != 0
    parts = []
    for chosen, (f, g) in directions_together(layer, ("Sigmoid", "Tanh")):
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
        products = layer.recurrent(chosen, t, state, (0, 3 if late else 2, "products"))

        def from_input(gate: int, d: Expr, n: Expr, i: Expr) -> Expr:
            return inputs[layer.step(chosen, t, d), d, n, i + gate * hidden]

        def gate(number: int, d: Expr, n: Expr, i: Expr) -> Expr:
            return f(from_input(number, d, n, i) + products[d, n, i + number * hidden])

        if late:

            def fresh(d: Expr, n: Expr, i: Expr) -> Expr:
                product = products[d, n, i + 2 * hidden]
                if bias is not None:
                    product = product + bias[layer.direction(chosen, d), i + 5 * hidden]
                return g(from_input(2, d, n, i) + gate(1, d, n, i) * product)

            reads: tuple[Tensor | None, ...] = (products, inputs, bias)
        else:
            reset = compute(
                f"{name}.reset", shape, (products, inputs, state), lambda d, n, i: gate(1, d, n, i) * state[d, n, i]
            )
            own = layer.recurrent(chosen, t, reset, (2, 1, "hidden"))

            def fresh(d: Expr, n: Expr, i: Expr) -> Expr:
                return g(own[d, n, i] + from_input(2, d, n, i))

            reads = (own, inputs)
        candidate = compute(f"{name}.candidate", shape, reads, fresh)

        def following(d: Expr, n: Expr, i: Expr) -> Expr:
            update = gate(0, d, n, i)
            return (1 - update) * candidate[d, n, i] + update * state[d, n, i]

        return [compute(f"{name}.output", shape, (products, inputs, candidate, state), following)]

    return run_steps(layer, chosen, [layer.state(5, chosen, "initial_h")], step)


def rnn(call: Call) -> tuple[Tensor, ...]:
    """ONNX RNN: one gate. Y, Y_h."""
    layer = recurrent_layer(call, 1)
    parts = []
    for chosen, (f,) in directions_together(layer, ("Tanh",)):
        inputs = layer.input_products(chosen, lambda _: True)
        parts.append(_rnn(layer, chosen, f, inputs))
    return layer.outputs(parts)


def _rnn(layer: Layer, chosen: Sequence[int], f: Map, inputs: Tensor) -> Ran:
    def step(t: Expr, states: Sequence[Tensor]) -> list[Tensor]:
        products = layer.recurrent(chosen, t, states[0], (0, 1, "products"))
        output = compute(
            f"{layer.call.name}.output",
            states[0].shape,
            (products, inputs),
            lambda d, n, i: f(inputs[layer.step(chosen, t, d), d, n, i] + products[d, n, i]),
        )
        return [output]

    return run_steps(layer, chosen, [layer.state(5, chosen, "initial_h")], step)


OPERATORS = {"GRU": gru, "LSTM": lstm, "RNN": rnn}
