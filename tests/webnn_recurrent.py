"""Recurrent operators of WebNN as ONNX's GRU and LSTM. A cell is one step of a network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from webnn_graph import Growing

GATES = {"GRU": "zrn", "LSTM": "iofg"}
"""The order of gates in ONNX, by the letters of WebNN's layouts."""

DIRECTIONS = {"forward": "forward", "backward": "reverse", "both": "bidirectional"}
OPERANDS = ("bias", "recurrentBias", "peepholeWeight")
"""The options that are operands of a cell, too."""


def gru(m: Growing, args: Sequence[Any], options: Mapping[str, Any]) -> list[str]:
    x, w, r, _, _ = args
    before = int(options.get("resetAfter", True))
    states = [options.get("initialHiddenState", "")]
    sequence, last = recurrent(m, "GRU", [x, w, r], states, options, linear_before_reset=before)
    return [last, sequence]


def lstm(m: Growing, args: Sequence[Any], options: Mapping[str, Any]) -> list[str]:
    x, w, r, _, _ = args
    states = [options.get("initialHiddenState", ""), options.get("initialCellState", "")]
    sequence, hidden, cell = recurrent(m, "LSTM", [x, w, r], [*states, options.get("peepholeWeight", "")], options)
    return [hidden, cell, sequence]


def gru_cell(m: Growing, args: Sequence[Any], options: Mapping[str, Any]) -> str:
    x, w, r, hidden, size = args
    more = {"initialHiddenState": one_more(m, hidden)}
    last, _ = gru(m, [*(one_more(m, a) for a in (x, w, r)), 1, size], lifted(m, options) | more)
    return m.reshape(last, m.shape(hidden))


def lstm_cell(m: Growing, args: Sequence[Any], options: Mapping[str, Any]) -> list[str]:
    x, w, r, hidden, state, size = args
    more = {"initialHiddenState": one_more(m, hidden), "initialCellState": one_more(m, state)}
    last, cell, _ = lstm(m, [*(one_more(m, a) for a in (x, w, r)), 1, size], lifted(m, options) | more)
    return [m.reshape(last, m.shape(hidden)), m.reshape(cell, m.shape(state))]


def one_more(m: Growing, name: str) -> str:
    """An operand of a cell as that of a network: of one step, or of one direction."""
    return m.reshape(name, (1, *m.shape(name)))


def lifted(m: Growing, options: Mapping[str, Any]) -> dict[str, Any]:
    return {key: one_more(m, value) if key in OPERANDS else value for key, value in options.items()}


def recurrent(
    m: Growing, op: str, operands: Sequence[str], states: Sequence[str], options: Mapping[str, Any], **attributes: Any
) -> list[str]:
    """The outputs of ONNX's operator: the sequence, and the last states."""
    layout = options.get("layout", GATES[op])
    x, *weights = operands
    directions, rows, _ = m.shape(weights[0])
    biases = [options.get(name) or m.filled(0, (directions, rows), x) for name in ("bias", "recurrentBias")]
    w, r, *biases = (in_order(m, v, layout, GATES[op]) for v in (*weights, *biases))
    inputs = [x, w, r, m.node("Concat", *biases, axis=1), "", *states]
    if activations := options.get("activations"):
        attributes["activations"] = [name.capitalize() for name in activations] * directions
    size = rows // len(layout)
    direction = DIRECTIONS[options.get("direction", "forward")]
    return m.nodes_outputs(op, inputs, 3 if op == "LSTM" else 2, hidden_size=size, direction=direction, **attributes)


def in_order(m: Growing, weight: str, layout: str, wanted: str) -> str:
    """Weights or biases of gates in another order."""
    if layout == wanted:
        return weight
    parts = m.nodes_outputs("Split", [weight], len(layout), axis=1, num_outputs=len(layout))
    return m.node("Concat", *(parts[layout.index(gate)] for gate in wanted), axis=1)
