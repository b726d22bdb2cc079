"""Rows of random numbers, which the generator of the operators decides: computed here by NumPy, apart from them."""

from __future__ import annotations

from typing import Any
from zlib import crc32

import numpy as np
from op_cases._arrays import Arrays
from op_table import Array, Case

_a = Arrays(96)
FLOAT, INT64, BOOL, HALF, DOUBLE = 1, 7, 9, 10, 11


def words(count: int, seed: float | None) -> list[Array]:
    """Two words of each element, as pcg3d makes them of its number and the key."""
    factor, added, key = np.uint32(1664525), np.uint32(1013904223), (crc32(b"node"), 2)
    if seed is not None:
        key = (int(np.float32(seed).view(np.uint32)), 0)
    with np.errstate(over="ignore"):
        x, y, z = (np.asarray(v, np.uint32) * factor + added for v in (np.arange(count), *key))
        for last in (False, True):
            x = x + y * z
            y = y + z * x
            z = z + x * y
            if not last:
                x, y, z = (v ^ (v >> np.uint32(16)) for v in (x, y, z))
    return [x, y]


def uniform(count: int, seed: float | None, bits: int = 24) -> Array:
    x, y = (w.astype(np.uint64) for w in words(count, seed))
    return np.asarray(
        ((x << np.uint64(32) | y) >> np.uint64(11)) * 2.0**-53 if bits > 24 else (x >> (32 - bits)) * 2.0**-bits
    )


def normal(count: int, seed: float | None) -> Array:
    x, y = words(count, seed)
    return np.sqrt(-2 * np.log(((x >> 9) + 0.5) * 2.0**-23)) * np.cos((y >> 8) * (2 * np.pi * 2.0**-24))


def _uniforms(id: str, shape: tuple[int, ...], like: Array | None = None, *, bits: int = 24, **given: Any) -> Case:
    drawn = uniform(int(np.prod(shape)), given.get("seed"), bits).reshape(shape)
    low, high = given.get("low", 0.0), given.get("high", 1.0)
    return _random(id, "RandomUniform", drawn * (high - low) + low, like, given)


def _normals(id: str, shape: tuple[int, ...], like: Array | None = None, **given: Any) -> Case:
    drawn = normal(int(np.prod(shape)), given.get("seed")).reshape(shape)
    return _random(id, "RandomNormal", drawn * given.get("scale", 1.0) + given.get("mean", 0.0), like, given)


def _random(id: str, op: str, numbers: Array, like: Array | None, given: dict[str, Any]) -> Case:
    dtype = {None: like.dtype if like is not None else "float32", FLOAT: "float32", HALF: "float16", DOUBLE: "float64"}
    expected = numbers.astype(dtype[given.get("dtype")])
    if like is not None:
        return Case(id, f"{op}Like", (like,), given, 22, expected=(expected,))
    return Case(id, op, (), {"shape": numbers.shape, **given}, 22, expected=(expected,))


def _bernoulli(id: str, p: Array, result: str = "", **given: Any) -> Case:
    drawn = uniform(p.size, given.get("seed"), 53 if p.dtype == np.float64 else 24).reshape(p.shape)
    return Case(id, "Bernoulli", (p,), given, 22, expected=((drawn < p).astype(result or p.dtype),))


def _multinomial(id: str, scores: Array, result: str = "int32", **given: Any) -> Case:
    batch, classes = scores.shape
    shape = (batch, given.get("sample_size", 1), classes)
    x, y = (w.astype(np.float64) for w in words(int(np.prod(shape)), given.get("seed")))
    small = np.floor(x / 256) * 2.0**-24 + (np.floor(y / 256) + 1) * 2.0**-48
    raced = scores[:, None].astype(np.float64) - np.log(-np.log1p(-small.reshape(shape)))
    return Case(id, "Multinomial", (scores,), given, 22, expected=(raced.argmax(-1).astype(result),))


_p = _a.uniform(0, 1, 5, 67)
_some_of_four = np.array([[-np.inf, 0.2, -np.inf, 0.9]], np.float32)

CASES = [
    _uniforms("randomuniform", (2, 3, 50)),
    _uniforms("randomuniform-seed", (40, 90), seed=7.5, low=-3.0, high=5.0),
    _uniforms("randomuniform-half", (9, 7), bits=11, seed=1.0, dtype=HALF),
    _uniforms("randomuniform-double", (3, 31), bits=53, seed=-2.0, dtype=DOUBLE),
    _uniforms("randomuniformlike", (5, 67), _p, low=2.0, high=3.0),
    _uniforms("randomuniformlike-dtype", (4, 6), _a.integers(0, 9, 4, 6, dtype="int32"), seed=0.0, dtype=FLOAT),
    _normals("randomnormal", (3, 4, 25)),
    _normals("randomnormal-seed", (7, 11), seed=7.5, mean=2.0, scale=0.5),
    _normals("randomnormal-double", (7, 5), seed=9.0, dtype=DOUBLE),
    _normals("randomnormallike", (5, 67), _p, mean=-1.0, scale=3.0),
    _normals("randomnormallike-dtype", (2, 9), _a.integers(0, 9, 2, 9, dtype="int64"), seed=4.0, dtype=HALF),
    _bernoulli("bernoulli", _p),
    _bernoulli("bernoulli-seed", _p, "bool", seed=5.0, dtype=BOOL),
    _bernoulli("bernoulli-double", _p.astype(np.float64), "int64", seed=1.0, dtype=INT64),
    _bernoulli("bernoulli-sure", np.array([[0.0, 1.0] * 9], np.float32), seed=2.0),
    _multinomial("multinomial", _a.normal(3, 7)),
    _multinomial("multinomial-samples", _a.normal(2, 33), "int64", sample_size=40, seed=6.0, dtype=INT64),
    _multinomial("multinomial-impossible", _some_of_four, sample_size=9, seed=1.0),
]
