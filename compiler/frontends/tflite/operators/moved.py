"""Parts of operators that move elements: quantised ones move as they are where the result has the same quanta."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..call import Call
from ..read_model import Tensor
from ..types import onnx_type


def same_quanta(a: Tensor, b: Tensor) -> bool:
    p, q = a.quantization, b.quantization
    if p is None or q is None or a.dtype != b.dtype:
        return a.dtype == b.dtype and p is q
    return bool(np.array_equal(p.scale, q.scale) and np.array_equal(p.zero_point, q.zero_point))


def moved(call: Call, move: Callable[[list[str]], str], *data: int, result: int = 0) -> None:
    """A result of `move` on the operands `data`."""
    target = call.result(result)
    if all(same_quanta(call.tensor(i), target) or call.tensor(i).quantization is None for i in data):
        call.store(move([call.raw(i) for i in data]), result)
    else:
        call.write(move([call.read(i) for i in data]), result)


def sizes_of(call: Call, i: int) -> str:
    """Operand `i`, a vector of integers, as ONNX takes it."""
    data = call.tensor(i).data
    if data is not None:
        return call.integers([int(n) for n in data.reshape(-1)])
    return call.node("Cast", [call.raw(i)], to=onnx_type("int64"))
