"""Recurrent layers over a sequence, in one direction or both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..call import Call, Handler, Value
from .activations import function_name
from .masked_steps import MaskedSteps, masked_steps

_GATES = {"LSTM": (0, 3, 1, 2), "GRU": (0, 1, 2), "SimpleRNN": (0,)}
"""The places in Keras of ONNX's gates: of an LSTM Keras has input, forget, cell, output, and ONNX input, output,
forget, cell."""

_OPERATORS = {"LSTM": "LSTM", "GRU": "GRU", "SimpleRNN": "RNN"}
_FUNCTIONS = {
    "elu": "Elu",
    "linear": "Affine",
    "relu": "Relu",
    "sigmoid": "Sigmoid",
    "softplus": "Softplus",
    "softsign": "Softsign",
    "tanh": "Tanh",
}


@dataclass(frozen=True, slots=True)
class _Direction:
    """A layer as ONNX has it: weights of the input and of the state, biases of both."""

    call: Call

    @property
    def kind(self) -> str:
        return self.call.layer.kind

    @property
    def units(self) -> int:
        return int(self.call.weight(1).shape[0])

    @property
    def is_late(self) -> bool:
        """Whether a GRU's reset gate scales the product with the state, not the state."""
        return self.kind == "GRU" and bool(self.call.option("reset_after", False))

    def weights(self, i: int) -> np.ndarray:
        """Gates x units, by inputs."""
        return self._ordered(self.call.weight(i)).T

    def bias(self) -> np.ndarray:
        count = len(_GATES[self.kind]) * self.units
        own = self.call.weight(2) if self.call.option("use_bias", True) else np.zeros(count, np.float32)
        both = own if own.ndim == 2 else np.stack([own, np.zeros(count, np.float32)])
        return self._ordered(both).reshape(-1)

    def _ordered(self, data: np.ndarray) -> np.ndarray:
        parts = np.split(data, len(_GATES[self.kind]), axis=-1)
        return np.concatenate([parts[i] for i in _GATES[self.kind]], axis=-1)

    def functions(self) -> list[tuple[str, list[float], list[float]]]:
        """ONNX's names of the functions, with alpha and beta of those that have them."""
        options = {"LSTM": ("recurrent_activation", "activation", "activation"), "SimpleRNN": ("activation",)}
        names = options.get(self.kind, ("recurrent_activation", "activation"))
        return [self._function(o, "tanh" if o == "activation" else "sigmoid") for o in names]

    def _function(self, option: str, default: str) -> tuple[str, list[float], list[float]]:
        name = function_name(self.call.layer.config.get(option, default))
        if name == "hard_sigmoid":
            return "HardSigmoid", [self.call.scope.dialect.hard_sigmoid_slope], [0.5]
        if name not in _FUNCTIONS:
            raise self.call.unsupported(f"{option} is {name!r}, which is not supported in a recurrent layer")
        return _FUNCTIONS[name], [1.0] if name in ("elu", "linear") else [], [0.0] if name == "linear" else []


def _run(
    call: Call,
    x: Value,
    directions: Sequence[_Direction],
    direction: str,
    states: Sequence[str],
    masked: MaskedSteps | None,
) -> list[str]:
    """ONNX's results: steps x directions x batch x units, then the last states, directions x batch x units. Of masked
    steps, the first has those that count at the front."""
    first = directions[0]
    for d in directions:
        for option in ("stateful", "time_major"):
            if d.call.option(option, False):
                raise call.unsupported(f"{option} is not supported; save a model in which it is False")
    stacked = [np.stack([d.weights(0) for d in directions]), np.stack([d.weights(1) for d in directions])]
    names = [call.constant(w, n) for w, n in zip(stacked, ("kernel", "recurrent_kernel"), strict=True)]
    bias = call.constant(np.stack([d.bias() for d in directions]), "bias")
    steps_first = call.node("Transpose", [masked.front(x.name) if masked else x.name], perm=[1, 0, 2])
    lengths = masked.lengths if masked else ""
    starts = [call.node("Unsqueeze", [s, call.integers([0])]) for s in states]
    functions = [f for d in directions for f in d.functions()]
    attributes = {
        "hidden_size": first.units,
        "direction": direction,
        "activations": [name for name, _, _ in functions],
    }
    # ONNX takes them in order for the functions that have any.
    for name, numbers in (
        ("activation_alpha", [a for _, alpha, _ in functions for a in alpha]),
        ("activation_beta", [b for _, _, beta in functions for b in beta]),
    ):
        if numbers:
            attributes[name] = numbers
    if first.is_late:
        attributes["linear_before_reset"] = 1
    operands = [steps_first, *names, bias, lengths, *starts]
    return call.nodes(_OPERATORS[first.kind], operands, 3 if first.kind == "LSTM" else 2, **attributes)


def _recurrent(call: Call) -> list[Value]:
    x, states = sequence_and_states(call)
    results = _layer(call, x, [call.real(s).name for s in states])
    return passing_mask(call, results)


def sequence_and_states(call: Call) -> tuple[Value, list[Value]]:
    """The operands of a recurrent layer; where its mask is ignored, the sequence is without."""
    x, *states = call.values
    ignored = bool(states) and call.scope.dialect.masks_of_keras_3 and not call.is_given_mask
    return replace(call.real(x), mask=None if ignored else x.mask), states


