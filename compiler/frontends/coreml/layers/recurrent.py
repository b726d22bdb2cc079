"""Recurrent layers over a sequence, whose features are channels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..network_call import Array, Layer, LayerHandler
from ..operators.recurrent import flat, states, steps
from ..read_weights import read_weights
from .elementwise import activation_kind

_LSTM = ("input", "output", "forget", "block")
"""Gates in the order of ONNX; the block's input is the gate of the cell."""

_GRU = ("update", "reset", "output")
_FUNCTIONS = {
    "ReLU": "Relu",
    "linear": "Affine",
    "scaledTanh": "ScaledTanh",
    "sigmoid": "Sigmoid",
    "sigmoidHard": "HardSigmoid",
    "tanh": "Tanh",
}
_CLIP = 50.0
"""The default bound of an LSTM's cells, beyond which its functions are 1."""


def _functions(layer: Layer, activations: Sequence[Any]) -> dict[str, Any]:
    """ONNX's names of the functions, with alpha and beta."""
    kinds = [activation_kind(a) for a in activations]
    wrong = next((k for k in kinds if k not in _FUNCTIONS), None)
    if wrong is not None:
        raise layer.unsupported(f"the activation {wrong}")
    own = [getattr(a, k) for a, k in zip(activations, kinds, strict=True)]
    return {
        "activations": [_FUNCTIONS[k] for k in kinds],
        "activation_alpha": [float(getattr(o, "alpha", 1.0)) for o in own],
        "activation_beta": [float(getattr(o, "beta", 0.0)) for o in own],
    }


def _run(
    layer: Layer,
    op: str,
    matrices: tuple[np.ndarray, np.ndarray, np.ndarray],
    attributes: dict[str, Any],
    peephole: np.ndarray | None = None,
) -> list[Array]:
    """`matrices`: directions x (gates units) x inputs, the same of the state, and the bias of both."""
    x, *given = layer.operands
    if x.rank not in (4, 5):
        raise layer.unsupported(f"its operand has {x.rank} dimensions, and needs 5")
    w, r, bias = matrices
    directions, units = len(w), r.shape[-1]
    sequence = layer.node("Squeeze", [x.name, layer.integers([-2, -1])])
    if x.rank == 4:
        sequence = layer.node("Unsqueeze", [sequence, layer.integers([1])])
    both = np.concatenate([bias, np.zeros_like(bias)], 1)
    constants = [layer.builder.constant(a.astype(np.float32), n) for a, n in ((w, "w"), (r, "r"), (both, "bias"))]
    operands = [sequence, *constants, ""]
    # The states of the second direction follow those of the first.
    starts = [layer.reshaped(state.name, [-1, units]) for state in given]
    count = len(starts) // directions
    for i in range(count):
        rows = starts[i::count]
        joined = rows[0] if directions == 1 else layer.node("Concat", rows, axis=1)
        operands.append(states(layer, joined, directions))
    if peephole is not None:
        operands += [""] * (7 - len(operands)) + [layer.builder.constant(peephole.astype(np.float32), "peephole")]
    every, *last = layer.nodes(op, operands, 3 if op == "LSTM" else 2, hidden_size=units, **attributes)
    results = [
        steps(layer, every)
        if _all_steps(layer)
        else layer.node("Unsqueeze", [flat(layer, last[0]), layer.integers([0])])
    ]
    for value in last:
        results.append(layer.node("Unsqueeze", [flat(layer, value), layer.integers([0])]))
    return [_array(layer, value, x.rank) for value in results]


def _array(layer: Layer, value: str, rank: int) -> Array:
    """Steps x batch x units as an array of the network."""
    if rank == 4:
        value = layer.node("Squeeze", [value, layer.integers([1])])
    return Array(layer.node("Unsqueeze", [value, layer.integers([-2, -1])]), rank)


def _all_steps(layer: Layer) -> bool:
    p = layer.params
    return bool(p.params.sequenceOutput if layer.kind.endswith("LSTM") else p.sequenceOutput)


