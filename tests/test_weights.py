"""Constants in the bundle's file, and in the memory of who computes in float32."""

from __future__ import annotations

import numpy as np
from webnn_compile.dtypes import F16, F32, I64
from webnn_compile.ir.layout import Layout
from webnn_compile.pipeline.weights import Weights
from webnn_compile.program.plan_memory import ALIGNMENT
from webnn_compile.tensor import Tensor, constant

GENERATOR = np.random.default_rng(5)
WHOLE = GENERATOR.integers(-9, 9, (30, 11)).astype(np.float32)
"""Float16s, all of them."""
FINE = GENERATOR.standard_normal((30, 11)).astype(np.float32)


def add(weights: Weights, t: Tensor, order: tuple[int, ...] = (0, 1)) -> int:
    return weights.add(t, Layout(t.shape, order, ((0, 0),) * 2, (1, 1)))


def test_what_loses_nothing_is_shipped_as_halves() -> None:
    weights = Weights()
    tensors = [constant("a", FINE), constant("b", WHOLE), constant("c", WHOLE + 1), constant("d", FINE + 1)]
    tensors += [constant("few", WHOLE[:2]), constant("ids", WHOLE.astype(np.int64))]
    tensors += [constant("halves", FINE.astype(np.float16))]
    assert [weights.dtype(t) for t in tensors] == [F32, F16, F16, F32, F32, I64, F16]
    offsets = [add(weights, t) for t in tensors]
    blob, memory = weights.blob(), weights.memory()
    for t, at in zip(tensors, offsets, strict=True):
        assert at % ALIGNMENT == 0
        assert t.data is not None
        count = t.data.size
        stored = np.frombuffer(blob, weights.dtype(t).numpy, count, at)
        np.testing.assert_array_equal(stored.astype(t.dtype.numpy), t.data.reshape(-1))
        loaded = np.frombuffer(memory, t.dtype.numpy, count, weights.in_memory(at))
        np.testing.assert_array_equal(loaded, t.data.reshape(-1))
    ((first, size),) = weights.halves
    assert (first, first + size) == (offsets[1], offsets[3])
    assert len(memory) == len(blob) + size


def test_every_layout_and_plain_bytes() -> None:
    weights = Weights()
    t = constant("b", WHOLE)
    rows, columns = add(weights, t), add(weights, t, (1, 0))
    assert add(weights, t) == rows
    at = weights.append(b"module", {"uint8": 64})
    blob = weights.blob()
    np.testing.assert_array_equal(np.frombuffer(blob, np.float16, WHOLE.size, columns), WHOLE.T.reshape(-1))
    assert blob[at : at + 6] == b"module"
    assert weights.memory()[weights.in_memory(at) :][:6] == b"module"
    assert weights.halves == ((0, at),)
    assert weights.types == {"float16": at, "uint8": 64}
    assert weights.types_in_memory == {"float32": 2 * at, "uint8": 64}


def test_equal_bytes_are_there_once() -> None:
    """An embedding that is also the operand of the last product, which reads it transposed."""
    weights = Weights()
    embedding, again, operand = constant("e", FINE), constant("f", FINE.copy()), constant("o", FINE.T.copy())
    at = add(weights, embedding)
    assert add(weights, again) == at
    assert add(weights, operand, (1, 0)) == at
    assert weights.append(FINE.tobytes(), {}) == at
    once = FINE.tobytes() + bytes(-FINE.nbytes % ALIGNMENT)
    assert weights.blob() == once
    assert add(weights, operand) == len(once)


def test_halves_and_the_floats_that_have_their_bytes_are_two() -> None:
    weights = Weights()
    halves = constant("h", WHOLE)
    at = add(weights, halves)
    other = weights.append(np.frombuffer(weights.blob(), np.uint8)[: 2 * WHOLE.size].tobytes(), {})
    assert other != at
    np.testing.assert_array_equal(
        np.frombuffer(weights.memory(), np.float32, WHOLE.size, weights.in_memory(at)), WHOLE.reshape(-1)
    )


def test_nan_and_infinities_are_halves_only_where_they_come_back() -> None:
    weights = Weights()
    for value, dtype in ((np.inf, F16), (np.nan, F32), (1e5, F32)):
        data = WHOLE.copy()
        data[-1, -1] = value
        assert weights.dtype(constant("x", data)) == dtype
