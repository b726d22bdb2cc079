"""com.microsoft.DynamicQuantizeLSTM: an LSTM whose weights are integers, and whose inputs and outputs are quantised as
it runs, before they are multiplied by these."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ...dtypes import F32, I8, U8
from ...ir.construct import select
from ...ir.nodes import Expr
from ...tensor import Tensor, compute
from ..call import Call
from ..movement.gather import to_int32
from ..movement.rearranging import reversed_step
from ..quantisation.quantizing import dynamically_quantized
from ..quantisation.zero_points import factor, less_zero_point, zero_point
from ..reductions.reduce_axes import reduce_over
from .recurrent import lstm_of
from .recurrent_layer import Gates, Layer, recurrent_layer


@dataclass(frozen=True, slots=True)
class _Integers:
    """Weights [directions, depth, gates * hidden] less their zero points, and their scales, [directions] or
    [directions, gates * hidden]; by direction whether it is `backward` in a layer whose steps are all forward."""

    w: Tensor
    r: Tensor
    w_scale: Tensor
    r_scale: Tensor
    backward: tuple[bool, ...] = ()

    def of_inputs(self, layer: Layer, chosen: Sequence[int]) -> Tensor:
        """The inputs of all steps have one scale: of the steps that the longest sequence has."""
        name, w, depth = layer.call.name, self.w, layer.x.shape[-1]
        x, scale, zero = dynamically_quantized(f"{name}.x", _of_longest(layer))
        wide = less_zero_point(f"{x.name}.wide", x, zero, lambda _, z: z[()])
        backward = [self.backward[i] for i in chosen] if self.backward else []
        rows = _reversed(layer, backward, wide) if any(backward) else wide

        def product(t: Expr, d: Expr, n: Expr, g: Expr) -> Expr:
            at = layer.direction(chosen, d)
            row = (t, d, n) if rows.rank == 4 else (t, n)
            return reduce_over("sum", (depth,), lambda k: factor(rows[*row, k]) * factor(w[at, k, g]))

        shape = (layer.steps, len(chosen), layer.batch, layer.gates * layer.hidden)
        sums = compute(f"{name}.inputs", shape, (rows, w), product)

        def scaled(t: Expr, d: Expr, n: Expr, g: Expr) -> Expr:
            return sums[t, d, n, g].cast(F32) * (scale[()] * _each(self.w_scale, layer.direction(chosen, d), g))

        return compute(f"{sums.name}.scaled", shape, (sums, scale, self.w_scale), scaled)

    def of_state(self, layer: Layer, chosen: Sequence[int], t: Expr, state: Tensor, gates: Gates) -> Tensor:
        """The states of a direction have one scale, which those of sequences that are over do not widen."""
        name, r, (first, count, what) = layer.call.name, self.r, gates
        offset = first * layer.hidden
        h, scale, zero = dynamically_quantized(f"{name}.h", _of_running(layer, t, state), 1)
        wide = less_zero_point(f"{h.name}.wide", h, zero, lambda index, z: z[index[0],])

        def product(d: Expr, n: Expr, g: Expr) -> Expr:
            at, column = layer.direction(chosen, d), g + offset if offset else g
            return reduce_over("sum", (layer.hidden,), lambda k: factor(wide[d, n, k]) * factor(r[at, k, column]))

        shape = (len(chosen), layer.batch, count * layer.hidden)
        sums = compute(f"{name}.{what}", shape, (wide, r), product)

        def scaled(d: Expr, n: Expr, g: Expr) -> Expr:
            column = g + offset if offset else g
            return sums[d, n, g].cast(F32) * (scale[d,] * _each(self.r_scale, layer.direction(chosen, d), column))

        return compute(f"{sums.name}.scaled", shape, (sums, scale, self.r_scale), scaled)


def _of_longest(layer: Layer) -> Tensor:
    """The inputs, zero in steps that no sequence has."""
    x, lengths = layer.x, layer.lengths
    if lengths is None:
        return x
    name = layer.call.name
    longest = compute(
        f"{name}.longest", (), (lengths,), lambda: reduce_over("max", (layer.batch,), lambda n: to_int32(lengths[n]))
    )
    return compute(f"{name}.used", x.shape, (x, longest), lambda t, n, k: select(t < longest[()], x[t, n, k], 0))


def _of_running(layer: Layer, t: Expr, state: Tensor) -> Tensor:
    """The states before step `t`, zero where the step before was none of the sequence."""
    lengths = layer.lengths
    if lengths is None:
        return state

    def element(d: Expr, n: Expr, h: Expr) -> Expr:
        return select((t < 1) | (t <= to_int32(lengths[n])), state[d, n, h], 0)

    return compute(f"{layer.call.name}.running", state.shape, (state, lengths), element)


def _reversed(layer: Layer, backward: Sequence[bool], rows: Tensor) -> Tensor:
    """Rows [steps, batch, depth], or [steps, directions, batch, depth], with the steps of each sequence in the opposite
    order in directions that are `backward`: [steps, directions, batch, depth]."""
    lengths = layer.lengths
    assert lengths is not None

    def element(t: Expr, d: Expr, n: Expr, k: Expr) -> Expr:
        opposite = reversed_step(t, lengths[n], layer.steps)
        at = opposite if all(backward) else select(d < 1, t, opposite)
        return rows[at, n, k] if rows.rank == 3 else rows[at, d, n, k]

    shape = (layer.steps, len(backward), layer.batch, rows.shape[-1])
    return compute(f"{rows.name}.reversed", shape, (rows, lengths), element)


def _each(t: Tensor, direction: Expr, column: Expr) -> Expr:
    """The element of a scale or a zero point for a column of the weights of a direction."""
    return t[direction,] if t.rank == 1 else t[direction, column]


def _dynamic_quantize_lstm(call: Call) -> tuple[Tensor, ...]:
    """LSTM, whose weights are [directions, depth, gates * hidden]; after its inputs come scale and zero point of W, and
    those of R: one for each direction, or one for each column of each.

    As in onnxruntime, a backward direction takes the last steps of all sequences together, however long they are, so
    that their states are quantised together."""
    call.check_dtypes((0, 3, 5, 6, 7, 8, 10), F32)
    call.check_dtypes((1, 2, 9, 11), I8, U8)
    layer = recurrent_layer(call, 4, depth_first=True)
    (w, w_scale), (r, r_scale) = _less_zero_point(call, 1, 8), _less_zero_point(call, 2, 10)
    if layer.lengths is None or not any(layer.directions):
        return lstm_of(replace(layer, weights=_Integers(w, r, w_scale, r_scale)))
    weights = _Integers(w, r, w_scale, r_scale, layer.directions)
    y, *states = lstm_of(replace(layer, weights=weights, directions=(False,) * len(layer.directions)))
    return (_reversed(layer, layer.directions, y), *states)


def _less_zero_point(call: Call, index: int, scale: int) -> tuple[Tensor, Tensor]:
    """The weights that are input `index`, less their zero point, and their scale."""
    weights = call.input(index)
    directions, _, columns = weights.shape
    for i in (scale, scale + 1):
        if call.has(i) and call.input(i).rank != 1:
            call.input(i, (directions, columns))
        elif call.has(i):
            call.input(i, (directions,))
    zero = zero_point(call, scale + 1)
    name = f"{call.name}.{'w' if index == 1 else 'r'}"
    return less_zero_point(name, weights, zero, lambda at, z: _each(z, at[0], at[2])), call.input(scale)


OPERATORS = {"DynamicQuantizeLSTM": _dynamic_quantize_lstm}