def _simple_recurrent(layer: Layer) -> list[Array]:
    p = layer.params
    inputs, units = int(p.inputVectorSize), int(p.outputVectorSize)
    w, r = read_weights(p.weightMatrix, (units, inputs)), read_weights(p.recursionMatrix, (units, units))
    bias = read_weights(p.biasVector, (units,)) if p.hasBiasVector else np.zeros(units)
    attributes = {"direction": "reverse" if p.reverseInput else "forward", **_functions(layer, [p.activation])}
    return _run(layer, "RNN", (w[None], r[None], bias[None]), attributes)


def _gru(layer: Layer) -> list[Array]:
    p = layer.params
    inputs, units = int(p.inputVectorSize), int(p.outputVectorSize)
    w = np.concatenate([read_weights(getattr(p, f"{g}GateWeightMatrix"), (units, inputs)) for g in _GRU])
    r = np.concatenate([read_weights(getattr(p, f"{g}GateRecursionMatrix"), (units, units)) for g in _GRU])
    bias = np.zeros(3 * units)
    if p.hasBiasVectors:
        bias = np.concatenate([read_weights(getattr(p, f"{g}GateBiasVector"), (units,)) for g in _GRU])
    attributes = {"direction": "reverse" if p.reverseInput else "forward", **_functions(layer, p.activations)}
    return _run(layer, "GRU", (w[None], r[None], bias[None]), attributes)


def _lstm(layer: Layer) -> list[Array]:
    """In one direction, or in both: the weights of the second are those of the reversed sequence."""
    p, own = layer.params, layer.params.params
    both = layer.kind == "biDirectionalLSTM"
    inputs, units = int(p.inputVectorSize), int(p.outputVectorSize)
    if own.coupledInputAndForgetGate:
        raise layer.unsupported("its input and forget gates are coupled")
    if own.HasField("cellClipThreshold") and 0 < own.cellClipThreshold < _CLIP:
        raise layer.unsupported(f"it clips its cells to {own.cellClipThreshold:g}")
    every = list(p.weightParams) if both else [p.weightParams]

    def stack(suffix: str, *shape: int) -> np.ndarray:
        def name(gate: str) -> str:
            return f"blockInput{suffix}" if gate == "block" else f"{gate}Gate{suffix}"

        return np.stack([np.concatenate([read_weights(getattr(e, name(g)), shape) for g in _LSTM]) for e in every])

    bias = stack("BiasVector", units) if own.hasBiasVectors else np.zeros((len(every), 4 * units), np.float32)
    if own.forgetBias:
        bias[:, 2 * units : 3 * units] += 1
    peephole = None
    if own.hasPeepholeVectors:
        gates = ("input", "output", "forget")
        peephole = np.stack(
            [
                np.concatenate([read_weights(getattr(e, f"{g}GatePeepholeVector"), (units,)) for g in gates])
                for e in every
            ]
        )
    activations = [*p.activationsForwardLSTM, *p.activationsBackwardLSTM] if both else list(p.activations)
    direction = "bidirectional" if both else "reverse" if p.reverseInput else "forward"
    matrices = stack("WeightMatrix", units, inputs), stack("RecursionMatrix", units, units), bias
    results = _run(layer, "LSTM", matrices, {"direction": direction, **_functions(layer, activations)}, peephole)
    return _of_both(layer, results) if both else results


def _of_both(layer: Layer, results: list[Array]) -> list[Array]:
    """Both directions of a sequence side by side, and the states of each apart."""
    sequence, *last = results
    parts = [layer.nodes("Split", [s.name], 2, axis=-3, num_outputs=2) for s in last]
    ends = [Array(parts[i][d], sequence.rank) for d in range(2) for i in range(2)]
    return [sequence, *ends]


LAYERS: dict[str, LayerHandler] = {
    "biDirectionalLSTM": _lstm,
    "gru": _gru,
    "simpleRecurrent": _simple_recurrent,
    "uniDirectionalLSTM": _lstm,
}
