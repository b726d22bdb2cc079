"""Recurrent layers over a sequence: steps x batch x features."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...converted_call import ConvertedCall
from ..call import Call, Handler

GATES = {"lstm": (0, 2, 1, 3), "gru": (2, 0, 1), "rnn": (0,)}
"""The places in Core ML of ONNX's gates. Of an LSTM: input, forget, output, cell, where ONNX has input, output, forget,
cell; of a GRU: reset, output, update, where ONNX has update, reset, output."""

_FUNCTIONS = {
    "hard_sigmoid": "HardSigmoid",
    "linear": "Affine",
    "relu": "Relu",
    "scaled_tanh": "ScaledTanh",
    "sigmoid": "Sigmoid",
    "softplus": "Softplus",
    "softsign": "Softsign",
    "tanh": "Tanh",
}


def ordered(data: np.ndarray, gates: Sequence[int], count: int) -> np.ndarray:
    """Rows of gates of Core ML as ONNX has them."""
    parts = np.split(np.asarray(data, np.float32), count, axis=0)
    return np.concatenate([parts[i] for i in gates], axis=0)


def states(call: ConvertedCall, value: str, directions: int) -> str:
    """A state of batch x (directions units), as directions x batch x units."""
    parts = call.nodes("Split", [value], directions, axis=1, num_outputs=directions) if directions > 1 else [value]
    return call.node("Concat", [call.node("Unsqueeze", [p, call.integers([0])]) for p in parts], axis=0)


def flat(call: ConvertedCall, value: str) -> str:
    """The other way around; of all steps, steps x directions x batch x units, steps x batch x (directions units)."""
    moved = call.node("Transpose", [value], perm=[1, 0, 2])
    return call.node("Flatten", [moved], axis=1)


def steps(call: ConvertedCall, value: str) -> str:
    moved = call.node("Transpose", [value], perm=[0, 2, 1, 3])
    return call.node("Reshape", [moved, call.integers([0, 0, -1])])


def _functions(call: Call, names: Sequence[str]) -> list[str]:
    chosen = []
    for name in names:
        default = "sigmoid" if name == "recurrent_activation" else "tanh"
        function = call.text(name, default).lower()
        if function not in _FUNCTIONS:
            raise call.unsupported(f"{name} is {function!r}")
        chosen.append(_FUNCTIONS[function])
    return chosen


def _recurrent(op: str, names: Sequence[str]) -> Handler:
    def convert(call: Call) -> list[str]:
        kind = call.kind
        gates, count = GATES[kind], len(GATES[kind])
        direction = call.text("direction", "forward")
        suffixes = ["", "_back"] if direction == "bidirectional" else [""]
        w, r = (
            np.stack([ordered(call.constant(f"{n}{s}"), gates, count) for s in suffixes])
            for n in ("weight_ih", "weight_hh")
        )
        units = r.shape[-1]
        zeros = np.zeros(count * units, np.float32)

        def bias(name: str, suffix: str) -> np.ndarray:
            return ordered(call.constant(f"{name}{suffix}", zeros), gates, count)

        own = [bias("bias", s) for s in suffixes]
        given = [bias("input_bias", s) for s in suffixes]
        attributes = {
            "hidden_size": units,
            "direction": direction,
            "activations": _functions(call, names) * len(suffixes),
        }
        if call.flag("reset_after"):  # the bias of the state is inside of the reset
            attributes["linear_before_reset"] = 1
        if call.has("clip"):
            raise call.unsupported("it clips its cells")
        both = np.stack([np.concatenate(pair) for pair in zip(given, own, strict=True)])
        operands = [call.read("x"), *(call.builder.constant(a, n) for a, n in ((w, "w"), (r, "r"), (both, "bias"))), ""]
        operands.append(states(call, call.read("initial_h"), len(suffixes)))
        if kind == "lstm":
            operands.append(states(call, call.read("initial_c"), len(suffixes)))
            if call.has("peephole"):
                holes = [call.constant(f"peephole{s}", np.zeros(3 * units)) for s in suffixes]
                whole = np.stack([ordered(h, (0, 2, 1), 3) for h in holes])
                operands.append(call.builder.constant(whole, "peephole"))
        every, *last = call.nodes(op, operands, 3 if kind == "lstm" else 2, **attributes)
        ends = [flat(call, v) for v in last]
        sequence = (
            steps(call, every)
            if call.flag("output_sequence")
            else call.node("Unsqueeze", [ends[0], call.integers([0])])
        )
        return [sequence, *ends]

    return convert


OPERATORS: dict[str, Handler] = {
    "gru": _recurrent("GRU", ("recurrent_activation", "activation")),
    "lstm": _recurrent("LSTM", ("recurrent_activation", "cell_activation", "activation")),
    "rnn": _recurrent("RNN", ("activation",)),
}
