"""Weights of neural networks: float32, float16, and quantised to 1 to 8 bits.

Source: WeightParams and QuantizationParams of NeuralNetwork.proto.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import Any

import numpy as np


def read_weights(weights: Any, shape: Sequence[int]) -> np.ndarray:
    """The elements, float32 or float16. Raises ValueError where they are not so many. Quantised ones have one scale, or
    one for each index of the first dimension."""
    whole = tuple(int(n) for n in shape)
    if weights.floatValue:
        return np.asarray(weights.floatValue, np.float32).reshape(whole)
    if weights.float16Value:
        return np.frombuffer(weights.float16Value, "<f2").reshape(whole)
    if not weights.HasField("quantization"):
        return np.zeros(0, np.float32).reshape(whole)
    quantization = weights.quantization
    levels = _levels(weights.rawValue, int(quantization.numberOfBits), prod(whole))
    if quantization.HasField("lookupTableQuantization"):
        table = np.asarray(quantization.lookupTableQuantization.floatValue, np.float32)
        return np.asarray(table[levels].reshape(whole))
    linear = quantization.linearQuantization
    scale, bias = (np.asarray(v or [default], np.float32) for v, default in ((linear.scale, 1), (linear.bias, 0)))
    rows = levels.reshape(whole[0], -1) if whole else levels.reshape(1, 1)
    return (rows * scale.reshape(-1, 1) + bias.reshape(-1, 1)).astype(np.float32).reshape(whole)


def _levels(data: bytes, bits: int, count: int) -> np.ndarray:
    """Numbers of so many bits in a row, the highest bit first."""
    if not 1 <= bits <= 8 or count * bits > 8 * len(data):
        raise ValueError(f"{len(data)} bytes hold no {count} weights of {bits} bits")
    single = np.unpackbits(np.frombuffer(data, np.uint8), count=count * bits).reshape(count, bits)
    return np.asarray((single << np.arange(bits)[::-1]).sum(1))


def stored(message: Any) -> Iterator[tuple[str, int]]:
    """The type of elements and their number, of all weights in a layer."""
    for field, value in message.ListFields():
        if field.message_type is None:
            continue
        for inner in value if field.is_repeated else [value]:
            if field.message_type.name != "WeightParams":
                yield from stored(inner)
            elif inner.floatValue:
                yield "float32", len(inner.floatValue)
            elif inner.float16Value:
                yield "float16", len(inner.float16Value) // 2
            elif inner.HasField("quantization") and inner.quantization.numberOfBits:
                bits = int(inner.quantization.numberOfBits)
                yield f"uint{bits}", len(inner.rawValue) * 8 // bits
