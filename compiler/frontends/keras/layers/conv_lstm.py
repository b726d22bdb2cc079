"""Recurrent layers of images, whose products are convolutions (Shi et al. 2015, without the weights of cells)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import onnx

from ...images import Images
from ..call import Call, Handler, Value
from .activations import apply
from .convolutions import window_of
from .movement import steps_apart, steps_in_batch
from .recurrent import passing_mask, sequence_and_states


def _conv_lstm(call: Call) -> list[Value]:
    """The convolution of all inputs is one; a Scan over steps has that of the output of the step before."""
    if call.option("stateful", False):
        raise call.unsupported("stateful is not supported; save a model in which it is False")
    x, states = sequence_and_states(call)
    if x.mask is not None and call.option("zero_output_for_mask", False):
        raise call.unsupported("zero_output_for_mask is not supported; save a model in which it is False")
    products = _input_products(call, x)
    starts = [call.planar(call.real(s)) for s in states] or [_zeros(call, products)] * 2
    operands = [products] if x.mask is None else [products, call.node("Transpose", [call.known_mask(x)], perm=[1, 0])]
    directions = [int(bool(call.option("go_backwards", False)))] * len(operands)
    body = _step(call, is_masked=x.mask is not None, rank=x.rank - 1)
    results = call.nodes(
        "Scan",
        [*starts, *operands],
        3,
        body=body,
        num_scan_inputs=len(operands),
        scan_input_directions=directions,
    )
    last = [call.image(name, x.rank - 1) for name in results[:2]]
    if call.option("return_sequences", False):
        spatial = [*range(3, x.rank)]
        order = [1, 0, 2, *spatial] if call.channels_first else [1, 0, *spatial, 2]
        output = Value(call.node("Transpose", [results[2]], perm=order), x.rank)
    else:
        output = last[0]
    return passing_mask(call, [output, *last] if call.option("return_state", False) else [output])


def _input_products(call: Call, x: Value) -> str:
    """The convolution of all steps with the weights of all gates, steps x batch x 4 filters x ..."""
    kernel = call.weight(0)
    n = kernel.ndim - 2
    bias = [call.constant(call.weight(2), "bias")] if call.option("use_bias", True) else []
    weights = call.constant(kernel.transpose(n + 1, n, *range(n)), "kernel")
    operands = [call.planar(steps_in_batch(call, x)), weights, *bias]
    result = Value(call.node("Conv", operands, **window_of(call, kernel)), x.rank - 1)
    return call.node("Transpose", [steps_apart(call, result, x).name], perm=[1, 0, *range(2, x.rank)])


def _zeros(call: Call, products: str) -> str:
    """A state of zeros, batch x filters x ..."""
    filters = call.integers([call.weight(1).shape[-2]])
    sizes = [call.node("Shape", [products], start=1, end=2), filters, call.node("Shape", [products], start=3)]
    return call.node("Expand", [call.number(0), call.node("Concat", sizes, axis=0)])


def _step(call: Call, *, is_masked: bool, rank: int) -> onnx.GraphProto:
    """The body of the Scan: from output, cell, the products of a step and its mask to output, cell and the result."""
    kernel = call.weight(1)
    n = kernel.ndim - 2
    weights = call.constant(kernel.transpose(n + 1, n, *range(n)), "recurrent_kernel")
    builder = call.builder.region(f"{call.stem}.step")
    own = Call(replace(call.scope, builder=builder, images=Images(builder)), call.layer, [], {})
    names = ("output", "cell", "products")
    output, cell, products = (builder.input(f"{call.stem}.{name}", onnx.TensorProto.FLOAT, None) for name in names)
    mask = builder.input(f"{call.stem}.mask", onnx.TensorProto.BOOL, None) if is_masked else None
    recurrent = own.node("Conv", [output, weights], kernel_shape=list(kernel.shape[:n]), auto_pad="SAME_UPPER")
    gates = own.nodes("Split", [own.node("Add", [products, recurrent])], 4, axis=1, num_outputs=4)

    def function(option: str, default: str, name: str) -> str:
        return apply(own, Value(name, rank), call.layer.config.get(option, default)).name

    i, forget, o = (function("recurrent_activation", "sigmoid", gates[k]) for k in (0, 1, 3))
    fresh = own.node("Mul", [i, function("activation", "tanh", gates[2])])
    cells = own.node("Add", [own.node("Mul", [forget, cell]), fresh])
    outputs = own.node("Mul", [o, function("activation", "tanh", cells)])
    if mask is not None:
        counted = own.node("Unsqueeze", [mask, own.integers([*range(1, rank)])])
        outputs, cells = own.node("Where", [counted, outputs, output]), own.node("Where", [counted, cells, cell])
    return _graph(own, [outputs, cells, outputs])


def _graph(call: Call, outputs: Sequence[str]) -> onnx.GraphProto:
    for name in outputs:
        call.builder.output(call.node("Identity", [name]), onnx.TensorProto.FLOAT, None)
    return call.builder.graph()


LAYERS: dict[str, Handler] = {f"ConvLSTM{n}D": _conv_lstm for n in (1, 2, 3)}
