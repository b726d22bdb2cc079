"""Core ML's operations and layers in NumPy."""

from __future__ import annotations

import numpy as np

Array = np.ndarray
RNG = np.random.default_rng(11)


def real(*shape: int) -> Array:
    return RNG.uniform(-2, 2, shape).astype(np.float32)


def windows(x: Array, size: int, stride: int, dilation: int = 1) -> Array:
    """N, C, H, W -> N, C, rows, columns, size, size."""
    n, c, h, w = x.shape
    span = (size - 1) * dilation + 1
    rows, columns = (h - span) // stride + 1, (w - span) // stride + 1
    out = np.empty((n, c, rows, columns, size, size), x.dtype)
    for i in range(rows):
        for j in range(columns):
            at = x[:, :, i * stride : i * stride + span : dilation, j * stride : j * stride + span : dilation]
            out[:, :, i, j] = at
    return out


def conv(x: Array, w: Array, stride: int, groups: int = 1, dilation: int = 1) -> Array:
    parts = np.split(x, groups, 1)
    filters = np.split(w, groups, 0)
    found = [
        np.einsum("ncijkl,ockl->noij", windows(p, w.shape[-1], stride, dilation), f)
        for p, f in zip(parts, filters, strict=True)
    ]
    return np.concatenate(found, 1)


def deconv(x: Array, w: Array, stride: int) -> Array:
    n, _, h, width = x.shape
    k = w.shape[-1]
    out = np.zeros((n, w.shape[1], (h - 1) * stride + k, (width - 1) * stride + k), np.float32)
    for i in range(h):
        for j in range(width):
            add = np.einsum("nc,cokl->nokl", x[:, :, i, j], w)
            out[:, :, i * stride : i * stride + k, j * stride : j * stride + k] += add
    return out


def padded(x: Array, top: int, bottom: int, left: int, right: int, value: float = 0) -> Array:
    return np.pad(x, ((0, 0), (0, 0), (top, bottom), (left, right)), constant_values=value)


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def softmax(x: Array, axis: int = -1) -> Array:
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def normalised(x: Array, axes: tuple[int, ...], epsilon: float) -> Array:
    centred = x - x.mean(axes, keepdims=True)
    return centred / np.sqrt((centred**2).mean(axes, keepdims=True) + epsilon)


def bilinear(x: Array, rows: Array, columns: Array) -> Array:
    """The last two dimensions of `x` at places between its own."""

    def along(data: Array, places: Array, axis: int) -> Array:
        places = places.clip(0, data.shape[axis] - 1)
        low = np.floor(places).astype(int)
        high = np.minimum(low + 1, data.shape[axis] - 1)
        part = (places - low).reshape([-1 if i == axis % data.ndim else 1 for i in range(data.ndim)])
        return np.take(data, low, axis) * (1 - part) + np.take(data, high, axis) * part

    return along(along(x, rows, -2), columns, -1)


def lstm(x: Array, h: Array, c: Array, w: Array, r: Array, b: Array) -> tuple[Array, Array, Array]:
    """Gates input, forget, output, cell."""
    every = []
    for step in x:
        i, f, o, z = np.split(step @ w.T + h @ r.T + b, 4, 1)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(z)
        h = sigmoid(o) * np.tanh(c)
        every.append(h)
    return np.stack(every), h, c


def gru(x: Array, h: Array, w: Array, r: Array, b: Array, late: Array | None = None) -> tuple[Array, Array]:
    """Gates reset, output, update; `late` is the bias of the input where the reset comes after the product."""
    every = []
    for step in x:
        own = step @ w.T + (b if late is None else late)
        (xr, xo, xz), (rr, ro, rz) = np.split(own, 3, 1), np.split(r, 3, 0)
        (br, bo, bz) = np.split(np.zeros_like(b) if late is None else b, 3)
        reset, update = sigmoid(xr + h @ rr.T + br), sigmoid(xz + h @ rz.T + bz)
        inner = (reset * h) @ ro.T if late is None else reset * (h @ ro.T + bo)
        h = (1 - update) * np.tanh(xo + inner) + update * h
        every.append(h)
    return np.stack(every), h


def suppressed(boxes: Array, scores: Array, overlap: float, least: float, most: int, per_class: bool) -> list[Array]:
    """Boxes left, their scores, places and number: the best first, each suppresses those that overlap it."""
    best, kinds = scores[0].max(1), scores[0].argmax(1)
    kept: list[int] = []
    for i in np.argsort(-best):
        low, high = boxes[0, :, :2] - boxes[0, :, 2:] / 2, boxes[0, :, :2] + boxes[0, :, 2:] / 2

        def shared(j: int, i: int = i, low: Array = low, high: Array = high) -> float:
            both = float(np.prod((np.minimum(high[i], high[j]) - np.maximum(low[i], low[j])).clip(0)))
            return both / float(np.prod(boxes[0, i, 2:]) + np.prod(boxes[0, j, 2:]) - both)

        rivals = [j for j in kept if not per_class or kinds[i] == kinds[j]]
        if best[i] > least and all(shared(j) <= overlap for j in rivals):
            kept.append(int(i))
    kept = kept[:most] or [int(best.argmax())]
    n = len(kept)
    rows_ = [np.zeros((1, most, v.shape[2]), np.float32) for v in (boxes, scores)]
    for out, v in zip(rows_, (boxes, scores), strict=True):
        out[0, :n] = v[0, kept]
    places = np.full((1, most), -1)
    places[0, :n] = kept
    return [*rows_, places, np.array([n])]
