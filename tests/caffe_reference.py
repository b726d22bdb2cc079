"""Layers of Caffe as NumPy computes them."""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

Array = np.ndarray
RNG = np.random.default_rng(zlib.crc32(b"caffe"))


def real(*shape: int) -> Array:
    return RNG.uniform(-1, 1, shape).astype(np.float32)


def positive(*shape: int) -> Array:
    return RNG.uniform(0.1, 2, shape).astype(np.float32)


def windows(x: Array, kernel: Sequence[int], stride: Sequence[int], dilation: Sequence[int]) -> Array:
    """N, C, ..., taps of a padded value."""
    n = len(kernel)
    extents = [(k - 1) * d + 1 for k, d in zip(kernel, dilation, strict=True)]
    found = sliding_window_view(x, extents, axis=tuple(range(2, 2 + n)))
    steps = tuple(slice(None, None, s) for s in stride)
    return found[(slice(None), slice(None), *steps, *(slice(None, None, d) for d in dilation))]


def padded(x: Array, pad: Sequence[int]) -> Array:
    return np.pad(x, [(0, 0), (0, 0), *((p, p) for p in pad)])


def conv(
    x: Array,
    w: Array,
    b: Array | float,
    pad: Sequence[int],
    stride: Sequence[int],
    dilation: Sequence[int],
    group: int = 1,
) -> Array:
    n = w.ndim - 2
    parts = []
    for part, weights in zip(np.split(x, group, 1), np.split(w, group, 0), strict=True):
        taps = windows(padded(part, pad), w.shape[2:], stride, dilation)
        axes = [1, *range(2 + n, 2 + 2 * n)]
        parts.append(np.moveaxis(np.tensordot(taps, weights, (axes, [1, *range(2, 2 + n)])), -1, 1))
    return np.concatenate(parts, 1) + np.reshape(b, (-1, *(1,) * n))


def deconv(x: Array, w: Array, b: Array, stride: int, pad: int, group: int) -> Array:
    n, _, h, width = x.shape
    k, outputs = w.shape[2], w.shape[1]
    y = np.zeros((n, outputs * group, (h - 1) * stride + k, (width - 1) * stride + k), np.float32)
    for g, (part, weights) in enumerate(zip(np.split(x, group, 1), np.split(w, group, 0), strict=True)):
        for i in range(h):
            for j in range(width):
                patch = np.tensordot(part[:, :, i, j], weights, (1, 0))
                y[:, g * outputs : (g + 1) * outputs, i * stride : i * stride + k, j * stride : j * stride + k] += patch
    return y[:, :, pad : y.shape[2] - pad, pad : y.shape[3] - pad] + b.reshape(-1, 1, 1)


def pool(x: Array, kind: str, kernel: int, stride: int, pad: int, ceil: bool = True) -> Array:
    """As PoolingLayer::Forward_cpu has it."""
    h, w = x.shape[2:]

    def count(n: int) -> int:
        steps = (n + 2 * pad - kernel) / stride
        found = int(np.ceil(steps) if ceil else np.floor(steps)) + 1
        return found - 1 if pad and (found - 1) * stride >= n + pad else found

    y = np.zeros((*x.shape[:2], count(h), count(w)), np.float32)
    for i in range(y.shape[2]):
        for j in range(y.shape[3]):
            top, left = i * stride - pad, j * stride - pad
            bottom, right = min(top + kernel, h + pad), min(left + kernel, w + pad)
            size = (bottom - top) * (right - left)
            part = x[:, :, max(top, 0) : min(bottom, h), max(left, 0) : min(right, w)]
            y[:, :, i, j] = part.max((2, 3)) if kind == "max" else part.sum((2, 3)) / size
    return y


def lrn(x: Array, size: int, alpha: float, beta: float, k: float) -> Array:
    squares = np.pad(x * x, [(0, 0), (size // 2, size // 2), (0, 0), (0, 0)])
    total = sum(squares[:, i : i + x.shape[1]] for i in range(size))
    return x / (k + alpha / size * total) ** beta


def softmax(x: Array, axis: int) -> Array:
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def arg_max(x: Array, count: int) -> tuple[Array, Array]:
    order = np.argsort(-x, axis=-1, kind="stable")[..., :count]
    return order.astype(np.float32), np.take_along_axis(x, order, -1)


def interp(x: Array, h: int, w: int) -> Array:
    def along(a: Array, n: int, axis: int) -> Array:
        at = np.linspace(0, a.shape[axis] - 1, n)
        low = np.minimum(at.astype(int), a.shape[axis] - 1)
        high = np.minimum(low + 1, a.shape[axis] - 1)
        share = (at - low).reshape([-1 if d == axis else 1 for d in range(4)])
        return np.take(a, low, axis) * (1 - share) + np.take(a, high, axis) * share

    return along(along(x, h, 2), w, 3)
