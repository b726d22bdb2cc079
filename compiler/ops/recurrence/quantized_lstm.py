"""com.microsoft.DynamicQuantizeLSTM: an LSTM whose weights are integers, and whose inputs and outputs are quantised as
it runs, before they are multiplied by these."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ...dtypes import F32, I8, U8
from ...ir.nodes import Expr
from ...tensor import Tensor, compute
from ..call import Call
from ..quantisation.quantizing import dynamically_quantized
from ..quantisation.zero_points import factor, less_zero_point, zero_point
from ..reductions.reduce_axes import reduce_over
from .recurrent import lstm_of
from .recurrent_layer import Layer, recurrent_layer


@dataclass(frozen=True, slots=True)
class _Integers:
    """Weights [directions, depth, gates * hidden] less their zero points, and their scales, [directions] or
    [directions, gates * hidden]."""

    w: Tensor
    r: Tensor
    w_scale: Tensor
    r_scale: Tensor

    def of_inputs(self, layer: Layer, chosen: Sequence[int]) -> Tensor:
        """The inputs of all steps have one scale."""
        name, w, depth = layer.call.name, self.w, layer.x.shape[-1]
        x, scale, zero = dynamically_quantized(f"{name}.x", layer.x)
        wide = less_zero_point(f"{x.name}.wide", x, zero, lambda _, z: z[()])

        def product(t: Expr, d: Expr, n: Expr, g: Expr) -> Expr:
            at = layer.direction(chosen, d)
            return reduce_over("sum", (depth,), lambda k: factor(wide[t, n, k]) * factor(w[at, k, g]))

        shape = (layer.steps, len(chosen), layer.batch, layer.gates * layer.hidden)
        sums = compute(f"{name}.inputs", shape, (wide, w), product)

        def scaled(t: Expr, d: Expr, n: Expr, g: Expr) -> Expr:
            return sums[t, d, n, g].cast(F32) * (scale[()] * _each(self.w_scale, layer.direction(chosen, d), g))

        return compute(f"{sums.name}.scaled", shape, (sums, scale, self.w_scale), scaled)

    def of_state(self, layer: Layer, chosen: Sequence[int], state: Tensor, first: int, count: int, what: str) -> Tensor:
        """The states of a direction have one scale."""
        name, r, offset = layer.call.name, self.r, first * layer.hidden
        h, scale, zero = dynamically_quantized(f"{name}.h", state, 1)
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


def _each(t: Tensor, direction: Expr, column: Expr) -> Expr:
    """The element of a scale or a zero point for a column of the weights of a direction."""
    return t[direction,] if t.rank == 1 else t[direction, column]


def _dynamic_quantize_lstm(call: Call) -> tuple[Tensor, ...]:
    """LSTM, whose weights are [directions, depth, gates * hidden]; after its inputs come scale and zero point of W, and
    those of R: one for each direction, or one for each column of each."""
    call.check_dtypes((0, 3, 5, 6, 7, 8, 10), F32)
    call.check_dtypes((1, 2, 9, 11), I8, U8)
    layer = recurrent_layer(call, 4, depth_first=True)
    (w, w_scale), (r, r_scale) = _less_zero_point(call, 1, 8), _less_zero_point(call, 2, 10)
    return lstm_of(replace(layer, weights=_Integers(w, r, w_scale, r_scale)))


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