def passing_mask(call: Call, results: list[Value]) -> list[Value]:
    """The results of a recurrent layer, of which a sequence has the mask of the operand, as in Keras in the operand's
    order, whichever that of the sequence."""
    if not call.option("return_sequences", False):
        return results
    return [replace(results[0], mask=call.values[0].mask), *results[1:]]


def _layer(call: Call, x: Value, starts: Sequence[str]) -> list[Value]:
    backwards, every_step = bool(call.option("go_backwards", False)), bool(call.option("return_sequences", False))
    masked = masked_steps(call, x)
    every, *last = _run(call, x, [_Direction(call)], "reverse" if backwards else "forward", starts, masked)
    squeezed = [Value(call.node("Squeeze", [v, call.integers([0])]), 2) for v in last]
    output = squeezed[0]
    unrolled = bool(call.option("unroll", False))
    zero = masked is not None and not unrolled and bool(call.option("zero_output_for_mask", False))
    if zero or every_step:
        steps = call.node("Transpose", [call.node("Squeeze", [every, call.integers([1])])], perm=[1, 0, 2])
        if masked:
            start = starts[0] if starts and not unrolled else None
            steps = masked.back(steps, start, backwards=backwards, zero=zero)
        if every_step:
            output = Value(reversed_steps(call, steps) if backwards else steps, 3)
        else:
            output = Value(call.node("Gather", [steps, call.integers(0 if backwards else -1)], axis=1), 2)
    return [output, *squeezed] if call.option("return_state", False) else [output]


def _stacked(call: Call) -> list[Value]:
    """Cells on each other: layers, of which each has the results of the one before at all steps."""
    x, states = sequence_and_states(call)
    starts = [call.real(s).name for s in states]
    if call.option("go_backwards", False):
        mask = None if x.mask is None else reversed_steps(call, call.known_mask(x))
        x = replace(x, name=reversed_steps(call, x.name), mask=mask)
    common = {name: call.option(name, False) for name in ("stateful", "time_major", "unroll", "zero_output_for_mask")}
    last: list[Value] = []
    for i, cell in enumerate(call.layer.inner):
        every_step = i + 1 < len(call.layer.inner) or bool(call.option("return_sequences", False))
        options = {**cell.config, **common, "return_sequences": every_step, "return_state": True}
        count = min(len(starts), 2 if cell.kind == "LSTM" else 1)
        output, *own = _layer(call.inner(replace(cell, config=options)), x, starts[:count])
        x, starts = replace(output, mask=x.mask), starts[count:]
        last += own
    return passing_mask(call, [x, *last] if call.option("return_state", False) else [x])


def reversed_steps(call: Call, steps: str) -> str:
    """A value batch x steps (x ...) from its last step to its first."""
    starts, ends = call.integers([-1]), call.integers([-(2**31)])
    return call.node("Slice", [steps, starts, ends, call.integers([1]), call.integers([-1])])


def _bidirectional(call: Call) -> list[Value]:
    """The results of both directions, merged; the second's are in the order of the input."""
    x, *states = call.values
    if states:
        raise call.unsupported("its initial states are not supported; save a model that begins at zero")
    forward, backward = (_Direction(call.inner(layer)) for layer in call.layer.inner)
    if forward.kind not in _GATES or forward.kind != backward.kind or forward.units != backward.units:
        raise call.unsupported(f"it has a {forward.kind} and a {backward.kind}, which are not taken together")
    masked = masked_steps(call, x)
    every, *last = _run(call, call.real(x), [forward, backward], "bidirectional", [], masked)
    if forward.call.option("return_sequences", False):
        parts = [call.node("Squeeze", [p, call.integers([1])]) for p in _halves(call, every, 1)]
        steps = [call.node("Transpose", [p], perm=[1, 0, 2]) for p in parts]
        if masked:
            zero = call.scope.dialect.zeroes_both_directions and not forward.call.option("unroll", False)
            steps = [masked.back(s, None, backwards=i == 1, zero=zero) for i, s in enumerate(steps)]
        outputs = [Value(s, 3) for s in steps]
    else:
        outputs = _states(call, last[0])
    results = _merged(call, outputs)
    if outputs[0].rank == 3:
        results = [replace(v, mask=x.mask) for v in results]
    if forward.call.option("return_state", False):
        both = [_states(call, v) for v in last]
        results += [pair[i] for i in range(2) for pair in both]
    return results


def _halves(call: Call, value: str, axis: int) -> list[str]:
    return call.nodes("Split", [value, call.integers([1, 1])], 2, axis=axis)


def _states(call: Call, value: str) -> list[Value]:
    return [Value(call.node("Squeeze", [p, call.integers([0])]), 2) for p in _halves(call, value, 0)]


def _merged(call: Call, outputs: list[Value]) -> list[Value]:
    mode, rank = call.layer.config.get("merge_mode", "concat"), outputs[0].rank
    names = [v.name for v in outputs]
    match mode:
        case None:
            return outputs
        case "concat":
            return [Value(call.node("Concat", names, axis=rank - 1), rank)]
        case "sum":
            return [Value(call.node("Add", names), rank)]
        case "mul":
            return [Value(call.node("Mul", names), rank)]
        case "ave":
            return [Value(call.node("Mul", [call.node("Add", names), call.number(0.5)]), rank)]
    raise call.unsupported(f"merge_mode is {mode!r}")


LAYERS: dict[str, Handler] = {
    "Bidirectional": _bidirectional,
    "GRU": _recurrent,
    "LSTM": _recurrent,
    "RNN": _stacked,
    "SimpleRNN": _recurrent,
}
