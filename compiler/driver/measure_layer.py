"""The numeric error of single convolutions by Winograd's algorithm, for `--verify`."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..cpu.compile_for_cpu import compile_for_cpu
from ..execution.native_model import NativeModel
from ..ir.nodes import Origin
from ..native.jit import host_target
from ..pipeline.lower_model import lower_tensors
from ..system.cache import Cache
from ..tensor import Tensor
from ..tensor.match_convolution import Convolution, match_convolution
from ..tensor.program import Rewritten, TensorProgram
from ..tensor.winograd_matrices import OutputTile

Array = np.ndarray


@dataclass(frozen=True, slots=True)
class LayerError:
    """A convolution by Winograd's algorithm, with output tiles of `tile` rows and columns. Errors are against float64,
    relative to the largest result; `direct` is that of the same convolution without Winograd."""

    node: str
    tile: OutputTile
    error: float
    direct: float


def measure_layer(layer: Rewritten, cache: Cache | None = None) -> LayerError:
    """Runs one layer with its own weights, both ways, on random inputs on this machine's processor."""
    conv = layer.convolution
    match = match_convolution(conv)
    assert match is not None
    x = Tensor(match.x.buffer)
    replaced = {match.x: x, match.weights: Tensor(match.weights.buffer, data=match.weights.data)}
    alone = replace(conv, reads=tuple(replaced.get(r, r) for r in conv.reads))
    program = TensorProgram((("x", x),), (("y", alone),), (alone,), {alone: Origin((conv.name,), ("Conv",))})
    data = np.random.default_rng(0).standard_normal(x.extents).astype(np.float32)
    exact = convolve(data, match, conv.extents)
    errors = []
    for choose in (lambda *_: [layer.tile], None):
        lowered = lower_tensors(conv.name, program, choose=choose)
        result = NativeModel(compile_for_cpu(lowered, host_target(), cache=cache), cache=cache).run({"x": data})["y"]
        errors.append(float(np.abs(result - exact).max() / max(np.abs(exact).max(), 1e-30)))
    return LayerError(conv.name, layer.tile, *errors)


def convolve(x: Array, conv: Convolution, shape: tuple[int, ...]) -> Array:
    """The convolution in float64; its result is of `shape`."""
    assert conv.weights.data is not None
    weights = conv.weights.data.astype(np.float64)
    height, width = shape[2:]
    rows, columns = weights.shape[2:]
    below = max(0, height + rows - 1 - conv.top - x.shape[2])
    right = max(0, width + columns - 1 - conv.left - x.shape[3])
    padded = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (conv.top, below), (conv.left, right)))
    result = np.zeros((shape[0], height, width, shape[1]))
    for a in range(rows):
        for b in range(columns):
            result += np.tensordot(padded[:, :, a : a + height, b : b + width], weights[:, :, a, b], ([1], [1]))
    return result.transpose(0, 3, 1, 2)
