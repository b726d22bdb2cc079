"""Rows of LSTM, GRU, RNN, and the LSTM of com.microsoft whose weights are integers."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
from op_cases._arrays import Arrays
from op_table import Array, Case, reference

_a = Arrays(47)

GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
WEIGHTS = frozenset({1, 2, 3, 7})

B, LENGTHS, H, C, P = range(3, 8)
"""The optional inputs, by number."""


def _case(
    op: str,
    name: str,
    steps: int = 3,
    batch: int = 2,
    features: int = 4,
    hidden: int = 5,
    *,
    direction: str = "forward",
    given: Collection[int] = (B,),
    lengths: tuple[int, ...] = (),
    **more: Any,
) -> Case:
    """`given` are the optional inputs that are there, besides `lengths`. Weights are constants. What is no field of a
    case is an attribute."""
    directions, width = 1 + (direction == "bidirectional"), GATES[op] * hidden
    state = (directions, batch, hidden)
    shapes = {B: (directions, 2 * width), H: state, C: state, P: (directions, 3 * hidden)}
    x, w, r = _a.normal(steps, batch, features), *(_a.normal(directions, width, n) / 2 for n in (features, hidden))
    optional: list[Array | None] = [_a.normal(*shapes[i]) if i in given else None for i in range(B, P + 1)]
    if lengths:
        optional[LENGTHS - B] = np.asarray(lengths, np.int32)
    while optional and optional[-1] is None:
        optional.pop()
    fields = {name: more.pop(name) for name in ("opset", "constants", "outputs", "absent") if name in more}
    fields = {"constants": WEIGHTS, "outputs": 3 if op == "LSTM" else 2, **fields}
    attributes = {"hidden_size": hidden, "direction": direction, **more}
    return Case(f"{op.lower()}-{name}", op, (x, w, r, *optional), attributes, **fields)


def _batch_first(case: Case) -> Case:
    """The case's layer with the attribute layout, of which onnxruntime has the default alone."""

    def swapped(a: Array | None) -> Array | None:
        return None if a is None else np.ascontiguousarray(a.swapaxes(0, 1))

    y, *states = reference(case)
    inputs = tuple(swapped(a) if i in (0, H, C) else a for i, a in enumerate(case.inputs))
    expected = (y.transpose(2, 0, 1, 3), *(s.swapaxes(0, 1) for s in states))
    return Case(
        f"{case.id}-layout",
        case.op,
        inputs,
        {**case.attributes, "layout": 1},
        constants=case.constants,
        outputs=case.outputs,
        expected=tuple(map(np.ascontiguousarray, expected)),
    )


_BOTH = {"direction": "bidirectional"}


def _family(op: str) -> list[Case]:
    states = (H, C) if op == "LSTM" else (H,)
    return [
        _case(op, "forward", opset=7),
        _case(op, "reverse", direction="reverse", given=states, opset=22),
        _case(op, "bidirectional", 7, 1, 13, 19, given=(B, *states), **_BOTH),
        _case(op, "bare", 1, 1, 1, 1, given=(), outputs=1),
        _case(op, "last-state", steps=5, batch=3, lengths=(2, 5, 1), absent=frozenset({0}), clip=0.4),
        _case(op, "lengths-bidirectional", steps=4, lengths=(1, 3), given=(B, *states), **_BOTH),
        _case(op, "given-weights", constants=frozenset(), given=(B, *states)),
        _batch_first(_case(op, "bidirectional", steps=4, lengths=(2, 4), given=(B, *states), **_BOTH)),
    ]


def _activations(forward: str, back: str, alpha: Collection[float] = (), beta: Collection[float] = ()) -> Case:
    """`alpha` and `beta` are for those of the activations that have such a parameter, or empty for the defaults."""
    given = {k: list(v) for k, v in (("activation_alpha", alpha), ("activation_beta", beta)) if v}
    name = f"{forward}-{back}{'-parameters' * bool(given)}".lower()
    return _case("RNN", name, activations=[forward, back], **given, **_BOTH)


_integers = Arrays(48)


