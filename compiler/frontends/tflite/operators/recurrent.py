"""Recurrent layers. States of those over a sequence are zero when a run begins; those of a step are kept between
runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..call import Call, Handler

_ACTIVATIONS = {0: "Affine", 1: "Relu", 4: "Tanh"}
"""By `ActivationFunctionType`; the first is the identity, with alpha 1."""


def _major(call: Call, time_major: bool) -> str:
    """The input as steps x batch x features."""
    x = call.read(0)
    return x if time_major else call.node("Transpose", [x], perm=[1, 0, 2])


def _gates(call: Call, first: int, order: Sequence[int]) -> str:
    """Operands of the gates in this order, one after the other, as 1 x gates * units (x ...); they are input, forget,
    ... from `first` on. Where the input gate is not there, it is 1 - forget gate (CIFG, Greff et al. 2017): a sigmoid
    of the negated sum, so its operands are those of the forget gate, negated."""
    read = [call.read(first + i) if i or call.has(first) else call.node("Neg", [call.read(first + 1)]) for i in order]
    joined = call.node("Concat", read, axis=0)
    return call.node("Unsqueeze", [joined, call.integers([0])])


def _lstm(call: Call, first: int, states: tuple[int, int], x: str, direction: str) -> str:
    """The results of all steps. Operands from `first` on: weights of the input, of the last result (gates input,
    forget, cell, output each), of the cell (no cell gate), and biases."""
    o = call.options
    weights, recurrent, cell, biases = first, first + 4, first + 8, first + 11
    if call.has(biases + 4) or call.has(biases + 5):
        raise call.unsupported("it has a projection")
    order = (0, 3, 1, 2)  # input, output, forget, cell
    w, r, bias = (_gates(call, operands, order) for operands in (weights, recurrent, biases))
    zeros = call.node("Mul", [bias, call.number(0)])
    operands = [x, w, r, call.node("Concat", [bias, zeros], axis=1), "", "", ""]
    for state in states:
        if call.has(state) and not call.tensor(state).is_variable:
            raise call.unsupported(f"its state {call.tensor(state).name!r} is computed")
    if call.has(cell + 1):
        operands.append(_gates(call, cell, (0, 2, 1)))
    units = call.shape(weights + 1)[0]
    attributes: dict[str, Any] = {"hidden_size": units, "direction": direction}
    activation = _activation(call)
    if activation != "Tanh":
        attributes["activations"] = ["Sigmoid", activation, activation]
    if o.CellClip():
        raise call.unsupported("it clips its cells")
    results = call.node("LSTM", operands, **attributes)
    return call.node("Squeeze", [results, call.integers([1])])


def _activation(call: Call) -> str:
    function = call.options.FusedActivationFunction()
    if function not in _ACTIVATIONS:
        raise call.unsupported(f"the activation function {function}")
    return _ACTIVATIONS[function]


def _finish(call: Call, value: str, time_major: bool, i: int = 0) -> None:
    call.write(value if time_major else call.node("Transpose", [value], perm=[1, 0, 2]), i)


def _unidirectional_sequence_lstm(call: Call) -> None:
    if any(call.has(i) for i in range(20, 24)):
        raise call.unsupported("it normalises its layers")
    major = call.options.TimeMajor()
    _finish(call, _lstm(call, 1, (18, 19), _major(call, major), "forward"), major)


def _bidirectional_sequence_lstm(call: Call) -> None:
    if any(call.has(i) for i in range(39, 48)):
        raise call.unsupported("it has auxiliary inputs")
    major = call.options.TimeMajor()
    x = _major(call, major)
    forward, backward = _lstm(call, 1, (35, 36), x, "forward"), _lstm(call, 18, (37, 38), x, "reverse")
    if call.options.MergeOutputs():
        _finish(call, call.node("Concat", [forward, backward], axis=2), major)
    else:
        _finish(call, forward, major)
        _finish(call, backward, major, 1)


def _unidirectional_sequence_rnn(call: Call) -> None:
    major = call.options.TimeMajor()
    w, r = (call.node("Unsqueeze", [call.read(i), call.integers([0])]) for i in (1, 2))
    bias = call.node("Unsqueeze", [call.read(3), call.integers([0])])
    zeros = call.node("Mul", [bias, call.number(0)])
    attributes: dict[str, Any] = {"hidden_size": call.shape(1)[0], "activations": [_activation(call)]}
    operands = [_major(call, major), w, r, call.node("Concat", [bias, zeros], axis=1)]
    results = call.node("RNN", operands, **attributes)
    _finish(call, call.node("Squeeze", [results, call.integers([1])]), major)


_BASIC = 1
"""The type of kernel of LSTM whose states are operands and results; FULL keeps them in variables of the model."""


def _lstm_step(call: Call) -> None:
    """One step: gates input, cell, forget and output are one product with the input and the last result. What the
    product takes and gives are results, too."""
    if call.options.KernelType() != _BASIC:
        raise call.unsupported("its kernel type FULL is not supported: convert the model with steps of type BASIC")
    joined = call.node("Concat", [call.read(0), call.read(1)], axis=-1)
    gates = call.node("Gemm", [joined, call.read(2), call.read(3)], transB=1)
    units = call.shape(1)[-1]
    i, cell, f, o = call.nodes("Split", [gates, call.integers([units] * 4)], 4, axis=-1)
    entered = call.node("Mul", [call.node("Sigmoid", [i]), call.node("Tanh", [cell])])
    kept = call.node("Mul", [call.node("Sigmoid", [f]), call.read(4)])
    state = call.node("Add", [entered, kept])
    call.write(call.node("Mul", [call.node("Sigmoid", [o]), call.node("Tanh", [state])]))
    for index, value in enumerate((state, joined, gates), 1):
        call.write(value, index)


KEPT = {"RNN": 4, "SVDF": 4}
"""By operator of one step the operand that is its state."""


def _rnn_step(call: Call) -> None:
    """One step: the state is the last result."""

    def step(last: str) -> str:
        entered = call.node("Gemm", [call.read(0), call.read(1), call.read(3)], transB=1)
        total = call.node("Add", [entered, call.node("Gemm", [last, call.read(2)], transB=1)])
        return call.activated(total, call.options.FusedActivationFunction())

    call.write(call.kept(KEPT[call.operator.kind], step))


def _svdf(call: Call) -> None:
    """One step of filters of rank `rank` (Nakkiran et al., Interspeech 2015): the state has the last products of each
    filter with the features, of which weights over time make a sum."""
    rank = call.options.Rank()
    filters, memory = call.shape(2)
    if rank < 1 or filters % rank:
        raise call.unsupported(f"{filters} filters of rank {rank}: the rank has to be a divisor of their number")
    product = call.node("Gemm", [call.read(0), call.read(1)], transB=1)
    newest = call.node("Unsqueeze", [product, call.integers([2])])
    apart, flat = call.integers([-1, filters, memory]), call.integers([-1, filters * memory])

    def shifted(last: str) -> str:
        rows = call.node("Reshape", [last, apart])
        later = call.node("Slice", [rows, *map(call.integers, ([1], [memory], [2]))])
        return call.node("Reshape", [call.node("Concat", [later, newest], axis=2), flat])

    rows = call.node("Reshape", [call.kept(KEPT[call.operator.kind], shifted), apart])
    sums = call.node("ReduceSum", [call.node("Mul", [rows, call.read(2)]), call.integers([2])], keepdims=0)
    units = call.node("Reshape", [sums, call.integers([-1, filters // rank, rank])])
    result = call.node("ReduceSum", [units, call.integers([2])], keepdims=0)
    result = call.node("Add", [result, call.read(3)]) if call.has(3) else result
    call.write(call.activated(result, call.options.FusedActivationFunction()))


OPERATORS: dict[str, Handler] = {
    "BIDIRECTIONAL_SEQUENCE_LSTM": _bidirectional_sequence_lstm,
    "LSTM": _lstm_step,
    "RNN": _rnn_step,
    "SVDF": _svdf,
    "UNIDIRECTIONAL_SEQUENCE_LSTM": _unidirectional_sequence_lstm,
    "UNIDIRECTIONAL_SEQUENCE_RNN": _unidirectional_sequence_rnn,
}