def _quantized(
    name: str,
    dtype: str,
    *shape: int,
    given: Collection[int] = (B,),
    columns: bool = False,
    zero: int = 0,
    lengths: tuple[int, ...] = (),
    constants: Collection[int] = (1, 2, 3, 7, 8, 9, 10, 11),
    **attributes: Any,
) -> Case:
    """`shape` is that of the input and the hidden size. Scales and zero points are one for each direction, or one for
    each of the `columns`."""
    steps, batch, features, hidden = shape
    directions, width = 1 + (attributes.get("direction") == "bidirectional"), 4 * hidden
    low, high = (-90, 90) if dtype == "int8" else (zero - 90, zero + 90)
    state = (directions, batch, hidden)
    shapes = {B: (directions, 2 * width), H: state, C: state, P: (directions, 3 * hidden)}
    parameters = (directions, width) if columns else (directions,)
    x = _integers.normal(steps, batch, features)
    weights = [_integers.integers(low, high, directions, n, width, dtype=dtype) for n in (features, hidden)]
    optional = [_integers.normal(*shapes[i]) if i in given else None for i in (B, H, C, P)]
    scales = [_integers.uniform(0.004, 0.008, *parameters) for _ in weights]
    zeros = np.full(parameters, zero, dtype)
    sizes = np.asarray(lengths, np.int32) if lengths else None
    inputs = (x, *weights, optional[0], sizes, *optional[1:], scales[0], zeros, scales[1], zeros)
    made = {"hidden_size": hidden, **attributes}
    known = frozenset(constants)
    op = "DynamicQuantizeLSTM"
    return Case(f"{op.lower()}-{name}", op, inputs, made, 17, known, outputs=3, domain="com.microsoft")


CASES = [
    _quantized("forward", "int8", 3, 1, 5, 8),
    _quantized("bytes-reverse", "uint8", 4, 1, 5, 8, given=(B, H, C), zero=128, direction="reverse"),
    _quantized("columns-bidirectional", "int8", 3, 2, 12, 16, given=(B, H, C, P), columns=True, **_BOTH),
    _quantized("given-weights", "int8", 2, 2, 3, 4, given=(), zero=5, constants=(), input_forget=1),
    _quantized("lengths", "int8", 4, 3, 5, 8, lengths=(4, 1, 3)),
    _quantized("lengths-shorter", "uint8", 5, 3, 5, 8, given=(B, H, C), zero=128, lengths=(3, 0, 1)),
    _quantized("lengths-reverse", "int8", 4, 3, 5, 8, given=(B, H, C), lengths=(2, 1, 3), direction="reverse"),
    _quantized("lengths-bidirectional", "int8", 5, 3, 5, 8, given=(B, H, C, P), lengths=(5, 1, 3), **_BOTH),
    *(case for op in GATES for case in _family(op)),
    _case("LSTM", "lengths-reverse", steps=4, batch=3, direction="reverse", lengths=(4, 1, 3), given=(B, H, C)),
    *(_case(op, "no-steps", batch=3, lengths=(2, 0, 1), given=(B, H)) for op in GATES),
    _case("LSTM", "full-lengths", lengths=(3, 3), constants=WEIGHTS | {LENGTHS}),
    _case("LSTM", "wide", steps=2, batch=5, features=40, hidden=67),
    _case("LSTM", "peepholes", given=(B, H, C, P)),
    _case("LSTM", "peepholes-bidirectional", given=(P,), lengths=(2, 3), **_BOTH),
    _case("LSTM", "input-forget", input_forget=1),
    _case("LSTM", "cell-alone", absent=frozenset({0, 1})),
    _case(
        "LSTM",
        "activations",
        activations=["HardSigmoid", "Affine", "ScaledTanh", "Sigmoid", "LeakyRelu", "Softsign"],
        activation_alpha=[0.3, 0.8, 1.2, 0.1],
        activation_beta=[0.4, 0.1, 0.7],
        clip=0.9,
        **_BOTH,
    ),
    _case("GRU", "late-reset", linear_before_reset=1, given=(B, H)),
    _case("GRU", "late-reset-without-bias", linear_before_reset=1, given=()),
    _case("GRU", "late-reset-bidirectional", steps=5, linear_before_reset=1, lengths=(2, 4), clip=0.7, **_BOTH),
    _case("GRU", "activations", activations=["HardSigmoid", "Elu"], activation_alpha=[0.3, 0.7], activation_beta=[0.6]),
    _case("GRU", "activations-of-each-direction", activations=["Sigmoid", "Tanh", "Softplus", "Elu"], **_BOTH),
    _activations("Relu", "Sigmoid"),
    _activations("Softsign", "Softplus"),
    _activations("LeakyRelu", "Elu", [0.1, 0.7]),
    _activations("Tanh", "HardSigmoid"),
    _activations("ScaledTanh", "ThresholdedRelu", [0.9, 0.4], [0.7]),
    _activations("HardSigmoid", "Affine", [0.3, 0.8], [0.4, 0.1]),
]
